//! The audit log as people see it: filtered, page by page, as a file, and whether it is whole.

use http::StatusCode;
use spillway_server::{
    access::Role,
    audit::{Act, Actor, ActorKind, By, action},
};

use crate::support::{NOBODY, Reply, TestApp};

const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\r\n\u{202e}=1+1";

/// A pause by a token of this name, which changed something.
fn act(at_ms: i64, name: &str) -> Act {
    let by = By::actor(Actor::named(ActorKind::Token, "00000000000000aa", name)).because(name);
    let act = Act::new(at_ms, &by, action::LANE_PAUSE, "lane:graph/background");
    act.was(serde_json::json!({ "state": "running" }))
        .became(serde_json::json!({ "state": name, "until": "2026-12-01T06:00:00Z" }))
}

async fn record(app: &TestApp, acts: impl IntoIterator<Item = Act>) {
    let store = app.store().await;
    for act in acts {
        store.record(&act).await.unwrap();
    }
    store.close().await;
}

async fn page(app: &TestApp, path: &str, cookie: &str) -> String {
    let reply = app.browse(path, Some(cookie)).await;
    assert_eq!(reply.status, StatusCode::OK, "{path}: {}", reply.text());
    reply.text()
}

/// How many entries a page lists.
fn entries(page: &str) -> usize {
    page.matches("<li id=\"entry-").count()
}

/// What the page says that a form has led to.
async fn said(app: &TestApp, reply: &Reply, cookie: &str) -> String {
    assert_eq!(reply.status, StatusCode::SEE_OTHER, "{}", reply.text());
    page(app, reply.header("location"), cookie).await
}

#[tokio::test]
async fn a_viewer_finds_who_did_what_and_what_that_changed() {
    let app = TestApp::closed(NOBODY).await;
    record(&app, [act(1_796_104_800_000, HOSTILE)]).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    let all = page(&app, "/audit", &vic).await;
    for part in [
        "2026-12-01 06:00:00 UTC",
        "&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;\\u{d}\\u{a}\\u{202e}=1+1",
        "lane.pause",
        "lane:graph/background",
        "<del><bdi>running</bdi></del>",
        "Nobody has verified it yet.",
    ] {
        assert!(all.contains(part), "{part} is not in {all}");
    }
    for never in ["<img", "<script>", "\u{202e}"] {
        assert!(!all.contains(never), "{never}");
    }
    for (query, count) in [
        ("?actor_kind=token", 1),
        ("?action=lane.&actor_kind=&actor=", 1),
        (
            "?subject=lane%3Agraph%2Fbackground&actor=00000000000000aa",
            1,
        ),
        ("?from=2026-12-01T06:00&until=2026-12-01T06:01", 1),
        ("?from=2026-12-01T05:00&until=2026-12-01T06:00", 0),
        ("?action=session.&actor=vic", 1),
    ] {
        let found = page(&app, &format!("/audit{query}"), &vic).await;
        assert_eq!(entries(&found), count, "{query}: {found}");
    }
    let unclear = app
        .browse("/audit?from=soon&subject=%22%3E", Some(&vic))
        .await;
    assert_eq!(unclear.status, StatusCode::UNPROCESSABLE_ENTITY);
    let text = unclear.text();
    assert!(
        text.contains("From must be an instant of RFC 3339"),
        "{text}"
    );
    assert!(text.contains("value=\"&quot;&gt;\""), "kept: {text}");
    app.stop().await;
}

#[tokio::test]
async fn older_entries_are_a_link_away_and_filters_stay() {
    let app = TestApp::closed(NOBODY).await;
    record(&app, (0..120).map(|n| act(n, "bridge"))).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    let mut path = "/audit?action=lane.pause".to_owned();
    let mut seen = Vec::new();
    for _ in 0..3 {
        let listed = page(&app, &path, &vic).await;
        seen.push(entries(&listed));
        let Some(at) = listed.find("\">Older</a>") else {
            break;
        };
        let link = &listed[..at];
        path = link[link.rfind('"').map_or(0, |at| at + 1)..].replace("&amp;", "&");
        assert!(
            path.starts_with("/audit?action=lane.pause&cursor="),
            "{path}"
        );
    }
    assert_eq!(seen, [50, 50, 20]);
    app.stop().await;
}

