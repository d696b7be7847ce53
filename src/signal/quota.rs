//! How much of a limit is used or left, as the upstream counts it.

use std::cmp::Reverse;

use super::number::{self, Decimal};
use super::{Answer, Remaining, WAIT_MS_MAX};

/// Ten times a limit. Documented are 0.8 to 1.8 (Microsoft Graph throttling, "Response
/// headers"); a number far above that means something else.
const PERCENTAGE_PERMILLE_MAX: u64 = 10_000;

/// The most that one call is believed to cost. Documented costs are 1 to 5 and a little more
/// for `$expand` (Microsoft Graph throttling limits); a number far above means something else.
const UNITS_MAX: u64 = 1_000;

/// `x-ms-resource-unit`, documented as a positive integer; a fraction is rounded up, and the
/// highest holds where several are given.
pub(super) fn charged_units(answer: &Answer<'_>) -> Option<u32> {
    answer
        .values("x-ms-resource-unit")
        .flat_map(items)
        .filter_map(Decimal::read)
        .map(Decimal::up)
        .filter(|units| (1..=UNITS_MAX).contains(units))
        .filter_map(|units| u32::try_from(units).ok())
        .max()
}

/// `x-ms-throttle-limit-percentage` in per mille, rounded down, so that thresholds are met
/// exactly; the highest where several are given.
///
/// Despite its name 1.3 is 130 %. A sign is taken at its word: `130%` is the same.
pub(super) fn percentage_permille(answer: &Answer<'_>) -> Option<u32> {
    answer
        .values("x-ms-throttle-limit-percentage")
        .filter_map(permille)
        .filter(|permille| *permille <= PERCENTAGE_PERMILLE_MAX)
        .filter_map(|permille| u32::try_from(permille).ok())
        .max()
}

fn permille(value: &[u8]) -> Option<u64> {
    let number = |text: &[u8]| {
        (!text.starts_with(b"-"))
            .then(|| Decimal::read(text))
            .flatten()
    };
    match value.strip_suffix(b"%") {
        Some(per_cent) => number(per_cent.trim_ascii()).map(Decimal::tenths_down),
        None => number(value).map(Decimal::thousandths_down),
    }
}

/// What is left by whichever form of the `RateLimit` fields the answer uses; the scarcest,
/// and of equally scarce ones the one that resets last.
pub(super) fn remaining(answer: &Answer<'_>) -> Option<Remaining> {
    let fields = answer.values("ratelimit").flat_map(by_policy);
    fields.chain(by_field(answer)).min_by_key(|left| {
        let (reset_ms, limit) = (Reverse(left.reset_ms), Reverse(left.limit));
        (left.remaining, reset_ms, limit)
    })
}

/// `RateLimit-Limit`, `-Remaining` and `-Reset` (draft-ietf-httpapi-ratelimit-headers-03,
/// the form SharePoint sends). A limit may be followed by policies: `100, 100;w=60`.
fn by_field(answer: &Answer<'_>) -> Option<Remaining> {
    let numbers = |name| {
        answer
            .values(name)
            .flat_map(items)
            .filter_map(number::whole)
    };
    Some(Remaining {
        remaining: numbers("ratelimit-remaining").min()?,
        limit: numbers("ratelimit-limit").max(),
        reset_ms: numbers("ratelimit-reset").max().map(in_ms),
    })
}

/// `RateLimit` in its two later forms: one item for each policy, `"burst";r=0;t=31` (from
/// draft 08), or one dictionary for all, `limit=100, remaining=0, reset=31` (draft 07).
fn by_policy(value: &[u8]) -> impl Iterator<Item = Remaining> {
    let policies = items(value).filter_map(|item| {
        let parameter = |name| last_parameter(parameters(item), name);
        left(parameter("r"), None, parameter("t"))
    });
    let all = |name| last_parameter(items(value).flat_map(parameters), name);
    policies.chain(left(all("remaining"), all("limit"), all("reset")))
}

fn left(remaining: Option<u64>, limit: Option<u64>, reset_s: Option<u64>) -> Option<Remaining> {
    Some(Remaining {
        remaining: remaining?,
        limit,
        reset_ms: reset_s.map(in_ms),
    })
}

fn items(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

fn parameters(item: &[u8]) -> impl Iterator<Item = &[u8]> {
    item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii)
}

/// The number behind the last `name=`: a policy's quoted name comes first, and may hold anything.
fn last_parameter<'a>(parameters: impl Iterator<Item = &'a [u8]>, name: &str) -> Option<u64> {
    let values = parameters.filter_map(|parameter| {
        let (key, value) = parameter.split_at_checked(name.len())?;
        let value = value.strip_prefix(b"=")?;
        key.eq_ignore_ascii_case(name.as_bytes())
            .then(|| number::whole(value))
            .flatten()
    });
    values.last()
}

fn in_ms(seconds: u64) -> u64 {
    seconds.saturating_mul(1_000).min(WAIT_MS_MAX)
}
