//! Accounts and tokens by the API: what admins do in the browser, by programs.

use bytes::Bytes;
use http::{Request, StatusCode, header};
use serde_json::{Value, json};
use spillway_server::access::{Rights, Role, Scope};

use crate::support::people::PASSWORD;
use crate::support::{NOBODY, Reply, TestApp, rights, send};
use crate::{call, sent, upstream};

async fn asked(app: &TestApp, method: &str, path: &str, token: &str, body: Value) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(format!("/api/v1/{path}"))
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json");
    let body = match body {
        Value::Null => Bytes::new(),
        body => body.to_string().into(),
    };
    send(app.dashboard, request.body(body.into()).unwrap()).await
}

async fn admin(app: &TestApp) -> String {
    app.token(rights(Role::Admin, &[Scope::Read, Scope::Write]))
        .await
}

fn code(reply: &Reply) -> (u16, String) {
    let code = reply.json()["code"].as_str().unwrap_or_default().to_owned();
    (reply.status.as_u16(), code)
}

#[tokio::test]
async fn a_token_is_made_listed_and_revoked() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let admin = admin(&app).await;
    let wish = json!({ "name": "bridge", "role": "member", "scopes": ["gateway"],
        "apps": ["crm"], "lane": "background", "expires": "90d" });
    let made = asked(&app, "POST", "tokens", &admin, wish.clone()).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    assert_eq!(made.header("cache-control"), "no-store");
    let made = made.json();
    let secret = made["token"].as_str().unwrap().to_owned();
    assert_eq!(
        (&made["apps"], &made["lane"]),
        (&json!(["crm"]), &json!("background"))
    );
    assert_eq!(
        sent(app.gateway, call(&secret)).await.status,
        StatusCode::OK
    );

    let listed = asked(&app, "GET", "tokens?limit=1", &admin, Value::Null).await;
    assert!(!listed.text().contains("spw_"), "{}", listed.text());
    let cursor = listed.json()["next_cursor"].as_str().unwrap().to_owned();
    let next = asked(
        &app,
        "GET",
        &format!("tokens?cursor={cursor}"),
        &admin,
        Value::Null,
    )
    .await;
    let next = next.json();
    assert_eq!(next["tokens"].as_array().unwrap().len(), 1);
    assert!(next["next_cursor"].is_null());
    let both = [
        listed.json()["tokens"][0].clone(),
        next["tokens"][0].clone(),
    ];
    let bridge = both.iter().find(|it| it["name"] == "bridge").unwrap();
    assert!(bridge["last_used_at"].is_string(), "{bridge}");

    assert_eq!(
        code(&asked(&app, "POST", "tokens", &admin, wish).await),
        (409, "name_taken".to_owned())
    );
    let path = format!("tokens/{}", made["id"].as_str().unwrap());
    let revoked = asked(&app, "DELETE", &path, &admin, Value::Null).await;
    assert_eq!(revoked.status, StatusCode::NO_CONTENT);
    assert_eq!(
        sent(app.gateway, call(&secret)).await.status,
        StatusCode::UNAUTHORIZED
    );
    let again = asked(&app, "DELETE", &path, &admin, Value::Null).await;
    assert_eq!(code(&again), (404, "not_found".to_owned()));
    app.stop().await;
}

