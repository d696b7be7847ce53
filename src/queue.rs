//! Waiting calls of one app: one queue per lane, in which users take turns.
//!
//! Pure book-keeping; the engine decides who fits. A user's calls go in the order in which
//! they came. Users take turns, so that one user's thousand calls never starve another's one.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::call::{Call, Lane, PerLane};
use crate::decision::Ticket;
use crate::time::Instant;

/// Of this many turns with admissible calls in both lanes, at least one is the background's.
pub(crate) const TURNS: u32 = 20;

/// Who waits: tenant and user.
pub(crate) type User = (String, String);

#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    pub(crate) call: Call,
    pub(crate) since: Instant,
    pub(crate) deadline: Instant,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    lanes: PerLane<LaneQueue>,
    /// How many turns the foreground had while the background could have gone.
    pub(crate) foreground_turns: u32,
    /// What the last pass found.
    pub(crate) found: Found,
    /// Whether something ended, left or came since the last pass.
    pub(crate) stirred: bool,
}

/// What a pass over the waiting calls found; holds until time or an ended call changes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Found {
    /// When time alone lets the next one fit.
    pub(crate) wake_at: Option<Instant>,
    /// For each lane, when a call that waits for the app's shared room will fit.
    pub(crate) held_until: PerLane<Option<Instant>>,
    /// For each lane, the tenants whose own budget keeps a call waiting.
    pub(crate) tenants: PerLane<BTreeSet<String>>,
}

#[derive(Clone, Debug, Default)]
struct LaneQueue {
    order: VecDeque<User>,
    calls: BTreeMap<User, VecDeque<Waiter>>,
    waiting: usize,
}

impl Queue {
    /// How many wait in `lane`.
    pub(crate) fn waiting(&self, lane: Lane) -> usize {
        self.lanes.get(lane).waiting
    }

    /// How many calls of this call's user wait in `lane`.
    pub(crate) fn waiting_of(&self, lane: Lane, call: &Call) -> usize {
        self.lanes
            .get(lane)
            .calls
            .get(&user_of(call))
            .map_or(0, VecDeque::len)
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        Lane::ALL.into_iter().map(|lane| self.waiting(lane)).sum()
    }

    /// Since when the longest-waiting call of `lane` waits.
    pub(crate) fn oldest(&self, lane: Lane) -> Option<Instant> {
        self.lanes
            .get(lane)
            .calls
            .values()
            .filter_map(VecDeque::front)
            .map(|waiter| waiter.since)
            .min()
    }

    /// Whether this user waits in `lane` already.
    pub(crate) fn has(&self, lane: Lane, call: &Call) -> bool {
        self.lanes.get(lane).calls.contains_key(&user_of(call))
    }

    pub(crate) fn push(&mut self, waiter: Waiter) {
        let user = user_of(&waiter.call);
        let lane = self.lanes.get_mut(waiter.call.lane);
        lane.waiting += 1;
        if let Some(calls) = lane.calls.get_mut(&user) {
            calls.push_back(waiter);
            return;
        }
        lane.order.push_back(user.clone());
        lane.calls.insert(user, VecDeque::from([waiter]));
    }

    /// The first call of each waiting user, in order of turns.
    pub(crate) fn heads(&self, lane: Lane) -> impl Iterator<Item = &Waiter> {
        let lane = self.lanes.get(lane);
        lane.order
            .iter()
            .filter_map(|user| lane.calls.get(user)?.front())
    }

    /// Takes the first call of this user; the user's next one has to wait for its turn.
    pub(crate) fn take_turn(&mut self, lane: Lane, user: &User) -> Option<Waiter> {
        let lane = self.lanes.get_mut(lane);
        let waiter = lane.calls.get_mut(user)?.pop_front()?;
        lane.waiting -= 1;
        lane.order.retain(|other| other != user);
        lane.order.push_back(user.clone());
        lane.drop_if_empty(user);
        Some(waiter)
    }

    /// Takes a call out wherever it stands.
    pub(crate) fn remove(&mut self, lane: Lane, user: &User, ticket: Ticket) -> Option<Waiter> {
        let lane = self.lanes.get_mut(lane);
        let calls = lane.calls.get_mut(user)?;
        let position = calls.iter().position(|waiter| waiter.ticket == ticket)?;
        let waiter = calls.remove(position)?;
        lane.waiting -= 1;
        lane.drop_if_empty(user);
        self.stirred = true;
        Some(waiter)
    }
}

impl LaneQueue {
    fn drop_if_empty(&mut self, user: &User) {
        if self.calls.get(user).is_some_and(VecDeque::is_empty) {
            self.calls.remove(user);
            self.order.retain(|other| other != user);
        }
    }
}

pub(crate) fn user_of(call: &Call) -> User {
    (call.tenant.clone(), call.user.clone())
}
