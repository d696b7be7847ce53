//! Accounts, as admins make and change them in the browser, and links by which people get in.

use http::StatusCode;
use spillway_server::{access::Role, store::Store};

use crate::support::people::{PASSWORD, cookie};
use crate::support::{NOBODY, Reply, TestApp};

const CHOSEN: &str = "another good secret";
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}";

async fn page(app: &TestApp, path: &str, cookie: &str) -> String {
    let reply = app.browse(path, Some(cookie)).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
    reply.text()
}

async fn led(app: &TestApp, reply: &Reply, cookie: &str) -> String {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    page(app, reply.header("location"), cookie).await
}

/// The key of the link that a page shows once.
fn key(page: &str) -> String {
    let (_, key) = page
        .split_once("/welcome?key=")
        .unwrap_or_else(|| panic!("{page}"));
    key[..32].to_owned()
}

async fn id_of(app: &TestApp, name: &str) -> String {
    let store: Store = app.store().await;
    let accounts = store.accounts().await.unwrap();
    store.close().await;
    let named = accounts.into_iter().find(|it| it.name == name);
    named
        .unwrap_or_else(|| panic!("nobody is called {name}"))
        .id
}

/// Whether this browser is still signed in.
async fn is_in(app: &TestApp, cookie: &str) -> bool {
    app.browse("/settings", Some(cookie)).await.status == StatusCode::OK
}

#[tokio::test]
async fn who_gets_a_link_chooses_a_password_and_the_link_is_void() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let fields = [("name", "bob"), ("role", "operator")];
    let made = app.form("/accounts/new", &fields, Some(&ada)).await;
    let shown = led(&app, &made, &ada).await;
    let link = key(&shown);
    assert!(shown.contains("link until"), "{shown}");
    assert!(
        !page(&app, made.header("location"), &ada)
            .await
            .contains(&link),
        "shown once"
    );
    let nobody = app.sign_in("bob", PASSWORD).await;
    assert_eq!(
        nobody.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "no password yet"
    );

    let welcome = app
        .browse(&format!("/welcome?key={link}"), None)
        .await
        .text();
    assert!(
        welcome.contains("<bdi>bob</bdi>") && !welcome.contains("<script"),
        "{welcome}"
    );
    for (password, again, wrong) in [
        (CHOSEN, PASSWORD, "These are two different passwords."),
        ("short", "short", "at least 12 characters"),
        ("bob bob bob bob", "bob bob bob bob", "different characters"),
    ] {
        let fields = [
            ("key", link.as_str()),
            ("password", password),
            ("again", again),
        ];
        let reply = app.form("/welcome", &fields, None).await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(reply.text().contains(wrong), "{}", reply.text());
    }
    let fields = [
        ("key", link.as_str()),
        ("password", CHOSEN),
        ("again", CHOSEN),
    ];
    let chosen = app.form("/welcome", &fields, None).await;
    assert_eq!(chosen.header("location"), "/");
    let bob = cookie(&chosen);
    assert!(
        page(&app, "/settings", &bob)
            .await
            .contains("bob, operator")
    );
    let again = app.form("/welcome", &fields, None).await;
    assert_eq!(again.status, StatusCode::GONE);
    assert_eq!(
        app.sign_in("bob", CHOSEN).await.status,
        StatusCode::SEE_OTHER
    );
    for wrong in ["", "0", &"0".repeat(32)] {
        let reply = app.browse(&format!("/welcome?key={wrong}"), None).await;
        assert_eq!(reply.status, StatusCode::GONE, "{wrong}");
    }
    let log = page(&app, "/audit?action=account.", &ada).await;
    for act in ["account.create", "account.invite", "account.password"] {
        assert!(log.contains(act), "{act} is not in {log}");
    }
    assert!(!log.contains(&link) && !log.contains("argon2"), "{log}");
    app.stop().await;
}

