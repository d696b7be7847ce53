use http::uri::Authority;

use super::*;

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        headers.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

fn asked(pairs: &[(&str, &str)]) -> Result<Asked, HeaderError> {
    read(&Method::GET, &headers(pairs))
}

fn forwarded(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut headers = headers(pairs);
    forward(&mut headers, &Authority::from_static("up.example:8443"));
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers
        .iter()
        .map(|(name, value)| (name.to_string(), text(value)))
        .collect()
}

#[test]
fn what_is_asked_is_read() {
    let all = asked(&[
        ("Spillway-User", " Ann "),
        ("Spillway-App", "é"),
        ("Spillway-Lane", "background"),
        ("Spillway-Weight", "5"),
        ("Spillway-Wait-Ms", "0"),
    ]);
    let expected = Asked {
        user: Some("Ann".into()),
        app: Some("é".into()),
        lane: Some(Lane::Background),
        weight: Some(5),
        wait_ms: Some(0),
    };
    assert_eq!(all, Ok(expected));
    assert_eq!(asked(&[]), Ok(Asked::default()));
}

#[test]
fn malformed_values_are_refused() {
    for (name, value) in [
        ("spillway-weight", "0"),
        ("spillway-weight", "-1"),
        ("spillway-weight", "+1"),
        ("spillway-weight", "1.5"),
        ("spillway-weight", ""),
        ("spillway-weight", "4294967296"),
        ("spillway-wait-ms", "soon"),
        ("spillway-wait-ms", "-1"),
        ("spillway-wait-ms", ""),
        ("spillway-wait-ms", "99999999999999999999"),
        ("spillway-lane", "Foreground"),
        ("spillway-lane", ""),
        ("spillway-user", ""),
        ("spillway-app", " "),
    ] {
        let refused = asked(&[(name, value)]).unwrap_err();
        assert!(
            matches!(refused, HeaderError::Malformed(n, _) if n == name),
            "{name}: {value}"
        );
    }
}

#[test]
fn ambiguity_is_refused() {
    assert!(matches!(
        asked(&[("spillway-user", "a"), ("Spillway-User", "b")]),
        Err(HeaderError::Duplicate(_))
    ));
    assert!(matches!(
        asked(&[("spillway-unknown", "a"), ("spillway-unknown", "a")]),
        Err(HeaderError::Duplicate(_))
    ));
    for value in [
        "Spillway-User",
        "close, SPILLWAY-TOKEN",
        "x ,spillway-lane,",
    ] {
        assert!(matches!(
            asked(&[("connection", value)]),
            Err(HeaderError::Hidden(_))
        ));
    }
}

#[test]
fn what_is_no_call_is_refused() {
    assert_eq!(
        asked(&[("upgrade", "WebSocket")]),
        Err(HeaderError::Upgrade)
    );
    assert!(read(&Method::OPTIONS, &HeaderMap::new()).is_ok());
    assert_eq!(
        read(&Method::CONNECT, &HeaderMap::new()),
        Err(HeaderError::Upgrade)
    );
    assert_eq!(
        asked(&[("expect", "a-miracle")]),
        Err(HeaderError::Expectation)
    );
    assert!(
        asked(&[
            ("sec-fetch-mode", "cors"),
            ("expect", "100-Continue"),
            ("upgrade", "h2c")
        ])
        .is_ok()
    );
}

#[test]
fn only_what_is_the_upstream_s_goes_on() {
    let passed = forwarded(&[
        ("host", "gateway:3001"),
        ("spillway-token", "s"),
        ("spillway-anything", "s"),
        ("connection", "keep-alive, X-Hop"),
        ("x-hop", "1"),
        ("keep-alive", "timeout=5"),
        ("proxy-authorization", "Basic x"),
        ("proxy-connection", "close"),
        ("te", "trailers"),
        ("trailer", "x"),
        ("transfer-encoding", "chunked"),
        ("upgrade", "h2c"),
        ("expect", "100-continue"),
        ("content-length", "3"),
        ("forwarded", "for=192.0.2.1"),
        ("via", "1.1 proxy"),
        ("x-forwarded-for", "192.0.2.1"),
        ("x-forwarded-anything", "1"),
        ("x-real-ip", "192.0.2.1"),
        ("cf-connecting-ip", "192.0.2.1"),
        ("x-original-url", "/admin"),
        ("authorization", "Bearer t"),
        ("x-custom", "1"),
        ("x-custom", "2"),
    ]);
    let expected = [
        ("host", "up.example:8443"),
        ("authorization", "Bearer t"),
        ("x-custom", "1"),
        ("x-custom", "2"),
    ];
    let mut passed: Vec<_> = passed
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    passed.sort_unstable();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(passed, expected);
}

#[test]
fn a_length_alone_is_kept() {
    assert!(forwarded(&[("content-length", "3")]).contains(&("content-length".into(), "3".into())));
}
