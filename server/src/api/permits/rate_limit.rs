//! `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11): lists of
//! structured fields, here of one item each, the tightest limit that the call meets.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::limiter::{BlockedBy, Left};

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Adds what is left; nothing where nothing limits the call.
pub(super) fn tell(headers: &mut HeaderMap, left: Option<&Left>) {
    let Some(left) = left else {
        return;
    };
    for (name, value) in [(RATE_LIMIT, limit(left)), (RATE_LIMIT_POLICY, policy(left))] {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(name, value);
        }
    }
}

/// `"user/rate/60s";q=120;w=60`: the lane's part of the limit, per window.
fn policy(left: &Left) -> String {
    let (name, limit) = (name(left), left.headroom.limit);
    match left.window {
        Some(window) => format!("\"{name}\";q={limit};w={}", whole_s(window).max(1)),
        None => format!("\"{name}\";q={limit};qu=\"concurrent-requests\""),
    }
}

/// `"user/rate/60s";r=80;t=12`: so much may be used now, and no more comes back before then.
fn limit(left: &Left) -> String {
    let (name, remaining) = (name(left), left.headroom.remaining);
    match left.more_in {
        Some(more_in) => format!("\"{name}\";r={remaining};t={}", whole_s(more_in)),
        None => format!("\"{name}\";r={remaining}"),
    }
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