#[tokio::test]
async fn a_newer_link_voids_the_one_before_and_leaves_the_password_until_it_is_used() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let bob = app.signed_in("bob", Role::Viewer).await;
    let path = format!("/accounts/{}", id_of(&app, "bob").await);
    let mut links = Vec::new();
    for _ in 0..2 {
        let reply = app.form(&format!("{path}/invite"), &[], Some(&ada)).await;
        links.push(key(&led(&app, &reply, &ada).await));
    }
    let use_link = |link: &str| {
        [
            ("key", link.to_owned()),
            ("password", CHOSEN.to_owned()),
            ("again", CHOSEN.to_owned()),
        ]
    };
    let reply = |fields: [(&'static str, String); 3]| {
        let app = &app;
        async move {
            let fields: Vec<_> = fields
                .iter()
                .map(|(name, it)| (*name, it.as_str()))
                .collect();
            app.form("/welcome", &fields, None).await
        }
    };
    assert_eq!(reply(use_link(&links[0])).await.status, StatusCode::GONE);
    assert!(is_in(&app, &bob).await);
    assert_eq!(
        app.sign_in("bob", PASSWORD).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        reply(use_link(&links[1])).await.status,
        StatusCode::SEE_OTHER
    );
    assert!(!is_in(&app, &bob).await, "another password ends sessions");
    app.stop().await;
}

#[tokio::test]
async fn a_link_is_void_once_its_owner_has_another_password() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let bob = app.signed_in("bob", Role::Viewer).await;
    let path = format!("/accounts/{}", id_of(&app, "bob").await);
    let reply = app.form(&format!("{path}/invite"), &[], Some(&ada)).await;
    let link = key(&led(&app, &reply, &ada).await);
    let fields = [("password", PASSWORD), ("new", CHOSEN), ("again", CHOSEN)];
    let reply = app.form("/settings/password", &fields, Some(&bob)).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER);
    let by_link = app.browse(&format!("/welcome?key={link}"), None).await;
    assert_eq!(by_link.status, StatusCode::GONE);
    app.stop().await;
}

#[tokio::test]
async fn a_disabled_account_lets_nobody_in_until_it_is_enabled() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let bob = app.signed_in("bob", Role::Operator).await;
    let path = format!("/accounts/{}", id_of(&app, "bob").await);
    let reply = app.form(&format!("{path}/invite"), &[], Some(&ada)).await;
    let link = key(&led(&app, &reply, &ada).await);
    let reply = app.form(&format!("{path}/disable"), &[], Some(&ada)).await;
    let told = led(&app, &reply, &ada).await;
    assert!(
        told.contains("lets nobody in any more") && told.contains("Enable"),
        "{told}"
    );
    assert!(!is_in(&app, &bob).await);
    assert_eq!(
        app.sign_in("bob", PASSWORD).await.status,
        StatusCode::UNPROCESSABLE_ENTITY
    );
    let by_link = app.browse(&format!("/welcome?key={link}"), None).await;
    assert_eq!(by_link.status, StatusCode::GONE);
    app.form(&format!("{path}/enable"), &[], Some(&ada)).await;
    let by_link = app.browse(&format!("/welcome?key={link}"), None).await;
    assert_eq!(by_link.status, StatusCode::GONE, "the link is void");
    assert_eq!(
        app.sign_in("bob", PASSWORD).await.status,
        StatusCode::SEE_OTHER
    );
    app.stop().await;
}

