//! Turns: which waiting call goes next.
//!
//! A waiting call that its own user's (or tenant's) budget blocks is passed over. One that
//! only the app's shared room blocks keeps its turn until it fits: nobody of its lane or a
//! worse one goes before it, else small calls would starve large ones. Foreground goes first,
//! but of so many turns ([`Settings::background_turn`](crate::Settings::background_turn)) with
//! admissible calls in both lanes at least one is the background's, else foreground demand
//! at app scope would starve jobs for ever. One that cannot fit before its hold is over is
//! refused as soon as that is known.

use crate::breaker::Breaker;
use crate::budget::{Cost, Shortage};
use crate::call::{Call, Lane, Scope};
use crate::charge::Stand;
use crate::decision::{BlockedBy, Busy, Refusal, Settled, Ticket};
use crate::engine::Engine;
use crate::key::KeyRef;
use crate::queue::{Queue, Spot, Waiter};
use crate::time::Instant;
use crate::tree::{Path, Place};

/// What a lane's waiting calls can do.
#[derive(Clone, Copy, Debug)]
enum Next {
    /// None is waiting, or each is blocked by its own budgets or the lane's share.
    Nobody,
    /// This one fits.
    Fits(Waiter),
    /// One waits for the app's shared room and keeps its turn.
    Held,
}

/// What keeps a waiting call.
struct Blocked {
    /// Everything together.
    worst: Shortage,
    /// The narrowest scope at which something does.
    scope: Scope,
    /// What does there.
    narrowest: Shortage,
    /// When a budget that recovers does so by time alone, answers or not.
    recovered_at: Option<Instant>,
}

impl Stand {
    /// How many calls of this user's wait in `lane`.
    pub(crate) fn waiting_of(&self, queue: &Queue, lane: Lane) -> usize {
        let tenant = self.own.at(Scope::Tenant);
        tenant
            .zip(self.own.at(Scope::User))
            .map_or(0, |(tenant, user)| queue.waiting_of(lane, tenant, user))
    }
}

impl Engine {
    /// Lets go whatever waits for this app and fits now, in order of turns.
    pub(crate) fn pass(&mut self, app: Place) {
        let now = self.now;
        if !self
            .queues
            .get_mut(&app)
            .is_some_and(|queue| queue.awake(now))
        {
            return;
        }
        // Taken out meanwhile: whose turn it is, the queue says; whether it fits, the engine.
        let Some(mut queue) = self.queues.remove(&app) else {
            return;
        };
        loop {
            queue.stirred = false;
            if let Some(waiter) = self.next_turn(&mut queue) {
                queue.take_turn(&waiter);
                self.settle_turn(waiter);
            } else if !queue.stirred {
                // Nobody was turned away meanwhile for whom another stood back or aside.
                break;
            }
        }
        if queue.len() > 0 {
            self.queues.insert(app, queue);
        }
    }

    /// Whether a newcomer has to stand behind others, and until when those wait.
    pub(crate) fn must_queue(&self, stand: &Stand, lane: Lane) -> Option<Option<Instant>> {
        if self.queues.is_empty() {
            return None;
        }
        let queue = self.queues.get(&stand.own.at(Scope::App)?)?;
        for lane in Lane::ALL.into_iter().filter(|better| *better <= lane) {
            if stand.waiting_of(queue, lane) > 0 {
                return Some(queue.wake_at());
            }
            if let Some(at) = queue.held_until.get(lane) {
                return Some(Some(*at));
            }
            if let Some(tenant) = stand.own.at(Scope::Tenant)
                && queue.is_tenant_aside(lane, tenant)
            {
                return Some(queue.wake_at());
            }
        }
        None
    }

    /// Whether another call of this user's may wait: where the queue is full, the newest call
    /// of the user that has most waiting makes room, unless that is this one.
    pub(crate) fn queue_has_room(&mut self, stand: &Stand) -> bool {
        let queue = stand
            .own
            .at(Scope::App)
            .and_then(|app| self.queues.get(&app));
        let Some(queue) = queue.filter(|queue| queue.len() >= self.settings.waiters_max) else {
            return self.settings.waiters_max > 0;
        };
        let own = Lane::ALL
            .into_iter()
            .map(|lane| stand.waiting_of(queue, lane))
            .sum::<usize>();
        let Some(newest) = queue.newest_of_longest(own + 1) else {
            return false;
        };
        if let Some(waiter) = self.unpark(newest.ticket) {
            self.turn_away_for_others(waiter);
        }
        true
    }

