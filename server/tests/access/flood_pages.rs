//! The pages of the flood guard: what they show, what people of each role may do there, and that
//! nothing hostile comes alive in them.

use http::{Method, Request, StatusCode, header};
use serde_json::{Value, json};
use spillway_server::access::{Role, Scope};

use crate::support::{NOBODY, Reply, TestApp, rights, send};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{202e}'\"&%2e/..?#";

/// An admin's program.
async fn program(app: &TestApp) -> String {
    let rights = rights(Role::Admin, &[Scope::Events, Scope::Read, Scope::Write]);
    app.token(rights).await
}

async fn ask(app: &TestApp, token: &str, method: Method, path: &str, body: &Value) -> Reply {
    following(app, token, method, path, "", body).await
}

/// The same for what follows a version.
async fn following(
    app: &TestApp,
    token: &str,
    method: Method,
    path: &str,
    base: &str,
    body: &Value,
) -> Reply {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json");
    let request = match base {
        "" => request,
        base => request.header(header::IF_MATCH, base),
    };
    send(
        app.dashboard,
        request.body(body.to_string().into()).unwrap(),
    )
    .await
}

/// The second event of a minute is a strike, and the first strike of a day disables.
async fn strict(app: &TestApp, token: &str) {
    let policy = json!({ "per_minute": 2, "strikes_per_day": 1, "grace": 0 });
    let wish = json!({ "policy": policy, "reason": "a test" });
    let path = "/api/v1/flood-policies/action";
    let base = ask(app, token, Method::GET, path, &Value::Null).await;
    let base = base.header("etag").to_owned();
    let put = following(app, token, Method::PUT, path, &base, &wish).await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text());
}

/// So many events of a list at once.
async fn events(app: &TestApp, token: &str, site: &str, list: &str, count: usize) -> Vec<Value> {
    // All of them in one minute, whenever the test runs.
    let at = jiff::Timestamp::now() - jiff::SignedDuration::from_mins(2);
    let at = at.strftime("%Y-%m-%dT%H:%M:30Z").to_string();
    let event =
        json!({ "site": site, "list": list, "component": "action", "trigger": "event", "at": at });
    let all = Value::Array(vec![event; count]);
    let reply = ask(app, token, Method::POST, "/api/v1/events", &all).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.json().as_array().unwrap().clone()
}

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

