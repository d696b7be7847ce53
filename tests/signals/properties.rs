//! What holds for any bytes.

use proptest::collection::vec;
use proptest::prelude::*;
use spillway::Scope;
use spillway::signal::{Answer, Named, Signal, Verdict, WAIT_MS_MAX, read};

use super::{NOW_MS, ONENOTE, wait_ms};

const NAMES: [&str; 11] = [
    "Retry-After",
    "retry-after-ms",
    "X-MS-Retry-After-Ms",
    "x-ms-throttle-scope",
    "x-ms-throttle-limit-percentage",
    "RateLimit",
    "RateLimit-Limit",
    "RateLimit-Remaining",
    "RateLimit-Reset",
    "x-ms-resource-unit",
    "",
];

/// Any bytes, and bytes that are nearly right.
fn value() -> impl Strategy<Value = Vec<u8>> {
    let nearly =
        r#"([-+0-9.,;:%/_ ="\\]|Tenant|User|Application|GMT|Sun|Nov|1994|r=|t=|remaining=){0,12}"#;
    prop_oneof![
        vec(any::<u8>(), 0..64),
        nearly.prop_map(String::into_bytes),
        r"\PC{0,40}".prop_map(String::into_bytes),
    ]
}

fn headers() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    vec((prop::sample::select(&NAMES[..]), value()), 0..8)
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    let nearly =
        r#"\{("(code|error|innerError|additional_data|20166|10008)"|[{}\[\]:, "\\]|20166){0,60}"#;
    prop_oneof![
        vec(any::<u8>(), 0..256),
        nearly.prop_map(String::into_bytes),
        (0..=ONENOTE.len()).prop_map(|cut| ONENOTE.as_bytes()[..cut].to_vec()),
    ]
}

fn status() -> impl Strategy<Value = u16> {
    prop_oneof![
        any::<u16>(),
        prop::sample::select(&[200, 202, 403, 404, 424, 429, 502, 503, 504, 529][..]),
    ]
}

fn read_all(status: u16, headers: &[(&'static str, Vec<u8>)], body: &[u8], unix_ms: u64) -> Signal {
    let headers: Vec<_> = headers
        .iter()
        .map(|(name, value)| (*name, value.as_slice()))
        .collect();
    read(&Answer {
        status,
        headers: &headers,
        body,
        unix_ms,
    })
}

fn is_within_bounds(signal: &Signal) -> bool {
    let waits = matches!(signal.verdict, Verdict::Throttled | Verdict::Outage);
    let reset_ms = signal.remaining.and_then(|left| left.reset_ms);
    signal
        .retry_after_ms
        .is_none_or(|ms| waits && (1..=WAIT_MS_MAX).contains(&ms))
        && signal.named.is_none_or(|named| named != Named::default())
        && signal
            .percentage_permille
            .is_none_or(|permille| permille <= 10_000)
        && reset_ms.is_none_or(|ms| ms <= WAIT_MS_MAX)
        && signal
            .charged_units
            .is_none_or(|units| (1..=1_000).contains(&units))
}

proptest! {
    #[test]
    fn any_answer_is_read_within_bounds(
        status in status(), headers in headers(), body in body(), unix_ms in any::<u64>(),
    ) {
        let signal = read_all(status, &headers, &body, unix_ms);
        prop_assert!(is_within_bounds(&signal), "{:?}", signal);
    }

    #[test]
    fn the_order_of_headers_does_not_matter(
        status in status(), headers in headers(), turn in 0_usize..8,
    ) {
        let mut turned = headers.clone();
        turned.rotate_left(turn % headers.len().max(1));
        let before = read_all(status, &headers, b"", NOW_MS);
        prop_assert_eq!(before, read_all(status, &turned, b"", NOW_MS));
        turned.reverse();
        prop_assert_eq!(before, read_all(status, &turned, b"", NOW_MS));
    }

    /// Neither the status, nor a wait, nor a name is lost by what else is sent.
    #[test]
    fn more_headers_never_take_anything_away(headers in headers(), more in headers()) {
        let fewer = read_all(429, &headers, b"", NOW_MS);
        let all = read_all(429, &[headers, more].concat(), b"", NOW_MS);
        prop_assert_eq!(fewer.verdict, all.verdict);
        prop_assert!(fewer.retry_after_ms <= all.retry_after_ms);
        prop_assert!(fewer.percentage_permille <= all.percentage_permille);
        let (fewer, all) = (fewer.named.unwrap_or_default(), all.named.unwrap_or_default());
        prop_assert!(Scope::ALL.iter().all(|scope| !fewer.names(*scope) || all.names(*scope)));
    }

    #[test]
    fn a_wait_is_exact_to_the_millisecond_and_rounded_up(micros in 1..WAIT_MS_MAX * 1_000) {
        let written = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        prop_assert_eq!(wait_ms(&written), Some(micros.div_ceil(1_000)));
    }

    #[test]
    fn a_larger_number_never_waits_less(
        shorter in "[0-9]{1,30}(\\.[0-9]{1,9})?", more in 1_u64..1_000,
    ) {
        let (whole, fraction) = shorter.split_once('.').unwrap_or((&shorter, "0"));
        let longer = whole.parse::<u128>().expect("digits") + u128::from(more);
        let longer = format!("{longer}.{fraction}");
        prop_assert!(wait_ms(&shorter) <= wait_ms(&longer));
    }

    /// What is not an error is content, and content says nothing.
    #[test]
    fn bodies_below_400_change_nothing(status in 0_u16..400, body in body()) {
        let bare = read_all(status, &[], b"", NOW_MS);
        prop_assert_eq!(bare, read_all(status, &[], &body, NOW_MS));
    }

    /// The code is found under every error status, however the body goes on.
    #[test]
    fn throttling_by_code_holds_under_any_error_status(
        status in 400_u16.., tail in vec(any::<u8>(), 0..64),
    ) {
        let body = [br#"{"error":{"code":"20166""#.as_slice(), &tail].concat();
        let signal = read_all(status, &[], &body, NOW_MS);
        prop_assert_eq!(signal.verdict, Verdict::Throttled);
    }
}
