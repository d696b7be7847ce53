//! Waiting calls of one app: one queue per lane, in which tenants and their users take turns.
//!
//! Pure book-keeping; the engine decides who fits. A user's calls go in the order in which
//! they came. Turns go round the tenants, and within a tenant round its users, so that one
//! user's thousand calls never starve another's one. Whom the own budget blocks is put
//! aside, and looked at again when that budget changes or its time has come.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::call::{Lane, PerLane};
use crate::decision::Ticket;
use crate::time::Instant;
use crate::tree::Place;

/// A call that waits. Its user's key is held meanwhile.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiter {
    pub(crate) ticket: Ticket,
    pub(crate) tenant: Place,
    pub(crate) user: Place,
    pub(crate) lane: Lane,
    pub(crate) weight: u32,
    pub(crate) since: Instant,
    pub(crate) deadline: Instant,
}

/// Where a call waits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    pub(crate) app: Place,
    pub(crate) tenant: Place,
    pub(crate) user: Place,
    pub(crate) lane: Lane,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    lanes: PerLane<LaneQueue>,
    /// Each waiting user by how many of its calls wait, the longest last.
    lengths: BTreeSet<(usize, Place, Place)>,
    /// How many turns the foreground had while the background could have gone.
    pub(crate) foreground_turns: u32,
    /// For each lane, when a call that waits for the app's shared room will fit.
    pub(crate) held_until: PerLane<Option<Instant>>,
    /// When time alone lets a call that waits for shared room fit.
    pub(crate) held_wake_at: Option<Instant>,
    /// Whether something ended, left or came since the last pass.
    pub(crate) stirred: bool,
}

#[derive(Clone, Debug, Default)]
struct LaneQueue {
    tenants: BTreeMap<Place, TenantQueue>,
    /// The tenants that are not aside, by their turn.
    rotation: BTreeMap<u64, Place>,
    next_turn: u64,
    waiting: usize,
    /// When those aside are to be looked at again: a tenant's key or a user's.
    due: BTreeSet<(Instant, Place, Place)>,
}

#[derive(Clone, Debug, Default)]
struct TenantQueue {
    turn: u64,
    /// Whether its own budget blocks it, and until when if only time does.
    aside: Option<Option<Instant>>,
    users: BTreeMap<Place, UserQueue>,
    /// The users that are not aside, by their turn.
    rotation: BTreeMap<u64, Place>,
}

#[derive(Clone, Debug, Default)]
struct UserQueue {
    turn: u64,
    aside: Option<Option<Instant>>,
    calls: VecDeque<Waiter>,
}

impl Queue {
    /// How many wait in `lane`.
    pub(crate) fn waiting(&self, lane: Lane) -> usize {
        self.lanes.get(lane).waiting
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        Lane::ALL.into_iter().map(|lane| self.waiting(lane)).sum()
    }

    /// How many calls of this user wait in `lane`.
    pub(crate) fn waiting_of(&self, lane: Lane, tenant: Place, user: Place) -> usize {
        self.calls_of(lane, tenant, user).map_or(0, VecDeque::len)
    }

    /// Since when the longest-waiting call of this user waits in `lane`.
    pub(crate) fn oldest_of(&self, lane: Lane, tenant: Place, user: Place) -> Option<Instant> {
        Some(self.calls_of(lane, tenant, user)?.front()?.since)
    }

    /// Since when the longest-waiting call of `lane` waits.
    pub(crate) fn oldest(&self, lane: Lane) -> Option<Instant> {
        let tenants = self.lanes.get(lane).tenants.values();
        let users = tenants.flat_map(|tenant| tenant.users.values());
        users
            .filter_map(|user| Some(user.calls.front()?.since))
            .min()
    }

    /// When time alone may let something fit.
    pub(crate) fn wake_at(&self) -> Option<Instant> {
        let due = Lane::ALL
            .into_iter()
            .filter_map(|lane| Some(self.lanes.get(lane).due.first()?.0));
        due.chain(self.held_wake_at).min()
    }

    /// Whether this tenant is passed over in `lane`, since its own budget blocks it.
    pub(crate) fn is_tenant_aside(&self, lane: Lane, tenant: Place) -> bool {
        let tenant = self.lanes.get(lane).tenants.get(&tenant);
        tenant.is_some_and(|tenant| tenant.aside.is_some())
    }

    /// Whether this user is passed over in `lane`, since its own budget blocks it.
    pub(crate) fn is_user_aside(&self, lane: Lane, tenant: Place, user: Place) -> bool {
        let tenant = self.lanes.get(lane).tenants.get(&tenant);
        let user = tenant.and_then(|tenant| tenant.users.get(&user));
        user.is_some_and(|user| user.aside.is_some())
    }

