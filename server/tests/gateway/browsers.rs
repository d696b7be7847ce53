//! What pages may do at the gateway, and what their scripts may read.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;

use crate::calls::PAGES;
use crate::support::peer::{Peer, body, ok};
use crate::support::{Reply, TestApp, send};

const APP: &str = "https://app.example";

async fn start(peer: &Peer) -> TestApp {
    let keys = format!("cors_origins = ['{APP}']\n");
    TestApp::start_with(tempfile::tempdir().unwrap(), &keys, &peer.onenote()).await
}

async fn ask(app: &TestApp, method: Method, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(method).uri(PAGES);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(app.gateway, request.body(Full::<Bytes>::default()).unwrap()).await
}

fn list(reply: &Reply, name: &str) -> Vec<String> {
    let values = reply.headers.get_all(name).iter();
    let values = values.flat_map(|value| value.to_str().unwrap().split(','));
    values
        .map(|name| name.trim().to_ascii_lowercase())
        .collect()
}

/// Case 8 [sdk-javascript#978].
#[tokio::test]
async fn a_listed_site_s_script_reads_retry_after_and_every_other_header() {
    let peer = Peer::start(|_| async {
        Response::builder()
            .header("x-ms-ags-diagnostic", "{}")
            .header("access-control-allow-origin", "*")
            .header("access-control-allow-credentials", "true")
            .header("access-control-expose-headers", "x-other")
            .header("vary", "Accept-Encoding")
            .body(body("answer"))
            .unwrap()
    })
    .await;
    let app = start(&peer).await;
    let script = [
        ("origin", APP),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "cors"),
        ("spillway-user", "ann"),
        ("spillway-wait-ms", "0"),
    ];
    let mut told = ask(&app, Method::GET, &script).await;
    assert_eq!(
        (told.status, told.text().as_str()),
        (StatusCode::OK, "answer")
    );
    let exposed = list(&told, "access-control-expose-headers");
    for name in ["x-ms-ags-diagnostic", "request-id", "date"] {
        assert!(exposed.contains(&name.to_owned()), "{name}: {exposed:?}");
    }
    assert_eq!(list(&told, "vary"), ["accept-encoding", "origin"]);
    assert_eq!(told.header("access-control-allow-credentials"), "");
    while told.status == StatusCode::OK {
        told = ask(&app, Method::GET, &script).await;
    }
    assert_eq!(told.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(list(&told, "access-control-allow-origin"), [APP]);
    let exposed = list(&told, "access-control-expose-headers");
    for name in ["retry-after", "spillway-blocked-by", "request-id"] {
        assert!(exposed.contains(&name.to_owned()), "{name}: {exposed:?}");
        assert!(!told.header(name).is_empty(), "{name}");
    }
    // A program's answer says nothing of sites.
    let program = ask(&app, Method::GET, &[("spillway-user", "bob")]).await;
    assert_eq!(program.header("access-control-allow-origin"), "");
    assert_eq!(list(&program, "vary"), ["accept-encoding", "origin"]);
    app.stop().await;
}

#[tokio::test]
async fn preflights_are_answered_here_and_cost_nothing() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = start(&peer).await;
    for _ in 0..300 {
        let answer = ask(
            &app,
            Method::OPTIONS,
            &[
                ("origin", APP),
                ("access-control-request-method", "PATCH"),
                (
                    "access-control-request-headers",
                    "authorization,spillway-lane",
                ),
                ("access-control-request-private-network", "true"),
            ],
        )
        .await;
        assert_eq!(answer.status, StatusCode::NO_CONTENT);
        for (name, value) in [
            ("access-control-allow-origin", APP),
            ("access-control-allow-methods", "PATCH"),
            (
                "access-control-allow-headers",
                "authorization,spillway-lane",
            ),
            ("access-control-allow-private-network", "true"),
            ("access-control-max-age", "600"),
            ("access-control-allow-credentials", ""),
        ] {
            assert_eq!(answer.header(name), value, "{name}");
        }
        assert!(list(&answer, "vary").contains(&"origin".into()));
    }
    assert_eq!(peer.counts().arrived, 0);
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    for workload in workloads {
        assert_eq!(
            workload["budgets"].as_array().unwrap().len(),
            0,
            "{workload}"
        );
    }
    // A program may ask the upstream what it can do.
    let program = ask(&app, Method::OPTIONS, &[("spillway-user", "ann")]).await;
    assert_eq!(program.text(), "answer");
    app.stop().await;
}

/// A page must not spend the limits of whoever looks at it, though it cannot read a word.
#[tokio::test]
async fn other_pages_calls_are_refused_before_they_cost_anything() {
    let peer = Peer::start(|_| async { ok("answer") }).await;
    let app = start(&peer).await;
    let preflight = ("access-control-request-method", "GET");
    for (method, headers, code) in [
        (
            Method::OPTIONS,
            vec![("origin", "https://evil.example"), preflight],
            "origin_not_allowed",
        ),
        (Method::OPTIONS, vec![preflight], "origin_not_allowed"),
        // A form, or fetch with a simple type.
        (
            Method::POST,
            vec![("origin", "https://evil.example")],
            "origin_not_allowed",
        ),
        (Method::POST, vec![("origin", "null")], "origin_not_allowed"),
        (
            Method::POST,
            vec![("origin", APP), ("origin", APP)],
            "origin_not_allowed",
        ),
        (
            Method::GET,
            vec![("origin", "https://app.example.evil")],
            "origin_not_allowed",
        ),
        // An image, and a page of another port of this machine.
        (
            Method::GET,
            vec![
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "no-cors"),
            ],
            "origin_not_allowed",
        ),
        (
            Method::GET,
            vec![("sec-fetch-site", "same-site")],
            "origin_not_allowed",
        ),
        (
            Method::GET,
            vec![("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
            "navigation",
        ),
        (
            Method::POST,
            vec![("origin", APP), ("sec-fetch-mode", "navigate")],
            "navigation",
        ),
        (
            Method::GET,
            vec![
                ("sec-fetch-dest", "iframe"),
                ("sec-fetch-site", "same-origin"),
            ],
            "navigation",
        ),
    ] {
        let mut headers = headers;
        headers.push(("spillway-user", "ann"));
        let refused = ask(&app, method, &headers).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{headers:?}");
        assert_eq!(refused.json()["code"], code, "{headers:?}");
        assert_eq!(refused.header("access-control-allow-origin"), "");
        assert_eq!(refused.header("content-security-policy"), "sandbox");
    }
    assert_eq!(peer.counts().arrived, 0);
    app.stop().await;
}
