//! The demo's form platform: it asks before it handles events, as `docs/FLOODS.md` tells
//! platforms to, and does not know that it is a demo's.
//!
//! Most of its lists are quiet. The rule of one fires itself now and then, until it is stopped; one
//! list is filled by a bulk import, which is paused. It asks some times a minute of the guard's, in
//! lists of events.

mod sites;

use std::time::Duration;

use bytes::Bytes;
use http::{Request, header};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_rustls::HttpsConnector;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::{Value, json};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::workload::dice::Dice;
use crate::{config::WebAddress, http::Shutdown, store};
use sites::{IMPORT, RUNAWAY, SITES};

pub(super) use sites::tell;

/// How often it asks within a minute of the guard's.
const ASKS_A_MINUTE: u32 = 6;

const MINUTE: Duration = Duration::from_secs(60);

/// No more often than this, however fast time runs.
const APART_MIN: Duration = Duration::from_millis(100);

/// Of so many minutes the rule that fires itself takes one, where time runs fast enough to see it
/// disabled soon; where it does not, all of them.
const FLOOD_EVERY: u64 = 4;

/// From this scale on time runs fast.
const FAST: u32 = 10;

/// What the rule fires within a minute: more than twice what is endured.
const FLOOD_EVENTS: u32 = 270;

/// What the import brings at a time.
const IMPORT_EVENTS: usize = 60;

/// A platform waits no longer, and handles the event (docs/FLOODS.md).
const PATIENCE: Duration = Duration::from_millis(100);

/// The longest answer, in bytes.
const ANSWER_BYTES_MAX: usize = 1024 * 1024;

/// Why the sites are not told.
#[derive(Debug, thiserror::Error)]
pub enum NotTold {
    /// The database cannot be used.
    #[error(transparent)]
    Open(#[from] store::OpenError),
    /// They cannot be written down.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// The platform.
pub(super) struct Platform {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    events: String,
    scale: u32,
    /// How often it asks within a minute of the guard's, at least once.
    asks: u32,
    dice: Dice,
}

impl Platform {
    /// One that asks at the dashboard's address, where time runs `scale` times faster.
    pub(super) fn new(
        connector: HttpsConnector<HttpConnector>,
        dashboard: &WebAddress,
        scale: u32,
        seed: u64,
    ) -> Self {
        let http = legacy::Client::builder(TokioExecutor::new()).build(connector);
        let scale = scale.max(1);
        let asks = (MINUTE / scale).as_millis() / APART_MIN.as_millis();
        let asks = u32::try_from(asks).unwrap_or(ASKS_A_MINUTE);
        Self {
            http,
            events: format!("{dashboard}/api/v1/events"),
            scale,
            asks: asks.clamp(1, ASKS_A_MINUTE),
            dice: Dice::new(seed),
        }
    }

    /// Asks until `shutdown` begins.
    pub(super) async fn run(mut self, shutdown: &Shutdown) {
        let apart = MINUTE / self.scale / self.asks;
        let mut ticks = interval(apart.max(APART_MIN));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let begun = Instant::now();
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = shutdown.begun() => return,
            }
            let minute = (begun.elapsed() * self.scale).as_secs() / 60;
            let events = self.happened(minute);
            self.ask(events).await;
        }
    }

    /// What happened since it asked last, in this minute of the demo.
    fn happened(&mut self, minute: u64) -> Vec<Value> {
        let mut events = Vec::new();
        for site in &SITES {
            for list in site.lists {
                let few = self.dice.number(0..=3).saturating_sub(1);
                events.extend((0..few).map(|_| event(site.key, list)));
            }
        }
        let every = if self.scale >= FAST { FLOOD_EVERY } else { 1 };
        if minute.is_multiple_of(every) {
            let some = FLOOD_EVENTS / self.asks;
            events.extend((0..some).map(|_| event(RUNAWAY.0, RUNAWAY.1)));
        }
        events.extend((0..IMPORT_EVENTS).map(|_| event(IMPORT.0, IMPORT.1)));
        events
    }

    /// Asks about them; whatever is answered, a platform goes on.
    async fn ask(&self, events: Vec<Value>) {
        let body = Value::Array(events).to_string();
        let request = Request::post(&self.events)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::from(body));
        let Ok(request) = request else { return };
        let asked = async {
            let answer = self.http.request(request).await.ok()?;
            let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX);
            body.collect().await.ok().map(drop)
        };
        if let Ok(None) | Err(_) = timeout(PATIENCE, asked).await {
            tracing::debug!("the platform got no answer in time, and handles what happened");
        }
    }
}

fn event(site: &str, list: &str) -> Value {
    json!({ "site": site, "list": list, "component": "action", "trigger": "event" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::workload::Gateway;

    fn platform(scale: u32) -> Platform {
        let connector = Gateway::connector(None).unwrap();
        let dashboard = "http://127.0.0.1:1".parse().unwrap();
        Platform::new(connector, &dashboard, scale, 1)
    }

    fn of(events: &[Value], (_, list): (&str, &str)) -> usize {
        events.iter().filter(|it| it["list"] == list).count()
    }

    #[test]
    fn the_rule_fires_itself_in_one_minute_of_four_and_then_floods() {
        let mut platform = platform(60);
        for minute in 0..8 {
            let events: Vec<_> = (0..ASKS_A_MINUTE)
                .flat_map(|_| platform.happened(minute))
                .collect();
            let floods = of(&events, RUNAWAY);
            assert_eq!(floods > 200, minute % 4 == 0, "{minute}: {floods}");
            assert_eq!(of(&events, IMPORT), IMPORT_EVENTS * 6);
            // Everybody else is quiet.
            for list in SITES.iter().flat_map(|site| site.lists) {
                assert!(of(&events, ("", list)) < 30, "{list}");
            }
        }
    }

    #[test]
    fn however_fast_time_runs_a_flood_is_one() {
        for scale in [1, 60, 300, 1_000] {
            let mut platform = platform(scale);
            let asks = platform.asks;
            let events = (0..asks).flat_map(|_| platform.happened(0));
            let events: Vec<_> = events.collect();
            assert!(of(&events, RUNAWAY) >= 200, "{scale}");
            assert!(events.len() / asks as usize <= 1_000, "{scale}");
        }
    }

    #[test]
    fn without_haste_it_fires_each_minute() {
        assert!(of(&platform(1).happened(1), RUNAWAY) > 0);
    }
}