    pub(crate) fn push(&mut self, waiter: Waiter) {
        self.lengthen(waiter.tenant, waiter.user, true);
        self.lanes.get_mut(waiter.lane).push(waiter);
        self.stirred = true;
    }

    /// The first call of whose turn it is.
    pub(crate) fn head(&self, lane: Lane) -> Option<&Waiter> {
        let lane = self.lanes.get(lane);
        let tenant = lane.tenants.get(lane.rotation.first_key_value()?.1)?;
        let user = tenant.rotation.first_key_value()?.1;
        tenant.users.get(user)?.calls.front()
    }

    /// Takes the first call of this user; its tenant and it have to wait for their next turns.
    pub(crate) fn take_turn(&mut self, waiter: &Waiter) {
        self.lanes
            .get_mut(waiter.lane)
            .end_turn(waiter.tenant, waiter.user);
        self.remove(waiter.lane, waiter.tenant, waiter.user, waiter.ticket);
    }

    /// Takes a call out wherever it stands.
    pub(crate) fn remove(
        &mut self,
        lane: Lane,
        tenant: Place,
        user: Place,
        ticket: Ticket,
    ) -> Option<Waiter> {
        let waiter = self.lanes.get_mut(lane).remove(tenant, user, ticket)?;
        self.lengthen(tenant, user, false);
        // A worse call of this user's may have stood back for it.
        self.stir(tenant, user);
        Some(waiter)
    }

    /// The user's own budget blocks it, until then if only time does: others go before it.
    pub(crate) fn put_user_aside(&mut self, waiter: &Waiter, until: Option<Instant>) {
        self.lanes
            .get_mut(waiter.lane)
            .put_user_aside(waiter.tenant, waiter.user, until);
    }

    /// The same of a whole tenant.
    pub(crate) fn put_tenant_aside(&mut self, waiter: &Waiter, until: Option<Instant>) {
        self.lanes
            .get_mut(waiter.lane)
            .put_tenant_aside(waiter.tenant, until);
    }

    /// Something changed for this user and its tenant: they are looked at again.
    pub(crate) fn stir(&mut self, tenant: Place, user: Place) {
        for lane in Lane::ALL {
            self.lanes.get_mut(lane).take_back(tenant, user);
        }
        self.stirred = true;
    }

    /// Something changed for all: everyone is looked at again.
    pub(crate) fn stir_all(&mut self) {
        for lane in Lane::ALL {
            self.lanes.get_mut(lane).take_all_back();
        }
        self.stirred = true;
    }

    /// Whose time has come is looked at again. True if there is anything to look at.
    pub(crate) fn awake(&mut self, now: Instant) -> bool {
        let due = self.wake_at().is_some_and(|at| at <= now);
        for lane in Lane::ALL {
            while let Some((tenant, user)) = self.lanes.get_mut(lane).pop_due(now) {
                self.stir(tenant, user);
            }
        }
        std::mem::take(&mut self.stirred) || due
    }

    /// The newest call of the user that has most waiting, if that is more than `fewest`.
    pub(crate) fn newest_of_longest(&self, fewest: usize) -> Option<Waiter> {
        let (length, tenant, user) = *self.lengths.last()?;
        if length <= fewest {
            return None;
        }
        let newest = Lane::ALL
            .into_iter()
            .filter_map(|lane| self.calls_of(lane, tenant, user)?.back());
        newest.max_by_key(|waiter| waiter.ticket).copied()
    }

    /// Every call that waits.
    pub(crate) fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        let lanes = Lane::ALL.into_iter().map(|lane| self.lanes.get(lane));
        let users = lanes
            .flat_map(|lane| lane.tenants.values())
            .flat_map(|tenant| tenant.users.values());
        users.flat_map(|user| &user.calls)
    }

    fn calls_of(&self, lane: Lane, tenant: Place, user: Place) -> Option<&VecDeque<Waiter>> {
        let tenant = self.lanes.get(lane).tenants.get(&tenant)?;
        Some(&tenant.users.get(&user)?.calls)
    }

    /// To be told before a call of this user's comes, and after one goes.
    fn lengthen(&mut self, tenant: Place, user: Place, comes: bool) {
        let lanes = Lane::ALL.into_iter();
        let length = lanes
            .map(|lane| self.waiting_of(lane, tenant, user))
            .sum::<usize>();
        let (before, after) = if comes {
            (length, length + 1)
        } else {
            (length + 1, length)
        };
        self.lengths.remove(&(before, tenant, user));
        if after > 0 {
            self.lengths.insert((after, tenant, user));
        }
    }
}

