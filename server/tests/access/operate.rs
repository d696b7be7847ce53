//! Pausing and forcing by plain forms: what is said before, who may, what comes of it, and back.

use http::StatusCode;
use serde_json::Value;
use spillway_server::access::Role;

use crate::support::{NOBODY, Reply, TestApp};

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

/// The pauses in force, as the state has them.
async fn pauses(app: &TestApp, cookie: &str) -> Vec<Value> {
    let state = app.browse("/api/v1/state", Some(cookie)).await.json();
    let pauses = &state["upstreams"][0]["pauses"];
    pauses.as_array().cloned().unwrap_or_default()
}

/// The form that takes back what a page has told.
fn undo(page: &str) -> (String, Vec<(String, String)>) {
    let (_, form) = page
        .split_once("class=\"undo\"")
        .unwrap_or_else(|| panic!("{page}"));
    let before = &page[..page.len() - form.len()];
    let action = before.rsplit("action=\"").next().unwrap();
    let action = action.split('"').next().unwrap().to_owned();
    let form = form.split("</form>").next().unwrap();
    let fields = form.split("type=\"hidden\" name=\"").skip(1).map(|field| {
        let (name, rest) = field.split_once("\" value=\"").unwrap();
        let value = rest.split('"').next().unwrap();
        (name.to_owned(), value.replace("&amp;", "&"))
    });
    (action, fields.collect())
}

async fn take_back(app: &TestApp, page: &str, cookie: &str) -> String {
    let (action, fields) = undo(page);
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, it)| (name.as_str(), it.as_str()))
        .collect();
    let reply = app.form(&action, &fields, Some(cookie)).await;
    led(app, &reply, cookie).await
}

/// Whether the button that says this is disabled.
fn is_disabled(page: &str, word: &str) -> bool {
    let (before, _) = page
        .split_once(&format!(">{word}</button>"))
        .unwrap_or_else(|| panic!("{page}"));
    before
        .rsplit("<button")
        .next()
        .unwrap()
        .contains(" disabled")
}

#[tokio::test]
async fn background_calls_are_paused_and_that_is_taken_back() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let target = "/operate/background?upstream=graph&user=ana&tenant=contoso";
    let before = page(&app, target, &opal).await;
    assert!(before.contains("Running calls end as usual"), "{before}");
    assert!(!before.contains("Let them go on"), "nothing is paused");

    let fields = [
        ("upstream", "graph"),
        ("tenant", "contoso"),
        ("user", "ana"),
        ("minutes", "15"),
        ("reason", "runaway export"),
    ];
    let reply = app
        .form("/operate/background/pause", &fields, Some(&opal))
        .await;
    let told = led(&app, &reply, &opal).await;
    for part in [
        "Background calls are paused until",
        "account opal (",
        "runaway export",
        "Let them go on",
    ] {
        assert!(told.contains(part), "{part} is not in {told}");
    }
    let paused = pauses(&app, &opal).await;
    assert_eq!(paused.len(), 1);
    assert_eq!(
        (&paused[0]["scope"], &paused[0]["user"]),
        (&"user".into(), &"ana".into())
    );
    let listed = page(&app, "/operate", &opal).await;
    assert!(
        listed.contains("runaway export") && listed.contains("End early"),
        "{listed}"
    );

    // Taken back, and put in force again as it was.
    let ended = take_back(&app, &told, &opal).await;
    assert!(ended.contains("Background calls go on"), "{ended}");
    assert_eq!(pauses(&app, &opal).await, Vec::<Value>::new());
    take_back(&app, &ended, &opal).await;
    let again = pauses(&app, &opal).await;
    // But for how two clocks round, and the time from a look at one to a look at the other.
    let until = |pauses: &[Value]| -> jiff::Timestamp {
        pauses[0]["until"].as_str().unwrap().parse().unwrap()
    };
    let apart_ms = until(&again).duration_since(until(&paused)).as_millis();
    assert!(apart_ms.abs() <= 100, "{apart_ms}");
    assert_eq!(again[0]["by"]["reason"], "runaway export");

    let log = page(&app, "/audit?action=lane.&actor=opal", &opal).await;
    assert_eq!(log.matches("<li id=\"entry-").count(), 3, "{log}");
    app.stop().await;
}

