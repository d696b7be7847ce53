//! Limits looked at and changed in a browser without JavaScript: plain forms, and who may send
//! them.

use http::StatusCode;
use serde_json::Value;
use spillway_server::access::{Role, Scope};

use crate::support::{NOBODY, Reply, TestApp, rights};

const EDITOR: &str = "/limits/graph/onenote";
const EDIT: &str = "/limits/graph/onenote/edit";
const ROLLBACK: &str = "/limits/graph/onenote/rollback";

/// The fields of the page's form as a browser would send them, without its buttons.
fn fields(page: &str) -> Vec<(String, String)> {
    let start = page.find("id=\"edit\"").unwrap();
    let form = &page[start..start + page[start..].find("</form>").unwrap()];
    let mut fields = Vec::new();
    for tag in form.split('<').skip(1) {
        let attribute = |name: &str| {
            let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
            Some(rest.split('"').next().unwrap().replace("&lt;", "<"))
        };
        // A mark that is not set is not sent.
        if tag.contains("type=\"checkbox\"") && !tag.contains(" checked") {
            continue;
        }
        if tag.starts_with("input") || tag.starts_with("select") {
            let value = attribute("value").unwrap_or_default();
            fields.push((attribute("name").unwrap(), value));
        } else if tag.starts_with("option") && tag.contains(" selected") {
            fields.last_mut().unwrap().1 = attribute("value").unwrap();
        }
    }
    fields
}

fn with(fields: &[(String, String)], changes: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut fields = fields.to_vec();
    for (name, value) in changes {
        match fields.iter_mut().find(|(it, _)| it == name) {
            Some((_, old)) => (*value).clone_into(old),
            None => fields.push(((*name).to_owned(), (*value).to_owned())),
        }
    }
    fields
}

async fn send(app: &TestApp, path: &str, fields: &[(String, String)], cookie: &str) -> Reply {
    let fields: Vec<_> = fields
        .iter()
        .map(|(n, v)| (n.as_str(), v.as_str()))
        .collect();
    app.form(path, &fields, Some(cookie)).await
}

async fn page(app: &TestApp, path: &str, cookie: &str) -> String {
    let reply = app.browse(path, Some(cookie)).await;
    assert_eq!(reply.status, StatusCode::OK, "{}", reply.text());
    reply.text()
}

/// The limits as programs see them.
async fn limits(app: &TestApp, cookie: &str) -> Value {
    let reply = app
        .browse("/api/v1/policies/graph/onenote", Some(cookie))
        .await;
    reply.json()
}

/// Previews these fields and applies what came back.
async fn applied(app: &TestApp, fields: &[(String, String)], cookie: &str) -> Reply {
    let previewed = send(app, EDIT, &with(fields, &[("do", "preview")]), cookie).await;
    assert_eq!(previewed.status, StatusCode::OK, "{}", previewed.text());
    let back = self::fields(&previewed.text());
    send(app, EDIT, &with(&back, &[("do", "apply")]), cookie).await
}

