//! What calls cost where an upstream counts in units, and what calls outside of every
//! workload are charged to.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use serde_json::Value;

use crate::breakers::answer;
use crate::calls::{assert_blocked, call};
use crate::support::peer::{Peer, ok};
use crate::support::{Reply, TestApp, send};

const ITEMS: &str = "/graph/v1.0/me/drive/root/children";
const LISTS: &str = "/graph/v1.0/sites/a/lists";

/// Answers as the query asks: `costs=5` tells the cost in units, `unknown` is a 401.
async fn sharepoint() -> Peer {
    Peer::start(|request: Request<hyper::body::Incoming>| async move {
        match request.uri().query().unwrap_or_default() {
            "costs=5" => answer(200, &[("x-ms-resource-unit", "5")], ""),
            "unknown" => answer(401, &[], "{}"),
            _ => ok("well"),
        }
    })
    .await
}

fn upstreams(peer: &Peer) -> String {
    format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\npresets = ['sharepoint']\n",
        peer.address
    )
}

async fn one(app: &TestApp, method: Method, path: &str, weight: Option<u32>) -> Reply {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .header("spillway-user", "ann")
        .header("spillway-wait-ms", "0");
    if let Some(weight) = weight {
        request = request.header("spillway-weight", weight);
    }
    let request = request.body(Full::<Bytes>::default()).unwrap();
    send(app.gateway, request).await
}

/// What counts in the first layer of the budgets of `scope` of a workload.
async fn used(app: &TestApp, workload: &str, scope: &str) -> u64 {
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let of = |it: &&Value| it["name"] == workload;
    let budgets = workloads.iter().find(of).unwrap()["budgets"]
        .as_array()
        .unwrap()
        .clone();
    let of_scope = budgets.iter().filter(|budget| budget["scope"] == scope);
    of_scope
        .map(|budget| budget["layers"][0]["used"].as_u64().unwrap())
        .sum()
}

/// What ann, her tenant and the app over all its calls have used.
async fn all_used(app: &TestApp) -> [u64; 3] {
    [
        used(app, "sharepoint", "user").await,
        used(app, "sharepoint", "tenant").await,
        used(app, "_global", "app").await,
    ]
}

#[tokio::test]
async fn calls_cost_what_their_method_and_path_cost_until_the_upstream_says_otherwise() {
    let peer = sharepoint().await;
    let upstreams = upstreams(&peer);
    let app = TestApp::start(&upstreams).await;
    let mut expected = [0; 3];
    for (method, path, weight, costs) in [
        (Method::GET, "/graph/v1.0/me/drive/items/1", None, [1, 1, 1]),
        (Method::POST, ITEMS, None, [2, 2, 2]),
        (
            Method::GET,
            "/graph/v1.0/me/drive/items/1/permissions",
            None,
            [5, 5, 5],
        ),
        (Method::POST, ITEMS, Some(7), [7, 7, 7]),
        (
            Method::POST,
            "/graph/v1.0/me/drive/root/children?costs=5",
            None,
            [5, 5, 5],
        ),
        // Who is not known is charged nothing; the app is.
        (
            Method::POST,
            "/graph/v1.0/me/drive/root/children?unknown",
            None,
            [0, 2, 2],
        ),
    ] {
        let status = one(&app, method, path, weight).await.status;
        assert_eq!(
            status == StatusCode::UNAUTHORIZED,
            path.ends_with("unknown")
        );
        for (sum, cost) in expected.iter_mut().zip(costs) {
            *sum += cost;
        }
        assert_eq!(all_used(&app).await, expected, "{path}");
    }
    let app = TestApp::start_in(app.stop().await, &upstreams).await;
    assert_eq!(all_used(&app).await, expected, "after a restart");
    app.stop().await;
}

#[tokio::test]
async fn a_call_of_no_workload_is_charged_to_what_limits_all_calls_together() {
    let peer = Peer::start(|_| async { ok("well") }).await;
    let upstreams = format!(
        "{}[upstreams.graph.global]\n\
         layers = [{{ scope = 'app', dimension = 'rate', window_ms = 60000, limit = 3 }}]\n",
        peer.onenote()
    );
    let app = TestApp::start(&upstreams).await;
    assert_eq!(
        one(&app, Method::POST, LISTS, None).await.status,
        StatusCode::OK
    );
    assert_eq!(
        one(&app, Method::GET, LISTS, None).await.status,
        StatusCode::OK
    );
    assert_eq!(used(&app, "_global", "app").await, 2);
    assert_eq!(used(&app, "onenote", "app").await, 0);
    assert_eq!(call(app.gateway, "ann", 0).await.status, StatusCode::OK);
    assert_eq!(used(&app, "_global", "app").await, 3);

    // Whoever calls, and whatever: told in the vendor's words.
    let refused = one(&app, Method::GET, LISTS, None).await;
    assert_blocked(&refused, "app/rate/60s");
    assert_eq!(refused.header("content-type"), "application/json");
    assert!(refused.json()["error"]["code"].is_string(), "{refused:?}");
    assert_blocked(&call(app.gateway, "bob", 0).await, "app/rate/60s");
    assert_eq!(peer.counts().arrived, 3);
    app.stop().await;
}

#[tokio::test]
async fn where_nothing_limits_all_calls_together_one_of_no_workload_is_free() {
    let peer = Peer::start(|_| async { ok("well") }).await;
    let upstreams = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\n[[upstreams.graph.workloads]]\nname = 'one'\n\
         paths = ['/one']\nlayers = [{{ scope = 'user', dimension = 'rate', window_ms = 60000, limit = 1 }}]\n",
        peer.address
    );
    let app = TestApp::start(&upstreams).await;
    for path in ["/graph/one", "/graph/other", "/graph/other"] {
        let reply = one(&app, Method::GET, path, None).await;
        assert_eq!(reply.status, StatusCode::OK, "{path}");
    }
    assert_eq!(used(&app, "one", "user").await, 1);
    app.stop().await;
}
