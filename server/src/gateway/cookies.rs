//! The dashboard's cookies, which a browser sends to every port of a host.

use http::{HeaderMap, HeaderValue, header::COOKIE};

/// Cookies that sign people in at the dashboard: an upstream must never see them.
const SESSION_COOKIES: [&str; 3] = ["spillway_session", "spillway_there", "__Host-spillway"];

/// Takes the dashboard's cookies out, and leaves the others as they are, in one header:
/// HTTP/2 may split it, HTTP/1.1 must not (RFC 9113, 8.2.3).
pub(super) fn drop_session(headers: &mut HeaderMap) {
    if !headers.contains_key(COOKIE) {
        return;
    }
    let before: Vec<_> = headers.get_all(COOKIE).iter().cloned().collect();
    headers.remove(COOKIE);
    let kept: Vec<_> = before.iter().filter_map(without_session).collect();
    let joined = match kept.as_slice() {
        [] => return,
        [one] => Ok(one.clone()),
        more => {
            let more: Vec<_> = more.iter().map(HeaderValue::as_bytes).collect();
            HeaderValue::from_bytes(&more.join(&b"; "[..]))
        }
    };
    if let Ok(joined) = joined {
        headers.insert(COOKIE, joined);
    }
}

fn without_session(value: &HeaderValue) -> Option<HeaderValue> {
    let pairs: Vec<_> = value.as_bytes().split(|&byte| byte == b';').collect();
    let kept: Vec<_> = pairs
        .iter()
        .copied()
        .filter(|pair| !is_session(pair))
        .collect();
    if kept.len() == pairs.len() {
        return Some(value.clone());
    }
    let joined = kept.join(&b';');
    HeaderValue::from_bytes(joined.trim_ascii())
        .ok()
        .filter(|value| !value.is_empty())
}

fn is_session(pair: &[u8]) -> bool {
    let pair = pair.trim_ascii_start();
    SESSION_COOKIES.iter().any(|name| {
        pair.get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dashboard_s_cookies_stay_here() {
        for (sent, kept) in [
            ("a=1; spillway_session=x; b=2", Some("a=1; b=2")),
            ("spillway_session=x", None),
            ("__Host-spillway_session=x;c=3", Some("c=3")),
            ("__host-spillway=x; __Host-other=1", Some("__Host-other=1")),
            ("a=1;b=2", Some("a=1;b=2")),
            ("a=spillway_session", Some("a=spillway_session")),
        ] {
            let mut headers = HeaderMap::new();
            headers.append(COOKIE, sent.parse().unwrap());
            headers.append(COOKIE, "more=1".parse().unwrap());
            drop_session(&mut headers);
            let left: Vec<_> = headers.get_all(COOKIE).iter().collect();
            let expected: Vec<_> = kept.into_iter().chain(["more=1"]).collect();
            assert_eq!(left, [&expected.join("; ")], "{sent}");
        }
    }
}