#[tokio::test]
async fn what_is_disabled_is_put_right_after_asking_back() {
    let app = TestApp::closed(NOBODY).await;
    let token = program(&app).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let empty = page(&app, "/floods", &opal).await;
    assert!(empty.contains("No event was reported yet."), "{empty}");
    assert!(
        empty.contains("POST /api/v1/events"),
        "it says how to begin"
    );
    strict(&app, &token).await;
    for list in ["orders", "leads", "quiet"] {
        let count = if list == "quiet" { 1 } else { 3 };
        events(&app, &token, "s1", list, count).await;
    }
    let list = page(&app, "/floods", &opal).await;
    assert!(list.contains("2 components are disabled."), "{list}");
    let place = |name: &str| list.find(&format!("<bdi>{name}</bdi></a>")).unwrap();
    assert!(place("leads") < place("quiet") && place("orders") < place("quiet"));

    let chosen = [
        ("it", "action/s1/orders"),
        ("it", "action/s1/leads"),
        ("it", "action/s1/quiet"),
    ];
    let asked = app.form("/floods/enable", &chosen, Some(&opal)).await;
    assert_eq!(asked.status, StatusCode::OK);
    let asked = asked.text();
    assert!(asked.contains("Re-enable 2 components?"), "{asked}");
    assert!(asked.contains("1 choice left out"), "{asked}");
    assert!(
        asked.contains("the day's strikes do not"),
        "it says what happens"
    );
    let still = page(&app, "/floods/disabled", &opal).await;
    assert!(
        still.contains("2 components disabled"),
        "nothing is done yet"
    );

    let sure = [chosen[0], chosen[1], ("sure", "yes"), ("reason", "")];
    let refused = app.form("/floods/enable", &sure, Some(&opal)).await;
    assert_eq!(refused.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(refused.text().contains("say why"));
    let sure = [
        chosen[0],
        chosen[1],
        chosen[2],
        ("sure", "yes"),
        ("reason", "rule mended"),
    ];
    let done = app.form("/floods/enable", &sure, Some(&opal)).await;
    let done = led(&app, &done, &opal).await;
    assert!(done.contains("2 of 3 are re-enabled."), "{done}");
    assert!(
        done.contains("Action of quiet: the component is not disabled"),
        "{done}"
    );
    assert!(done.contains("Nothing is disabled."), "{done}");

    // What was done stands on the list's page, and the next flood disables at once.
    let one = page(&app, "/floods/s1/orders", &opal).await;
    for part in [
        "Action was re-enabled",
        "account opal (",
        "rule mended",
        "disabled by the day's strike 1",
    ] {
        assert!(one.contains(part), "{part} is not in {one}");
    }
    let now = json!({ "site": "s1", "list": "orders", "component": "action", "trigger": "event" });
    let now = Value::Array(vec![now; 5]);
    let again = ask(&app, &token, Method::POST, "/api/v1/events", &now)
        .await
        .json();
    assert_eq!(again[4]["decision"], "disabled", "{again}");
}

#[tokio::test]
async fn a_list_and_a_site_are_paused_and_that_is_taken_back() {
    let app = TestApp::closed(NOBODY).await;
    let token = program(&app).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    for (list, title) in [("l1", "Pause a list"), ("", "Pause a site")] {
        let target = format!("/floods/pause?site=s1&list={list}");
        let before = page(&app, &target, &opal).await;
        assert!(
            before.contains(title) && before.contains("neither handled nor counted"),
            "{before}"
        );
        let fields = [
            ("site", "s1"),
            ("list", list),
            ("minutes", "15"),
            ("reason", "bulk import"),
        ];
        let paused = app.form("/floods/begin-pause", &fields, Some(&opal)).await;
        let paused = led(&app, &paused, &opal).await;
        for part in [
            "Paused until",
            "account opal (",
            "bulk import",
            "End the pause",
        ] {
            assert!(paused.contains(part), "{part} is not in {paused}");
        }
        let decision = events_now(&app, &token).await;
        assert_eq!(decision, "paused", "{list}");
        let one = page(&app, "/floods/s1/l1", &opal).await;
        assert!(one.contains("End it early, or change it"), "{one}");
        let fields = [("site", "s1"), ("list", list), ("reason", "done")];
        let resumed = app.form("/floods/resume", &fields, Some(&opal)).await;
        let resumed = led(&app, &resumed, &opal).await;
        assert!(resumed.contains("Resumed: events are handled"), "{resumed}");
        // It can be taken back as it was: the form holds the end and the reason.
        assert!(
            resumed.contains("Pause again") && resumed.contains("bulk import"),
            "{resumed}"
        );
        assert_eq!(events_now(&app, &token).await, "handle");
        let twice = app.form("/floods/resume", &fields, Some(&opal)).await;
        assert_eq!(twice.status, StatusCode::UNPROCESSABLE_ENTITY);
        assert!(twice.text().contains("It is not paused."));
    }
}

async fn events_now(app: &TestApp, token: &str) -> String {
    let event = json!({ "site": "s1", "list": "l1", "component": "action", "trigger": "event" });
    let told = ask(app, token, Method::POST, "/api/v1/events", &event).await;
    told.json()["decision"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_viewer_sees_all_and_changes_nothing() {
    let app = TestApp::closed(NOBODY).await;
    let token = program(&app).await;
    strict(&app, &token).await;
    events(&app, &token, "s1", "orders", 3).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    for path in [
        "/floods/disabled",
        "/floods/s1/orders",
        "/floods/pause?site=s1",
    ] {
        let shown = page(&app, path, &vic).await;
        assert!(
            shown.contains("Takes the role operator."),
            "{path}: {shown}"
        );
        let main = shown.split("<main").nth(1).unwrap();
        let buttons = main.matches("<button type=\"submit\"").count();
        let shut = main.split("<button type=\"submit\"").skip(1);
        let shut = shut.filter(|it| it.split('>').next().unwrap().contains("disabled"));
        assert_eq!(shut.count(), buttons, "{path}: {main}");
    }
    for (path, fields) in [
        (
            "/floods/enable",
            [("it", "action/s1/orders"), ("sure", "yes"), ("reason", "x")],
        ),
        (
            "/floods/begin-pause",
            [("site", "s1"), ("minutes", "5"), ("reason", "x")],
        ),
        (
            "/floods/resume",
            [("site", "s1"), ("list", ""), ("reason", "x")],
        ),
    ] {
        let refused = app.form(path, &fields, Some(&vic)).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    let still = page(&app, "/floods/disabled", &vic).await;
    assert!(still.contains("1 component disabled"), "{still}");
}

#[tokio::test]
async fn hostile_names_of_sites_and_lists_are_words() {
    let app = TestApp::closed(NOBODY).await;
    let token = program(&app).await;
    strict(&app, &token).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let site =
        json!({ "title": HOSTILE, "region": "<b>eu</b>", "url": "https://example.org/\"'>" });
    let escaped: String = form_urlencoded(HOSTILE);
    let put = ask(
        &app,
        &token,
        Method::PUT,
        &format!("/api/v1/sites/{escaped}"),
        &site,
    )
    .await;
    // The address is no address; without it the site is taken.
    assert_eq!(
        put.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        put.text()
    );
    let site = json!({ "title": HOSTILE, "region": "<b>eu</b>" });
    let put = ask(
        &app,
        &token,
        Method::PUT,
        &format!("/api/v1/sites/{escaped}"),
        &site,
    )
    .await;
    assert_eq!(put.status, StatusCode::OK, "{}", put.text());
    events(&app, &token, HOSTILE, HOSTILE, 3).await;
    events(&app, &token, HOSTILE, "..", 3).await;
    let one = format!("/floods/{escaped}/{escaped}");
    let dots = format!("/floods/list?site={escaped}&list=..");
    let pause = format!("/floods/pause?site={escaped}&list={escaped}");
    for path in [
        "/floods",
        "/floods?part=live",
        "/floods/disabled",
        &one,
        &dots,
        &pause,
    ] {
        let shown = page(&app, path, &opal).await;
        assert!(
            !shown.contains("<img") && !shown.contains("<b>eu"),
            "{path}: {shown}"
        );
        // Forms carry the keys as they are.
        let read: String = shown
            .split(" value=\"")
            .enumerate()
            .map(|(n, it)| match n {
                0 => it,
                _ => it.split_once('"').map_or("", |(_, rest)| rest),
            })
            .collect();
        assert!(!read.contains('\u{202e}'), "{path}: {read}");
        assert!(shown.contains("&lt;img src=x"), "{path}: {shown}");
    }
    // The form's own value leads back to it.
    let listed = page(&app, "/floods/disabled", &opal).await;
    let values = listed.split("name=\"it\" value=\"").skip(1);
    let values: Vec<_> = values.map(|it| it.split('"').next().unwrap()).collect();
    assert_eq!(values.len(), 2, "{listed}");
    let mut fields: Vec<_> = values.iter().map(|value| ("it", *value)).collect();
    fields.extend([("sure", "yes"), ("reason", HOSTILE)]);
    let done = app.form("/floods/enable", &fields, Some(&opal)).await;
    let done = led(&app, &done, &opal).await;
    assert!(done.contains("All 2 are re-enabled."), "{done}");
}

fn form_urlencoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn filters_and_pages_stand_in_the_address() {
    let app = TestApp::closed(NOBODY).await;
    let token = program(&app).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    for (site, region) in [("s1", "eu"), ("s2", "us")] {
        let known = json!({ "title": format!("Shop {site}"), "region": region });
        let put = ask(
            &app,
            &token,
            Method::PUT,
            &format!("/api/v1/sites/{site}"),
            &known,
        )
        .await;
        assert_eq!(put.status, StatusCode::OK);
        for n in 0..30 {
            events(&app, &token, site, &format!("l{n:02}"), 1).await;
        }
    }
    let rows = |page: &str| page.matches("data-row=").count();
    for (query, count) in [
        ("", 50),
        ("?page=2", 10),
        ("?page=3", 0),
        ("?region=eu", 30),
        ("?site=s2", 30),
        ("?find=L07", 2),
        ("?find=shop+s2", 30),
        ("?find=l07&region=us", 1),
        ("?component=alert", 0),
        ("?state=disabled", 0),
    ] {
        let shown = page(&app, &format!("/floods{query}"), &vic).await;
        assert_eq!(rows(&shown), count, "{query}: {shown}");
    }
    let first = page(&app, "/floods?find=l", &vic).await;
    assert!(
        first.contains("href=\"/floods?find=l&amp;page=2#lists\""),
        "{first}"
    );
    // Both regions have their share.
    for part in [">eu</bdi>", ">us</bdi>", "60 rows, page 1"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    // What moves comes alone, without the search and its typing.
    let part = page(&app, "/floods?part=live", &vic).await;
    assert_eq!(part.matches("data-live=").count(), 4, "{part}");
    assert!(!part.contains("<form") && !part.contains("<html"), "{part}");
}

/// What a hidden field of a page holds.
fn hidden(page: &str, name: &str) -> String {
    let field = format!("type=\"hidden\" name=\"{name}\" value=\"");
    let value = page
        .split(&field)
        .nth(1)
        .unwrap_or_else(|| panic!("{page}"));
    value.split('"').next().unwrap().to_owned()
}

#[tokio::test]
async fn a_policy_is_tried_applied_contested_and_rolled_back() {
    let app = TestApp::closed(NOBODY).await;
    let token = program(&app).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    events(&app, &token, "s1", "orders", 30).await;
    let path = "/flood-policies/action";
    let first = page(&app, path, &ada).await;
    assert!(first.contains("Version 1, in force"), "{first}");
    let base = hidden(&first, "base");
    let typed = |per_minute: &'static str, more: &[(&'static str, String)]| {
        let numbers = [
            ("per_minute", per_minute.to_owned()),
            ("strikes_per_day", "20".to_owned()),
            ("grace", "0".to_owned()),
        ];
        let all = numbers.into_iter().chain(more.iter().cloned());
        all.collect::<Vec<_>>()
    };
    let edit = async |fields: Vec<(&'static str, String)>| {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, it)| (*name, it.as_str()))
            .collect();
        app.form(&format!("{path}/edit"), &fields, Some(&ada)).await
    };
    let wrong = edit(typed(
        "0",
        &[("base", base.clone()), ("do", "preview".into())],
    ))
    .await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(wrong.text().contains("per_minute is 0"));

    let tried = edit(typed(
        "20",
        &[("base", base.clone()), ("do", "preview".into())],
    ))
    .await;
    assert_eq!(tried.status, StatusCode::OK);
    let tried = tried.text();
    for part in [
        "it would have struck 1 (now 0)",
        "the busiest",
        "of 20 changed",
        ">orders</bdi>",
    ] {
        assert!(tried.contains(part), "{part} is not in {tried}");
    }
    let token_of = hidden(&tried, "tried");
    // What was not tried is not applied, nor without a reason.
    let apply = |per_minute, reason: &str| {
        let more = [
            ("base", base.clone()),
            ("tried", token_of.clone()),
            ("reason", reason.to_owned()),
            ("do", "apply".to_owned()),
        ];
        edit(typed(per_minute, &more))
    };
    let untried = apply("21", "x").await.text();
    assert!(
        untried.contains("another policy than the one that was tried"),
        "{untried}"
    );
    let why = apply("20", "").await.text();
    assert!(why.contains("say why"), "{why}");
    let applied = apply("20", "too many mails").await;
    let applied = led(&app, &applied, &ada).await;
    assert!(applied.contains("Version 2 is in force."), "{applied}");
    assert!(applied.contains("too many mails"), "{applied}");

    // Somebody was first: both sides are shown, and a mark has to be set.
    let late = apply("20", "me too").await;
    assert_eq!(late.status, StatusCode::CONFLICT);
    let late = late.text();
    assert!(late.contains("Somebody else saved meanwhile"), "{late}");
    let over = |seen: &'static str, shown: String| {
        let more = [
            ("tried", shown),
            ("base", base.clone()),
            ("over", "2".to_owned()),
            ("seen", seen.to_owned()),
            ("reason", "mine".to_owned()),
            ("do", "overwrite".to_owned()),
        ];
        edit(typed("50", &more))
    };
    let unseen = over("yes", hidden(&late, "tried")).await;
    assert_eq!(
        unseen.status,
        StatusCode::CONFLICT,
        "20 was shown, 50 is sent"
    );
    let shown = hidden(&unseen.text(), "tried");
    assert_eq!(over("", shown.clone()).await.status, StatusCode::CONFLICT);
    let mine = over("yes", shown).await;
    assert!(
        led(&app, &mine, &ada)
            .await
            .contains("Version 3 is in force.")
    );

    let back = page(&app, &format!("{path}?back=2"), &ada).await;
    assert!(back.contains("Roll back to version 2"), "{back}");
    let fields = [("version", "2"), ("base", "3"), ("reason", "as it was")];
    let back = app
        .form(&format!("{path}/rollback"), &fields, Some(&ada))
        .await;
    let back = led(&app, &back, &ada).await;
    assert!(back.contains("Version 4 is in force."), "{back}");
    let now = ask(
        &app,
        &token,
        Method::GET,
        "/api/v1/flood-policies/action",
        &Value::Null,
    )
    .await;
    assert_eq!(now.json()["policy"]["per_minute"], 20, "{}", now.text());

    // Others look.
    let opal = app.signed_in("opal", Role::Operator).await;
    let looked = page(&app, path, &opal).await;
    assert!(looked.contains("You can look, but not change"), "{looked}");
    assert!(
        page(&app, "/flood-policies", &opal)
            .await
            .contains("20 events a minute")
    );
}
