//! Answers to a whole batch that are no batch's answer, and those in codings that nobody asked for.

use http::Response;
use serde_json::{Value, json};

use super::{
    Batches, answer_of, answers, batch, batch_with, envelope, part, parts, status, throttled, told,
};
use crate::breakers::answer;
use crate::support::coded::coded;
use crate::support::peer::{PeerBody, body};
use crate::support::{Reply, TestApp};

const TWO_AT_ONCE: &str = "{ scope = 'user', dimension = 'concurrency', limit = 2 }";

/// 200 with what `text` is in a coding.
fn in_coding(coding: &str, text: &[u8]) -> Response<PeerBody> {
    let mut response = Response::new(body(coded(coding, text)));
    let named = if coding == "raw" { "deflate" } else { coding };
    for (name, value) in [
        ("content-type", "application/json"),
        ("content-encoding", named),
        ("etag", "\"1\""),
    ] {
        response.headers_mut().insert(name, value.parse().unwrap());
    }
    response
}

fn in_order(reply: &Reply) -> Vec<(String, u64, String)> {
    let code = |id: &str| {
        let code = &answer_of(reply, id)["body"]["error"]["code"];
        code.as_str().unwrap_or_default().to_owned()
    };
    let one = |(id, status): (String, u64)| {
        let code = code(&id);
        (id, status, code)
    };
    answers(reply).into_iter().map(one).collect()
}

#[tokio::test]
async fn a_batch_s_answer_is_read_in_each_known_coding() {
    for coding in ["gzip", "deflate", "raw", "br"] {
        let upstream = Batches::start(move |_, parts| {
            let one = |part: &Value| told(part, status(200));
            let message = json!({"responses": parts.iter().map(one).collect::<Vec<_>>()});
            in_coding(coding, message.to_string().as_bytes())
        })
        .await;
        let app = TestApp::start(&upstream.upstream(TWO_AT_ONCE)).await;
        // Five parts, two at once: three batches upstream, and one answer of five.
        let reply = batch(&app, "ann", parts(5)).await;
        let ids: Vec<_> = answers(&reply);
        let expected = (0..5).map(|n| (n.to_string(), 200));
        assert_eq!(ids, expected.collect::<Vec<_>>(), "{coding}");
        assert!(upstream.rounds().len() >= 3, "{coding}");
        assert!(!reply.headers.contains_key("content-encoding"));
        let length = reply.header("content-length").parse::<usize>();
        assert_eq!(length.unwrap(), reply.body.len());
        app.stop().await;
    }
}

