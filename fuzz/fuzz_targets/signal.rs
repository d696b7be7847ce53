//! No answer of an upstream, whatever its bytes, ends the process or yields a number out of bounds.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use spillway::signal::{Answer, Named, WAIT_MS_MAX, read};

/// The names that are read; arbitrary ones would never meet them.
const NAMES: [&str; 10] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "x-ms-throttle-scope",
    "x-ms-throttle-limit-percentage",
    "ratelimit",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "x-ms-resource-unit",
];

#[derive(Debug, Arbitrary)]
struct Input<'a> {
    status: u16,
    headers: Vec<(u8, &'a [u8])>,
    unix_ms: u64,
    body: &'a [u8],
}

fuzz_target!(|input: Input<'_>| {
    let name = |number: u8| NAMES[usize::from(number) % NAMES.len()];
    let headers: Vec<_> = input
        .headers
        .iter()
        .map(|(number, value)| (name(*number), *value))
        .collect();
    let signal = read(&Answer {
        status: input.status,
        headers: &headers,
        body: input.body,
        unix_ms: input.unix_ms,
    });
    assert!(
        signal
            .retry_after_ms
            .is_none_or(|ms| (1..=WAIT_MS_MAX).contains(&ms))
    );
    assert!(
        signal
            .percentage_permille
            .is_none_or(|permille| permille <= 10_000)
    );
    assert!(signal.named != Some(Named::default()));
    let reset_ms = signal.remaining.and_then(|left| left.reset_ms);
    assert!(reset_ms.is_none_or(|ms| ms <= WAIT_MS_MAX));
    assert!(
        signal
            .charged_units
            .is_none_or(|units| (1..=1_000).contains(&units))
    );
});
