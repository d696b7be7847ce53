//! The demo's users, who call through the gateway as any client would.
//!
//! Twelve (by default) look into their notebooks now and then ([`scan`]), each alone
//! and all together when the bell rings ([`bell`]): then the app's minute and concurrency
//! fill, and its hour comes near its brim. Two are crawled in the background ([`crawl`]),
//! which takes all that its share allows; so on average 400 of the app's 800 an hour are
//! left, and the others ask for somewhat less than that. Their rhythm is drawn from the
//! seed and, like everything in the demo, runs at its time scale.

mod bell;
pub(crate) mod client;
mod crawl;
pub(super) mod dice;
mod notebooks;
mod pace;
mod scan;

use std::sync::Arc;

use spillway::Lane;
use tokio::{sync::watch, task::JoinSet};

use super::{Demo, people::Person};
use crate::http::Shutdown;
use bell::Bell;
use client::Client;
pub(crate) use client::Gateway;
use crawl::Crawl;
use dice::Dice;
use notebooks::Notebooks;
use pace::Pace;
use scan::Scan;

/// How many calls of the user who always asks wait at any time: more than the 5 that may
/// be in flight, so that no freed place stays free.
const SATURATING_CALLERS: usize = 8;

/// Users at work; dropped, they stop where they are.
pub(crate) struct Workload {
    tasks: JoinSet<()>,
}

impl Workload {
    /// Lets the users begin.
    pub(crate) fn start(demo: &Demo, gateway: Gateway) -> Self {
        let mut start = Start {
            gateway: Arc::new(gateway),
            pace: Pace::new(demo.time_scale),
            dice: Dice::new(demo.seed),
            tasks: JoinSet::new(),
        };
        start.crawls(demo.crawl_users);
        if demo.saturate {
            start.saturating();
        }
        start.scans(demo.scan_users);
        Self { tasks: start.tasks }
    }

    /// Lets them work until `shutdown` begins; over when the last has left.
    pub(super) async fn run_until(mut self, shutdown: &Shutdown) {
        shutdown.begun().await;
        self.tasks.shutdown().await;
    }
}

/// What every user begins with.
struct Start {
    gateway: Arc<Gateway>,
    pace: Pace,
    dice: Dice,
    tasks: JoinSet<()>,
}

impl Start {
    fn crawls(&mut self, users: u32) {
        for (n, person) in (0..).zip(Person::crawled(users)) {
            let notebooks = self.notebooks(&person, Lane::Background);
            self.tasks
                .spawn(Crawl::background(notebooks, self.pace, self.dice.fork(), n).run());
        }
    }

    fn saturating(&mut self) {
        for n in 0..SATURATING_CALLERS {
            let notebooks = self.notebooks(&Person::saturating(), Lane::Foreground);
            self.tasks
                .spawn(Crawl::saturating(notebooks, self.pace, self.dice.fork(), n).run());
        }
    }

    fn scans(&mut self, users: u32) {
        let (bell, rung) = watch::channel(());
        for person in Person::scanning(users) {
            let notebooks = self.notebooks(&person, Lane::Foreground);
            self.tasks
                .spawn(Scan::new(notebooks, self.pace, self.dice.fork(), rung.clone()).run());
        }
        self.tasks
            .spawn(Bell::new(bell, self.pace, self.dice.fork()).run());
    }

    fn notebooks(&mut self, person: &Person, lane: Lane) -> Notebooks {
        Notebooks::new(Client::new(
            Arc::clone(&self.gateway),
            &person.bearer(),
            lane,
            self.dice.fork(),
        ))
    }
}