/// One that a proxy in between makes up, cuts, or codes in its own way.
#[tokio::test]
async fn a_success_that_answers_no_part_is_an_explicit_failure_of_each_and_not_repeated() {
    let json = [("content-type", "application/json")];
    let zstd = [json[0], ("content-encoding", "zstd")];
    let broken = [json[0], ("content-encoding", "gzip")];
    type Told = (u16, Vec<(&'static str, &'static str)>, &'static str);
    let told: [Told; 7] = [
        (
            200,
            vec![("content-type", "text/html")],
            "<html>Sign in</html>",
        ),
        (200, json.to_vec(), ""),
        (200, json.to_vec(), "{}"),
        (200, json.to_vec(), r#"{"responses":[{"id":"0","st"#),
        (200, zstd.to_vec(), r#"{"responses":[]}"#),
        (200, broken.to_vec(), r#"{"responses":[]}"#),
        (204, vec![], ""),
    ];
    for (status, headers, text) in told {
        let sent = headers.clone();
        let upstream = Batches::start(move |_, _| answer(status, &sent, text)).await;
        let app = TestApp::start(&upstream.upstream(TWO_AT_ONCE)).await;
        let listed = vec![part("get", "GET"), part("post", "POST"), part("x", "GET")];
        let reply = batch(&app, "ann", listed).await;
        let failed = |id: &str| (id.to_owned(), 502, "upstream_broken".to_owned());
        assert_eq!(
            in_order(&reply),
            ["get", "post", "x"].map(failed),
            "{status} {headers:?} {text}"
        );
        let why = answer_of(&reply, "post")["body"]["error"]["message"].to_string();
        let coded = headers.iter().any(|(name, _)| *name == "content-encoding");
        let reason = if coded {
            "its content coding cannot be read"
        } else {
            "it is no answer to a batch"
        };
        assert!(why.contains(reason), "{why}");
        let unsent = answer_of(&reply, "x")["body"]["error"]["message"].to_string();
        assert!(unsent.contains("was not sent"), "{unsent}");
        // Sent once, and the third, which had to wait, not at all: it would fare no better.
        assert_eq!(upstream.rounds().len(), 1);
        assert_eq!(upstream.rounds()[0].ids(), ["get", "post"]);
        // They were answered, and so their places are free.
        let again = batch_with(
            &app,
            &[("spillway-user", "ann"), ("spillway-wait-ms", "0")],
            parts(2),
        )
        .await;
        assert_eq!(super::with(&again, 502), 2);
        app.stop().await;
    }
}

#[tokio::test]
async fn what_was_answered_before_stays_answered() {
    let upstream = Batches::start(|n, parts| match n {
        0 => {
            let one = |part: &Value| match part["id"].as_str() {
                Some("later") => told(part, throttled("1")),
                _ => told(part, status(201)),
            };
            envelope(200, parts.iter().map(one).collect())
        }
        _ => answer(200, &[("content-type", "text/html")], "<html>"),
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let listed = vec![part("now", "POST"), part("later", "GET")];
    let reply = batch(&app, "ann", listed).await;
    assert_eq!(
        in_order(&reply),
        [
            ("now".to_owned(), 201, String::new()),
            ("later".to_owned(), 502, "upstream_broken".to_owned())
        ]
    );
    assert_eq!(upstream.rounds().len(), 2);
    app.stop().await;
}

/// "Redirects are passed back, never followed" (security.md), and never repeated.
#[tokio::test]
async fn a_redirect_of_the_whole_batch_is_passed_back_once() {
    let upstream = Batches::start(|_, _| answer(307, &[("location", "/v1.0/other")], "")).await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(&app, "ann", parts(2)).await;
    assert_eq!(reply.status, 307);
    let here = format!("http://{}/graph/v1.0/other", app.gateway);
    assert_eq!(reply.header("location"), here);
    assert_eq!(upstream.rounds().len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn a_failure_of_the_whole_batch_in_a_coding_is_passed_on_plain() {
    let upstream = Batches::start(|_, _| {
        let mut response = in_coding(
            "gzip",
            br#"{"error":{"code":"InvalidAuthenticationToken"}}"#,
        );
        *response.status_mut() = http::StatusCode::UNAUTHORIZED;
        response
    })
    .await;
    let app = TestApp::start(&upstream.rate(100)).await;
    let reply = batch(&app, "ann", parts(1)).await;
    assert_eq!(reply.status, 401);
    assert_eq!(reply.json()["error"]["code"], "InvalidAuthenticationToken");
    assert!(!reply.headers.contains_key("content-encoding"));
    app.stop().await;
}

#[tokio::test]
async fn an_answer_that_grows_beyond_what_is_kept_is_a_failure_and_its_places_are_free() {
    let text = format!(r#"{{"responses":["{}"]}}"#, "x".repeat(33 * 1024 * 1024));
    let bomb = coded("gzip", text.as_bytes());
    assert!(bomb.len() < 1024 * 1024);
    let (bomb, text) = (bytes::Bytes::from(bomb), bytes::Bytes::from(text));
    for plain in [false, true] {
        let (bomb, text) = (bomb.clone(), text.clone());
        let upstream = Batches::start(move |n, parts| {
            if n > 0 {
                let one = |part: &Value| told(part, status(200));
                return envelope(200, parts.iter().map(one).collect());
            }
            let mut response = Response::new(body(if plain { text.clone() } else { bomb.clone() }));
            if !plain {
                let gzip = "gzip".parse().unwrap();
                response.headers_mut().insert("content-encoding", gzip);
            }
            response
        })
        .await;
        let app = TestApp::start(&upstream.upstream(TWO_AT_ONCE)).await;
        let reply = batch(&app, "ann", parts(2)).await;
        let failed = |id: &str| (id.to_owned(), 502, "answer_too_large".to_owned());
        assert_eq!(in_order(&reply), ["0", "1"].map(failed), "plain: {plain}");
        let at_once = [("spillway-user", "ann"), ("spillway-wait-ms", "0")];
        let again = batch_with(&app, &at_once, parts(2)).await;
        assert_eq!(super::with(&again, 200), 2, "plain: {plain}");
        app.stop().await;
    }
}
