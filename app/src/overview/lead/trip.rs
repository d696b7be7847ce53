//! Breakers that are not closed.

use super::{Lead, Part, Placed, Tone, quota};
use crate::live::{Breaker, BreakerReason, BreakerState, Scope};
use crate::overview::breaker::{WORST_FIRST, at_once, drift, report, stops, wait};
use crate::overview::wording::{capital, count, plural};

/// Whether its breaker lets nothing through, or no more than a probe.
pub fn is_stopped(placed: &Placed<'_>) -> bool {
    stops(&placed.budget.breaker)
}

/// Whether its breaker lets only a part through.
pub fn is_slowed(placed: &Placed<'_>) -> bool {
    placed.budget.breaker.state != BreakerState::Closed && !is_stopped(placed)
}

/// Apps and tenants that are stopped, if any is.
pub fn shared_stopped(shared: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let stopped: Vec<_> = shared.iter().filter(|it| is_stopped(it)).collect();
    let worst = worst(&stopped)?;
    let hit = match (&worst.budget.breaker, stopped.len() as u64 - 1) {
        (breaker, 0) if breaker.state == BreakerState::HalfOpen => one_finds_out(breaker),
        (_, 0) => "all its users are hit".to_owned(),
        (_, 1) => "another shared budget is stopped too".to_owned(),
        (_, more) => [&count(more), " other shared budgets are stopped too"].concat(),
    };
    let forced = worst.budget.breaker.reason == Some(BreakerReason::Forced);
    Some(Lead {
        // What is done on purpose is no alarm.
        tone: if forced { Tone::Some } else { Tone::All },
        headline: [&cause(worst, &worst.who()), "; ", &hit, "."].concat(),
        detail: explain(worst, "Its calls", now_ms),
    })
}

/// Users who are stopped, if any is.
pub fn users_stopped(users: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let stopped: Vec<_> = users.iter().filter(|it| is_stopped(it)).collect();
    let worst = worst(&stopped)?;
    let number = stopped.len() as u64;
    let alike = |it: &&Placed<'_>| {
        it.upstream == worst.upstream && it.budget.breaker.reason == worst.budget.breaker.reason
    };
    let cause = match number {
        1 => cause(worst, &worst.who()),
        _ if stopped.iter().all(alike) => cause(worst, &plural(number, "user")),
        _ => ["Breakers stop ", &plural(number, "user")].concat(),
    };
    let who = worst.who();
    let calls = match number {
        1 => ["Calls of ", &who].concat(),
        _ => ["Longest, calls of ", &who].concat(),
    };
    Some(Lead {
        tone: Tone::Some,
        headline: [&cause, "; ", &quota::others(users, true), "."].concat(),
        detail: explain(worst, &calls, now_ms),
    })
}

/// The one user of a page, if it is stopped: nothing is known of others.
pub fn one_stopped(own: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let stopped = own.iter().find(|it| is_stopped(it))?;
    Some(Lead {
        tone: Tone::All,
        headline: cause(stopped, &stopped.who()) + ".",
        detail: explain(stopped, "Its calls", now_ms),
    })
}

/// Budgets whose breakers let only a part through, if any does.
pub fn slowed(all: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let slowed: Vec<_> = all.iter().filter(|it| is_slowed(it)).collect();
    let worst = worst(&slowed)?;
    let breaker = &worst.budget.breaker;
    let who = match slowed.len() as u64 {
        number if number > 1 && worst.budget.scope == Scope::User => plural(number, "user"),
        _ => worst.who(),
    };
    let (headline, detail) = match breaker.state {
        BreakerState::Recovering => (
            [&cause(worst, &who), ", and lets calls through again."].concat(),
            vec![Part::Text(
                [
                    "For now ",
                    &at_once(breaker),
                    ", twice as many after each round that passes, by itself. ",
                ]
                .concat(),
            )],
        ),
        _ => (
            [
                &capital(worst.upstream.to_owned()),
                " reports the limit of ",
                &who,
                " as nearly used up.",
            ]
            .concat(),
            explain(worst, "Background calls", now_ms),
        ),
    };
    Some(Lead {
        tone: Tone::Some,
        headline,
        detail,
    })
}

/// The one that stops most, and longest.
fn worst<'a, 'b>(all: &[&'b Placed<'a>]) -> Option<&'b Placed<'a>> {
    // RFC 3339 in UTC sorts as text.
    let latest = |state| {
        let such = all.iter().filter(|it| it.budget.breaker.state == state);
        such.max_by_key(|it| it.budget.breaker.until.as_deref())
    };
    WORST_FIRST.into_iter().find_map(latest).copied()
}

/// `Graph throttles the app note-bridge`; in the past where that is being found out.
fn cause(placed: &Placed<'_>, who: &str) -> String {
    let breaker = &placed.budget.breaker;
    let now = breaker.state == BreakerState::Open;
    let upstream = capital(placed.upstream.to_owned());
    let (does, did, after) = match breaker.reason {
        Some(BreakerReason::Throttled) => (" throttles ", " throttled ", ""),
        Some(BreakerReason::Percentage) => (
            " reports the limit of ",
            " reported the limit of ",
            " as used up",
        ),
        Some(BreakerReason::Outage) => (" does not work for ", " did not work for ", ""),
        Some(BreakerReason::Forced) => return ["An operator has stopped ", who].concat(),
        None => return ["The breaker stops ", who].concat(),
    };
    [upstream.as_str(), if now { does } else { did }, who, after].concat()
}

fn one_finds_out(breaker: &Breaker) -> String {
    let call = if breaker.probing {
        "one call is finding out"
    } else {
        "the next call finds out"
    };
    [call, " whether it still does"].concat()
}

/// What happens to `calls`, until when, and what then.
fn explain(placed: &Placed<'_>, calls: &str, now_ms: i64) -> Vec<Part> {
    let breaker = &placed.budget.breaker;
    let on = [" on ", &placed.place()].concat();
    let mut parts = match (breaker.state, &breaker.until) {
        (BreakerState::HalfOpen, _) => {
            let all = [
                calls,
                &on,
                " are kept back here; if the one that is tried passes, more follow by themselves. ",
            ];
            vec![Part::Text(all.concat())]
        }
        (_, Some(until)) => kept_back(&[calls, &on].concat(), breaker, until, now_ms),
        _ => vec![Part::Text([calls, &on, " are kept back here. "].concat())],
    };
    let said = report(breaker, now_ms)
        .filter(|_| breaker.reason == Some(BreakerReason::Percentage))
        .map(|report| [&capital(report), ". "].concat());
    let drift = drift(breaker).map(|drift| ["It was ", drift, ". "].concat());
    parts.extend(said.into_iter().chain(drift).map(Part::Text));
    parts
}

fn kept_back(calls: &str, breaker: &Breaker, until: &str, now_ms: i64) -> Vec<Part> {
    let then = match (breaker.state, breaker.reason) {
        (BreakerState::Soft, _) => ", unless it says so again; a person's calls pass. ",
        (_, Some(BreakerReason::Forced)) => "; then they pass again by themselves. ",
        _ => "; then one is tried. ",
    };
    let wait = match wait(breaker, now_ms) {
        Some(wait) => ["for another ", &wait, ", "].concat(),
        None => String::new(),
    };
    vec![
        Part::Text([calls, " are kept back here ", &wait, "until "].concat()),
        Part::At(until.to_owned()),
        Part::Text(then.to_owned()),
    ]
}
