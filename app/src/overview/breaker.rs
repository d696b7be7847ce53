//! How breakers are said.

use super::icon::Icon;
use super::pill::Label;
use super::wording::{capital, plural};
use crate::instant;
use crate::live::{Breaker, BreakerReason, BreakerState};

/// The states in which not everything passes, the one that stops most first.
pub const WORST_FIRST: [BreakerState; 4] = [
    BreakerState::Open,
    BreakerState::HalfOpen,
    BreakerState::Recovering,
    BreakerState::Soft,
];

/// Whether it lets nothing through, or no more than a probe.
#[must_use]
pub fn stops(breaker: &Breaker) -> bool {
    matches!(breaker.state, BreakerState::Open | BreakerState::HalfOpen)
}

/// Whether an operator holds it where it is.
#[must_use]
pub fn is_forced(breaker: &Breaker) -> bool {
    breaker.reason == Some(BreakerReason::Forced)
}

/// The state within a sentence: `half-open`, `forced closed`.
#[must_use]
pub fn word(breaker: &Breaker) -> &'static str {
    match breaker.state {
        BreakerState::Closed if is_forced(breaker) => "forced closed",
        BreakerState::Open if is_forced(breaker) => "forced open",
        BreakerState::Closed => "closed",
        BreakerState::Soft => "soft",
        BreakerState::Open => "open",
        BreakerState::HalfOpen => "half-open",
        BreakerState::Recovering => "recovering",
    }
}

/// The breaker as a pill of one word; `None` if there is nothing to say of it.
#[must_use]
pub fn label(breaker: &Breaker) -> Option<Label> {
    let (class, icon) = match breaker.state {
        _ if is_forced(breaker) => ("quiet", Icon::Held),
        BreakerState::Closed => return None,
        BreakerState::Soft => ("near", Icon::Near),
        BreakerState::Open => ("full", Icon::Full),
        BreakerState::HalfOpen => ("near", Icon::Trying),
        BreakerState::Recovering => ("near", Icon::Rising),
    };
    Some(Label {
        class,
        icon,
        word: capital(word(breaker).to_owned()),
        more: String::new(),
    })
}

/// What follows the word: `: upstream throttles, next try in 12 s`.
#[must_use]
pub fn explanation(breaker: &Breaker, now_ms: i64) -> String {
    if let (true, Some(until)) = (is_forced(breaker), &breaker.until) {
        return [" until ", instant::time_of_day(until), " UTC"].concat();
    }
    match breaker.state {
        BreakerState::Closed => String::new(),
        BreakerState::Open => [": ", reason(breaker), &next_try(breaker, now_ms)].concat(),
        BreakerState::HalfOpen if breaker.probing => ": probing".to_owned(),
        BreakerState::HalfOpen => ": the next call is tried".to_owned(),
        BreakerState::Recovering => [": ", &at_once(breaker)].concat(),
        BreakerState::Soft => match wait(breaker, now_ms) {
            Some(wait) => [": background waits for ", &wait].concat(),
            None => ": background waits".to_owned(),
        },
    }
}

/// Why it is not closed.
#[must_use]
pub fn reason(breaker: &Breaker) -> &'static str {
    match breaker.reason {
        Some(BreakerReason::Throttled) => "upstream throttles",
        Some(BreakerReason::Percentage) if breaker.state == BreakerState::Soft => {
            "upstream says that the limit is near"
        }
        Some(BreakerReason::Percentage) => "upstream says that the limit is used up",
        Some(BreakerReason::Outage) => "upstream does not work",
        Some(BreakerReason::Forced) => "an operator said so",
        None => "nothing passes",
    }
}

/// `4 calls at once`, while it recovers.
#[must_use]
pub fn at_once(breaker: &Breaker) -> String {
    match breaker.ramp_calls {
        None | Some(0 | 1) => "1 call at a time".to_owned(),
        Some(calls) => plural(u64::from(calls), "call") + " at once",
    }
}

/// How long its state lasts yet, if that is known and not over.
#[must_use]
pub fn wait(breaker: &Breaker, now_ms: i64) -> Option<String> {
    let ms = instant::ms_until(now_ms, breaker.until.as_ref()?)?;
    (ms > 0).then(|| instant::wait(ms))
}

