//! Failures of parts and of whole batches: what goes again, and what is told.

use std::future::pending;

use http::Response;
use serde_json::{Value, json};
use spillway_simulator::{Latency, Settings, Simulator, bearer, serve};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{
    Batches, after, answer_of, answers, batch, batch_with, envelope, part, parts, status,
    throttled, told,
};
use crate::breakers::answer;
use crate::support::TestApp;
use crate::support::peer::{Peer, PeerBody};

fn owned(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected
        .iter()
        .map(|(id, status)| ((*id).to_owned(), *status))
        .collect()
}

/// Case 11 [sdk-design#2].
#[tokio::test]
async fn a_bare_504_is_repeated_for_a_get_and_not_for_a_create() {
    let upstream = Batches::of_parts(|n, _| {
        if n == 0 {
            json!({"status": 504})
        } else {
            status(200)
        }
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(
        &app,
        "ann",
        vec![part("get", "GET"), part("post", "POST"), part("put", "PUT")],
    )
    .await;
    assert_eq!(
        answers(&reply),
        owned(&[("get", 200), ("post", 504), ("put", 200)])
    );
    assert_eq!(upstream.rounds()[1].ids(), ["get", "put"]);
    app.stop().await;
}

/// Case 18 [learn answers 5529013].
#[tokio::test]
async fn a_post_that_was_committed_and_then_answered_429_is_not_sent_again() {
    let settings = Settings {
        latency: Latency {
            min_ms: 1,
            max_ms: 1,
        },
        pages_per_section: (0, 0),
        ..Settings::default()
    };
    let simulator = Simulator::new(settings).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, simulator.clone(), pending()));
    let order = r#"{"match":"/pages","fault":{"status":429,"acts":true}}"#;
    let post = http::Request::post("/_sim/faults").header("content-type", "application/json");
    let injected = crate::support::send(address, post.body(order.into()).unwrap()).await;
    assert_eq!(injected.status, 201);
    let config =
        format!("[upstreams.graph]\nbase_url = 'http://{address}/'\npresets = ['onenote']\n");
    let app = TestApp::start(&config).await;
    let page = json!({
        "id": "1", "method": "POST", "url": "/me/onenote/pages", "headers": {"Content-Type": "text/html"},
        "body": "<html><head><title>once</title></head><body></body></html>",
    });
    let token = format!("Bearer {}", bearer("ann", "t", "app"));
    let reply = batch_with(&app, &[("authorization", &token)], vec![page]).await;
    assert_eq!(answers(&reply), owned(&[("1", 429)]));
    let told = answer_of(&reply, "1");
    let seconds: u32 = told["headers"]["Retry-After"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=179).contains(&seconds), "OneNote told none: {told}");
    assert_eq!((simulator.stats().parts, simulator.stats().arrived), (1, 1));
    let list = http::Request::get("/v1.0/me/onenote/pages").header("authorization", &token);
    let pages = crate::support::send(address, list.body(Default::default()).unwrap())
        .await
        .json();
    assert_eq!(pages["value"].as_array().unwrap().len(), 1);
    app.stop().await;
}

/// Case 3 [obsidian-importer#225].
#[tokio::test]
async fn a_throttling_body_counts_in_each_of_its_four_shapes() {
    let shapes = [
        json!({"error": {"code": "20166"}}),
        json!({"code": "20166"}),
        Value::Null,
        json!("PGh0bWw+VG9vIG1hbnkgcmVxdWVzdHM8L2h0bWw+"),
    ];
    for shape in shapes {
        let body = shape.clone();
        let upstream = Batches::of_parts(move |n, _| match (n, &body) {
            (0, Value::Null) => json!({"status": 429}),
            (0, body) => json!({"status": 429, "body": body}),
            _ => status(200),
        })
        .await;
        let app = TestApp::start(&upstream.rate(100)).await;
        let reply = batch(&app, "ann", vec![part("1", "GET"), part("2", "POST")]).await;
        assert_eq!(answers(&reply), owned(&[("1", 200), ("2", 429)]), "{shape}");
        // The user is left alone from then on: the breaker is open for it, not for others.
        let rounds = upstream.rounds();
        assert!(
            rounds[1].at - rounds[0].at >= std::time::Duration::from_secs(1),
            "{shape}"
        );
        app.stop().await;
    }
}

