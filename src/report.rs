//! What an answer said, brought to the budgets that it concerns.
//!
//! | the answer | whom it concerns |
//! |---|---|
//! | throttled, scopes named | the budgets named; where one is not charged, the next wider |
//! | throttled, none named | the narrowest; the app's only if several users are throttled together |
//! | percentage | as throttled |
//! | 502, 503, 504, none at all | the app's outage record, once several users see nothing else |
//! | any other | all: it proves that they work |

use smallvec::SmallVec;

use crate::breaker::{Answered, Breaker, Reason};
use crate::call::{Lane, Permit, Scope};
use crate::engine::Engine;
use crate::key::Key;
use crate::lease::Held;
use crate::signal::{Named, Remaining, Signal, Verdict};
use crate::time::Instant;
use crate::tree::Place;

/// A budget's breaker has just opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Whose.
    pub key: Key,
    /// Why.
    pub reason: Reason,
    /// Until when, unless a probe fails then.
    pub until: Option<Instant>,
}

impl Engine {
    /// The answer to a running call has come, or as much of it as says something. To be told
    /// before the call is completed; of a call that has ended or expired it changes nothing.
    pub fn report(&mut self, now: Instant, permit: Permit, signal: &Signal) -> Vec<Trip> {
        let Some(answer) = self.answer(now, permit) else {
            return Vec::new();
        };
        self.charge_as_told(&answer, signal);
        let mut trips = Vec::new();
        match signal.verdict {
            Verdict::Throttled => {
                let named = signal
                    .named
                    .map_or_else(|| answer.unnamed(self), |named| answer.named(named));
                for scope in named {
                    let tripped = self.tell(&answer, scope, |breaker, it| {
                        breaker.throttled(it, signal.retry_after_ms)
                    });
                    trips.extend(tripped.then(|| answer.trip(self, scope)).flatten());
                }
            }
            Verdict::Passed | Verdict::Final => self.tell_all(&answer, |breaker, it| {
                breaker.unthrottled(it);
                breaker.works(it);
            }),
            Verdict::Outage => {
                self.tell_all(&answer, Breaker::unthrottled);
                trips.extend(self.fail(&answer));
            }
        }
        if let Some(permille) = signal.percentage_permille {
            let narrowest = signal
                .named
                .map_or_else(|| answer.narrowest(), |named| answer.named(named));
            for scope in narrowest {
                let tripped =
                    self.tell(&answer, scope, |breaker, it| breaker.reported(it, permille));
                trips.extend(tripped.then(|| answer.trip(self, scope)).flatten());
            }
        }
        self.stir(answer.held.user);
        trips
    }

    /// What the upstream says of what was used.
    fn charge_as_told(&mut self, answer: &Answer, signal: &Signal) {
        let (now, permit) = (answer.now, answer.held.permit);
        if let Some(units) = signal.charged_units {
            self.correct(now, permit, units);
        }
        if signal.unauthorized {
            self.spare_user(now, permit);
        }
        if let Some(remaining) = signal.remaining {
            self.raise(answer, remaining);
        }
    }

    /// Others use the quota too: what the upstream counts and this engine does not, counts
    /// for one window from now on.
    fn raise(&mut self, answer: &Answer, remaining: Remaining) {
        let Some(user) = self.tree.get(answer.held.user) else {
            return;
        };
        let workload = &self.workloads[usize::from(user.workload)];
        let Some((scope, dimension)) = workload.remaining_is_of else {
            return;
        };
        let mut budgets = answer.budgets.iter();
        let place = budgets
            .find(|(of, _)| *of == scope)
            .map(|(_, place)| *place);
        let Some(key) = place.and_then(|place| self.tree.key(place)) else {
            return;
        };
        let shape = workload.shape.of_key(key);
        let mut limits = shape.deciding();
        let limit = limits.find(|limit| limit.dimension == dimension);
        if let Some((place, limit)) = place.zip(limit)
            && let Some(node) = self.tree.get_mut(place)
        {
            node.advance(shape, answer.now);
            let counted = node.used(limit).total();
            let missing = u64::from(remaining.used_of(limit.limit())).saturating_sub(counted);
            let missing = u32::try_from(missing).unwrap_or(u32::MAX);
            node.land(shape, answer.now, Lane::Foreground, missing);
            self.tree.mark(place);
        }
    }

    /// The call got no answer: the connection broke, or the time was up.
    pub fn report_failure(&mut self, now: Instant, permit: Permit) -> Vec<Trip> {
        let Some(answer) = self.answer(now, permit) else {
            return Vec::new();
        };
        self.fail(&answer).into_iter().collect()
    }

    /// An operator forces a budget open or closed until then. It need not have been seen yet.
    pub fn force(&mut self, now: Instant, key: &Key, open: bool, until: Instant) {
        self.operate(now, key, |breaker| breaker.force(now, open, until));
    }

