//! The API as a whole: its document, and how it answers what it was not made for.

use std::collections::BTreeSet;

use crate::support::{NOBODY, Reply, TestApp, send, spillway};
use bytes::Bytes;
use http::{Method, Request, StatusCode, header};
use http_body_util::Full;
use serde_json::Value;

const METHODS: [Method; 5] = [
    Method::GET,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
];

async fn document(app: &TestApp) -> Value {
    let reply = app.get("/api/openapi.json").await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("content-type"), "application/json");
    reply.json()
}

/// A path's parameters as something of their form.
fn filled(path: &str) -> String {
    path.replace("{id}", "AAAAAAAAAAAAAAAAAAAAAA")
        .replace("{upstream}", "graph")
        .replace("{workload}", "onenote")
}

async fn ask(app: &TestApp, method: &Method, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(app.dashboard, request.body(Full::default()).unwrap()).await
}

fn code(reply: &Reply) -> String {
    assert_eq!(
        reply.header("content-type"),
        "application/problem+json",
        "{reply:?}"
    );
    reply.json()["code"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_command_prints_what_the_server_answers() {
    let app = TestApp::start(NOBODY).await;
    let printed = spillway().arg("openapi").output().unwrap();
    assert!(printed.status.success());
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed, document(&app).await);
    assert!(printed["openapi"].as_str().unwrap().starts_with("3.1."));
    app.stop().await;
}

/// No method is answered that is not documented, and none that is documented is not.
#[tokio::test]
async fn each_path_answers_to_its_documented_methods_alone() {
    let app = TestApp::start(NOBODY).await;
    let document = document(&app).await;
    for (path, item) in document["paths"].as_object().unwrap() {
        if path == "/api/v1/live" {
            continue; // It has no end: the tests of the stream read it.
        }
        let documented: BTreeSet<_> = item
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        for method in &METHODS {
            let reply = ask(&app, method, &filled(path), &[]).await;
            let name = method.as_str().to_ascii_lowercase();
            if documented.contains(name.as_str()) {
                assert_ne!(
                    reply.status,
                    StatusCode::METHOD_NOT_ALLOWED,
                    "{method} {path}"
                );
            } else {
                assert_eq!(
                    reply.status,
                    StatusCode::METHOD_NOT_ALLOWED,
                    "{method} {path}"
                );
                assert_eq!(code(&reply), "method_not_allowed");
                let allow: BTreeSet<_> = reply
                    .header("allow")
                    .split(',')
                    .map(str::to_ascii_lowercase)
                    .collect();
                let allow: BTreeSet<_> = allow
                    .iter()
                    .map(String::as_str)
                    .filter(|it| *it != "head")
                    .collect();
                assert_eq!(allow, documented, "{path}");
            }
        }
    }
    app.stop().await;
}

/// The query parameters that an operation documents.
fn parameters(operation: &Value) -> Vec<&str> {
    let all = operation["parameters"].as_array().into_iter().flatten();
    all.filter(|it| it["in"] == "query")
        .map(|it| it["name"].as_str().unwrap())
        .collect()
}

fn is_refused_for(reply: &Reply, name: &str) -> bool {
    let unknown = format!("there is no parameter \"{name}\"");
    reply.status == StatusCode::BAD_REQUEST
        && code(reply) == "bad_query"
        && reply.json()["detail"]
            .as_str()
            .is_some_and(|it| it.starts_with(&unknown))
}

#[tokio::test]
async fn every_operation_refuses_parameters_that_it_does_not_document() {
    let app = TestApp::start(NOBODY).await;
    let document = document(&app).await;
    let (mut walked, mut known) = (0, 0);
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let method = method.to_ascii_uppercase().parse().unwrap();
            for query in ["nonsense", "nonsense=1", "%6eonsense=1", "&nonsense=1&x=2"] {
                let path = format!("{}?{query}", filled(path));
                let reply = ask(&app, &method, &path, &[]).await;
                assert!(
                    is_refused_for(&reply, "nonsense"),
                    "{method} {path}: {reply:?}"
                );
            }
            for name in parameters(operation) {
                let path = format!("{}?{name}=1", filled(path));
                let reply = ask(&app, &method, &path, &[]).await;
                let refused =
                    reply.status == StatusCode::BAD_REQUEST && is_refused_for(&reply, name);
                assert!(!refused, "{method} {path}: {reply:?}");
                known += 1;
            }
            walked += 1;
        }
    }
    assert!(walked >= 15, "{walked}");
    assert!(known >= 6, "{known}");
    app.stop().await;
}

