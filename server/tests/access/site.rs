//! The page of a site's admin: who is let in by a link, and what that lets them do.

use std::path::Path;

use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use spillway_server::{
    access::{Role, SiteLink, SiteLinks},
    gateway::KeySecret,
};

use crate::support::{NOBODY, Reply, TestApp, people::form, send};

const ANN: &str = "ann@example.org";
const DAY_MS: i64 = 86_400_000;

/// A server with a site, on whose list `l1` the component `action` is disabled by its second event.
struct World {
    app: TestApp,
    links: SiteLinks,
    ada: String,
    now_ms: i64,
}

impl World {
    async fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().to_owned();
        let app = TestApp::closed_in(dir, "", NOBODY).await;
        let ada = app.signed_in("ada", Role::Admin).await;
        let world = Self {
            links: links(&at, &app),
            app,
            ada,
            now_ms: jiff::Timestamp::now().as_millisecond(),
        };
        world.tell_of("s1", &[ANN, "bob@example.org"]).await;
        world.tell_of("s2", &["eve@example.org"]).await;
        let path = "/api/v1/flood-policies/action";
        let base = world.api(Method::GET, path, "", &Value::Null).await;
        let policy = json!({ "per_minute": 2, "strikes_per_day": 1, "grace": 0 });
        let wish = json!({ "policy": policy, "reason": "a test" });
        let changed = world
            .api(Method::PUT, path, base.header("etag"), &wish)
            .await;
        assert_eq!(changed.status, StatusCode::OK, "{}", changed.text());
        world.flood("s1").await;
        world.flood("s2").await;
        world
    }

    /// By an admin's browser.
    async fn api(&self, method: Method, path: &str, base: &str, body: &Value) -> Reply {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::COOKIE, &self.ada)
            .header("sec-fetch-site", "same-origin")
            .header(header::CONTENT_TYPE, "application/json");
        if !base.is_empty() {
            request = request.header(header::IF_MATCH, base);
        }
        let request = request.body(body.to_string().into()).unwrap();
        send(self.app.dashboard, request).await
    }

    async fn tell_of(&self, site: &str, admins: &[&str]) {
        let path = format!("/api/v1/sites/{site}");
        let told = json!({ "title": "Orders", "admins": admins, "time_zone": "Europe/Berlin" });
        let put = self.api(Method::PUT, &path, "", &told).await;
        assert_eq!(put.status, StatusCode::OK, "{}", put.text());
    }

    async fn flood(&self, site: &str) -> Vec<String> {
        let rights = crate::support::rights(Role::Admin, &[spillway_server::access::Scope::Events]);
        let token = self.app.token(rights).await;
        let event =
            json!({ "site": site, "list": "l1", "component": "action", "trigger": "event" });
        let request = Request::post("/api/v1/events")
            .header(header::AUTHORIZATION, format!("Bearer {token}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(json!([event, event, event]).to_string().into())
            .unwrap();
        let reply = send(self.app.dashboard, request).await.json();
        let decisions = reply.as_array().unwrap().iter();
        decisions
            .map(|it| it["decision"].as_str().unwrap_or_default().to_owned())
            .collect()
    }

    fn key(&self, site: &str, address: &str) -> String {
        self.links.key(&SiteLink {
            site: site.into(),
            address: address.into(),
            expires_at_ms: self.now_ms + DAY_MS,
        })
    }

    async fn show(&self, key: &str) -> Reply {
        self.app.get(&format!("/site?key={key}&list=l1")).await
    }

    /// Sends a form of the page.
    async fn act(&self, act: &str, key: &str, more: &[(&str, &str)]) -> Reply {
        let fields: Vec<_> = [("key", key), ("list", "l1")]
            .iter()
            .chain(more)
            .copied()
            .collect();
        self.app.form(&format!("/site/{act}"), &fields, None).await
    }

    /// What the page says to which an answer leads.
    async fn said(&self, reply: &Reply) -> String {
        assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
        let page = self.app.get(reply.header("location")).await;
        assert_eq!(page.status, StatusCode::OK);
        page.text()
    }

    /// All that the database knows of the site's list, and of what was done.
    async fn everything(&self) -> (Value, Value) {
        let path = "/api/v1/sites/s1/lists/l1";
        let mut list = self.api(Method::GET, path, "", &Value::Null).await.json();
        // Letters are tried meanwhile.
        list["letters"] = Value::Null;
        let audit = self
            .api(Method::GET, "/api/v1/audit", "", &Value::Null)
            .await;
        (list, audit.json())
    }
}

/// Links as the server makes them.
fn links(dir: &Path, app: &TestApp) -> SiteLinks {
    let secret = std::fs::read(dir.join("state/caller-keys.secret")).unwrap();
    let secret: [u8; 32] = secret.try_into().unwrap();
    let dashboard = format!("http://{}", app.dashboard).parse().unwrap();
    SiteLinks::new(&KeySecret::from(secret), &dashboard)
}

#[tokio::test]
async fn a_site_s_admin_re_enables_by_the_link_and_the_next_flood_disables_again() {
    let world = World::start().await;
    let key = world.key("s1", ANN);
    let page = world.show(&key).await;
    assert_eq!(page.status, StatusCode::OK, "{}", page.text());
    for words in [
        "l1",
        "Disabled since",
        "Re-enable action",
        "Europe/Berlin",
        ANN,
    ] {
        assert!(page.text().contains(words), "{words}\n{}", page.text());
    }
    for (name, value) in [
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-robots-tag", "noindex"),
    ] {
        assert_eq!(page.header(name), value, "{name}");
    }
    let policy = page.header("content-security-policy");
    assert!(
        policy.starts_with("default-src 'none'; style-src 'self'"),
        "{policy}"
    );
    assert!(!page.text().contains("<script"), "{}", page.text());

    let done = world
        .act(
            "enable",
            &key,
            &[("component", "action"), ("reason", "mended")],
        )
        .await;
    let said = world.said(&done).await;
    assert!(said.contains("action is re-enabled"), "{said}");
    assert!(
        said.contains("All clear") && said.contains("mended"),
        "{said}"
    );
    let again = world.act("enable", &key, &[("component", "action")]).await;
    let said = world.said(&again).await;
    assert!(
        said.contains("The component is not disabled on this list."),
        "{said}"
    );

    let (_, audit) = world.everything().await;
    let entries = audit["entries"].as_array().unwrap();
    let done = entries
        .iter()
        .find(|it| it["action"] == "flood.enable")
        .unwrap();
    assert_eq!(done["actor"]["kind"], "site_admin", "{done}");
    assert_eq!(done["actor"]["name"], ANN, "{done}");
    assert_eq!(done["subject"], "list:s1/l1");
    assert_eq!(done["reason"], "mended");

    assert_eq!(world.flood("s1").await, ["handle", "handle", "disabled"]);
    let list = world
        .api(Method::GET, "/api/v1/sites/s1/lists/l1", "", &Value::Null)
        .await
        .json();
    // Two admins, two disablements.
    assert_eq!(list["letters"].as_array().unwrap().len(), 4, "{list}");
    world.app.stop().await;
}

#[tokio::test]
async fn a_site_s_admin_pauses_and_resumes_by_the_link_for_a_reason() {
    let world = World::start().await;
    let key = world.key("s1", ANN);
    let no_reason = world.act("pause", &key, &[("minutes", "60")]).await;
    let said = world.said(&no_reason).await;
    assert!(
        said.contains("Reason must be 1 to 500 characters"),
        "{said}"
    );
    let paused = world
        .act("pause", &key, &[("minutes", "60"), ("reason", "import")])
        .await;
    let said = world.said(&paused).await;
    assert!(said.contains("The list is paused until"), "{said}");
    assert!(said.contains("Undo</button>"), "{said}");
    assert_eq!(world.flood("s1").await, ["paused"; 3]);
    let resumed = world.act("resume", &key, &[]).await;
    assert!(world.said(&resumed).await.contains("The list is resumed"));
    let made_up = [
        ("key", key.as_str()),
        ("list", "made up"),
        ("minutes", "1"),
        ("reason", "x"),
    ];
    let made_up = world.app.form("/site/pause", &made_up, None).await;
    assert!(world.said(&made_up).await.contains("There is no such list"));
    world.app.stop().await;
}

#[tokio::test]
async fn a_scanner_that_opens_every_link_changes_nothing() {
    let world = World::start().await;
    let key = world.key("s1", ANN);
    let before = world.everything().await;
    let query = format!("?key={key}&list=l1&component=action&minutes=60&reason=x");
    for path in ["/site", "/site/enable", "/site/pause", "/site/resume"] {
        for method in [Method::GET, Method::HEAD] {
            let request = Request::builder()
                .method(method.clone())
                .uri(format!("{path}{query}"))
                .body(Default::default())
                .unwrap();
            let reply = send(world.app.dashboard, request).await;
            let expected = match path {
                "/site" => StatusCode::OK,
                _ => StatusCode::METHOD_NOT_ALLOWED,
            };
            assert_eq!(reply.status, expected, "{method} {path}");
        }
    }
    assert_eq!(world.everything().await, before);
    world.app.stop().await;
}

#[tokio::test]
async fn links_that_are_forged_old_void_or_another_site_s_change_nothing() {
    let world = World::start().await;
    let good = world.key("s1", ANN);
    let old = world.links.key(&SiteLink {
        site: "s1".into(),
        address: ANN.into(),
        expires_at_ms: world.now_ms - 1,
    });
    let elsewhere = SiteLinks::new(&KeySecret::random(), &"http://127.0.0.1:1".parse().unwrap());
    let forged = elsewhere.key(&SiteLink {
        site: "s1".into(),
        address: ANN.into(),
        expires_at_ms: world.now_ms + DAY_MS,
    });
    let (said, _) = good.split_once('.').unwrap();
    let (_, mac) = forged.split_once('.').unwrap();
    let before = world.everything().await;
    for (key, status, words) in [
        (String::new(), StatusCode::NOT_FOUND, "No such link"),
        ("nonsense".into(), StatusCode::NOT_FOUND, "No such link"),
        (forged.clone(), StatusCode::NOT_FOUND, "No such link"),
        (
            format!("{said}.{mac}"),
            StatusCode::NOT_FOUND,
            "No such link",
        ),
        (old, StatusCode::GONE, "This link has expired"),
        (
            world.key("s1", "carl@example.org"),
            StatusCode::GONE,
            "This link is void",
        ),
        (
            world.key("s1", "eve@example.org"),
            StatusCode::GONE,
            "This link is void",
        ),
        (world.key("s3", ANN), StatusCode::GONE, "This link is void"),
    ] {
        let page = world.show(&key).await;
        assert_eq!(page.status, status, "{}", page.text());
        assert!(page.text().contains(words), "{}", page.text());
        assert_eq!(page.header("referrer-policy"), "no-referrer");
        let more = [("component", "action"), ("minutes", "60"), ("reason", "x")];
        for act in ["enable", "pause", "resume"] {
            let reply = world.act(act, &key, &more).await;
            assert_eq!(reply.status, status, "{act}");
        }
    }
    // Another site's link is for that site, whatever its holder adds.
    let eve = world.key("s2", "eve@example.org");
    let more = [("site", "s1"), ("component", "action")];
    let done = world.act("enable", &eve, &more).await;
    assert!(world.said(&done).await.contains("action is re-enabled"));
    assert_eq!(world.everything().await.0, before.0);

    // Who is an admin no more holds a void link.
    assert_eq!(world.show(&good).await.status, StatusCode::OK);
    world.tell_of("s1", &["bob@example.org"]).await;
    assert_eq!(world.show(&good).await.status, StatusCode::GONE);
    let late = world.act("enable", &good, &[("component", "action")]).await;
    assert_eq!(late.status, StatusCode::GONE);
    assert_eq!(world.everything().await.0, before.0);
    world.app.stop().await;
}

#[tokio::test]
async fn another_site_s_page_changes_nothing_by_a_link_that_it_has_come_by() {
    let world = World::start().await;
    let key = world.key("s1", ANN);
    let before = world.everything().await;
    let body = form(&[("key", &key), ("list", "l1"), ("component", "action")]);
    for (name, value) in [
        ("sec-fetch-site", "cross-site"),
        ("origin", "https://evil.example"),
        ("origin", "null"),
    ] {
        let request = Request::post("/site/enable")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(name, value)
            .body(body.clone().into())
            .unwrap();
        let reply = send(world.app.dashboard, request).await;
        assert_eq!(reply.status, StatusCode::FORBIDDEN, "{name}: {value}");
        assert_eq!(reply.json()["code"], "origin_not_allowed");
    }
    assert_eq!(world.everything().await, before);
    world.app.stop().await;
}

#[tokio::test]
async fn hostile_names_are_inert_on_the_page() {
    let world = World::start().await;
    let evil = "</script><img src=x onerror=alert(1)>\u{202e}";
    let told = json!({ "title": evil, "admins": [ANN], "url": "https://example.org/?\"><script>" });
    let put = world.api(Method::PUT, "/api/v1/sites/s1", "", &told).await;
    let told = match put.status {
        StatusCode::OK => told,
        _ => json!({ "title": evil, "admins": [ANN] }),
    };
    world.api(Method::PUT, "/api/v1/sites/s1", "", &told).await;
    let key = world.key("s1", ANN);
    let fields = [
        ("key", key.as_str()),
        ("list", "l1"),
        ("minutes", "5"),
        ("reason", evil),
    ];
    let paused = world.app.form("/site/pause", &fields, None).await;
    let page = world.said(&paused).await;
    assert!(page.contains("&lt;img src=x"), "{page}");
    for inert in ["<img", "<script", "\u{202e}"] {
        assert!(!page.contains(inert), "{inert}\n{page}");
    }
    world.app.stop().await;
}
