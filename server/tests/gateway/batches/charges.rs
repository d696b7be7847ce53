//! What a batch costs: each part by itself, and nothing else.

use serde_json::json;

use super::{Batches, after, answer_of, answers, batch, batch_with, part, parts, status, with};
use crate::support::TestApp;

/// What counts in the first layer of each budget of a workload, by its user.
async fn used(app: &TestApp, workload: &str) -> Vec<(String, u64)> {
    let state = app.get("/api/v1/state").await.json();
    let workloads = state["upstreams"][0]["workloads"]
        .as_array()
        .unwrap()
        .clone();
    let workload = workloads
        .into_iter()
        .find(|it| it["name"] == workload)
        .unwrap();
    let budgets = workload["budgets"].as_array().unwrap().clone();
    let users = budgets.iter().filter(|budget| budget["scope"] == "user");
    let mut used: Vec<_> = users
        .map(|budget| {
            let user = budget["user"].as_str().unwrap().to_owned();
            (user, budget["layers"][0]["used"].as_u64().unwrap())
        })
        .collect();
    used.sort();
    used
}

/// Case 16 [dev-proxy#297].
#[tokio::test]
async fn of_a_batch_of_twenty_exactly_as_many_go_now_as_there_is_room_for() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.rate(25)).await;
    assert_eq!(with(&batch(&app, "ann", parts(20)).await, 200), 20);
    let reply = batch(&app, "ann", parts(20)).await;
    assert_eq!((with(&reply, 200), with(&reply, 429)), (5, 15));
    assert_eq!(upstream.rounds()[1].ids(), ["0", "1", "2", "3", "4"]);
    assert_eq!(upstream.rounds().len(), 2);
    assert_eq!(used(&app, "all").await, [("ann".to_owned(), 25)]);
    let refused = answer_of(&reply, "5");
    let seconds: u32 = refused["headers"]["Retry-After"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    assert!((1..=179).contains(&seconds), "{seconds}");
    assert_eq!(refused["headers"]["Spillway-Blocked-By"], "user/rate/600s");
    assert_eq!(reply.header("content-type"), "application/json");
    app.stop().await;
}

#[tokio::test]
async fn parts_are_charged_to_their_own_workloads_users_and_at_their_own_weight() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let config = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\npresets = ['onenote', 'sharepoint']\nuser_from = 'path'\n",
        upstream.peer.address
    );
    let app = TestApp::start(&config).await;
    let of = |id: &str, method: &str, url: &str| json!({"id": id, "method": method, "url": url});
    let reply = batch_with(
        &app,
        &[],
        vec![
            of("1", "GET", "/users/ann/onenote/pages"),
            of("2", "GET", "users/Bob/onenote/pages"),
            of("3", "GET", "/users/bob/onenote/notebooks"),
            of("4", "GET", "/users/ann/drive/items/1/permissions"),
            of("5", "POST", "/users/ann/drive/root/children"),
            of("6", "GET", "/users/ann"),
        ],
    )
    .await;
    assert_eq!(with(&reply, 200), 6);
    assert_eq!(upstream.rounds().len(), 1);
    let user = |user: &str, used| (user.to_owned(), used);
    assert_eq!(
        used(&app, "onenote").await,
        [user("ann", 1), user("bob", 2)]
    );
    assert_eq!(used(&app, "sharepoint").await, [user("ann", 7)]);
    app.stop().await;
}

#[tokio::test]
async fn a_batch_without_a_user_is_refused_whole() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.peer.onenote()).await;
    let one = json!({"id": "1", "method": "GET", "url": "/me/onenote/pages"});
    let reply = batch_with(&app, &[], vec![one]).await;
    assert_eq!(
        (reply.status.as_u16(), &reply.json()["code"]),
        (400, &"no_identity".into())
    );
    assert!(upstream.rounds().is_empty());
    app.stop().await;
}

#[tokio::test]
async fn a_part_that_can_never_fit_is_told_so_and_the_others_go() {
    let upstream = Batches::of_parts(|_, _| status(200)).await;
    let app = TestApp::start(&upstream.rate(3)).await;
    let headers = [("spillway-user", "ann"), ("spillway-weight", "4")];
    let reply = batch_with(
        &app,
        &headers,
        vec![part("a", "GET"), after("b", "GET", &["A"])],
    )
    .await;
    assert_eq!(
        answers(&reply),
        [("a".to_owned(), 400), ("b".to_owned(), 424)]
    );
    assert_eq!(
        answer_of(&reply, "a")["body"]["error"]["code"],
        "impossible"
    );
    assert!(upstream.rounds().is_empty());
    app.stop().await;
}