fn next_try(breaker: &Breaker, now_ms: i64) -> String {
    match wait(breaker, now_ms) {
        Some(wait) => [", next try in ", &wait].concat(),
        None => ", next try now".to_owned(),
    }
}

/// `upstream says 85 %, 4 s ago`; the figure is what was reported, even beyond 100 %.
#[must_use]
pub fn report(breaker: &Breaker, now_ms: i64) -> Option<String> {
    let percent = breaker.reported_permille? / 10;
    let age = instant::ms_since(now_ms, breaker.reported_at.as_ref()?)?;
    let age = instant::age(age);
    Some(format!("upstream says {percent} %, {age} ago"))
}

/// What it means that the upstream throttled although everything fitted, if it did.
#[must_use]
pub fn drift(breaker: &Breaker) -> Option<&'static str> {
    (breaker.drift > 0).then_some(
        "throttled though room was left: someone else uses the quota, or the limit is lower",
    )
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{NOW, forced, throttled};
    use super::*;

    const UNTIL: &str = "2026-11-30T14:03:39.250Z";

    fn said(breaker: &Breaker) -> String {
        let word = label(breaker).map(|it| it.word).unwrap_or_default();
        word + &explanation(breaker, NOW)
    }

    #[test]
    fn an_open_breaker_says_why_and_when_it_is_tried() {
        let open = throttled(BreakerState::Open, Some(UNTIL));
        assert_eq!(said(&open), "Open: upstream throttles, next try in 12 s");
        assert_eq!(
            explanation(&open, NOW + 11_001),
            ": upstream throttles, next try in 1 s"
        );
        assert_eq!(
            explanation(&open, NOW + 12_000),
            ": upstream throttles, next try now"
        );
        let reason = Some(BreakerReason::Outage);
        assert_eq!(
            said(&Breaker { reason, ..open }),
            "Open: upstream does not work, next try in 12 s"
        );
    }

    #[test]
    fn the_way_back_is_said_step_by_step() {
        let trying = throttled(BreakerState::HalfOpen, None);
        assert_eq!(said(&trying), "Half-open: the next call is tried");
        let probing = Breaker {
            probing: true,
            ..trying
        };
        assert_eq!(said(&probing), "Half-open: probing");
        let ramp = |calls| Breaker {
            ramp_calls: Some(calls),
            ..throttled(BreakerState::Recovering, None)
        };
        assert_eq!(
            [1, 4].map(|calls| said(&ramp(calls))),
            [
                "Recovering: 1 call at a time",
                "Recovering: 4 calls at once"
            ]
        );
        assert_eq!(said(&Breaker::default()), "");
    }

    #[test]
    fn soft_holds_only_the_background() {
        let soft = Breaker {
            reason: Some(BreakerReason::Percentage),
            ..throttled(BreakerState::Soft, Some(UNTIL))
        };
        assert_eq!(said(&soft), "Soft: background waits for 12 s");
        assert_eq!(explanation(&soft, NOW + 60_000), ": background waits");
    }

    #[test]
    fn what_is_forced_says_until_when() {
        let said = [BreakerState::Open, BreakerState::Closed].map(|it| said(&forced(it, UNTIL)));
        assert_eq!(
            said,
            [
                "Forced open until 14:03:39 UTC",
                "Forced closed until 14:03:39 UTC"
            ]
        );
    }

    #[test]
    fn a_report_is_said_as_it_was_with_its_age() {
        let breaker = |permille, at: &str| Breaker {
            reported_permille: Some(permille),
            reported_at: Some(at.to_owned()),
            ..Breaker::default()
        };
        assert_eq!(
            report(&breaker(854, "2026-11-30T14:03:23Z"), NOW).as_deref(),
            Some("upstream says 85 %, 4 s ago")
        );
        assert_eq!(
            report(&breaker(1_800, "2026-11-30T14:00:00Z"), NOW).as_deref(),
            Some("upstream says 180 %, 3 min ago")
        );
        assert_eq!(report(&Breaker::default(), NOW), None);
    }
}