    /// An operator takes back whatever is in force, forced or learnt.
    pub fn reset(&mut self, now: Instant, key: &Key) {
        self.operate(now, key, Breaker::reset);
    }

    fn operate(&mut self, now: Instant, key: &Key, act: impl FnOnce(&mut Breaker)) {
        self.advance(now);
        let Some(workload) = self.workloads.get(key.workload) else {
            return;
        };
        let place = self.tree.make(key.as_ref(), &workload.shape);
        self.tree.tell(place, act);
        self.stir_all();
    }

    fn answer(&mut self, now: Instant, permit: Permit) -> Option<Answer> {
        let now = self.advance(now);
        let held = *self.leases.get(permit)?;
        let own = self.tree.get(held.user)?.workload;
        let mut budgets = SmallVec::new();
        for place in self.charged_places(&held) {
            // What the upstream says of a call concerns its workload's budgets alone.
            let node = self.tree.get(place).filter(|node| node.workload == own);
            budgets.extend(node.map(|node| (node.scope, place)));
        }
        Some(Answer { now, held, budgets })
    }

    fn tell<T: Default>(
        &mut self,
        answer: &Answer,
        scope: Scope,
        telling: impl FnOnce(&mut Breaker, &Answered<'_>) -> T,
    ) -> T {
        let mut budgets = answer.budgets.iter();
        let Some((_, place)) = budgets.find(|(of, _)| *of == scope) else {
            return T::default();
        };
        let Some(node) = self.tree.get(*place) else {
            return T::default();
        };
        let workload = &self.workloads[usize::from(node.workload)];
        let shape = self.tree.key(*place).map_or_else(
            || workload.shape.at(scope),
            |key| workload.shape.of_key(key),
        );
        let (calls_max, rules) = (shape.calls_max, *workload.policy.breakers());
        let Some(key) = self.tree.key(answer.held.user) else {
            return T::default();
        };
        let (tenant, user) = (key.tenant.to_owned(), key.user.to_owned());
        let answered = Answered {
            now: answer.now,
            permit: answer.held.permit,
            granted_at: answer.held.granted_at,
            user: (&tenant, &user),
            calls_max,
            rules,
        };
        let told = self.tree.tell(*place, |breaker| {
            breaker.advance(answered.now);
            telling(breaker, &answered)
        });
        told.unwrap_or_default()
    }

    fn tell_all(&mut self, answer: &Answer, telling: impl Fn(&mut Breaker, &Answered<'_>)) {
        for (scope, place) in &answer.budgets {
            // Good news is news only to a breaker that has something to say.
            if self.tree.has_breaker(*place) {
                self.tell(answer, *scope, &telling);
            }
        }
    }

    fn fail(&mut self, answer: &Answer) -> Option<Trip> {
        let widest = answer.budgets.last()?.0;
        let tripped = self.tell(answer, widest, Breaker::failed);
        tripped.then(|| answer.trip(self, widest)).flatten()
    }
}

/// An answered call and the budgets that it was charged to, narrowest first.
struct Answer {
    now: Instant,
    held: Held,
    budgets: SmallVec<[(Scope, Place); 4]>,
}

impl Answer {
    /// The budgets that were named; one that is not charged stands for the next wider that is.
    fn named(&self, named: Named) -> Vec<Scope> {
        let mut scopes = Vec::new();
        for (scope, is_named) in [
            (Scope::User, named.user),
            (Scope::Tenant, named.tenant),
            (Scope::App, named.app),
        ] {
            let charged = self
                .budgets
                .iter()
                .map(|(of, _)| *of)
                .find(|of| *of >= scope)
                .or_else(|| Some(self.budgets.last()?.0));
            scopes.extend(charged.filter(|_| is_named));
        }
        scopes.dedup();
        scopes
    }

    /// Nobody was named: the narrowest budget, and the app's if enough speaks for it.
    fn unnamed(&self, engine: &mut Engine) -> Vec<Scope> {
        let mut scopes = self.narrowest();
        if engine.tell(self, Scope::App, Breaker::suspects) && !scopes.contains(&Scope::App) {
            scopes.push(Scope::App);
        }
        scopes
    }

    fn narrowest(&self) -> Vec<Scope> {
        self.budgets
            .first()
            .map(|(scope, _)| *scope)
            .into_iter()
            .collect()
    }

    fn trip(&self, engine: &mut Engine, scope: Scope) -> Option<Trip> {
        let (_, place) = self.budgets.iter().find(|(of, _)| *of == scope)?;
        let view = engine.tree.get(*place)?.breaker()?.learnt_view();
        Some(Trip {
            key: engine.tree.key(*place)?.to_key(),
            reason: view.reason?,
            until: view.until,
        })
    }
}
