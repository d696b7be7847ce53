//! What a client can read: 406 where an answer would be none of it.
//!
//! Problems are not negotiated: who cannot read them still reads their status.

use http::{HeaderMap, StatusCode, header};

use crate::http::Problem;

/// Why a request for `route` is refused: its client cannot read what the route answers with.
pub(super) fn refusal(route: &str, headers: &HeaderMap) -> Option<Problem> {
    let offered = offered(route);
    if accepts(headers, offered) {
        return None;
    }
    let title = "This address has nothing that you accept";
    let problem = Problem::new(StatusCode::NOT_ACCEPTABLE, "not_acceptable", title);
    Some(problem.detail(format!("it answers with {offered}")))
}

/// What a route answers with if all is well.
fn offered(route: &str) -> &'static str {
    match route {
        "/api/v1/live" => "text/event-stream",
        "/metrics" => "text/plain",
        _ => "application/json",
    }
}

/// Whether one of the media ranges that the client names takes in `offered`, and none that is
/// closer to it forbids it. Who names none takes anything.
fn accepts(headers: &HeaderMap, offered: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    let values = values.filter_map(|value| value.to_str().ok());
    let ranges = values.flat_map(|value| value.split(',')).map(str::trim);
    let mut closest: Option<(u8, bool)> = None;
    let mut named = false;
    for range in ranges.filter(|range| !range.is_empty()) {
        named = true;
        let mut parts = range.split(';').map(str::trim);
        let range = parts.next().unwrap_or_default();
        let wanted = !parts.any(is_zero_quality);
        if let Some(closeness) = closeness(range, offered)
            && closest.is_none_or(|(best, _)| closeness > best)
        {
            closest = Some((closeness, wanted));
        }
    }
    closest.map_or(!named, |(_, wanted)| wanted)
}

/// How closely a media range names the type; none where it does not.
fn closeness(range: &str, offered: &str) -> Option<u8> {
    if range == "*/*" {
        return Some(0);
    }
    let kind = offered.split('/').next().unwrap_or_default();
    if range
        .strip_suffix("/*")
        .is_some_and(|range| range.eq_ignore_ascii_case(kind))
    {
        return Some(1);
    }
    range.eq_ignore_ascii_case(offered).then_some(2)
}

fn is_zero_quality(parameter: &str) -> bool {
    let Some((name, value)) = parameter.split_once('=') else {
        return false;
    };
    name.trim().eq_ignore_ascii_case("q") && value.trim().parse() == Ok(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(accept: &[&'static str]) -> bool {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(header::ACCEPT, http::HeaderValue::from_static(value));
        }
        accepts(&headers, "application/json")
    }

    #[test]
    fn who_can_read_json_is_answered() {
        for accept in [
            &[][..],
            &[""],
            &["*/*"],
            &["application/*"],
            &["Application/JSON;q=0.1"],
            &["text/html", "application/json; charset=utf-8"],
            &["text/html, */*;q=0.01"],
            &["*/*;q=0, application/json"],
        ] {
            assert!(json(accept), "{accept:?}");
        }
    }

    #[test]
    fn who_cannot_is_told() {
        for accept in [
            &["text/html"][..],
            &["application/jsonp"],
            &["application/json;q=0"],
            &["application/json; q=0.000, */*"],
            &["text/*", "image/png"],
        ] {
            assert!(!json(accept), "{accept:?}");
        }
    }
}
