//! `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11): lists of
//! structured fields, here of one item each, the tightest limit that the call meets.

use std::{fmt::Write as _, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use crate::limiter::{BlockedBy, Left};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Most limits and their policies fit together in so many bytes.
const TEXT_USUAL: usize = 128;

/// Adds what is left; nothing where nothing limits the call.
pub(super) fn tell(headers: &mut HeaderMap, left: Option<&Left>) {
    let Some(left) = left else {
        return;
    };
    // Both in one text: most answers have them.
    let mut text = String::with_capacity(TEXT_USUAL);
    limit(&mut text, left);
    let limit_ends = text.len();
    policy(&mut text, left);
    let mut policy = Bytes::from(text);
    let limit = policy.split_to(limit_ends);
    for (name, value) in [(RATE_LIMIT, limit), (RATE_LIMIT_POLICY, policy)] {
        if let Ok(value) = HeaderValue::from_maybe_shared(value) {
            headers.insert(name, value);
        }
    }
}

/// `"user/rate/60s";q=120;w=60`: the lane's part of the limit, per window.
fn policy(text: &mut String, left: &Left) {
    let (name, limit) = (name(left), left.headroom.limit);
    // Memory takes everything.
    let _ = match left.window {
        Some(window) => write!(text, "\"{name}\";q={limit};w={}", whole_s(window).max(1)),
        None => write!(text, "\"{name}\";q={limit};qu=\"concurrent-requests\""),
    };
}

/// `"user/rate/60s";r=80;t=12`: so much may be used now, and no more comes back before then.
fn limit(text: &mut String, left: &Left) {
    let (name, remaining) = (name(left), left.headroom.remaining);
    let _ = match left.more_in {
        Some(more_in) => write!(text, "\"{name}\";r={remaining};t={}", whole_s(more_in)),
        None => write!(text, "\"{name}\";r={remaining}"),
    };
}

/// As the gateway names a layer in `Spillway-Blocked-By`.
fn name(left: &Left) -> BlockedBy {
    BlockedBy::Layer {
        scope: left.headroom.scope,
        dimension: left.headroom.dimension,
    }
}

/// Rounded up: whoever comes then finds it so.
pub(super) fn whole_s(wait: Duration) -> u64 {
    wait.as_secs()
        .saturating_add(u64::from(wait.subsec_nanos() > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use spillway::{Dimension, Headroom, Scope};

    fn left(dimension: Dimension, window: Option<Duration>, more_in: Option<Duration>) -> Left {
        let headroom = Headroom {
            scope: Scope::User,
            dimension,
            limit: 120,
            remaining: 80,
            more_in_ms: None,
        };
        Left {
            headroom,
            window,
            more_in,
        }
    }

    fn policy(left: &Left) -> String {
        told(left)[&RATE_LIMIT_POLICY].to_str().unwrap().to_owned()
    }

    fn limit(left: &Left) -> String {
        told(left)[&RATE_LIMIT].to_str().unwrap().to_owned()
    }

    fn told(left: &Left) -> HeaderMap {
        let mut headers = HeaderMap::new();
        tell(&mut headers, Some(left));
        headers
    }

    #[test]
    fn a_rate_is_told_in_whole_seconds_and_never_a_window_of_none() {
        let rate = left(
            Dimension::Rate { window_ms: 60_000 },
            Some(Duration::from_secs(60)),
            Some(Duration::from_millis(12_001)),
        );
        assert_eq!(policy(&rate), r#""user/rate/60s";q=120;w=60"#);
        assert_eq!(limit(&rate), r#""user/rate/60s";r=80;t=13"#);
        let short = left(
            Dimension::Rate { window_ms: 100 },
            Some(Duration::from_millis(2)),
            Some(Duration::ZERO),
        );
        assert_eq!(policy(&short), r#""user/rate/1s";q=120;w=1"#);
        assert_eq!(limit(&short), r#""user/rate/1s";r=80;t=0"#);
    }

    #[test]
    fn a_concurrency_has_its_unit_and_no_window() {
        let slots = left(Dimension::Concurrency, None, None);
        assert_eq!(
            policy(&slots),
            r#""user/concurrency";q=120;qu="concurrent-requests""#
        );
        assert_eq!(limit(&slots), r#""user/concurrency";r=80"#);
    }
}
