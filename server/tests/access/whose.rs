//! Whose budget a call is charged to, whatever it claims.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use http::{Request, StatusCode, request::Builder};
use serde_json::{Value, json};
use spillway_server::access::Rights;

use crate::support::TestApp;
use crate::{PAGES, gateway_only, refused, sent, upstream, workload};

/// A bearer that claims to be somebody; nobody signed it.
fn claiming(claims: Value) -> String {
    let payload = URL_SAFE_NO_PAD.encode(claims.to_string());
    format!("Bearer e30.{payload}.c2ln")
}

/// A bearer of one user, told from others by what stands for its signature.
pub fn claiming_as(user: &str, signature: &str) -> String {
    let bearer = claiming(json!({ "oid": user }));
    bearer.replace("c2ln", signature)
}

fn call(token: &str, claims: Value) -> Builder {
    Request::get(PAGES)
        .header("spillway-token", token)
        .header("authorization", claiming(claims))
}

/// Who was charged: `app/tenant/user` of each user that counts, sorted.
pub async fn charged(app: &TestApp) -> Vec<String> {
    let workload = workload(app, "onenote").await;
    let budgets = workload["budgets"].as_array().unwrap().clone();
    let text = |budget: &Value, name: &str| budget[name].as_str().unwrap_or("").to_owned();
    let mut users: Vec<_> = budgets
        .iter()
        .filter(|budget| budget["scope"] == "user")
        .map(|it| {
            format!(
                "{}/{}/{}",
                text(it, "app"),
                text(it, "tenant"),
                text(it, "user")
            )
        })
        .collect();
    users.sort();
    users
}

/// Attacks: spoofed headers.
#[tokio::test]
async fn only_who_acts_for_users_names_them() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let plain = app.token(gateway_only()).await;
    let ann = || json!({ "oid": "ann", "tid": "t" });
    let reply = sent(
        app.gateway,
        call(&plain, ann()).header("spillway-user", "victim"),
    )
    .await;
    assert_eq!(
        refused(&reply),
        (StatusCode::FORBIDDEN, "user_not_allowed".into())
    );
    assert!(charged(&app).await.is_empty());

    let acting = Rights {
        act_for_users: true,
        ..gateway_only()
    };
    let acting = app.token(acting).await;
    for request in [
        call(&acting, ann()).header("spillway-user", "bob"),
        call(&plain, ann()),
    ] {
        assert_eq!(sent(app.gateway, request).await.status, StatusCode::OK);
    }
    assert_eq!(charged(&app).await, ["graph/t/ann", "graph/t/bob"]);
    app.stop().await;
}

/// Attacks: forged claims of an app, and its header.
#[tokio::test]
async fn a_token_bound_to_an_app_charges_no_other() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let bound = Rights {
        apps: ["own".to_owned()].into(),
        ..gateway_only()
    };
    let bound = app.token(bound).await;
    let claims = || json!({ "oid": "ann", "appid": "victim" });
    let reply = sent(
        app.gateway,
        call(&bound, claims()).header("spillway-app", "victim"),
    )
    .await;
    assert_eq!(
        refused(&reply),
        (StatusCode::FORBIDDEN, "app_not_allowed".into())
    );
    for request in [
        call(&bound, claims()),
        call(&bound, claims()).header("spillway-app", "own"),
    ] {
        assert_eq!(sent(app.gateway, request).await.status, StatusCode::OK);
    }
    assert_eq!(charged(&app).await, ["own//ann"]);
    app.stop().await;
}

#[tokio::test]
async fn a_token_s_lane_is_its_calls_where_they_name_none() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let job = Rights {
        lane: Some(spillway::Lane::Background),
        ..gateway_only()
    };
    let job = app.token(job).await;
    let ann = || json!({ "oid": "ann" });
    for request in [
        call(&job, ann()),
        call(&job, ann()).header("spillway-lane", "foreground"),
    ] {
        assert_eq!(sent(app.gateway, request).await.status, StatusCode::OK);
    }
    let workload = workload(&app, "onenote").await;
    let lanes = &workload["lanes"];
    assert_eq!(lanes["background"]["admitted"], 1, "{lanes}");
    assert_eq!(lanes["foreground"]["admitted"], 1, "{lanes}");
    app.stop().await;
}

/// Attacks: a call made cheaper than it is.
#[tokio::test]
async fn a_call_weighs_at_least_what_its_rule_says() {
    let peer = upstream().await;
    let sharepoint = format!(
        "[upstreams.graph]\nbase_url = 'http://{}/'\npresets = ['sharepoint']\n",
        peer.address
    );
    let app = TestApp::closed(&sharepoint).await;
    let token = app.token(gateway_only()).await;
    // A listing costs two units, and permissions five.
    let path = "/graph/v1.0/sites/s/permissions";
    for weight in ["1", "7"] {
        let request = Request::get(path)
            .header("spillway-token", &token)
            .header(
                "authorization",
                claiming(json!({ "oid": "ann", "tid": "t" })),
            )
            .header("spillway-weight", weight);
        assert_eq!(sent(app.gateway, request).await.status, StatusCode::OK);
    }
    let workload = workload(&app, "sharepoint").await;
    let budgets = workload["budgets"].as_array().unwrap();
    let tenant = budgets.iter().find(|it| it["scope"] == "tenant").unwrap();
    assert_eq!(tenant["layers"][0]["used"], 5 + 7, "{tenant}");
    app.stop().await;
}
