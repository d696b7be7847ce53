//! Traces, against a receiver that decodes what it gets.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use http::{Request, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value, trace::v1::Span,
};
use prost::Message as _;

use crate::support::{
    TestApp,
    peer::{Peer, ok},
    send,
};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// What must never be traced; each request here carries it wherever it can.
const SECRET: &str = "s3cr3t";

/// An OTLP receiver, and the spans that it got.
async fn receiver() -> (Peer, Arc<Mutex<Vec<Span>>>) {
    let spans = Arc::<Mutex<Vec<Span>>>::default();
    let got = Arc::clone(&spans);
    let peer = Peer::start(move |request: Request<Incoming>| {
        let got = Arc::clone(&got);
        async move {
            assert_eq!(request.uri().path(), "/v1/traces");
            assert_eq!(
                request.headers()[header::CONTENT_TYPE],
                "application/x-protobuf"
            );
            let body = request.into_body().collect().await.unwrap().to_bytes();
            assert!(!String::from_utf8_lossy(&body).contains(SECRET));
            let export = ExportTraceServiceRequest::decode(body).unwrap();
            let scopes = export
                .resource_spans
                .into_iter()
                .flat_map(|it| it.scope_spans);
            got.lock().unwrap().extend(scopes.flat_map(|it| it.spans));
            ok("")
        }
    })
    .await;
    (peer, spans)
}

fn text(span: &Span, name: &str) -> String {
    let found = span.attributes.iter().find(|it| it.key == name);
    let value = found.and_then(|it| it.value.as_ref()?.value.clone());
    match value {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        other => format!("{other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

async fn call(app: &TestApp) {
    let path = format!("/graph/v1.0/me/onenote/pages/{SECRET}?token={SECRET}");
    let request = Request::get(path)
        .header("authorization", format!("Bearer {SECRET}"))
        .header("spillway-user", format!("ann-{SECRET}"))
        .header("spillway-lane", "background")
        .header("traceparent", PARENT)
        .header("tracestate", "vendor=1");
    let reply = send(app.gateway, request.body(Full::default()).unwrap()).await;
    assert_eq!(reply.status, 200, "{reply:?}");
}

fn config(upstream: &Peer, telemetry: &str) -> String {
    format!("{}user_from = 'header'\n{telemetry}", upstream.onenote())
}

#[tokio::test]
async fn a_call_is_one_span_of_its_callers_trace_and_goes_on_upstream() {
    let (receiver, spans) = receiver().await;
    let upstream = Peer::start(|_| async { ok("") }).await;
    let telemetry = format!(
        "[telemetry]\notlp_endpoint = 'http://{}/'\n",
        receiver.address
    );
    let app = TestApp::start(&config(&upstream, &telemetry)).await;
    call(&app).await;
    app.get(&format!("/api/v1/users/graph/onenote?user={SECRET}"))
        .await;
    // What was not sent is sent at the end.
    app.stop().await;

    let spans = spans.lock().unwrap().clone();
    let gateway = spans
        .iter()
        .find(|it| it.name == "GET /{upstream}")
        .unwrap();
    assert_eq!(hex(&gateway.trace_id), TRACE);
    assert_eq!(hex(&gateway.parent_span_id), "00f067aa0ba902b7");
    for (name, value) in [
        ("http.request.method", "GET"),
        ("http.response.status_code", "200"),
        ("spillway.upstream", "graph"),
        ("spillway.workload", "onenote"),
        ("spillway.lane", "background"),
        ("spillway.outcome", "relayed"),
        ("spillway.retries", "0"),
    ] {
        assert_eq!(text(gateway, name), value, "{name}");
    }
    assert!(text(gateway, "spillway.wait_ms").parse::<u64>().unwrap() < 10_000);
    let onward = upstream.only().headers;
    let own = format!("00-{TRACE}-{}-01", hex(&gateway.span_id));
    assert_eq!(onward["traceparent"], own);
    assert_eq!(onward["tracestate"], "vendor=1");

    let name = "GET /api/v1/users/{upstream}/{workload}";
    let api = spans.iter().find(|it| it.name == name).unwrap();
    assert_eq!(
        text(api, "http.route"),
        "/api/v1/users/{upstream}/{workload}"
    );
    assert_ne!(hex(&api.trace_id), TRACE);
}

#[tokio::test]
async fn untraced_calls_pass_as_they_are() {
    let upstream = Peer::start(|_| async { ok("") }).await;
    let app = TestApp::start(&config(&upstream, "")).await;
    call(&app).await;
    let onward = upstream.only().headers;
    assert_eq!(onward["traceparent"], PARENT);
    assert_eq!(onward["tracestate"], "vendor=1");
    app.stop().await;
}

/// The receiver takes connections and never answers: nothing waits for it, not even the end.
#[tokio::test]
async fn a_receiver_that_hangs_holds_up_nothing() {
    let hanging = Peer::raw(|stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    let upstream = Peer::start(|_| async { ok("") }).await;
    let telemetry = format!(
        "[telemetry]\notlp_endpoint = 'http://{}'\n",
        hanging.address
    );
    let app = TestApp::start(&config(&upstream, &telemetry)).await;
    let begun = Instant::now();
    for _ in 0..20 {
        call(&app).await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
    let begun = Instant::now();
    app.stop().await;
    assert!(
        begun.elapsed() < Duration::from_secs(9),
        "{:?}",
        begun.elapsed()
    );
}
