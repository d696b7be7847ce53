//! What people change themselves: their sessions and their password.

use http::{Request, StatusCode, header};
use spillway_server::access::Role;

use crate::sent;
use crate::support::people::{PASSWORD, cookie};
use crate::support::{NOBODY, Reply, TestApp};

const NEW: &str = "another good secret";

async fn page(app: &TestApp, cookie: &str) -> String {
    let reply = app.browse("/settings", Some(cookie)).await;
    assert_eq!(reply.status, StatusCode::OK);
    reply.text()
}

fn location(reply: &Reply) -> &str {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    reply.header("location")
}

/// The handles of the sessions that the page lists.
fn handles(page: &str) -> Vec<String> {
    let forms = page.split("name=\"handle\" value=\"").skip(1);
    forms.map(|rest| rest[..16].to_owned()).collect()
}

#[tokio::test]
async fn somebody_ends_another_session_of_theirs_and_nobody_else_s() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Member).await;
    let other = cookie(&app.sign_in("ada", PASSWORD).await);
    let eve = app.signed_in("eve", Role::Admin).await;
    let listed = page(&app, &ada).await;
    assert_eq!(
        listed.matches("<script").count(),
        1,
        "local times alone: {listed}"
    );
    let own = handles(&listed);
    assert_eq!(own.len(), 2, "{listed}");

    for handle in [&own[1], "0000000000000000"] {
        let reply = app
            .form("/settings/sessions/end", &[("handle", handle)], Some(&eve))
            .await;
        assert_eq!(location(&reply), "/settings");
        assert!(
            page(&app, &eve)
                .await
                .contains("That session had ended already.")
        );
    }
    assert_eq!(
        app.browse("/settings", Some(&other)).await.status,
        StatusCode::OK
    );

    let ended = [("handle", own[1].as_str())];
    let reply = app.form("/settings/sessions/end", &ended, Some(&ada)).await;
    assert_eq!(location(&reply), "/settings");
    assert!(page(&app, &ada).await.contains("The session has ended."));
    let again = page(&app, &ada).await;
    assert!(!again.contains("The session has ended."), "it is said once");
    assert_eq!(handles(&again).len(), 1);
    assert!(location(&app.browse("/settings", Some(&other)).await).starts_with("/sign-in"));

    let ended = [("handle", own[0].as_str())];
    let reply = app.form("/settings/sessions/end", &ended, Some(&ada)).await;
    assert_eq!(location(&reply), "/sign-in?out=1");
    assert!(location(&app.browse("/settings", Some(&ada)).await).starts_with("/sign-in"));
    app.stop().await;
}

#[tokio::test]
async fn a_password_is_changed_by_who_knows_it_and_other_sessions_end() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Viewer).await;
    let other = cookie(&app.sign_in("ada", PASSWORD).await);
    let fields = |password, new, again| [("password", password), ("new", new), ("again", again)];
    for (password, new, again, said) in [
        ("wrong", NEW, NEW, "That is not your password until now."),
        (
            PASSWORD,
            NEW,
            "another",
            "These are two different passwords.",
        ),
        (
            PASSWORD,
            "short",
            "short",
            "A password needs at least 12 characters.",
        ),
    ] {
        let reply = app
            .form(
                "/settings/password",
                &fields(password, new, again),
                Some(&ada),
            )
            .await;
        assert_eq!(location(&reply), "/settings");
        assert!(page(&app, &ada).await.contains(said), "{said}");
    }
    let reply = app
        .form(
            "/settings/password",
            &fields(PASSWORD, NEW, NEW),
            Some(&ada),
        )
        .await;
    assert_eq!(location(&reply), "/settings");
    let renewed = cookie(&reply);
    assert_ne!(renewed, ada);
    assert!(
        page(&app, &renewed)
            .await
            .contains("Your password is changed.")
    );
    for ended in [&ada, &other] {
        assert!(location(&app.browse("/settings", Some(ended)).await).starts_with("/sign-in"));
    }
    let eve = app.signed_in("eve", Role::Admin).await;
    let log = app
        .browse("/api/v1/audit?action=session.refuse", Some(&eve))
        .await;
    let log = log.json();
    assert_eq!(
        log["entries"].as_array().map(Vec::len),
        Some(1),
        "one wrong password: {log}"
    );
    let old = app.sign_in("ada", PASSWORD).await;
    assert_eq!(old.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert_eq!(app.sign_in("ada", NEW).await.status, StatusCode::SEE_OTHER);
    app.stop().await;
}

#[tokio::test]
async fn strangers_change_nothing() {
    let app = TestApp::closed(NOBODY).await;
    for path in ["/settings/password", "/settings/sessions/end"] {
        let request =
            Request::post(path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
        let reply = sent(app.dashboard, request).await;
        assert_eq!(reply.status, StatusCode::UNAUTHORIZED);
        let said = reply.text();
        assert!(
            said.contains("Your form is not lost") && said.contains("href=\"/sign-in\""),
            "{said}"
        );
    }
    app.stop().await;
    let open = TestApp::start(NOBODY).await;
    assert_eq!(open.get("/settings").await.status, StatusCode::NOT_FOUND);
    open.stop().await;
}
