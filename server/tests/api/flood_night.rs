//! A rule that fires itself all night, as the platform sees it.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use spillway::flood::ListKey;

use crate::floods::{EVENTS, event};
use crate::policies::ask;
use crate::support::{Frozen, NOBODY, TestApp};

/// As many as one list may carry.
const AT_ONCE: usize = 1_000;
const LISTS: u32 = 500;

/// 500,000 events of one list within twelve hours, in lists of a thousand: each finds the clock 86.4
/// seconds on, in another minute.
#[tokio::test(start_paused = true)]
async fn half_a_million_events_in_a_night() {
    let _clock = Frozen::hold();
    let midnight = "2100-03-02T00:00:00Z".parse().unwrap();
    let app = TestApp::start_at(tempfile::tempdir().unwrap(), NOBODY, midnight).await;
    let site = json!({ "title": "Orders", "admins": ["a@example.org"], "time_zone": "UTC" });
    let told = ask(&app, Method::PUT, "/api/v1/sites/s1", "", &site).await;
    assert_eq!(told.status, StatusCode::OK);

    let flood = json!(vec![event("fires itself"); AT_ONCE]);
    let (mut handled, mut strikes, mut graced) = (0, 0, 0);
    for n in 0..LISTS {
        let answers = ask(&app, Method::POST, EVENTS, "", &flood).await.json();
        let answers = answers.as_array().unwrap();
        assert_eq!(answers.len(), AT_ONCE);
        handled += answers
            .iter()
            .filter(|it| it["decision"] == "handle")
            .count();
        let last = answers[AT_ONCE - 1]["strikes"].as_u64().unwrap();
        strikes = strikes.max(last);
        // What the minutes of the first three strikes carry.
        graced += if last <= 3 { AT_ONCE } else { 0 };
        if n % 10 == 0 {
            let quiet = event(&format!("quiet {}", n % 100));
            let answer = ask(&app, Method::POST, EVENTS, "", &quiet).await.json();
            let expected = json!({ "decision": "handle", "count": 1, "strikes": 0 });
            assert_eq!(answer, expected, "{n}");
        }
        tokio::time::advance(Duration::from_millis(43_200_000) / LISTS).await;
    }
    assert_eq!((strikes, graced), (20, 3_000));
    assert_eq!(handled, graced + (20 - 3) * 100);

    let lists = app.get("/api/v1/sites/s1/lists").await.json();
    let lists = lists["lists"].as_array().unwrap();
    let state = |list: &Value| list["components"][0]["state"].clone();
    assert_eq!(
        (&lists[0]["list"], state(&lists[0])),
        (&json!("fires itself"), json!("disabled"))
    );
    assert!(
        lists[1..].iter().all(|list| state(list) == "open"),
        "{lists:?}"
    );
    let disabled = app.get("/api/v1/audit?action=flood.disable").await.json();
    assert_eq!(disabled["entries"].as_array().unwrap().len(), 1);
    let store = app.store().await;
    let key = ListKey::new("s1", "fires itself");
    let letters = store.flood_letters(&key, 10).await.unwrap();
    assert_eq!(letters.len(), 1, "{letters:?}");
    assert_eq!(letters[0].message.recipient, "a@example.org");
    store.close().await;
    app.stop().await;
}
