//! Counts events in a `DashMap` and answers that all are to be handled: no minutes, strikes, pauses
//! or ids, no rights, and nothing is written down.

use std::{net::SocketAddr, sync::Arc};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    routing::{get, post},
};
use dashmap::DashMap;
use serde::{Deserialize, Serialize};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// As much as the guard reads of a list of events.
const BODY_BYTES_MAX: usize = 1024 * 1024;

type Counts = Arc<DashMap<(String, String, Component), u32>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    site: String,
    list: String,
    component: Component,
    #[expect(dead_code, reason = "it is read, as the guard reads it")]
    trigger: Trigger,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Component {
    Action,
    Alert,
    ItemId,
    Summary,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Trigger {
    Event,
    Manual,
    Timer,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(Event),
    Many(Vec<Event>),
}

#[derive(Serialize)]
struct Answer {
    decision: &'static str,
    count: u32,
    strikes: u32,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Answers {
    One(Answer),
    Many(Vec<Answer>),
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok());
    let address = SocketAddr::from(([127, 0, 0, 1], port.unwrap_or(0)));
    let listener = tokio::net::TcpListener::bind(address).await?;
    let router = Router::new()
        .route("/api/v1/events", post(count))
        .route("/count", get(counted))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Counts::default());
    axum::serve(listener, router).await
}

async fn count(State(counts): State<Counts>, Json(events): Json<OneOrMany>) -> Json<Answers> {
    Json(match events {
        OneOrMany::One(event) => Answers::One(add(&counts, event)),
        OneOrMany::Many(events) => {
            let answers = events.into_iter().map(|event| add(&counts, event));
            Answers::Many(answers.collect())
        }
    })
}

fn add(counts: &Counts, event: Event) -> Answer {
    let key = (event.site, event.list, event.component);
    let mut count = counts.entry(key).or_default();
    *count += 1;
    Answer {
        decision: "handle",
        count: *count,
        strikes: 0,
    }
}

/// How many events there were, for who checks that each call was counted.
async fn counted(State(counts): State<Counts>) -> String {
    let counts = counts.iter().map(|count| u64::from(*count));
    counts.sum::<u64>().to_string()
}