#[tokio::test]
async fn an_admin_changes_a_limit_by_forms_alone_and_rolls_it_back() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let before = page(&app, EDITOR, &ada).await;
    let form = fields(&before);
    let was = limits(&app, &ada).await["policy"].clone();

    // A field is wrong: everything typed comes back, and nothing is changed.
    let wrong = with(
        &form,
        &[
            ("layers.0.limit", "lots"),
            ("reason", "less"),
            ("do", "apply"),
        ],
    );
    let reply = send(&app, EDIT, &wrong, &ada).await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    let text = reply.text();
    assert!(
        text.contains("is no whole number") && text.contains("value=\"lots\""),
        "{text}"
    );
    assert!(
        text.contains("value=\"less\"") && text.contains("aria-invalid=\"true\""),
        "{text}"
    );

    // A layer more, another one away, and a share.
    let added = send(&app, EDIT, &with(&form, &[("do", "add")]), &ada).await;
    let more = fields(&added.text());
    assert_eq!(more.len(), form.len() + 5, "{more:?}");
    let is_layer =
        |(name, _): &&(String, String)| name.starts_with("layers.") && name.ends_with(".scope");
    let n = more.iter().filter(is_layer).count() - 1;
    let less = send(
        &app,
        EDIT,
        &with(&more, &[("do", &format!("remove:{n}"))]),
        &ada,
    )
    .await;
    assert_eq!(fields(&less.text()), form);

    // What was not looked at is not applied.
    let changed = with(
        &form,
        &[
            ("layers.0.limit", "60"),
            ("share", "25.5"),
            ("reason", "less"),
        ],
    );
    let unseen = send(&app, EDIT, &with(&changed, &[("do", "apply")]), &ada).await;
    assert_eq!(unseen.status, StatusCode::OK);
    assert!(
        unseen
            .text()
            .contains("other limits than those that were tried")
    );
    assert_eq!(limits(&app, &ada).await["version"], 1);
    // Nor without a reason.
    let silent = with(&changed, &[("reason", " ")]);
    assert!(
        applied(&app, &silent, &ada)
            .await
            .text()
            .contains("Say why")
    );

    let reply = applied(&app, &changed, &ada).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    assert_eq!(reply.header("location"), "/limits/graph/onenote?saved=2");
    let text = page(&app, reply.header("location"), &ada).await;
    assert!(text.contains("Version 2 is in force."), "{text}");
    let now = limits(&app, &ada).await;
    assert_eq!(now["policy"]["layers"][0]["limit"], 60);
    assert_eq!(now["policy"]["background_share_permille"], 255);
    assert!(now["author"].as_str().unwrap().starts_with("account ada "));
    assert_eq!(now["reason"], "less");

    let confirm = page(&app, "/limits/graph/onenote?back=1", &ada).await;
    assert!(
        confirm.contains("Put version 1 in force again"),
        "{confirm}"
    );
    let back = |base: &'static str, reason: &'static str| {
        let pairs = [("version", "1"), ("base", base), ("reason", reason)];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let silent = send(&app, ROLLBACK, &back("2", ""), &ada).await;
    assert_eq!(silent.status, StatusCode::UNPROCESSABLE_ENTITY);
    let stale = send(&app, ROLLBACK, &back("1", "no good"), &ada).await;
    assert_eq!(stale.status, StatusCode::CONFLICT);
    let reply = send(&app, ROLLBACK, &back("2", "no good"), &ada).await;
    assert_eq!(reply.header("location"), "/limits/graph/onenote?saved=3");
    assert_eq!(limits(&app, &ada).await["policy"], was);
    let list = page(&app, "/limits", &ada).await;
    assert!(
        list.contains("Version 3") && list.contains("no good"),
        "{list}"
    );
    app.stop().await;
}

#[tokio::test]
async fn the_second_of_two_editors_sees_both_changes_and_may_save_over() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let ben = app.signed_in("ben", Role::Admin).await;
    let form = fields(&page(&app, EDITOR, &ada).await);
    let hers = with(
        &form,
        &[("layers.0.limit", "60"), ("reason", "<b>hers</b>")],
    );
    let his = with(&form, &[("layers.1.limit", "7"), ("reason", "his")]);
    assert_eq!(
        applied(&app, &hers, &ada).await.status,
        StatusCode::SEE_OTHER
    );

    let reply = applied(&app, &his, &ben).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    let text = reply.text();
    for seen in [
        "account ada",
        "Theirs",
        "Yours",
        "<ins>60</ins>",
        "<ins>7</ins>",
    ] {
        assert!(text.contains(seen), "{seen}: {text}");
    }
    assert!(
        !text.contains("<b>hers") && text.contains("&lt;b"),
        "{text}"
    );
    let back = fields(&text);
    let unseen = with(&back, &[("do", "overwrite"), ("over", "2")]);
    let reply = send(&app, EDIT, &unseen, &ben).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    assert_eq!(limits(&app, &ben).await["version"], 2);
    let seen = with(&unseen, &[("seen", "yes")]);
    // A third change meanwhile is not what was seen.
    let third = with(
        &fields(&page(&app, EDITOR, &ada).await),
        &[("share", "90"), ("reason", "x")],
    );
    assert_eq!(
        applied(&app, &third, &ada).await.status,
        StatusCode::SEE_OTHER
    );
    assert_eq!(
        send(&app, EDIT, &seen, &ben).await.status,
        StatusCode::CONFLICT
    );
    let reply = send(&app, EDIT, &with(&seen, &[("over", "3")]), &ben).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    let now = limits(&app, &ben).await;
    assert_eq!(now["policy"]["layers"][0]["limit"], 120);
    assert_eq!(now["policy"]["layers"][1]["limit"], 7);
    app.stop().await;
}

