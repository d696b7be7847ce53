//! How people get in: the forms, the cookie, the set-up link; and how others do not.

use http::{HeaderMap, Request, StatusCode, header};
use serde_json::Value;
use spillway_server::{access::Role, store::AuditQuery};

use crate::support::people::{PASSWORD, cookie, form};
use crate::support::{NOBODY, Reply, TestApp, send, tls};
use crate::{refused, sent};

/// A name that would run a script, break a header or turn the text around it.
const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}\"'&";

fn location(reply: &Reply) -> &str {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    assert_eq!(reply.header("cache-control"), "no-store");
    reply.header("location")
}

fn set_cookies(headers: &HeaderMap) -> Vec<String> {
    let all = headers.get_all(header::SET_COOKIE).iter();
    all.map(|it| it.to_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn who_signs_in_comes_back_to_the_page_that_they_asked_for() {
    let app = TestApp::closed(NOBODY).await;
    app.account("ada", Role::Viewer).await;
    let asked = app
        .browse("/users/graph/onenote?user=a%26b&app=x", None)
        .await;
    let to = location(&asked).to_owned();
    assert_eq!(
        to,
        "/sign-in?to=%2Fusers%2Fgraph%2Fonenote%3Fuser%3Da%2526b%26app%3Dx"
    );
    let page = app.browse(&to, None).await;
    assert_eq!(page.status, StatusCode::OK);
    let hidden = "name=\"to\" value=\"/users/graph/onenote?user=a%26b&amp;app=x\"";
    assert!(page.text().contains(hidden), "{}", page.text());
    assert!(!page.text().contains("<script"), "nothing runs there");

    let fields = [
        ("name", "Ada"),
        ("password", PASSWORD),
        ("to", "/users/graph/onenote?user=a%26b&app=x"),
    ];
    let reply = app.form("/sign-in", &fields, None).await;
    assert_eq!(location(&reply), "/users/graph/onenote?user=a%26b&app=x");
    let ada = cookie(&reply);
    let overview = app.browse("/", Some(&ada)).await;
    assert_eq!(overview.status, StatusCode::OK);
    assert!(overview.text().contains("Overview"));
    // Who is in need not come in.
    assert_eq!(location(&app.browse("/sign-in", Some(&ada)).await), "/");
    app.stop().await;
}

#[tokio::test]
async fn strangers_see_no_page_and_no_data_but_the_way_in() {
    let app = TestApp::closed(NOBODY).await;
    for path in [
        "/",
        "/users/graph/onenote?user=a",
        "/settings",
        "/no/such/page",
    ] {
        let reply = app.browse(path, None).await;
        assert!(location(&reply).starts_with("/sign-in"), "{path}");
        assert!(set_cookies(&reply.headers).is_empty());
    }
    for cookie in [
        "spillway_session=x",
        "spillway_session=AAAAAAAAAAAAAAAAAAAAAA",
    ] {
        let reply = app.browse("/", Some(cookie)).await;
        assert_eq!(location(&reply), "/sign-in");
        let api = app.browse("/api/v1/state", Some(cookie)).await;
        assert_eq!(
            refused(&api),
            (StatusCode::UNAUTHORIZED, "unauthorized".into())
        );
    }
    let page = app.browse("/sign-in", None).await;
    for known in ["graph", "onenote", "127.0.0.1"] {
        assert!(!page.text().contains(known), "{known}");
    }
    assert_eq!(app.store().await.sessions().await.unwrap(), []);
    app.stop().await;
}

#[tokio::test]
async fn the_cookie_is_for_this_host_alone_and_new_at_each_sign_in() {
    let app = TestApp::closed(NOBODY).await;
    app.account("ada", Role::Viewer).await;
    let reply = app.sign_in("ada", PASSWORD).await;
    let set = set_cookies(&reply.headers);
    let attributes: Vec<_> = set[0].split("; ").skip(1).collect();
    assert!(set[0].starts_with("spillway_session="), "{set:?}");
    assert_eq!(attributes, ["HttpOnly", "SameSite=Lax", "Path=/"]);

    // An id that the browser brought along, another's or one's own, is not taken over.
    let first = cookie(&reply);
    for brought in ["spillway_session=AAAAAAAAAAAAAAAAAAAAAA", &first] {
        let fields = [("name", "ada"), ("password", PASSWORD)];
        let reply = app.form("/sign-in", &fields, Some(brought)).await;
        assert_ne!(cookie(&reply), brought);
        assert_ne!(cookie(&reply), first);
    }
    // The one before is worth nothing since.
    assert_eq!(location(&app.browse("/", Some(&first)).await), "/sign-in");
    let kept = app.store().await.sessions().await.unwrap();
    let secret = first.split_once('=').unwrap().1;
    assert!(!format!("{kept:?}").contains(secret));
    app.stop().await;
}

#[tokio::test]
async fn by_tls_the_cookie_is_bound_to_it() {
    let dir = tempfile::tempdir().unwrap();
    let certificates = tls::Certificates::new();
    let keys = certificates.write(dir.path());
    let app = TestApp::closed_in(dir, &keys, NOBODY).await;
    app.account("ada", Role::Viewer).await;
    let client = certificates.client(&["http/1.1"]);
    let post = async |path: &str, body: String, cookie: &str| {
        let request = Request::post(path)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::COOKIE, cookie);
        client
            .send(app.dashboard, request.body(body.into()).unwrap())
            .await
            .1
    };
    let body = form(&[("name", "ada"), ("password", PASSWORD)]);
    let reply = post("/sign-in", body, "").await;
    let set = set_cookies(&reply.headers);
    assert!(set[0].starts_with("__Host-spillway="), "{set:?}");
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Secure"] {
        assert!(set[0].split("; ").any(|it| it == attribute), "{set:?}");
    }
    assert!(!set[0].contains("Domain"));
    let out = post("/sign-out", String::new(), &cookie(&reply)).await;
    let set = set_cookies(&out.headers);
    assert!(set[0].starts_with("__Host-spillway=;"), "{set:?}");
    for attribute in ["Path=/", "Max-Age=0", "Secure"] {
        assert!(set[0].split("; ").any(|it| it == attribute), "{set:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn a_wrong_name_and_a_wrong_password_are_answered_alike_and_audited() {
    let app = TestApp::closed(NOBODY).await;
    app.account("ada", Role::Viewer).await;
    let wrong = app.sign_in("ada", "correct horse batter").await;
    let nobody = app.sign_in("eve", PASSWORD).await;
    for reply in [&wrong, &nobody] {
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(reply.text().contains("Name or password is wrong."));
        assert!(set_cookies(&reply.headers).is_empty());
        assert!(!reply.text().contains(PASSWORD));
    }
    assert_eq!(wrong.text().replace("\"ada\"", "\"eve\""), nobody.text());
    let hostile = app.sign_in(HOSTILE, PASSWORD).await;
    assert!(!hostile.text().contains("<img") && !hostile.text().contains("</script>"));

    let store = app.store().await;
    let entries = store.audit(&AuditQuery::default(), 3).await.unwrap();
    let ada = store.accounts().await.unwrap()[0].id.clone();
    let subjects: Vec<_> = entries.iter().map(|it| it.subject.as_str()).collect();
    assert_eq!(
        subjects,
        [
            "account:unknown",
            "account:unknown",
            &format!("account:{ada}")
        ]
    );
    for entry in &entries {
        assert_eq!(entry.action, "session.refuse");
        assert_eq!(entry.client.as_deref(), Some("127.0.0.1"));
    }
    store.close().await;
    app.stop().await;
}

#[tokio::test]
async fn attempts_are_throttled_and_say_when_to_come_back() {
    let app = TestApp::closed(NOBODY).await;
    app.account("ada", Role::Viewer).await;
    for _ in 0..10 {
        let reply = app.sign_in("ada", "wrong").await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    }
    let reply = app.sign_in("ada", PASSWORD).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    let after: u64 = reply.header("retry-after").parse().unwrap();
    assert!((1..=30).contains(&after), "{after}");
    assert!(reply.text().contains("Too many attempts were made."));
    app.stop().await;
}

#[tokio::test]
async fn nobody_is_sent_to_another_site() {
    let app = TestApp::closed(NOBODY).await;
    app.account("ada", Role::Viewer).await;
    for to in [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/\r\nSet-Cookie: a=b",
    ] {
        let fields = [("name", "ada"), ("password", PASSWORD), ("to", to)];
        let reply = app.form("/sign-in", &fields, None).await;
        assert_eq!(location(&reply), "/", "{to:?}");
        let query = form(&[("to", to)]);
        let page = app.browse(&format!("/sign-in?{query}"), None).await;
        assert!(page.text().contains("name=\"to\" value=\"/\""), "{to:?}");
    }
    app.stop().await;
}

#[tokio::test]
async fn other_sites_and_other_hosts_sign_nobody_in_or_out() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Viewer).await;
    let body = form(&[("name", "ada"), ("password", PASSWORD)]);
    for (name, value, expected) in [
        ("origin", "https://evil.example", StatusCode::FORBIDDEN),
        ("sec-fetch-site", "cross-site", StatusCode::FORBIDDEN),
        ("host", "evil.example", StatusCode::MISDIRECTED_REQUEST),
    ] {
        for path in ["/sign-in", "/sign-out", "/set-up"] {
            let request = Request::post(path)
                .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(header::COOKIE, &ada)
                .header(name, value);
            let reply = send(app.dashboard, request.body(body.clone().into()).unwrap()).await;
            assert_eq!(reply.status, expected, "{path} {name}");
            assert!(set_cookies(&reply.headers).is_empty());
            if expected == StatusCode::FORBIDDEN {
                assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
            }
        }
    }
    assert_eq!(app.browse("/", Some(&ada)).await.status, StatusCode::OK);
    // Nothing changes by a look.
    let looked = sent(
        app.dashboard,
        Request::get("/sign-out").header(header::COOKIE, &ada),
    )
    .await;
    assert_eq!(looked.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(app.browse("/", Some(&ada)).await.status, StatusCode::OK);
    app.stop().await;
}

#[tokio::test]
async fn what_is_no_form_is_refused() {
    let app = TestApp::closed(NOBODY).await;
    let post = |kind: &str, body: String| {
        let request = Request::post("/sign-in").header(header::CONTENT_TYPE, kind);
        send(app.dashboard, request.body(body.into()).unwrap())
    };
    let form_type = "application/x-www-form-urlencoded";
    let json = post("application/json", "{}".to_owned()).await;
    assert_eq!(refused(&json).0, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    let long = post(form_type, format!("name={}", "a".repeat(9_000))).await;
    assert_eq!(
        refused(&long),
        (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large".into())
    );
    let twice = post(form_type, "name=a&name=b".to_owned()).await;
    assert_eq!(
        refused(&twice),
        (StatusCode::UNPROCESSABLE_ENTITY, "bad_form".into())
    );
    app.stop().await;
}

#[tokio::test]
async fn the_first_admin_is_made_once_by_the_link() {
    let app = TestApp::closed(NOBODY).await;
    let key = app.set_up.clone().unwrap();
    let stranger = app.browse("/set-up?key=0", None).await;
    assert_eq!(stranger.status, StatusCode::NOT_FOUND);
    let path = format!("/set-up?key={key}");
    let page = app.browse(&path, None).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text().contains("Make the first admin"));

    let fields = |name, password, again| {
        [
            ("key", &*key),
            ("name", name),
            ("password", password),
            ("again", again),
        ]
    };
    for (password, again, said) in [
        ("short", "short", "A password needs at least 12 characters."),
        (
            PASSWORD,
            "another good one",
            "These are two different passwords.",
        ),
    ] {
        let reply = app
            .form("/set-up", &fields("ada", password, again), None)
            .await;
        assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(reply.text().contains(said), "{}", reply.text());
        assert!(!reply.text().contains(password) || password == "short");
    }
    let made = app
        .form("/set-up", &fields(HOSTILE, PASSWORD, PASSWORD), None)
        .await;
    assert_eq!(location(&made), "/");
    let page = app.browse("/", Some(&cookie(&made))).await;
    assert_eq!(page.status, StatusCode::OK);
    assert!(!page.text().contains("<img src=x"), "{}", page.text());

    for reply in [
        app.browse(&path, None).await,
        app.form("/set-up", &fields("eve", PASSWORD, PASSWORD), None)
            .await,
    ] {
        assert_eq!(reply.status, StatusCode::GONE);
        assert!(reply.text().contains("this link is void"));
    }
    let dir = app.stop().await;
    let again = TestApp::closed_in(dir, "", NOBODY).await;
    assert_eq!(again.set_up, None);
    assert_eq!(
        again.browse(&path, None).await.status,
        StatusCode::NOT_FOUND
    );
    again.stop().await;
}

#[tokio::test]
async fn the_link_is_void_once_the_command_line_has_made_an_account() {
    let app = TestApp::closed(NOBODY).await;
    let key = app.set_up.clone().unwrap();
    app.account("ada", Role::Admin).await;
    let reply = app.browse(&format!("/set-up?key={key}"), None).await;
    assert_eq!(reply.status, StatusCode::GONE);
    app.stop().await;
}

#[tokio::test]
async fn where_the_server_is_open_there_is_nothing_to_sign_in_to() {
    let app = TestApp::start(NOBODY).await;
    assert_eq!(app.set_up, None);
    for path in ["/sign-in", "/set-up"] {
        assert_eq!(app.get(path).await.status, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(app.get("/").await.status, StatusCode::OK);
    let who: Value = app.get("/api/v1/session").await.json();
    assert_eq!(
        (&who["kind"], &who["name"]),
        (&"anyone".into(), &Value::Null)
    );
    app.stop().await;
}