#[tokio::test]
async fn head_is_asked_what_get_is_and_an_empty_query_is_none() {
    let app = TestApp::start(NOBODY).await;
    for (path, status) in [
        ("/api/v1/state?nonsense=1", 400),
        ("/api/v1/state?upstream=graph", 200),
        ("/healthz?", 200),
    ] {
        let reply = ask(&app, &Method::HEAD, path, &[]).await;
        assert_eq!(reply.status.as_u16(), status, "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn head_tells_what_get_would_and_options_is_no_method() {
    let app = TestApp::start(NOBODY).await;
    for path in ["/api/v1/state", "/healthz", "/api/openapi.json"] {
        let head = ask(&app, &Method::HEAD, path, &[]).await;
        assert_eq!(
            (head.status, head.body.len()),
            (StatusCode::OK, 0),
            "{path}"
        );
        assert_eq!(head.header("content-type"), "application/json");
        let options = ask(&app, &Method::OPTIONS, path, &[]).await;
        assert_eq!(options.status, StatusCode::METHOD_NOT_ALLOWED);
        assert_eq!(options.header("allow"), "GET,HEAD");
    }
    app.stop().await;
}

#[tokio::test]
async fn who_cannot_read_the_answer_is_told_so() {
    let app = TestApp::start(NOBODY).await;
    for (path, accept, status) in [
        ("/api/v1/state", "text/html", 406),
        ("/api/v1/state", "application/json", 200),
        ("/api/v1/state", "text/html, */*;q=0.1", 200),
        ("/api/v1/live", "application/json", 406),
        ("/healthz", "image/png", 406),
        ("/api/v1/none", "text/html", 404),
    ] {
        let reply = ask(&app, &Method::GET, path, &[("accept", accept)]).await;
        assert_eq!(reply.status.as_u16(), status, "{path} {accept}");
        if status == 406 {
            assert_eq!(code(&reply), "not_acceptable");
        }
    }
    app.stop().await;
}

#[tokio::test]
async fn bodies_that_are_not_plain_json_are_refused_with_what_would_be_read() {
    let app = TestApp::start(NOBODY).await;
    let paths = [
        "/api/v1/permits",
        "/api/v1/permits/AAAAAAAAAAAAAAAAAAAAAA/complete",
        "/api/v1/breakers/graph/onenote/open",
        "/api/v1/lanes/graph/background/pause",
    ];
    for path in paths {
        let coded = ("content-encoding", "gzip");
        for (headers, accepted) in [
            (&[][..], "accept"),
            (&[("content-type", "text/plain")], "accept"),
            (
                &[("content-type", "application/json"), coded],
                "accept-encoding",
            ),
        ] {
            let reply = ask(&app, &Method::POST, path, headers).await;
            assert_eq!(reply.status, StatusCode::UNSUPPORTED_MEDIA_TYPE, "{path}");
            assert_eq!(code(&reply), "unsupported_media_type");
            assert_ne!(reply.header(accepted), "", "{path} {headers:?}");
        }
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(Bytes::from(vec![b' '; 64 * 1024 + 1])))
            .unwrap();
        let reply = send(app.dashboard, request).await;
        assert_eq!(
            (reply.status, code(&reply)),
            (StatusCode::PAYLOAD_TOO_LARGE, "too_large".to_owned())
        );
    }
    app.stop().await;
}
