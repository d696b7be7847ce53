//! Batches as clients send them, and upstreams that answer them as a test says.

mod charges;
mod fates;
mod links;
mod own;
mod random;
mod refused;
mod splits;
mod unintelligible;
mod waits;

use std::sync::{Arc, Mutex};
use std::time::Instant;

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};

use crate::support::peer::{Peer, PeerBody, body};
use crate::support::{Reply, TestApp, send};

pub const BATCH: &str = "/graph/v1.0/$batch";

/// One batch that arrived upstream.
#[derive(Clone, Debug)]
pub struct Round {
    pub at: Instant,
    pub parts: Vec<Value>,
}

impl Round {
    pub fn ids(&self) -> Vec<&str> {
        self.parts
            .iter()
            .map(|part| part["id"].as_str().unwrap())
            .collect()
    }
}

/// An upstream of batches and what it was sent. Other calls are answered 200.
pub struct Batches {
    pub peer: Peer,
    rounds: Arc<Mutex<Vec<Round>>>,
}

impl Batches {
    /// Answers each batch as `script` says of its number, from 0, and its parts.
    pub async fn start(
        script: impl Fn(usize, &[Value]) -> Response<PeerBody> + Clone + Send + Sync + 'static,
    ) -> Self {
        let rounds = Arc::<Mutex<Vec<Round>>>::default();
        let noted = Arc::clone(&rounds);
        let peer = Peer::start(move |request: Request<Incoming>| {
            let (script, noted) = (script.clone(), Arc::clone(&noted));
            async move {
                let path = request.uri().path().to_lowercase().replace("%24", "$");
                if !path.trim_end_matches('/').ends_with("$batch") {
                    return crate::support::peer::ok("{}");
                }
                let message = request.into_body().collect().await.unwrap().to_bytes();
                let message: Value = serde_json::from_slice(&message).unwrap();
                let parts = message["requests"].as_array().unwrap().clone();
                let number = {
                    let mut rounds = noted.lock().unwrap();
                    rounds.push(Round {
                        at: Instant::now(),
                        parts: parts.clone(),
                    });
                    rounds.len() - 1
                };
                script(number, &parts)
            }
        })
        .await;
        Self { peer, rounds }
    }

    /// Answers each part by `script`, under 200.
    pub async fn of_parts(
        script: impl Fn(usize, &Value) -> Value + Clone + Send + Sync + 'static,
    ) -> Self {
        Self::start(move |n, parts| {
            envelope(
                200,
                parts
                    .iter()
                    .map(|part| told(part, script(n, part)))
                    .collect(),
            )
        })
        .await
    }

    pub fn rounds(&self) -> Vec<Round> {
        self.rounds.lock().unwrap().clone()
    }

    /// A Graph upstream at this address whose calls under `/v1.0` have these layers.
    pub fn upstream(&self, layers: &str) -> String {
        format!(
            "[upstreams.graph]\nbase_url = 'http://{}/'\npresets = ['onenote']\nhold_max_ms = 30000\n\
             [[upstreams.graph.workloads]]\nname = 'all'\npaths = ['/v1.0']\nlayers = [{layers}]\n",
            self.peer.address
        )
    }

    /// The same with so many calls of a user in ten minutes.
    pub fn rate(&self, limit: u32) -> String {
        self.upstream(&format!(
            "{{ scope = 'user', dimension = 'rate', window_ms = 600000, limit = {limit} }}"
        ))
    }
}

/// The answer to a part: its id, and what else is told.
pub fn told(part: &Value, mut told: Value) -> Value {
    told["id"] = part["id"].clone();
    told
}

pub fn status(status: u16) -> Value {
    json!({"status": status, "headers": {"Content-Type": "application/json"}, "body": {"s": status}})
}

/// Status 429 with this `Retry-After`.
pub fn throttled(seconds: &str) -> Value {
    json!({"status": 429, "headers": {"Retry-After": seconds}, "body": {"error": {"code": "TooManyRequests"}}})
}

/// A batch's answer of these.
pub fn envelope(status: u16, responses: Vec<Value>) -> Response<PeerBody> {
    let mut response = Response::new(body(json!({"responses": responses}).to_string()));
    *response.status_mut() = http::StatusCode::from_u16(status).unwrap();
    let json = "application/json".parse().unwrap();
    response.headers_mut().insert("content-type", json);
    response
}

pub fn part(id: &str, method: &str) -> Value {
    json!({"id": id, "method": method, "url": format!("/me/items/{id}")})
}

pub fn after(id: &str, method: &str, depends_on: &[&str]) -> Value {
    let mut part = part(id, method);
    part["dependsOn"] = json!(depends_on);
    part
}

/// `count` parts, `0` to `count - 1`.
pub fn parts(count: usize) -> Vec<Value> {
    (0..count).map(|n| part(&n.to_string(), "GET")).collect()
}

/// Sends a batch for `user`.
pub async fn batch(app: &TestApp, user: &str, parts: Vec<Value>) -> Reply {
    batch_with(app, &[("spillway-user", user)], parts).await
}

pub async fn batch_with(app: &TestApp, headers: &[(&str, &str)], parts: Vec<Value>) -> Reply {
    let message = json!({"requests": parts}).to_string();
    raw(app, Method::POST, BATCH, headers, message).await
}

/// Sends whatever it is.
pub async fn raw(
    app: &TestApp,
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    message: impl Into<Bytes>,
) -> Reply {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "content-type") {
        request = request.header("content-type", "application/json");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    send(
        app.gateway,
        request.body(Full::new(message.into())).unwrap(),
    )
    .await
}

/// `(id, status)` of each answer, in its order.
pub fn answers(reply: &Reply) -> Vec<(String, u64)> {
    assert_eq!(reply.status, 200, "{reply:?}");
    let json = reply.json();
    let responses = json["responses"].as_array().unwrap();
    let one = |it: &Value| {
        (
            it["id"].as_str().unwrap().to_owned(),
            it["status"].as_u64().unwrap(),
        )
    };
    responses.iter().map(one).collect()
}

/// One answer.
pub fn answer_of(reply: &Reply, id: &str) -> Value {
    let json = reply.json();
    let responses = json["responses"].as_array().unwrap();
    responses.iter().find(|it| it["id"] == id).unwrap().clone()
}

/// All with this status.
pub fn with(reply: &Reply, status: u64) -> usize {
    answers(reply)
        .iter()
        .filter(|(_, told)| *told == status)
        .count()
}

/// A figure of a workload's foreground.
pub async fn lane(app: &TestApp, workload: &str, figure: &str) -> u64 {
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let workload = workloads.iter().find(|it| it["name"] == workload).unwrap();
    workload["lanes"]["foreground"][figure].as_u64().unwrap()
}
