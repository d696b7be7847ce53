//! What is logged of a call, and what never is.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::StatusCode;

use crate::support::peer::{Peer, ok};
use crate::support::{Process, config_text, raw};

#[tokio::test(flavor = "multi_thread")]
async fn each_call_is_one_line_and_holds_no_secret() {
    let calls = Arc::new(AtomicUsize::new(0));
    let peer = Peer::start(move |_| {
        let n = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            let mut answer = ok("secret-answer");
            if n == 0 {
                *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            }
            answer
        }
    })
    .await;
    let dir = tempfile::tempdir().unwrap();
    let server = Process::serve(dir.path(), &config_text(dir.path(), &peer.onenote()));
    let gateway = server.gateway;
    let call = |extra: &str| {
        let request = format!(
            "PUT /graph/v1.0/me/onenote/pages?q=secret-query HTTP/1.1\r\nHost: {gateway}\r\n\
             Authorization: Bearer secret-bearer\r\nCookie: id=secret-cookie\r\n\
             Spillway-Token: secret-token\r\nX-Other: secret-header\r\nclient-request-id: mine\r\n{extra}\
             Content-Length: 11\r\nConnection: close\r\n\r\nsecret-body"
        );
        raw(gateway, &request)
    };
    assert!(
        call("Spillway-User: ann\r\nSpillway-Lane: background\r\n").starts_with("HTTP/1.1 200")
    );
    assert!(call("").starts_with("HTTP/1.1 200"));
    assert!(call("Spillway-User: bob\r\nSpillway-Weight: 500\r\n").starts_with("HTTP/1.1 400"));
    server.terminate();
    let (_, log) = server.wait();
    assert!(!log.contains("secret-"), "{log}");

    let lines: Vec<serde_json::Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|line: &serde_json::Value| line["target"] == "spillway::gateway")
        .collect();
    assert_eq!(lines.len(), 3, "{log}");
    let ann = lines.iter().find(|line| line["user"] == "ann").unwrap();
    assert_eq!(ann["message"], "relayed");
    assert_eq!(
        (&ann["upstream"], &ann["workload"]),
        (&"graph".into(), &"onenote".into())
    );
    assert_eq!(
        (&ann["lane"], &ann["status"]),
        (&"background".into(), &200.into())
    );
    assert_eq!(ann["client_request_id"], "mine");
    assert_eq!(
        (&ann["path"], &ann["level"]),
        (&"/graph/v1.0/me/onenote/pages".into(), &"INFO".into())
    );
    let number = ann["request_id"].as_str().unwrap();
    assert_eq!(log.matches(number).count(), 1, "one line a call: {log}");
    assert!(ann["timestamp"].as_str().unwrap().ends_with('Z'), "{log}");
    assert!(ann["wait_ms"].is_u64() && ann["upstream_ms"].is_u64());
    assert_eq!(ann["retries"], 1);
    let bob = lines.iter().find(|line| line["user"] == "bob").unwrap();
    assert_eq!(
        (&bob["message"], &bob["reason"]),
        (&"refused".into(), &"impossible".into())
    );
    let opaque = lines
        .iter()
        .any(|line| line["user"].as_str().unwrap().starts_with("hmac:"));
    assert!(opaque, "{log}");
}