#[tokio::test]
async fn an_undo_leaves_what_somebody_did_since() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let ada = app.signed_in("ada", Role::Admin).await;
    let pause = async |minutes, reason, cookie: &str| {
        let fields = [
            ("upstream", "graph"),
            ("minutes", minutes),
            ("reason", reason),
        ];
        let reply = app
            .form("/operate/background/pause", &fields, Some(cookie))
            .await;
        led(&app, &reply, cookie).await
    };
    let (action, fields) = undo(&pause("60", "for an hour", &opal).await);
    pause("1440", "do not lift", &ada).await;
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, it)| (name.as_str(), it.as_str()))
        .collect();
    let reply = app.form(&action, &fields, Some(&opal)).await;
    assert_eq!(reply.status, StatusCode::CONFLICT);
    assert!(
        reply.text().contains("this is no longer what you did"),
        "{}",
        reply.text()
    );
    let left = pauses(&app, &opal).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].to_string().contains("do not lift"), "{left:?}");
    app.stop().await;
}

#[tokio::test]
async fn what_was_typed_into_a_refused_form_stays_in_it_alone() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let fields = [
        ("upstream", "graph"),
        ("minutes", "240"),
        ("until", "2001-01-01T00:00"),
        ("reason", "so it is"),
    ];
    let background = app
        .form("/operate/background/pause", &fields, Some(&opal))
        .await
        .text();
    assert!(
        background.contains("value=\"2001-01-01T00:00\""),
        "{background}"
    );
    assert!(
        background.contains("value=\"240\" selected"),
        "{background}"
    );
    let fields = [&fields[..], &[("workload", "onenote"), ("scope", "app")]].concat();
    let breaker = app
        .form("/operate/breaker/open", &fields, Some(&opal))
        .await
        .text();
    assert_eq!(
        breaker.matches("value=\"so it is\"").count(),
        1,
        "{breaker}"
    );
    assert_eq!(
        breaker.matches("<details open class=\"act\"").count(),
        1,
        "{breaker}"
    );
    let nonsense = [("upstream", "graph"), ("minutes", "NaN"), ("reason", "r")];
    let reply = app
        .form("/operate/background/pause", &nonsense, Some(&opal))
        .await;
    assert_eq!(
        reply.status,
        StatusCode::UNPROCESSABLE_ENTITY,
        "{}",
        reply.text()
    );
    app.stop().await;
}

#[tokio::test]
async fn a_breaker_is_forced_and_what_was_before_comes_back() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let with = |more: [(&'static str, &'static str); 2]| {
        [
            vec![("upstream", "graph"), ("workload", "onenote"), ("app", "a")],
            more.to_vec(),
        ]
        .concat()
    };
    let stop = with([("minutes", "30"), ("reason", "the vendor asked us")]);
    let reply = app.form("/operate/breaker/open", &stop, Some(&opal)).await;
    let open = led(&app, &reply, &opal).await;
    for part in [
        "All calls are stopped until",
        "forced open",
        "the vendor asked us",
        "account opal (",
    ] {
        assert!(open.contains(part), "{part} is not in {open}");
    }
    let free = with([("minutes", "10"), ("reason", "they are back")]);
    let reply = app.form("/operate/breaker/close", &free, Some(&opal)).await;
    let closed = led(&app, &reply, &opal).await;
    assert!(closed.contains("forced closed"), "{closed}");
    let again = take_back(&app, &closed, &opal).await;
    assert!(
        again.contains("forced open") && again.contains("the vendor asked us"),
        "{again}"
    );
    let listed = page(&app, "/operate", &opal).await;
    assert!(listed.contains("Breaker forced open"), "{listed}");

    let fields = with([("reason", "over"), ("scope", "app")]);
    let reply = app
        .form("/operate/breaker/reset", &fields, Some(&opal))
        .await;
    let reset = led(&app, &reply, &opal).await;
    assert!(reset.contains("The breaker is reset"), "{reset}");
    assert!(
        page(&app, "/operate", &opal)
            .await
            .contains("Nothing is paused")
    );
    app.stop().await;
}

