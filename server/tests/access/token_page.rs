//! Tokens, as admins make and revoke them in the browser, and who else sees them.

use http::{Request, StatusCode};
use spillway_server::access::Role;

use crate::support::{NOBODY, Reply, TestApp};
use crate::{call, sent, upstream};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

/// A form that makes a token for the gateway.
const PLAIN: [(&str, &str); 3] = [("name", "bridge"), ("role", "member"), ("scope", "gateway")];

async fn page(app: &TestApp, path: &str, cookie: &str) -> String {
    let reply = app.browse(path, Some(cookie)).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
    reply.text()
}

/// What a form has led to.
async fn led(app: &TestApp, reply: &Reply, cookie: &str) -> String {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    page(app, reply.header("location"), cookie).await
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
    let from = text
        .find(before)
        .unwrap_or_else(|| panic!("{before} is not in {text}"))
        + before.len();
    let text = &text[from..];
    &text[..text.find(after).unwrap()]
}

#[tokio::test]
async fn a_token_is_shown_once_works_at_once_and_is_refused_once_revoked() {
    let peer = upstream().await;
    let app = TestApp::closed(&peer.onenote()).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let made = app.form("/tokens/new", &PLAIN, Some(&ada)).await;
    let to = made.header("location").to_owned();
    let shown = led(&app, &made, &ada).await;
    let secret = between(&shown, "readonly value=\"spw_", "\"").to_owned();
    let secret = format!("spw_{secret}");
    assert_eq!(secret.len(), 47);
    assert!(shown.contains("The token bridge is made."), "{shown}");
    for again in [to.as_str(), "/tokens"] {
        assert!(!page(&app, again, &ada).await.contains("spw_"), "{again}");
    }
    assert!(
        page(&app, "/tokens", &ada)
            .await
            .contains("<span>never</span>")
    );
    assert_eq!(
        sent(app.gateway, call(&secret)).await.status,
        StatusCode::OK
    );
    let used = page(&app, "/tokens", &ada).await;
    assert!(
        !used.contains("data-name=\"Last used\"><span>never"),
        "{used}"
    );

    let id = between(&used, "name=\"id\" value=\"", "\"").to_owned();
    let revoked = app.form("/tokens/revoke", &[("id", &id)], Some(&ada)).await;
    let told = led(&app, &revoked, &ada).await;
    assert!(told.contains("lets nobody in any more"), "{told}");
    let refused = sent(app.gateway, call(&secret)).await;
    assert_eq!(refused.status, StatusCode::UNAUTHORIZED);
    let again = app.form("/tokens/revoke", &[("id", &id)], Some(&ada)).await;
    let told = led(&app, &again, &ada).await;
    assert!(told.contains("was revoked already"), "{told}");

    let log = page(&app, "/audit?action=token.&actor=ada", &ada).await;
    for act in ["token.create", "token.revoke"] {
        assert!(log.contains(act), "{act} is not in {log}");
    }
    assert!(!log.contains("spw_"), "{log}");
    app.stop().await;
}

#[tokio::test]
async fn what_no_token_can_be_is_said_and_what_was_typed_stays() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let with = |more: &[(&'static str, &'static str)]| [&PLAIN[..], more].concat();
    for (fields, wrong) in [
        (
            vec![("name", ""), PLAIN[1], PLAIN[2]],
            "The name must be 1 to 64 characters",
        ),
        (
            vec![PLAIN[0], ("role", "king"), PLAIN[2]],
            "There is no such role.",
        ),
        (vec![PLAIN[0], PLAIN[1]], "At least one scope is needed."),
        (with(&[("scope", "everything")]), "There is no such scope."),
        (
            with(&[("scope", "read")]),
            "The role member may not have the scope read",
        ),
        (with(&[("upstream", "grahp")]), "There is no upstream"),
        (
            with(&[("sites", "s1")]),
            "A site says nothing without the scope events or write.",
        ),
        (
            with(&[("lane", "fast")]),
            "The lane must be foreground or background.",
        ),
        (
            with(&[("expires", "soon")]),
            "The end must be a length of time",
        ),
        (
            with(&[("expires", "2001-01-01T00:00:00Z")]),
            "Its end must lie ahead.",
        ),
    ] {
        let reply = app.form("/tokens/new", &fields, Some(&ada)).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY, "{fields:?}");
        let text = reply.text();
        assert!(text.contains(wrong), "{wrong} is not in {text}");
    }
    let typed = with(&[
        ("apps", "a, b"),
        ("lane", "background"),
        ("scope", "read"),
        ("act_for_users", "yes"),
    ]);
    let text = app.form("/tokens/new", &typed, Some(&ada)).await.text();
    for kept in [
        "name=\"name\" value=\"bridge\"",
        "value=\"a, b\"",
        "value=\"background\" selected",
        "value=\"read\" checked",
        "value=\"yes\" checked",
    ] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
    assert!(
        page(&app, "/tokens", &ada)
            .await
            .contains("There is no token yet.")
    );
    let twice = app.form("/tokens/new", &PLAIN, Some(&ada)).await;
    assert_eq!(twice.status, StatusCode::SEE_OTHER);
    let twice = app.form("/tokens/new", &PLAIN, Some(&ada)).await;
    assert_eq!(
        twice.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "the name is taken"
    );
    app.stop().await;
}

#[tokio::test]
async fn others_see_tokens_and_networks_and_change_nothing() {
    let networks =
        format!("{NOBODY}[[upstreams.graph.clients]]\ncidr = '10.1.0.0/16'\napp = 'crm'\n");
    let app = TestApp::closed(&networks).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let fields = [("name", HOSTILE), PLAIN[1], PLAIN[2]];
    let made = app.form("/tokens/new", &fields, Some(&ada)).await;
    let shown = led(&app, &made, &ada).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let seen = page(&app, "/tokens", &opal).await;
    for text in [&shown, &seen] {
        assert!(
            text.contains("&lt;img src=x onerror=alert(1)&gt;\\u{202e}"),
            "{text}"
        );
        assert!(
            !text.contains("<img") && !text.contains('\u{202e}'),
            "{text}"
        );
    }
    for part in [
        "Takes the role admin.",
        "10.1.0.0/16",
        "crm",
        "not yet",
        "disabled>Revoke",
    ] {
        assert!(seen.contains(part), "{part} is not in {seen}");
    }
    for path in ["/tokens/new", "/tokens/revoke"] {
        let refused = app.form(path, &PLAIN, Some(&opal)).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_secret_is_told_to_its_maker_alone() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let eve = app.signed_in("eve", Role::Admin).await;
    let made = app.form("/tokens/new", &PLAIN, Some(&ada)).await;
    let to = made.header("location").to_owned();
    assert!(!page(&app, &to, &eve).await.contains("spw_"));
    assert!(page(&app, &to, &ada).await.contains("spw_"));
    app.stop().await;
}

#[tokio::test]
async fn an_open_server_makes_none() {
    let open = TestApp::start(NOBODY).await;
    let page = open.browse("/tokens", None).await;
    assert!(
        page.text().contains("lets anybody in without a token"),
        "{}",
        page.text()
    );
    let made = open.form("/tokens/new", &PLAIN, None).await;
    assert_eq!(
        (made.status, &made.json()["code"]),
        (StatusCode::CONFLICT, &"open".into())
    );
    let get = Request::get("/tokens/new");
    assert_eq!(
        sent(open.dashboard, get).await.header("location"),
        "/tokens"
    );
    open.stop().await;
}
