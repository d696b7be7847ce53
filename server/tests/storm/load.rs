//! What the server says is going on.

use std::{net::SocketAddr, time::Duration};

use http::Request;
use http_body_util::Full;
use tokio::time::{sleep, timeout};

use crate::{PATIENCE, support::send};

/// What the overview says of the only workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Calls of the app that run.
    pub running: u64,
    /// Its calls whose end nobody knows: their permits are kept until they expire.
    pub lingering: u64,
    /// Callers who wait.
    pub waiting: u64,
}

impl Load {
    pub const NONE: Self = Self::of(0, 0);

    pub const fn of(running: u64, waiting: u64) -> Self {
        Self {
            running,
            lingering: 0,
            waiting,
        }
    }
}

pub async fn load(dashboard: SocketAddr) -> Load {
    let request = Request::get("/api/v1/state").body(Full::default()).unwrap();
    let state = send(dashboard, request).await.json();
    let workloads = state["upstreams"][0]["workloads"].as_array().unwrap();
    let workload = workloads.iter().find(|it| it["name"] != "_global").unwrap();
    let budgets = workload["budgets"].as_array().unwrap();
    let app = budgets.iter().find(|it| it["scope"] == "app");
    let layers = app.map_or(&[][..], |app| app["layers"].as_array().unwrap());
    let at_once = layers.iter().find(|it| it["dimension"] == "concurrency");
    let count = |name: &str| at_once.map_or(0, |it| it[name].as_u64().unwrap_or(0));
    let waiting = |lane: &str| workload["lanes"][lane]["waiting"].as_u64().unwrap();
    Load {
        running: count("used") - count("lingering"),
        lingering: count("lingering"),
        waiting: waiting("foreground") + waiting("background"),
    }
}

/// Waits until nothing runs, nobody waits and no permit is kept any more.
pub async fn until_idle(dashboard: SocketAddr) {
    let idle = async {
        while load(dashboard).await != Load::NONE {
            sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, idle).await.unwrap();
}

/// Waits for calls that run and callers who wait; says how many permits linger then.
pub async fn until_load(dashboard: SocketAddr, wanted: Load) -> u64 {
    let mut seen = Load::NONE;
    let reached = async {
        loop {
            seen = load(dashboard).await;
            if (seen.running, seen.waiting) == (wanted.running, wanted.waiting) {
                return seen.lingering;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    let reached = timeout(PATIENCE, reached).await;
    reached.unwrap_or_else(|_| panic!("{seen:?}, not {wanted:?}"))
}