impl LaneQueue {
    fn turn(&mut self) -> u64 {
        self.next_turn += 1;
        self.next_turn
    }

    fn push(&mut self, waiter: Waiter) {
        let turn = self.turn();
        self.waiting += 1;
        let tenant = self
            .tenants
            .entry(waiter.tenant)
            .or_insert_with(|| TenantQueue {
                turn,
                ..TenantQueue::default()
            });
        let user = tenant
            .users
            .entry(waiter.user)
            .or_insert_with(|| UserQueue {
                turn,
                ..UserQueue::default()
            });
        user.calls.push_back(waiter);
        if user.aside.is_none() {
            tenant.rotation.insert(user.turn, waiter.user);
            if tenant.aside.is_none() {
                self.rotation.insert(tenant.turn, waiter.tenant);
            }
        }
    }

    fn remove(&mut self, tenant: Place, user: Place, ticket: Ticket) -> Option<Waiter> {
        let of = self.tenants.get_mut(&tenant)?;
        let queue = of.users.get_mut(&user)?;
        let position = queue
            .calls
            .iter()
            .position(|waiter| waiter.ticket == ticket)?;
        let waiter = queue.calls.remove(position)?;
        self.waiting -= 1;
        if position == 0 {
            // The next one may fit where this one did not.
            self.take_back(tenant, user);
        }
        self.drop_if_empty(tenant, user);
        Some(waiter)
    }

    fn drop_if_empty(&mut self, tenant: Place, user: Place) {
        let Some(of) = self.tenants.get_mut(&tenant) else {
            return;
        };
        if let Some(queue) = of.users.get(&user)
            && queue.calls.is_empty()
        {
            of.rotation.remove(&queue.turn);
            of.users.remove(&user);
        }
        if of.rotation.is_empty() {
            self.rotation.remove(&of.turn);
        }
        if of.users.is_empty() {
            self.tenants.remove(&tenant);
        }
    }

    fn end_turn(&mut self, tenant: Place, user: Place) {
        let turn = self.turn();
        let Some(of) = self.tenants.get_mut(&tenant) else {
            return;
        };
        if self.rotation.remove(&of.turn).is_some() {
            self.rotation.insert(turn, tenant);
        }
        of.turn = turn;
        if let Some(queue) = of.users.get_mut(&user) {
            if of.rotation.remove(&queue.turn).is_some() {
                of.rotation.insert(turn, user);
            }
            queue.turn = turn;
        }
    }

    fn put_user_aside(&mut self, tenant: Place, user: Place, until: Option<Instant>) {
        let Some(of) = self.tenants.get_mut(&tenant) else {
            return;
        };
        let Some(queue) = of.users.get_mut(&user) else {
            return;
        };
        queue.aside = Some(until);
        of.rotation.remove(&queue.turn);
        if of.rotation.is_empty() {
            self.rotation.remove(&of.turn);
        }
        self.due.extend(until.map(|at| (at, tenant, user)));
    }

    fn put_tenant_aside(&mut self, tenant: Place, until: Option<Instant>) {
        let Some(of) = self.tenants.get_mut(&tenant) else {
            return;
        };
        of.aside = Some(until);
        self.rotation.remove(&of.turn);
        self.due.extend(until.map(|at| (at, tenant, tenant)));
    }

    /// A tenant and one of its users are looked at again.
    fn take_back(&mut self, tenant: Place, user: Place) {
        let Some(of) = self.tenants.get_mut(&tenant) else {
            return;
        };
        if let Some(until) = of.aside.take()
            && let Some(at) = until
        {
            self.due.remove(&(at, tenant, tenant));
        }
        if let Some(queue) = of.users.get_mut(&user)
            && let Some(until) = queue.aside.take()
        {
            of.rotation.insert(queue.turn, user);
            if let Some(at) = until {
                self.due.remove(&(at, tenant, user));
            }
        }
        if !of.rotation.is_empty() {
            self.rotation.insert(of.turn, tenant);
        }
    }

    /// Everyone aside is looked at again.
    fn take_all_back(&mut self) {
        let tenants = self.tenants.iter();
        let everyone: Vec<_> = tenants
            .flat_map(|(tenant, of)| of.users.keys().map(|user| (*tenant, *user)))
            .collect();
        everyone
            .into_iter()
            .for_each(|(tenant, user)| self.take_back(tenant, user));
    }

    /// Whose time has come, one by one.
    fn pop_due(&mut self, now: Instant) -> Option<(Place, Place)> {
        let first = self.due.first().filter(|(at, ..)| *at <= now)?;
        let (_, tenant, user) = *first;
        self.due.pop_first();
        Some((tenant, user))
    }
}