    /// Puts a call into its queue; it may be settled at once.
    pub(crate) fn park(&mut self, stand: &Stand, call: &Call, deadline: Instant) -> Ticket {
        let ticket = Ticket(self.next_ticket);
        self.next_ticket += 1;
        let (user, _) = self.places_of(call, stand);
        self.tree.hold(user);
        let mut above = self.tree.lineage(user).skip(1);
        let tenant = above.next().unwrap_or(user);
        let app = above.next().unwrap_or(tenant);
        drop(above);
        let waiter = Waiter {
            ticket,
            tenant,
            user,
            lane: call.lane,
            weight: call.weight,
            since: self.now,
            deadline,
        };
        self.tickets.insert(
            ticket,
            Spot {
                app,
                tenant,
                user,
                lane: call.lane,
            },
        );
        self.deadlines.insert((deadline, ticket));
        self.queues.entry(app).or_default().push(waiter);
        self.pass(app);
        ticket
    }

    /// Takes a call out of its queue, if it still waits.
    pub(crate) fn unpark(&mut self, ticket: Ticket) -> Option<Waiter> {
        let spot = self.tickets.remove(&ticket)?;
        let queue = self.queues.get_mut(&spot.app)?;
        let waiter = queue.remove(spot.lane, spot.tenant, spot.user, ticket)?;
        self.deadlines.remove(&(waiter.deadline, ticket));
        if queue.len() == 0 {
            self.queues.remove(&spot.app);
        }
        self.tree.let_go(waiter.user);
        Some(waiter)
    }

    /// Tells a call that was taken out of its queue that it cannot go within its hold.
    pub(crate) fn turn_away(&mut self, waiter: Waiter) {
        let busy = self.told_to_return(&waiter);
        self.settled.push(Settled {
            ticket: waiter.ticket,
            outcome: Err(Refusal::Busy(busy)),
        });
    }

    fn turn_away_for_others(&mut self, waiter: Waiter) {
        let busy = Busy {
            blocked_by: BlockedBy::Queue,
            exact: false,
            ..self.told_to_return(&waiter)
        };
        self.settled.push(Settled {
            ticket: waiter.ticket,
            outcome: Err(Refusal::Busy(busy)),
        });
    }

    fn told_to_return(&mut self, waiter: &Waiter) -> Busy {
        let call = self.call_of(waiter.user, waiter.lane, waiter.weight);
        let stand = self.stand_of(waiter.user);
        let charges = self.charges(KeyRef::of(&call, call.workload, Scope::User), &stand);
        self.refuse(&stand, &charges, &call, None)
    }

    /// Something changed in the budgets of this user and those above it.
    pub(crate) fn stir(&mut self, user: Place) {
        if self.queues.is_empty() {
            return;
        }
        if self.settings.global.is_some() {
            // Room in the upstream's own limits concerns the app's calls of all workloads.
            return self.stir_all();
        }
        let mut above = self.tree.lineage(user).skip(1);
        let tenant = above.next().unwrap_or(user);
        let app = above.next().unwrap_or(tenant);
        drop(above);
        if let Some(queue) = self.queues.get_mut(&app) {
            queue.stir(tenant, user);
        }
    }

    /// Something changed that may concern anyone who waits.
    pub(crate) fn stir_all(&mut self) {
        self.queues.values_mut().for_each(Queue::stir_all);
    }

    /// Where a user's keys stand.
    pub(crate) fn stand_of(&self, user: Place) -> Stand {
        let mut own = Path::default();
        for place in self.tree.lineage(user) {
            if let Some(node) = self.tree.get(place) {
                own.set(node.scope, place);
            }
        }
        let key = self.tree.key(user);
        let global = key.and_then(|key| {
            let workload = self.global_of(key.workload)?;
            Some(self.tree.path(workload, key.app, key.tenant, key.user))
        });
        Stand {
            own,
            global: global.unwrap_or_default(),
        }
    }

    /// Whose turn it was goes. Its place was made when it came, so that room for it is counted.
    fn settle_turn(&mut self, waiter: Waiter) {
        self.tickets.remove(&waiter.ticket);
        self.deadlines.remove(&(waiter.deadline, waiter.ticket));
        let call = self.call_of(waiter.user, waiter.lane, waiter.weight);
        let stand = self.stand_of(waiter.user);
        let grant = self.grant(&call, &stand);
        self.tree.let_go(waiter.user);
        self.settled.push(Settled {
            ticket: waiter.ticket,
            outcome: Ok(grant),
        });
    }