#[tokio::test]
async fn an_export_has_all_that_is_asked_for_and_runs_in_no_spreadsheet() {
    let app = TestApp::closed(NOBODY).await;
    record(&app, (0..1_100).map(|n| act(n, "=1+1\"\r\n"))).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    let file = app.browse("/audit.csv?actor_kind=token", Some(&vic)).await;
    assert_eq!(file.status, StatusCode::OK);
    assert!(file.header("content-type").starts_with("text/csv"));
    assert!(file.header("content-disposition").starts_with("attachment"));
    assert_eq!(file.header("x-content-type-options"), "nosniff");
    let text = file.text();
    assert!(
        text.starts_with("\"entry\",\"at\",\"actor_kind\""),
        "{text}"
    );
    assert_eq!(text.matches("\"lane.pause\"").count(), 1_100);
    assert!(text.contains("\"'=1+1\"\"\r\n\""), "{}", &text[..600]);
    assert!(!text.contains(",\"=1+1"), "{}", &text[..600]);
    let unclear = app.browse("/audit.csv?limit=0", Some(&vic)).await;
    assert_eq!(unclear.status, StatusCode::BAD_REQUEST);
    app.stop().await;
}

#[tokio::test]
async fn whether_it_is_whole_is_said_with_when_and_by_whom() {
    let app = TestApp::closed(NOBODY).await;
    let vic = app.signed_in("vic", Role::Viewer).await;
    let whole = app.form("/audit/verify", &[], Some(&vic)).await;
    let told = said(&app, &whole, &vic).await;
    assert!(
        told.contains("entries are as they were written. The head is"),
        "{told}"
    );
    assert!(told.contains("account vic ("), "{told}");
    let again = page(&app, "/audit", &vic).await;
    assert!(!again.contains("The head is"), "it is said once");
    // An end that is put in without its chain is found, and the last good check stays.
    let store = app.store().await;
    let head = store.audit_head().await.unwrap();
    store.close().await;
    let dir = app.stop().await;
    cut(dir.path(), head.seq);
    let app = TestApp::closed_in(dir, "", NOBODY).await;
    let vic =
        crate::support::people::cookie(&app.sign_in("vic", crate::support::people::PASSWORD).await);
    let broken = app.form("/audit/verify", &[], Some(&vic)).await;
    let told = said(&app, &broken, &vic).await;
    assert!(
        told.contains("The log is not as it was written: entry"),
        "{told}"
    );
    app.stop().await;
}

/// Changes the reason of an entry in the file, as somebody with the file can.
fn cut(dir: &std::path::Path, seq: i64) {
    let path = dir.join("spillway.db");
    let from = b"session.start";
    let bytes = std::fs::read(&path).unwrap();
    let at: Vec<_> = (0..bytes.len() - from.len())
        .filter(|at| bytes[*at..].starts_with(from))
        .collect();
    assert!(!at.is_empty() && seq > 0);
    let mut bytes = bytes;
    for at in at {
        bytes[at..at + from.len()].copy_from_slice(b"session.stars");
    }
    std::fs::write(&path, bytes).unwrap();
}

#[tokio::test]
async fn it_is_for_viewers_and_an_open_server_shows_it_to_all() {
    let app = TestApp::closed(NOBODY).await;
    let mia = app.signed_in("mia", Role::Member).await;
    for path in ["/audit", "/audit.csv"] {
        let refused = app.browse(path, Some(&mia)).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{path}");
        let stranger = app.browse(path, None).await;
        assert!(
            stranger.header("location").starts_with("/sign-in"),
            "{path}"
        );
    }
    app.stop().await;
    let open = TestApp::start(NOBODY).await;
    let whole = open.form("/audit/verify", &[], None).await;
    let told = open.browse(whole.header("location"), None).await.text();
    assert!(told.contains("The head is"), "{told}");
    open.stop().await;
}