#[tokio::test]
async fn roles_change_sessions_end_and_the_last_admin_stays() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let bob = app.signed_in("bob", Role::Viewer).await;
    let (own, path) = (
        format!("/accounts/{}", id_of(&app, "ada").await),
        format!("/accounts/{}", id_of(&app, "bob").await),
    );
    for (what, fields) in [
        ("role", &[("role", "operator")][..]),
        ("disable", &[]),
        ("remove", &[]),
    ] {
        let reply = app.form(&format!("{own}/{what}"), fields, Some(&ada)).await;
        let told = led(&app, &reply, &ada).await;
        assert!(
            told.contains("This is the only admin: make another one first."),
            "{what}: {told}"
        );
    }
    // Who has not used their link yet is none who could make another.
    let fields = [("name", "eve"), ("role", "admin")];
    app.form("/accounts/new", &fields, Some(&ada)).await;
    let reply = app.form(&format!("{own}/remove"), &[], Some(&ada)).await;
    assert!(led(&app, &reply, &ada).await.contains("the only admin"));

    let shown = page(&app, &path, &ada).await;
    let (_, handle) = shown.split_once("name=\"handle\" value=\"").unwrap();
    let end = [("handle", &handle[..16])];
    let reply = app
        .form(&format!("{path}/sessions/end"), &end, Some(&ada))
        .await;
    assert!(
        led(&app, &reply, &ada)
            .await
            .contains("The session has ended.")
    );
    assert!(!is_in(&app, &bob).await);
    let reply = app
        .form(&format!("{path}/sessions/end"), &end, Some(&ada))
        .await;
    assert!(led(&app, &reply, &ada).await.contains("had ended already"));

    let bob = cookie(&app.sign_in("bob", PASSWORD).await);
    let reply = app
        .form(&format!("{path}/role"), &[("role", "admin")], Some(&ada))
        .await;
    assert!(
        led(&app, &reply, &ada)
            .await
            .contains("has the role admin now")
    );
    assert!(!is_in(&app, &bob).await, "they sign in again");
    let reply = app
        .form(&format!("{path}/role"), &[("role", "king")], Some(&ada))
        .await;
    assert!(
        led(&app, &reply, &ada)
            .await
            .contains("There is no such role.")
    );
    let reply = app.form(&format!("{path}/remove"), &[], Some(&ada)).await;
    assert!(led(&app, &reply, &ada).await.contains("is removed"));
    assert_eq!(
        app.browse(&path, Some(&ada)).await.status,
        StatusCode::NOT_FOUND
    );
    let reply = app.form(&format!("{path}/remove"), &[], Some(&ada)).await;
    assert!(
        led(&app, &reply, &ada)
            .await
            .contains("That account is gone.")
    );
    app.stop().await;
}

#[tokio::test]
async fn others_see_who_there_is_and_names_are_texts() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let fields = [("name", HOSTILE), ("role", "member")];
    let made = app.form("/accounts/new", &fields, Some(&ada)).await;
    let shown = led(&app, &made, &ada).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    let path = format!("/accounts/{}", id_of(&app, HOSTILE).await);
    for text in [
        shown,
        page(&app, "/accounts", &vic).await,
        page(&app, &path, &vic).await,
    ] {
        assert!(
            text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\u{202e}"),
            "{text}"
        );
        assert!(!text.contains("<img"), "{text}");
    }
    assert!(
        page(&app, &path, &vic)
            .await
            .contains("Takes the role admin.")
    );
    for what in [
        "role",
        "invite",
        "disable",
        "enable",
        "remove",
        "sessions/end",
    ] {
        let reply = app.form(&format!("{path}/{what}"), &[], Some(&vic)).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{what}");
    }
    let taken = app
        .form(
            "/accounts/new",
            &[("name", "ADA"), ("role", "viewer")],
            Some(&ada),
        )
        .await;
    assert_eq!(taken.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(taken.text().contains("value=\"ADA\""), "{}", taken.text());
    app.stop().await;
}

#[tokio::test]
async fn an_open_server_keeps_none() {
    let app = TestApp::start(NOBODY).await;
    let page = app.browse("/accounts", None).await.text();
    assert!(page.contains("keeps no accounts here"), "{page}");
    let made = app
        .form("/accounts/new", &[("name", "eve"), ("role", "admin")], None)
        .await;
    assert_eq!(
        (made.status, &made.json()["code"]),
        (StatusCode::CONFLICT, &"open".into())
    );
    let store = app.store().await;
    assert!(!store.had_accounts().await.unwrap());
    store.close().await;
    app.stop().await;
}
