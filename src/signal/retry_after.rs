//! How long an answer asks to stay away.

use super::date;
use super::number::Decimal;
use super::{Answer, WAIT_MS_MAX};

/// In seconds or as a date (RFC 9110, section 10.2.3).
const IN_SECONDS: &str = "retry-after";
/// In milliseconds, as several Azure services write it beside or instead of the former.
const IN_MS: [&str; 2] = ["retry-after-ms", "x-ms-retry-after-ms"];

/// Whether the answer has such a header, readable or not.
pub(super) fn is_present(answer: &Answer<'_>) -> bool {
    let mut names = IN_MS.into_iter().chain([IN_SECONDS]);
    names.any(|name| answer.values(name).next().is_some())
}

/// The longest wait it gives, in milliseconds, rounded up; none if none is above 0.
pub(super) fn wait_ms(answer: &Answer<'_>) -> Option<u64> {
    let seconds = answer.values(IN_SECONDS);
    let seconds = seconds.filter_map(|value| read(value, answer.unix_ms));
    let ms = IN_MS.into_iter().flat_map(|name| answer.values(name));
    let ms = ms.filter_map(|value| longest(value, Decimal::up));
    let wait_ms = seconds.chain(ms).max()?;
    (wait_ms > 0).then_some(wait_ms.min(WAIT_MS_MAX))
}

/// A date holds a comma, so it is tried before a list.
fn read(value: &[u8], unix_ms: u64) -> Option<u64> {
    date::unix_s(value, unix_ms / 1_000)
        .map(|at_s| at_s.saturating_mul(1_000).saturating_sub(unix_ms))
        .or_else(|| longest(value, Decimal::thousandths_up))
}

/// The longest of a list: proxies and header maps join repeated headers with commas.
fn longest(value: &[u8], in_ms: fn(Decimal) -> u64) -> Option<u64> {
    value
        .split(|byte| *byte == b',')
        .filter_map(|part| Decimal::read(part.trim_ascii()))
        .map(in_ms)
        .max()
}
