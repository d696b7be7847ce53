//! Turns: which waiting call goes next.
//!
//! A waiting call that its own user's (or tenant's) budget blocks is passed over. One that
//! only the app's shared room blocks keeps its turn until it fits: nobody of its lane or a
//! worse one goes before it, else small calls would starve large ones. Foreground goes first,
//! but of [`TURNS`] turns with admissible calls in both lanes at least one is the
//! background's, else foreground demand at app scope would starve jobs for ever.

use crate::call::{Call, Lane, Scope};
use crate::decision::{Settled, Ticket};
use crate::engine::{Engine, QueueKey};
use crate::queue::{Found, Queue, TURNS, User, Waiter, user_of};
use crate::time::Instant;

/// What a lane's waiting calls can do.
#[derive(Clone, Debug)]
enum Next {
    /// None is waiting, or each is blocked by its own budgets or the lane's share.
    Nobody,
    /// This user's first call fits.
    Fits(User),
    /// One waits for the app's shared room and keeps its turn.
    Held,
}

impl Engine {
    /// Lets go whatever of this queue fits now, in order of turns.
    pub(crate) fn pass(&mut self, key: &QueueKey) {
        let Some(mut queue) = self.queues.remove(key) else {
            return;
        };
        let due = queue.found.wake_at.is_some_and(|at| at <= self.now);
        if queue.stirred || due {
            queue.stirred = false;
            while let Some((lane, user)) = self.next_turn(&mut queue) {
                self.settle_turn(&mut queue, lane, &user);
            }
        }
        if queue.len() > 0 {
            self.queues.insert(key.clone(), queue);
        }
    }

    /// Whether a newcomer has to stand behind others, and until when those wait.
    pub(crate) fn must_queue(&self, key: &QueueKey, call: &Call) -> Option<Option<Instant>> {
        let queue = self.queues.get(key)?;
        if queue.has(call.lane, call) {
            return Some(queue.found.wake_at);
        }
        let better = Lane::ALL.into_iter().filter(|lane| *lane <= call.lane);
        for lane in better {
            if let Some(at) = queue.found.held_until.get(lane) {
                return Some(Some(*at));
            }
            if queue.found.tenants.get(lane).contains(&call.tenant) {
                return Some(queue.found.wake_at);
            }
        }
        None
    }

    /// Puts a call into its queue; it may be settled at once.
    pub(crate) fn park(&mut self, key: QueueKey, call: Call, deadline: Instant) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        self.tickets
            .insert(ticket, (key.clone(), call.lane, user_of(&call)));
        self.deadlines.insert((deadline, ticket));
        let queue = self.queues.entry(key.clone()).or_default();
        queue.push(Waiter {
            ticket,
            call,
            since: self.now,
            deadline,
        });
        queue.stirred = true;
        self.pass(&key);
        ticket
    }

    /// Takes a call out of its queue, if it still waits.
    pub(crate) fn unpark(&mut self, ticket: Ticket) -> Option<Waiter> {
        let (key, lane, user) = self.tickets.remove(&ticket)?;
        let queue = self.queues.get_mut(&key)?;
        let waiter = queue.remove(lane, &user, ticket)?;
        self.deadlines.remove(&(waiter.deadline, ticket));
        if queue.len() == 0 {
            self.queues.remove(&key);
        }
        Some(waiter)
    }

    fn settle_turn(&mut self, queue: &mut Queue, lane: Lane, user: &User) {
        let Some(waiter) = queue.take_turn(lane, user) else {
            return;
        };
        self.tickets.remove(&waiter.ticket);
        self.deadlines.remove(&(waiter.deadline, waiter.ticket));
        let outcome = self.grant_new(&waiter.call);
        self.settled.push(Settled {
            ticket: waiter.ticket,
            outcome,
        });
    }

    fn next_turn(&mut self, queue: &mut Queue) -> Option<(Lane, User)> {
        queue.found = Found::default();
        let foreground = self.next_in(queue, Lane::Foreground);
        let background = self.next_in(queue, Lane::Background);
        let background_waits = !matches!(background, Next::Nobody);
        if background_waits && queue.foreground_turns >= TURNS - 1 {
            let Next::Fits(user) = background else {
                // The turn is the background's and it keeps it: the foreground waits behind it.
                let until = *queue.found.held_until.get(Lane::Background);
                queue.found.held_until.foreground = until;
                return None;
            };
            queue.foreground_turns = 0;
            return Some((Lane::Background, user));
        }
        match (foreground, background) {
            (Next::Fits(user), _) => {
                queue.foreground_turns = if background_waits {
                    queue.foreground_turns + 1
                } else {
                    0
                };
                Some((Lane::Foreground, user))
            }
            (Next::Nobody, Next::Fits(user)) => {
                queue.foreground_turns = 0;
                Some((Lane::Background, user))
            }
            (Next::Held, _) | (Next::Nobody, Next::Nobody | Next::Held) => None,
        }
    }

    /// The first waiting call of `lane` that its own budgets do not block.
    fn next_in(&mut self, queue: &mut Queue, lane: Lane) -> Next {
        let heads: Vec<Call> = queue
            .heads(lane)
            .map(|waiter| waiter.call.clone())
            .collect();
        for call in heads {
            if queue.found.tenants.get(lane).contains(&call.tenant) {
                continue;
            }
            let short = self.shortages(&call);
            let Some((_, worst)) = short
                .iter()
                .copied()
                .reduce(|(scope, a), (_, b)| (scope, a.and(b)))
            else {
                return Next::Fits(user_of(&call));
            };
            if worst.exact {
                let wake_at = queue.found.wake_at.map_or(worst.at, |at| at.min(worst.at));
                queue.found.wake_at = Some(wake_at);
            }
            if short.iter().any(|(scope, _)| *scope == Scope::User) {
                continue;
            }
            if short.iter().any(|(scope, _)| *scope == Scope::Tenant) {
                queue.found.tenants.get_mut(lane).insert(call.tenant);
                continue;
            }
            *queue.found.held_until.get_mut(lane) = Some(worst.at);
            // Where the lane's own share is used up, room that others free does not help: it
            // keeps its place in its lane, but takes no turn from the other one.
            return if worst.share {
                Next::Nobody
            } else {
                Next::Held
            };
        }
        Next::Nobody
    }
}
