//! Batches that are taken apart and put together again.

use std::time::Duration;

use http::{Method, Response};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::{io::AsyncWriteExt, net::TcpStream, sync::watch};

use super::{
    BATCH, Batches, after, answers, batch, batch_with, envelope, lane, part, parts, raw, status,
    throttled, told,
};
use crate::calls::PATIENCE;
use crate::support::peer::{Peer, body};
use crate::support::{Reply, TestApp};

fn all(reply: &Reply, status: u64) -> bool {
    answers(reply).iter().all(|(_, told)| *told == status)
}

/// Case 13 [graph-docs#4694].
#[tokio::test]
async fn two_parts_told_5_and_17_seconds_go_again_after_17() {
    let upstream = Batches::of_parts(|n, part| match (n, part["id"].as_str()) {
        (0, Some("1")) => throttled("5"),
        (0, Some("2")) => throttled("17"),
        _ => status(200),
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(&app, "ann", parts(3)).await;
    assert_eq!(
        answers(&reply),
        ["0", "1", "2"].map(|id| (id.to_owned(), 200))
    );
    let rounds = upstream.rounds();
    assert_eq!(rounds[0].ids(), ["0", "1", "2"]);
    let mut again: Vec<_> = rounds[1..].iter().flat_map(super::Round::ids).collect();
    again.sort_unstable();
    assert_eq!(again, ["1", "2"], "each once");
    let waited = rounds[1].at - rounds[0].at;
    assert!(waited >= Duration::from_secs(17), "{waited:?}");
    app.stop().await;
}

/// Case 14 [graph-docs-contrib#8883].
#[tokio::test]
async fn inner_429s_are_understood_under_200_and_under_424() {
    for outer in [200, 424] {
        let upstream = Batches::start(move |n, parts| {
            let one = |part: &Value| match (n, part["id"] == "1") {
                (0, true) => told(part, throttled("1")),
                _ => told(part, status(200)),
            };
            envelope(
                if n == 0 { outer } else { 200 },
                parts.iter().map(one).collect(),
            )
        })
        .await;
        let app = TestApp::start(&upstream.rate(100)).await;
        let reply = batch(&app, "ann", parts(3)).await;
        assert_eq!(reply.status, 200);
        assert!(all(&reply, 200), "{outer}: {reply:?}");
        let rounds = upstream.rounds();
        assert_eq!((rounds.len(), rounds[1].ids()), (2, vec!["1"]));
        app.stop().await;
    }
}

/// Case 15 [sdk-dotnet#1759]. The first to go again is the breaker's probe, and goes alone.
#[tokio::test]
async fn of_twenty_gets_seven_are_throttled_and_the_caller_sees_twenty_200s() {
    let upstream = Batches::of_parts(|n, part| {
        let id: usize = part["id"].as_str().unwrap().parse().unwrap();
        if n == 0 && id.is_multiple_of(3) {
            json!({"status": 429, "body": {"error": {"code": "20166"}}})
        } else {
            status(200)
        }
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(&app, "ann", parts(20)).await;
    let expected: Vec<_> = (0..20).map(|n| (n.to_string(), 200)).collect();
    assert_eq!(answers(&reply), expected);
    let rounds = upstream.rounds();
    assert_eq!((rounds[0].parts.len(), rounds[1].parts.len()), (20, 1));
    assert_eq!(
        rounds.iter().map(|round| round.parts.len()).sum::<usize>(),
        27
    );
    app.stop().await;
}

/// Case 17 [sdk-java-core#71].
#[tokio::test]
async fn order_and_dependencies_survive_a_split_by_a_retry() {
    let upstream = Batches::of_parts(|n, part| match (n, part["id"].as_str().unwrap()) {
        (0, "two") => json!({"status": 503}),
        (0, "Three" | "four") => json!({"status": 424}),
        _ => status(200),
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let listed = vec![
        after("four", "POST", &["three"]),
        after("Three", "GET", &["TWO"]),
        after("two", "GET", &["One"]),
        part("one", "GET"),
    ];
    let reply = batch(&app, "ann", listed).await;
    let expected = ["four", "Three", "two", "one"].map(|id| (id.to_owned(), 200));
    assert_eq!(answers(&reply), expected, "ids as they were sent");
    let rounds = upstream.rounds();
    assert_eq!(rounds[0].ids(), ["four", "Three", "two", "one"]);
    assert_eq!(rounds[1].ids(), ["four", "Three", "two"]);
    let depends_on = |n: usize| rounds[1].parts[n].get("dependsOn").cloned();
    assert_eq!(depends_on(0), Some(json!(["Three"])));
    assert_eq!(depends_on(1), Some(json!(["two"])));
    assert_eq!(
        depends_on(2),
        None,
        "what was answered is no dependency any more"
    );
    app.stop().await;
}

#[tokio::test]
async fn a_split_by_concurrency_keeps_dependencies_and_says_each_part_once() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let layers = "{ scope = 'user', dimension = 'concurrency', limit = 3 }";
    let app = TestApp::start(&upstream.upstream(layers)).await;
    let mut listed: Vec<Value> = (1..10)
        .map(|n| after(&n.to_string(), "POST", &[&(n - 1).to_string()]))
        .collect();
    listed.reverse();
    listed.push(part("0", "POST"));
    let reply = batch(&app, "ann", listed).await;
    assert!(all(&reply, 200) && answers(&reply).len() == 10, "{reply:?}");
    let mut done: Vec<String> = Vec::new();
    for round in upstream.rounds() {
        assert!(round.parts.len() <= 3, "{round:?}");
        let ids: Vec<_> = round.ids().into_iter().map(str::to_owned).collect();
        for part in &round.parts {
            let id: usize = part["id"].as_str().unwrap().parse().unwrap();
            let on = id.checked_sub(1).map(|on| on.to_string());
            let here = part.get("dependsOn").is_some();
            assert!(on.is_none_or(|on| if here {
                ids.contains(&on)
            } else {
                done.contains(&on)
            }));
        }
        done.extend(ids);
    }
    assert_eq!(done.len(), 10, "each once");
    app.stop().await;
}

#[tokio::test]
async fn a_failed_dependency_is_424_without_being_sent() {
    let upstream =
        Batches::of_parts(|_, part| status(if part["id"] == "a" { 404 } else { 200 })).await;
    let layers = "{ scope = 'user', dimension = 'concurrency', limit = 1 }";
    let app = TestApp::start(&upstream.upstream(layers)).await;
    let listed = vec![
        part("a", "GET"),
        after("b", "GET", &["a"]),
        after("c", "GET", &["b"]),
        part("d", "GET"),
    ];
    let reply = batch(&app, "ann", listed).await;
    let expected = [("a", 404), ("b", 424), ("c", 424), ("d", 200)];
    assert_eq!(
        answers(&reply),
        expected.map(|(id, status)| (id.to_owned(), status))
    );
    let sent: Vec<_> = upstream
        .rounds()
        .iter()
        .map(|round| round.ids().join(","))
        .collect();
    assert_eq!(sent, ["a", "d"]);
    app.stop().await;
}

#[tokio::test]
async fn headers_bodies_and_numbers_pass_byte_by_byte() {
    const ONE: &str = r#"{"id":"A","status":200,"headers":{"Content-Type":"application/json;x","ETag":"W/\"1\"","Set-Cookie":"a=b"},"body":{"z":1.50e+2,"a":"\u00e9\/","n":[ 1 ]}}"#;
    const TWO: &str =
        r#"{"id":"b","status":200,"headers":{"Content-Type":"image/png"},"body":"iVBORw0KGgo="}"#;
    let peer = Peer::start(|request: http::Request<hyper::body::Incoming>| async move {
        let sent = request.into_body().collect().await.unwrap().to_bytes();
        let sent = String::from_utf8(sent.to_vec()).unwrap();
        assert!(
            sent.contains(r#""body":{"n":1.0e3,"z":"\u00e9"}"#),
            "{sent}"
        );
        assert!(!sent.contains("dependsOn"));
        Response::new(body(format!(r#"{{"responses":[{TWO},{ONE}]}}"#)))
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let sent = r#"{"requests":[{"id":"a","method":"POST","url":"/me","headers":{"content-type":"application/json"},"body":{"n":1.0e3,"z":"\u00e9"}},{"id":"B","method":"GET","url":"/me/photo/$value"}]}"#;
    let reply = raw(&app, Method::POST, BATCH, &[], sent).await;
    let expected = format!(
        r#"{{"responses":[{},{}]}}"#,
        ONE.replace(r#""id":"A""#, r#""id":"a""#)
            .replace(r#","Set-Cookie":"a=b""#, ""),
        TWO.replace(r#""id":"b""#, r#""id":"B""#)
    );
    assert_eq!(reply.text(), expected);
    app.stop().await;
}

/// Until so many of the calls of OneNote wait.
async fn until_waiting(app: &TestApp, calls: u64) {
    let reached = async {
        while lane(app, "onenote", "waiting").await != calls {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, reached).await.unwrap();
}

#[tokio::test]
async fn when_its_client_leaves_nothing_more_is_sent() {
    let gate = watch::Sender::new(false);
    let opens = gate.clone();
    let peer = Peer::start(move |_| {
        let mut gate = opens.subscribe();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            envelope(200, Vec::new())
        }
    })
    .await;
    let app = TestApp::start(&peer.onenote()).await;
    let listed: Vec<Value> = (0..20)
        .map(|n| json!({"id": n.to_string(), "method": "GET", "url": "/me/onenote/pages"}))
        .collect();
    let message = json!({"requests": listed}).to_string();
    let mut stream = TcpStream::connect(app.gateway).await.unwrap();
    let head = format!(
        "POST {BATCH} HTTP/1.1\r\nHost: {}\r\nSpillway-User: ann\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{message}",
        app.gateway,
        message.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    peer.until(|counts| counts.in_flight == 1).await;
    until_waiting(&app, 15).await;
    drop(stream);
    until_waiting(&app, 0).await;
    gate.send_replace(true);
    peer.until(|counts| counts.in_flight == 0).await;
    // What the answer left out may still run: its slots stay taken, and nobody else's go.
    let reply = batch_with(
        &app,
        &[("spillway-user", "bob"), ("spillway-wait-ms", "0")],
        vec![part("1", "GET")],
    )
    .await;
    assert_eq!(reply.status, 200);
    assert_eq!(peer.counts().arrived, 2, "nothing more of the first");
    app.stop().await;
}