    fn next_turn(&mut self, queue: &mut Queue) -> Option<Waiter> {
        queue.held_until = Default::default();
        queue.held_wake_at = None;
        let foreground = self.next_in(queue, Lane::Foreground);
        let background = self.next_in(queue, Lane::Background);
        let background_waits = !matches!(background, Next::Nobody);
        let background_due = match self.settings.background_turn {
            0 => false,
            turns => queue.foreground_turns + 1 >= turns,
        };
        if background_waits && background_due {
            let Next::Fits(waiter) = background else {
                // The turn is the background's and it keeps it: the foreground waits behind it.
                let until = *queue.held_until.get(Lane::Background);
                queue.held_until.foreground = until;
                return None;
            };
            queue.foreground_turns = 0;
            return Some(waiter);
        }
        match (foreground, background) {
            (Next::Fits(waiter), _) => {
                queue.foreground_turns = if background_waits {
                    queue.foreground_turns.saturating_add(1)
                } else {
                    0
                };
                Some(waiter)
            }
            (Next::Nobody, Next::Fits(waiter)) => {
                queue.foreground_turns = 0;
                Some(waiter)
            }
            (Next::Held, _) | (Next::Nobody, Next::Nobody | Next::Held) => None,
        }
    }

    /// The first waiting call of `lane` that its own budgets do not block.
    fn next_in(&mut self, queue: &mut Queue, lane: Lane) -> Next {
        while let Some(waiter) = queue.head(lane).copied() {
            if lane == Lane::Background
                && queue.is_user_aside(Lane::Foreground, waiter.tenant, waiter.user)
            {
                // It would use up what its user's better call waits for.
                queue.put_user_aside(&waiter, None);
                continue;
            }
            let Some(Blocked {
                worst,
                scope,
                narrowest,
                recovered_at,
            }) = self.blocked(&waiter)
            else {
                return Next::Fits(waiter);
            };
            if worst.earliest > waiter.deadline {
                self.give_up(queue, &waiter);
                continue;
            }
            let until = if narrowest.exact {
                Some(narrowest.at)
            } else {
                recovered_at
            };
            match scope {
                // Until its own room is free; then it may have to hold its turn for the app's.
                Scope::User => queue.put_user_aside(&waiter, until),
                Scope::Tenant => queue.put_tenant_aside(&waiter, until),
                Scope::App => {
                    *queue.held_until.get_mut(lane) = Some(worst.at);
                    queue.held_wake_at = [queue.held_wake_at, until].into_iter().flatten().min();
                    // Where the lane's own share is used up, room that others free does not help: it
                    // keeps its place in its lane, but takes no turn from the other one.
                    return if worst.share {
                        Next::Nobody
                    } else {
                        Next::Held
                    };
                }
            }
        }
        Next::Nobody
    }

    fn blocked(&mut self, waiter: &Waiter) -> Option<Blocked> {
        let stand = self.stand_of(waiter.user);
        let key = self.tree.key(waiter.user)?;
        let paused = self.paused_of(key, waiter.lane);
        let charges = self.charges(key, &stand);
        let cost = Cost {
            lane: waiter.lane,
            weight: waiter.weight,
        };
        let short = self.shortages(&charges, cost, paused);
        let scope = short.iter().map(|(charge, _)| charge.scope).min()?;
        let own = short.iter().filter(|(charge, _)| charge.scope == scope);
        let narrowest = own.map(|(_, shortage)| *shortage).reduce(Shortage::and)?;
        let worst = short
            .iter()
            .map(|(_, shortage)| *shortage)
            .reduce(Shortage::and)?;
        let breakers = charges
            .iter()
            .filter_map(|charge| self.tree.get(charge.place?)?.breaker());
        Some(Blocked {
            worst,
            scope,
            narrowest,
            recovered_at: breakers.filter_map(Breaker::recovered_at).min(),
        })
    }

    /// A waiting call cannot fit within its hold any more.
    fn give_up(&mut self, queue: &mut Queue, waiter: &Waiter) {
        queue.remove(waiter.lane, waiter.tenant, waiter.user, waiter.ticket);
        self.tickets.remove(&waiter.ticket);
        self.deadlines.remove(&(waiter.deadline, waiter.ticket));
        self.turn_away(*waiter);
        self.tree.let_go(waiter.user);
    }
}
