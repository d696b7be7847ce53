//! When throttled parts and batches may come back: told truthfully, whatever the upstream said.

use http::Response;
use serde_json::{Value, json};

use super::{Batches, after, answer_of, answers, batch_with, envelope, part, parts, status, told};
use crate::breakers::answer;
use crate::support::peer::PeerBody;
use crate::support::{Reply, TestApp};

/// Not held: the first answer, whatever it is.
const AT_ONCE: [(&str, &str); 2] = [("spillway-user", "ann"), ("spillway-wait-ms", "0")];

/// What a part was told, in seconds.
fn seconds(reply: &Reply, id: &str) -> u64 {
    let told = answer_of(reply, id)["headers"].clone();
    let names = told.as_object().unwrap().keys();
    let given = names.filter(|name| name.eq_ignore_ascii_case("retry-after"));
    assert_eq!(given.count(), 1, "{told}");
    told["Retry-After"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn whoever_comes_back_when_it_was_told_to_finds_room() {
    let upstream = Batches::start(|n, parts| match n {
        0 => answer(429, &[], r#"{"error":{"code":"TooManyRequests"}}"#),
        _ => envelope(
            200,
            parts.iter().map(|part| told(part, status(200))).collect(),
        ),
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let throttled = batch_with(&app, &AT_ONCE, vec![part("x", "POST")]).await;
    let seconds = throttled.header("retry-after").parse().unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
    let reply = batch_with(&app, &AT_ONCE, vec![part("x", "POST")]).await;
    assert_eq!(answers(&reply), [("x".to_owned(), 200)]);
    app.stop().await;
}

#[tokio::test]
async fn a_batch_that_is_throttled_whole_tells_its_client_when_to_come_back() {
    for (status, sent, expected) in [
        (429, None, 1..=4),
        (429, Some("7"), 7..=9),
        (429, Some("0.249"), 1..=4),
        (429, Some("86400"), 120..=179),
        (503, Some("7"), 7..=9),
        // Nobody knows; SDKs would come in 3 s by themselves.
        (503, None, 3..=4),
        (529, None, 1..=4),
    ] {
        for method in ["GET", "POST"] {
            let upstream = Batches::start(move |_, _| -> Response<PeerBody> {
                let headers = sent.map(|seconds| ("retry-after", seconds));
                answer(status, headers.as_slice(), "{}")
            })
            .await;
            let app = TestApp::start(&upstream.rate(100)).await;
            let reply = batch_with(&app, &AT_ONCE, vec![part("1", method)]).await;
            let told: u64 = reply.header("retry-after").parse().unwrap();
            assert_eq!(reply.status.as_u16(), status);
            assert!(
                expected.contains(&told),
                "{method} {status} {sent:?}: {told}"
            );
            assert_eq!(reply.headers.get_all("retry-after").iter().count(), 1);
            assert_eq!(upstream.rounds().len(), 1);
            app.stop().await;
        }
    }
}

#[tokio::test]
async fn a_throttled_part_tells_its_client_when_to_come_back() {
    let upstream = Batches::of_parts(|n, part| match (n, part["id"].as_str().unwrap()) {
        (0, "bare") => json!({"status": 429}),
        (0, "fraction") => json!({"status": 429, "headers": {"retry-after": "0.249"}}),
        (0, "down") => json!({"status": 503}),
        (0, "busy") => json!({"status": 503, "headers": {"Retry-After": "1.5"}}),
        (0, "onenote") => json!({"status": 400, "body": {"error": {"code": "20166"}}}),
        (0, "blocked") => {
            json!({"status": 429, "body": {"code": "public_api_request_blocked"}})
        }
        _ => status(200),
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let ids = ["bare", "fraction", "down", "busy", "onenote"];
    let mut listed: Vec<Value> = ids.iter().map(|id| part(id, "POST")).collect();
    listed.push(part("blocked", "POST"));
    listed.push(after("in-vain", "POST", &["bare"]));
    let reply = batch_with(&app, &AT_ONCE, listed).await;
    for id in ids {
        let told = seconds(&reply, id);
        assert!((1..=20).contains(&told), "{id}: {told}");
    }
    assert!(seconds(&reply, "busy") >= 2 && seconds(&reply, "down") >= 3);
    // What is for good, and what was not sent, is no matter of time.
    for id in ["blocked", "in-vain"] {
        assert_eq!(answer_of(&reply, id)["headers"].get("Retry-After"), None);
    }
    app.stop().await;
}

/// A batch that was split: each part that was in a throttled batch is told by itself.
#[tokio::test]
async fn parts_of_a_batch_that_was_throttled_whole_are_told_beside_those_that_were_answered() {
    let upstream = Batches::start(|n, parts| match n {
        0 => envelope(
            200,
            parts.iter().map(|part| told(part, status(200))).collect(),
        ),
        _ => answer(429, &[], ""),
    })
    .await;
    let layers = "{ scope = 'user', dimension = 'concurrency', limit = 2 }";
    let app = TestApp::start(&upstream.upstream(layers)).await;
    let listed = ["a", "b", "c"].map(|id| part(id, "POST"));
    let patient = [("spillway-user", "ann")];
    let reply = batch_with(&app, &patient, listed.into()).await;
    let expected = [("a", 200), ("b", 200), ("c", 429)];
    assert_eq!(
        answers(&reply),
        expected.map(|(id, status)| (id.to_owned(), status))
    );
    assert!((1..=4).contains(&seconds(&reply, "c")));
    app.stop().await;
}

/// The other of its batch goes three times more, which takes 1.75 s at least.
#[tokio::test]
async fn a_wait_counts_from_the_one_answer() {
    let upstream = Batches::of_parts(|n, part| match (n, part["id"].as_str().unwrap()) {
        (_, "post") => json!({"status": 503, "headers": {"Retry-After": "9"}}),
        (0..3, _) => json!({"status": 504}),
        _ => status(200),
    })
    .await;
    // The breaker that the 503 opens is another user's than the one that goes on.
    let config = format!("{}user_from = 'path'\n", upstream.peer.onenote());
    let app = TestApp::start(&config).await;
    let of = |id: &str, method: &str, user: &str| {
        let url = format!("/users/{user}/onenote/pages/{id}");
        json!({"id": id, "method": method, "url": url})
    };
    let listed = vec![of("post", "POST", "ann"), of("get", "GET", "bob")];
    let begun = std::time::Instant::now();
    let reply = batch_with(&app, &[], listed).await;
    let expected = [("post", 503), ("get", 200)];
    assert_eq!(
        answers(&reply),
        expected.map(|(id, status)| (id.to_owned(), status))
    );
    let left = 9.0 - begun.elapsed().as_secs_f64();
    let told = seconds(&reply, "post");
    assert!(
        told <= 8 && told as f64 >= left,
        "{told} s, and {left} are left"
    );
    assert_eq!(upstream.rounds().len(), 4);
    app.stop().await;
}

#[tokio::test]
async fn what_is_refused_here_is_told_with_the_rest() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.rate(2)).await;
    let reply = batch_with(&app, &AT_ONCE, parts(4)).await;
    for id in ["2", "3"] {
        assert!((120..=179).contains(&seconds(&reply, id)), "ten minutes");
    }
    app.stop().await;
}