#[tokio::test]
async fn retries_end_with_the_failure_that_it_is_and_a_wait() {
    let upstream = Batches::of_parts(|_, _| throttled("20")).await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let headers = [("spillway-user", "ann"), ("spillway-wait-ms", "1000")];
    let reply = batch_with(
        &app,
        &headers,
        vec![part("1", "GET"), after("2", "GET", &["1"])],
    )
    .await;
    assert_eq!(upstream.rounds().len(), 1, "20 s do not fit");
    assert_eq!(answer_of(&reply, "1")["headers"]["Retry-After"], "20");
    // Here it is known, too, and the upstream is not asked.
    let reply = batch_with(&app, &headers, vec![part("1", "GET")]).await;
    assert_eq!(answers(&reply), owned(&[("1", 429)]));
    assert_eq!(
        answer_of(&reply, "1")["headers"]["Spillway-Blocked-By"],
        "user/breaker"
    );
    assert_eq!(upstream.rounds().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn an_answer_to_the_whole_batch_is_passed_on_while_nothing_was_answered() {
    const PAGE: &str = "<html>no</html>";
    for (status, method, rounds) in [
        (401, "GET", 1),
        (400, "GET", 1),
        (503, "POST", 1),
        (404, "POST", 1),
    ] {
        let upstream = Batches::start(move |_, _| {
            answer(
                status,
                &[
                    ("content-type", "text/html"),
                    ("x-own", "1"),
                    ("set-cookie", "a=b"),
                ],
                PAGE,
            )
        })
        .await;
        let layers = "{ scope = 'user', dimension = 'concurrency', limit = 2 }";
        let app = TestApp::start(&upstream.upstream(layers)).await;
        let listed = (0..3).map(|n| part(&n.to_string(), method)).collect();
        let reply = batch(&app, "ann", listed).await;
        assert_eq!(
            (reply.status.as_u16(), reply.text().as_str()),
            (status, PAGE)
        );
        assert_eq!(
            (reply.header("x-own"), reply.header("set-cookie")),
            ("1", "")
        );
        assert_eq!(
            upstream.rounds().len(),
            rounds,
            "the rest would fare no better"
        );
        app.stop().await;
    }
}

#[tokio::test]
async fn a_whole_batch_that_fails_is_repeated_as_its_parts_may_be() {
    let upstream = Batches::start(|n, parts| match n {
        0 => answer(503, &[("retry-after", "1")], ""),
        _ => envelope(
            200,
            parts.iter().map(|part| told(part, status(200))).collect(),
        ),
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(&app, "ann", vec![part("get", "GET"), part("post", "POST")]).await;
    assert_eq!(answers(&reply), owned(&[("get", 200), ("post", 503)]));
    assert_eq!(answer_of(&reply, "post")["headers"]["Retry-After"], "1");
    assert_eq!(upstream.rounds()[1].ids(), ["get"]);
    app.stop().await;
}

#[tokio::test]
async fn what_an_answer_leaves_out_may_have_acted() {
    let upstream = Batches::start(|n, parts| {
        let told_of = parts.iter().skip(if n == 0 { 2 } else { 0 });
        envelope(200, told_of.map(|part| told(part, status(200))).collect())
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(
        &app,
        "ann",
        vec![part("get", "GET"), part("post", "POST"), part("c", "GET")],
    )
    .await;
    assert_eq!(
        answers(&reply),
        owned(&[("get", 200), ("post", 502), ("c", 200)])
    );
    assert_eq!(
        answer_of(&reply, "post")["body"]["error"]["code"],
        "upstream_broken"
    );
    app.stop().await;
}

/// The first connection breaks once the batch is there; later ones answer.
async fn breaking_once() -> Peer {
    let first = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    Peer::raw(move |mut stream: TcpStream| {
        let first = std::sync::Arc::clone(&first);
        async move {
            let mut bytes = vec![0; 64 * 1024];
            let mut read = 0;
            while !bytes[..read].ends_with(b"]}") {
                read += stream.read(&mut bytes[read..]).await.unwrap();
            }
            if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
                return;
            }
            let body = r#"{"responses":[{"id":"get","status":200}]}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(head.as_bytes()).await.unwrap();
        }
    })
    .await
}

#[tokio::test]
async fn a_batch_that_is_lost_is_repeated_only_for_what_cannot_act_twice() {
    let peer = breaking_once().await;
    let app = TestApp::start(&peer.onenote()).await;
    let reply = batch(
        &app,
        "ann",
        vec![
            part("get", "GET"),
            part("post", "POST"),
            after("x", "GET", &["post"]),
        ],
    )
    .await;
    assert_eq!(
        answers(&reply),
        owned(&[("get", 200), ("post", 502), ("x", 424)])
    );
    assert_eq!(
        answer_of(&reply, "post")["body"]["error"]["code"],
        "upstream_broken"
    );
    assert_eq!(peer.counts().arrived, 2);
    app.stop().await;
}

#[tokio::test]
async fn an_upstream_that_is_not_there_costs_nothing_and_is_told() {
    let config = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['onenote']\nhold_max_ms = 300\n";
    let app = TestApp::start(config).await;
    let listed = vec![json!({"id": "1", "method": "POST", "url": "/me/onenote/pages"})];
    let reply = batch(&app, "ann", listed).await;
    assert_eq!(answers(&reply), owned(&[("1", 502)]));
    assert_eq!(
        answer_of(&reply, "1")["body"]["error"]["code"],
        "upstream_unreachable"
    );
    let budgets = crate::breakers::state(&app).await;
    assert!(
        budgets
            .as_array()
            .unwrap()
            .iter()
            .all(|it| it["layers"][0]["used"] == 0),
        "{budgets}"
    );
    app.stop().await;
}

#[tokio::test]
async fn an_answer_that_is_too_much_is_a_failure_and_not_kept() {
    let upstream = Batches::start(|_, parts| -> Response<PeerBody> {
        let filler = "x".repeat(17 * 1024 * 1024);
        let one = |part: &Value| told(part, json!({"status": 200, "body": filler}));
        envelope(200, parts.iter().map(one).collect())
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(&app, "ann", parts(2)).await;
    assert_eq!(answers(&reply), owned(&[("0", 502), ("1", 502)]));
    assert_eq!(
        answer_of(&reply, "0")["body"]["error"]["code"],
        "answer_too_large"
    );
    assert_eq!(upstream.rounds().len(), 1);
    app.stop().await;
}