#[tokio::test]
async fn who_is_bound_makes_nothing_that_is_not() {
    let app = TestApp::closed(NOBODY).await;
    let bound = |upstreams: &[&str], apps: &[&str]| Rights {
        upstreams: upstreams.iter().map(|it| (*it).to_owned()).collect(),
        apps: apps.iter().map(|it| (*it).to_owned()).collect(),
        ..rights(Role::Admin, &[Scope::Write])
    };
    let wish = json!({ "name": "x", "role": "admin", "scopes": ["write"] });
    for bound in [bound(&["graph"], &[]), bound(&[], &["crm"])] {
        let token = app.token(bound).await;
        for (path, wish) in [
            ("tokens", wish.clone()),
            ("accounts", json!({ "name": "eve", "role": "admin" })),
        ] {
            let refused = asked(&app, "POST", path, &token, wish).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{}", refused.text());
        }
    }
    let store = app.store().await;
    assert!(!store.had_accounts().await.unwrap());
    store.close().await;
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_is_said_field_by_field() {
    let app = TestApp::closed(NOBODY).await;
    let admin = admin(&app).await;
    let with = |name: &str, value: Value| {
        let mut wish = json!({ "name": "x", "role": "member", "scopes": ["gateway"] });
        wish[name] = value;
        wish
    };
    for (wish, said) in [
        (with("name", json!("")), "name must be 1 to 64"),
        (with("role", json!("king")), "unknown variant"),
        (with("scopes", json!([])), "at least one scope"),
        (
            with("scopes", json!(["read"])),
            "may not have the scope read",
        ),
        (with("upstreams", json!(["grahp"])), "there is no upstream"),
        (with("lane", json!("fast")), "lane must be"),
        (with("expires", json!("soon")), "expires must be"),
        (with("secret", json!("x")), "unknown field"),
    ] {
        let reply = asked(&app, "POST", "tokens", &admin, wish).await;
        assert_eq!(
            code(&reply),
            (422, "bad_field".to_owned()),
            "{}",
            reply.text()
        );
        assert!(
            reply.text().contains(said),
            "{said} is not in {}",
            reply.text()
        );
    }
    for query in ["limit=0", "page=1", "cursor=x"] {
        let reply = asked(
            &app,
            "GET",
            &format!("accounts?{query}"),
            &admin,
            Value::Null,
        )
        .await;
        assert_eq!(code(&reply), (400, "bad_query".to_owned()), "{query}");
    }
    app.stop().await;
}

#[tokio::test]
async fn an_account_is_made_changed_and_removed() {
    let app = TestApp::closed(NOBODY).await;
    let admin = admin(&app).await;
    app.account("ada", Role::Admin).await;
    let wish = json!({ "name": "bob", "role": "viewer" });
    let made = asked(&app, "POST", "accounts", &admin, wish.clone()).await;
    assert_eq!(made.status, StatusCode::CREATED, "{}", made.text());
    let made = made.json();
    let key = made["link"]
        .as_str()
        .unwrap()
        .split("key=")
        .nth(1)
        .unwrap()
        .to_owned();
    let fields = [
        ("key", key.as_str()),
        ("password", PASSWORD),
        ("again", PASSWORD),
    ];
    assert_eq!(
        app.form("/welcome", &fields, None).await.header("location"),
        "/"
    );
    assert_eq!(
        code(&asked(&app, "POST", "accounts", &admin, wish).await),
        (409, "name_taken".to_owned())
    );

    let bob = format!("accounts/{}", made["id"].as_str().unwrap());
    let change = json!({ "role": "operator", "disabled": true });
    let changed = asked(&app, "PUT", &bob, &admin, change).await;
    assert_eq!(changed.status, StatusCode::NO_CONTENT, "{}", changed.text());
    let listed = asked(&app, "GET", "accounts", &admin, Value::Null)
        .await
        .json();
    let shown = &listed["accounts"][1];
    assert_eq!(
        (&shown["role"], &shown["disabled"]),
        (&json!("operator"), &json!(true))
    );
    assert_eq!(
        (&shown["sessions"], &shown["has_password"]),
        (&json!(0), &json!(true))
    );
    assert!(app.sign_in("bob", PASSWORD).await.status.is_client_error());

    asked(&app, "PUT", &bob, &admin, json!({ "disabled": false })).await;
    assert_eq!(
        app.sign_in("bob", PASSWORD).await.status,
        StatusCode::SEE_OTHER
    );
    let ended = asked(
        &app,
        "DELETE",
        &format!("{bob}/sessions"),
        &admin,
        Value::Null,
    )
    .await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    let listed = asked(&app, "GET", "accounts", &admin, Value::Null)
        .await
        .json();
    assert_eq!(listed["accounts"][1]["sessions"], 0);
    let link = asked(&app, "POST", &format!("{bob}/link"), &admin, Value::Null).await;
    assert!(
        link.json()["link"]
            .as_str()
            .unwrap()
            .contains("/welcome?key=")
    );

    let ada = format!("accounts/{}", listed["accounts"][0]["id"].as_str().unwrap());
    for (method, body) in [
        ("DELETE", Value::Null),
        ("PUT", json!({ "role": "viewer" })),
    ] {
        let reply = asked(&app, method, &ada, &admin, body).await;
        assert_eq!(code(&reply), (409, "last_admin".to_owned()));
    }
    let removed = asked(&app, "DELETE", &bob, &admin, Value::Null).await;
    assert_eq!(removed.status, StatusCode::NO_CONTENT);
    let again = asked(&app, "DELETE", &bob, &admin, Value::Null).await;
    assert_eq!(code(&again), (404, "not_found".to_owned()));
    app.stop().await;
}

#[tokio::test]
async fn an_open_server_makes_neither() {
    let app = TestApp::start(NOBODY).await;
    for (path, wish) in [
        (
            "tokens",
            json!({ "name": "x", "role": "member", "scopes": ["gateway"] }),
        ),
        ("accounts", json!({ "name": "eve", "role": "admin" })),
    ] {
        let reply = asked(&app, "POST", path, "none", wish).await;
        assert_eq!(code(&reply), (409, "open".to_owned()), "{path}");
        let reply = asked(&app, "GET", path, "none", Value::Null).await;
        assert_eq!(code(&reply), (409, "open".to_owned()), "{path}");
    }
    app.stop().await;
}