#[tokio::test]
async fn what_cannot_be_is_said_and_the_reason_stays() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let graph = ("upstream", "graph");
    for (path, fields, status, wrong) in [
        (
            "background/pause",
            vec![graph],
            422,
            "Reason must be 1 to 500 characters",
        ),
        (
            "background/pause",
            vec![graph, ("reason", "r"), ("until", "2001-01-01T00:00")],
            422,
            "Until must lie ahead",
        ),
        (
            "background/pause",
            vec![graph, ("reason", "r"), ("until", "soon")],
            422,
            "Until must be an instant",
        ),
        (
            "background/pause",
            vec![graph, ("reason", "r"), ("minutes", "99999")],
            422,
            "at most 31 days",
        ),
        (
            "background/resume",
            vec![graph, ("reason", "why not")],
            404,
            "no pause of exactly these",
        ),
        (
            "background/pause",
            vec![("upstream", "grahp"), ("reason", "r")],
            404,
            "The upstreams are: graph",
        ),
        (
            "breaker/open",
            vec![graph, ("workload", "onenot"), ("reason", "r")],
            404,
            "The workloads are: onenote",
        ),
        (
            "breaker/open",
            vec![graph, ("workload", "onenote"), ("reason", "")],
            422,
            "Reason must be",
        ),
    ] {
        let reply = app
            .form(&format!("/operate/{path}"), &fields, Some(&opal))
            .await;
        let text = reply.text();
        assert_eq!(reply.status.as_u16(), status, "{path} {fields:?}: {text}");
        assert!(
            text.to_lowercase().contains(&wrong.to_lowercase()),
            "{wrong} is not in {text}"
        );
    }
    let kept = [graph, ("reason", "\"><img src=x>"), ("until", "soon")];
    let kept = app
        .form("/operate/background/pause", &kept, Some(&opal))
        .await
        .text();
    assert!(
        kept.contains("value=\"&quot;&gt;&lt;img src=x&gt;\""),
        "{kept}"
    );
    assert!(pauses(&app, &opal).await.is_empty());
    for path in [
        "/operate/background?upstream=x",
        "/operate/breaker?upstream=graph&workload=x",
    ] {
        let reply = app.browse(path, Some(&opal)).await;
        assert_eq!(reply.status, StatusCode::NOT_FOUND, "{path}");
    }
    app.stop().await;
}

#[tokio::test]
async fn viewers_see_what_is_held_and_hold_nothing_and_names_are_texts() {
    let app = TestApp::closed(NOBODY).await;
    let opal = app.signed_in("opal", Role::Operator).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    let fields = [
        ("upstream", "graph"),
        ("user", HOSTILE),
        ("reason", HOSTILE),
    ];
    let reply = app
        .form("/operate/background/pause", &fields, Some(&opal))
        .await;
    let told = led(&app, &reply, &opal).await;
    let (to, _) = reply.header("location").split_once("&told=").unwrap();
    for text in [
        told,
        page(&app, "/operate", &vic).await,
        page(&app, to, &vic).await,
    ] {
        assert!(
            text.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\u{202e}"),
            "{text}"
        );
        assert!(!text.contains("<img"), "{text}");
    }
    let seen = page(&app, to, &vic).await;
    assert!(
        seen.contains("Takes the role operator.") && is_disabled(&seen, "Let them go on"),
        "{seen}"
    );
    for path in [
        "background/pause",
        "background/resume",
        "breaker/open",
        "breaker/close",
        "breaker/reset",
    ] {
        let refused = app
            .form(&format!("/operate/{path}"), &fields, Some(&vic))
            .await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
    }
    assert_eq!(pauses(&app, &vic).await.len(), 1);
    app.stop().await;
}

#[tokio::test]
async fn where_the_server_is_open_anybody_steers() {
    let app = TestApp::start(NOBODY).await;
    let fields = [("upstream", "graph"), ("reason", "a trial")];
    let reply = app.form("/operate/background/pause", &fields, None).await;
    let told = app.browse(reply.header("location"), None).await.text();
    assert!(
        told.contains("All of graph") && told.contains("a trial"),
        "{told}"
    );
    app.stop().await;
}
