//! A breaker opens only for what concerns it: an outage takes at least five failures of at
//! least two users over at least ten seconds with no success in between, and an answer that
//! names nobody stops the app only if three users were throttled within ten seconds.

use std::collections::{BTreeMap, BTreeSet};

use spillway::{Call, Instant, Key, Permit, Scope, Signal, Trip, Verdict};

use super::{Invariant, require};
use crate::adapter::keys;
use crate::seen::{Scene, Seen};

const FAILURES: usize = 5;
const FAILING_MS: u64 = 10_000;
const USERS: usize = 2;
const THROTTLED_USERS: usize = 3;
const THROTTLED_MS: u64 = 10_000;

type User = (String, String);

/// What was heard of one budget.
#[derive(Default)]
struct Heard {
    /// Since the last success: when, and whose call failed.
    failures: Vec<(Instant, User)>,
    /// Who was throttled when, with nobody named.
    throttled: Vec<(Instant, User)>,
    /// It was open for an outage before: a probe's failure opens it again.
    opened: bool,
}

/// What was heard of each budget.
#[derive(Default)]
pub struct OpensForAReason {
    budgets: BTreeMap<Key, Heard>,
}

impl Invariant for OpensForAReason {
    fn name(&self) -> &'static str {
        "opens for a reason"
    }

    fn see(&mut self, seen: &Seen<'_>, scene: &mut Scene<'_>) -> Result<(), String> {
        let Seen::Reported {
            permit,
            call,
            signal,
            trips,
        } = seen
        else {
            return Ok(());
        };
        if scene.driver.lease(*permit).is_none() {
            return require(trips.is_empty(), || format!("{permit} trips after its end"));
        }
        let keys = keys(&scene.script.policies, call);
        self.hears(call, *signal, &keys, scene);
        trips
            .iter()
            .try_for_each(|trip| self.judge(*permit, *signal, &keys, trip))
    }
}

impl OpensForAReason {
    fn hears(&mut self, call: &Call, signal: Option<&Signal>, keys: &[Key], scene: &Scene<'_>) {
        let user = (call.tenant.clone(), call.user.clone());
        for key in keys {
            let heard = self.budgets.entry(key.clone()).or_default();
            match signal {
                None => heard.failures.push((scene.now, user.clone())),
                Some(signal) => match signal.verdict {
                    Verdict::Outage => heard.failures.push((scene.now, user.clone())),
                    Verdict::Passed | Verdict::Final => heard.failures.clear(),
                    Verdict::Throttled if signal.named.is_none() => {
                        heard.throttled.push((scene.now, user.clone()));
                    }
                    Verdict::Throttled => {}
                },
            }
            let now = scene.now;
            heard
                .throttled
                .retain(|(at, _)| at.plus_ms(THROTTLED_MS) > now);
        }
    }

    fn judge(
        &mut self,
        permit: Permit,
        signal: Option<&Signal>,
        keys: &[Key],
        trip: &Trip,
    ) -> Result<(), String> {
        require(keys.contains(&trip.key), || {
            format!("{permit} is not charged to {trip:?}")
        })?;
        let heard = self.budgets.entry(trip.key.clone()).or_default();
        let failed = signal.is_none_or(|signal| signal.verdict == Verdict::Outage);
        if failed {
            let opened = std::mem::replace(&mut heard.opened, true);
            let users: BTreeSet<_> = heard.failures.iter().map(|(_, user)| user).collect();
            let (first, last) = (heard.failures.first(), heard.failures.last());
            let lasted_ms = first
                .zip(last)
                .map_or(0, |(first, last)| last.0.ms_since(first.0));
            let enough = heard.failures.len() >= FAILURES && users.len() >= USERS;
            return require(opened || enough && lasted_ms >= FAILING_MS, || {
                format!("{trip:?} after {:?}", heard.failures)
            });
        }
        let unnamed = signal.is_some_and(|signal| {
            signal.verdict == Verdict::Throttled
                && signal.named.is_none()
                && signal.percentage_permille.is_none()
        });
        let narrowest = keys.first().map(|key| key.scope);
        if unnamed && trip.key.scope == Scope::App && narrowest != Some(Scope::App) {
            let users: BTreeSet<_> = heard.throttled.iter().map(|(_, user)| user).collect();
            return require(users.len() >= THROTTLED_USERS, || {
                format!("{trip:?} after {:?}", heard.throttled)
            });
        }
        Ok(())
    }
}