#[tokio::test]
async fn who_may_only_look_sees_why_and_can_send_nothing() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let text = page(&app, EDITOR, &opal).await;
    assert!(
        text.contains("the role operator may not do this: it takes admin"),
        "{text}"
    );
    assert!(
        text.contains("<fieldset disabled class=\"whole\""),
        "{text}"
    );
    let form = with(
        &fields(&text),
        &[("layers.0.limit", "1"), ("reason", "x"), ("do", "apply")],
    );
    for path in [EDIT, ROLLBACK] {
        assert_eq!(
            send(&app, path, &form, &opal).await.status,
            StatusCode::FORBIDDEN
        );
    }
    app.stop().await;

    let file = TestApp::closed_with("policy_source = 'file'\n", NOBODY).await;
    let ada = file.signed_in("ada", Role::Admin).await;
    let text = page(&file, EDITOR, &ada).await;
    assert!(
        text.contains("policy_source is &quot;file&quot;")
            || text.contains("policy_source is \"file\""),
        "{text}"
    );
    let form = with(&fields(&text), &[("layers.0.limit", "1"), ("reason", "x")]);
    let reply = applied(&file, &form, &ada).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    assert_eq!(limits(&file, &ada).await["version"], 1);
    file.stop().await;
}

#[tokio::test]
async fn overrides_breakers_and_limits_that_only_count_are_edited_and_hold() {
    let app = TestApp::closed(NOBODY).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let token = app.token(rights(Role::Member, &[Scope::Permits])).await;
    let form = fields(&page(&app, EDITOR, &ada).await);
    let added = send(&app, EDIT, &with(&form, &[("do", "own-add")]), &ada).await;
    let own = fields(&added.text());
    let wrong = with(
        &own,
        &[
            ("overrides.0.limits.0.limit", "2"),
            ("soft", "0"),
            ("do", "preview"),
        ],
    );
    let reply = send(&app, EDIT, &wrong, &ada).await;
    assert_eq!(reply.status, StatusCode::UNPROCESSABLE_ENTITY);
    let text = reply.text();
    for said in [
        "must not be empty",
        "must be a number from 0.1 to 100",
        "is missing",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let changed = with(
        &own,
        &[
            ("overrides.0.app", "note-bridge"),
            ("overrides.0.user", "ann"),
            ("overrides.0.limits.0.limit", "2"),
            ("overrides.0.limits.0.window", "1"),
            ("overrides.0.limits.0.unit", "min"),
            ("layers.1.shadow", "yes"),
            ("layers.1.limit", "1"),
            ("soft", "70.5"),
            ("cool-down-min", "2.5"),
            ("reason", "for ann"),
        ],
    );
    let reply = applied(&app, &changed, &ada).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    let policy = limits(&app, &ada).await["policy"].clone();
    assert_eq!(policy["layers"][1]["shadow"], true);
    assert_eq!(policy["breakers"]["soft_permille"], 705);
    assert_eq!(policy["breakers"]["cool_down_ms_min"], 2_500);
    assert_eq!(policy["overrides"][0]["user"], "ann");

    let permit = async |user: &str| {
        let body = format!(
            r#"{{"upstream":"graph","workload":"onenote","app":"note-bridge","user":"{user}"}}"#
        );
        let request = http::Request::post("/api/v1/permits")
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {token}"));
        let request = request.body(bytes::Bytes::from(body).into()).unwrap();
        crate::support::send(app.dashboard, request).await.status
    };
    let (ok, full) = (StatusCode::OK, StatusCode::TOO_MANY_REQUESTS);
    let anns = [
        permit("ann").await,
        permit("ann").await,
        permit("ann").await,
    ];
    assert_eq!(anns, [ok, ok, full]);
    let bens = [
        permit("ben").await,
        permit("ben").await,
        permit("ben").await,
    ];
    assert_eq!(bens, [ok, ok, ok]);
    let state = app.browse("/api/v1/state", Some(&ada)).await.json();
    let mut workloads = state["upstreams"][0]["workloads"]
        .as_array()
        .unwrap()
        .iter();
    let onenote = workloads.find(|it| it["name"] == "onenote").unwrap();
    let shadow = &onenote["shadows"][0];
    assert_eq!(
        (&shadow["limit"], &shadow["foreground"]),
        (&1.into(), &3.into()),
        "{state}"
    );
    let text = page(&app, EDITOR, &ada).await;
    assert!(
        text.contains("it would have refused 3 foreground and 0 background calls"),
        "{text}"
    );
    assert!(
        text.contains("user &quot;ann&quot;") || text.contains("user \"ann\""),
        "{text}"
    );

    // Who writes limits as ever takes all of it back.
    let back = fields(&text);
    let plain: Vec<_> = back
        .iter()
        .filter(|(name, _)| !name.starts_with("overrides.") && !name.ends_with(".shadow"))
        .cloned()
        .collect();
    let plain = with(&plain, &[("reason", "as all"), ("layers.1.limit", "400")]);
    let reply = applied(&app, &plain, &ada).await;
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    assert_eq!(permit("ann").await, ok);
    app.stop().await;
}
