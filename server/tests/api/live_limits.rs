//! Limits that change while calls run, wait and come.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::timeout};

use crate::lists::{post, until_waiting, want};
use crate::policies::put;
use crate::support::{TestApp, send};

/// Twelve a minute for a user, as many at once, and many for the app.
const WIDE: &str = "[upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\napp = 'house'\n\
    hold_max_ms = 30000\n[[upstreams.graph.workloads]]\nname = 'pages'\npaths = ['/v1.0/**']\n\
    layers = [{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 12 },\n\
    { scope = 'user', dimension = 'concurrency', limit = 12 },\n\
    { scope = 'app', dimension = 'concurrency', limit = 1000 }]\n";

/// How long anything may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(30);

/// How soon a changed limit is in force.
const IN_FORCE: Duration = Duration::from_millis(250);

fn limits(rate: i64, at_once: i64) -> Value {
    json!({ "background_share_permille": 500, "layers": [
        { "scope": "user", "dimension": "rate", "window_ms": 60_000, "limit": rate },
        { "scope": "user", "dimension": "concurrency", "limit": at_once },
        { "scope": "app", "dimension": "concurrency", "limit": 1_000 },
    ] })
}

/// A permit's id, if one is to be had at once.
async fn take(app: &TestApp, user: &str) -> Option<String> {
    let reply = post(app, "/api/v1/permits", &[], &want(user).to_string()).await;
    let id = reply.json()["id"].as_str().map(str::to_owned);
    assert_eq!(id.is_some(), reply.status == StatusCode::OK, "{reply:?}");
    id
}

async fn complete(to: std::net::SocketAddr, id: &str) -> StatusCode {
    let request = Request::builder().method(Method::POST);
    let request = request.uri(format!("/api/v1/permits/{id}/complete"));
    let request = request.header("content-type", "application/json");
    let body = Full::from(r#"{"status":200,"headers":{}}"#);
    send(to, request.body(body).unwrap()).await.status
}

/// How much of its limit a user has used, and which limit that is.
async fn used(app: &TestApp, user: &str) -> (u64, u64) {
    let path = format!("/api/v1/users/graph/pages?user={user}");
    let shown = app.get(&path).await.json();
    let budgets = shown["budgets"].as_array().unwrap();
    let budget = budgets.iter().find(|it| it["scope"] == "user").unwrap();
    let layer = &budget["layers"][0];
    (
        layer["used"].as_u64().unwrap(),
        layer["limit"].as_u64().unwrap(),
    )
}

/// Callers that take and complete permits, each for users of its own, until told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    calls: Arc<AtomicUsize>,
    callers: JoinSet<()>,
}

impl Load {
    fn start(app: &TestApp) -> Self {
        let (stop, calls) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let mut callers = JoinSet::new();
        for caller in 0..4 {
            let (stop, calls, to) = (Arc::clone(&stop), Arc::clone(&calls), app.dashboard);
            callers.spawn(async move {
                for n in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let body = want(&format!("u{caller}-{n}")).to_string();
                    let request = Request::post("/api/v1/permits");
                    let request = request.header("content-type", "application/json");
                    let taken = send(to, request.body(body.into()).unwrap()).await;
                    assert_eq!(taken.status, StatusCode::OK, "{taken:?}");
                    let taken = taken.json();
                    let id = taken["id"].as_str().unwrap();
                    assert_eq!(complete(to, id).await, StatusCode::NO_CONTENT);
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        Self {
            stop,
            calls,
            callers,
        }
    }

    async fn until(&self, calls: usize) {
        while self.calls.load(Ordering::Relaxed) < calls {
            tokio::task::yield_now().await;
        }
    }

    async fn stop(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.callers.join_next().await {
            ended.unwrap();
        }
    }
}

#[tokio::test]
async fn under_load_a_change_holds_within_250_ms_no_permit_is_lost_and_counts_are_kept() {
    let app = TestApp::start(WIDE).await;
    let load = Load::start(&app);
    load.until(200).await;
    // Ten of ann's twelve: five land, five run.
    let mut held = Vec::new();
    for n in 0..10 {
        let id = take(&app, "ann").await.unwrap();
        if n % 2 == 0 {
            held.push(id);
        } else {
            assert_eq!(complete(app.dashboard, &id).await, StatusCode::NO_CONTENT);
        }
    }
    let lowered = put(&app, "\"1\"", limits(11, 12), "lower").await;
    assert_eq!(lowered.status, StatusCode::OK, "{lowered:?}");
    held.push(take(&app, "ann").await.expect("the eleventh"));
    assert!(take(&app, "ann").await.is_none(), "the twelfth");
    assert_eq!(
        put(&app, "\"2\"", limits(4, 12), "far below").await.status,
        StatusCode::OK
    );
    assert!(take(&app, "ann").await.is_none());
    assert!(
        take(&app, "bob").await.is_some(),
        "others have what the limit gives"
    );

    // Six of hers run. Each time somebody waits whom the next limit lets go.
    let few = put(&app, "\"3\"", limits(100, 6), "a few at once").await;
    assert_eq!(few.status, StatusCode::OK, "{few:?}");
    let mut took = Vec::new();
    for (version, limit) in [(4, 7), (5, 8), (6, 9), (7, 10), (8, 11)] {
        let waiting = json!({ "upstream": "graph", "user": "ann", "wait_ms": 20_000 });
        let waiting = waiting.to_string();
        let waiter = post(&app, "/api/v1/permits", &[], &waiting);
        let change = async {
            until_waiting(&app, 1).await;
            let begun = Instant::now();
            let changed = put(&app, &format!("\"{version}\""), limits(100, limit), "raise").await;
            assert_eq!(changed.status, StatusCode::OK, "{changed:?}");
            begun
        };
        let let_go = async { (waiter.await, Instant::now()) };
        let both = async { tokio::join!(let_go, change) };
        let both = timeout(PATIENCE, both)
            .await
            .expect("it waits, and is let go");
        let ((granted, at), begun) = both;
        assert_eq!(granted.status, StatusCode::OK, "{granted:?}");
        held.push(granted.json()["id"].as_str().unwrap().to_owned());
        took.push(at - begun);
        assert!(take(&app, "ann").await.is_none(), "just one more");
    }
    let calls = load.calls.load(Ordering::Relaxed);
    load.until(calls + 50).await;
    load.stop().await;
    took.sort();
    println!("in force and let go after {took:?}, beside {calls} permits of others");
    assert!(took[2] < IN_FORCE, "{took:?}");

    // No permit was lost: each of those that are out is completed, once.
    for id in &held {
        assert_eq!(
            complete(app.dashboard, id).await,
            StatusCode::NO_CONTENT,
            "{id}"
        );
    }
    let app = TestApp::start_in(app.stop().await, WIDE).await;
    assert_eq!(
        used(&app, "ann").await,
        (16, 100),
        "counts and limits survive a restart"
    );
    app.stop().await;
}
