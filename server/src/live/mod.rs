//! The live data: one computation for every viewer.
//!
//! Four times a second at most, and only while somebody looks, the state is computed once
//! and compared with the last; what changed goes to all streams as the same bytes. A reader
//! that falls behind loses its place and is given a snapshot: no reader slows another.

mod watched;

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use spillway_app::live::{Delta, State};
use tokio::{
    sync::broadcast,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::{
    house::House,
    limiter::{Limiters, UserKey},
};

pub use watched::{NotWatched, Watched};

/// How often the state is computed: four times a second, as often as eyes can use.
const PERIOD: Duration = Duration::from_millis(250);

/// A stream says at least this often that it lives; readers rely on ten seconds.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// How many users of a workload the overview knows: those closest to a limit.
pub const USERS_SHOWN: usize = 50;

/// How many events a reader may be behind: four seconds.
const BEHIND_MAX: usize = 16;

/// One event of the stream.
#[derive(Clone, Debug)]
pub struct Event {
    /// Increases from event to event.
    pub id: u64,
    /// `snapshot`, `delta` or `heartbeat`.
    pub name: &'static str,
    /// JSON.
    pub data: Arc<str>,
}

/// Computes the state and tells every reader.
#[derive(Debug)]
pub struct Publisher {
    limiters: Arc<Limiters>,
    house: Option<House>,
    last: Mutex<Last>,
    events: broadcast::Sender<Event>,
    watched: Watched,
}

#[derive(Debug)]
struct Last {
    id: u64,
    state: State,
    /// When it was as told, and when that was worked out.
    as_of: String,
    looked_at: Option<Instant>,
    sent_at: Instant,
}

impl Publisher {
    /// A publisher that nobody reads yet; [`run`](Self::run) makes it publish.
    #[must_use]
    pub fn new(limiters: Arc<Limiters>) -> Self {
        let last = Last {
            id: 0,
            state: State::default(),
            as_of: String::new(),
            looked_at: None,
            sent_at: Instant::now(),
        };
        let (events, _) = broadcast::channel(BEHIND_MAX);
        Self {
            limiters,
            house: None,
            last: Mutex::new(last),
            events,
            watched: Watched::default(),
        }
    }

    /// The same, telling also how Spillway itself is.
    #[must_use]
    pub fn with_house(self, house: House) -> Self {
        Self {
            house: Some(house),
            ..self
        }
    }

    /// What is true now, as the overview shows it.
    #[must_use]
    pub fn state(&self) -> State {
        // Only a cursor can be wrong, and there is none.
        let state = self.limiters.state(None, None, USERS_SHOWN);
        State {
            house: self.house.as_ref().and_then(House::known),
            ..state.unwrap_or_default()
        }
    }

    /// What was true at most a quarter of a second ago: for pages that many may ask for at a time.
    /// To work it out walks all users, so all of them and the stream share it.
    #[must_use]
    pub fn recent(&self) -> State {
        let mut last = self.lock();
        let is_recent = |at: Instant| at.elapsed() < PERIOD;
        if !last.looked_at.is_some_and(is_recent) {
            self.publish(&mut last);
        }
        State {
            as_of: last.as_of.clone(),
            ..last.state.clone()
        }
    }

    /// What is true of one user now, as JSON.
    ///
    /// # Errors
    /// There is no such upstream or workload, or too many users are asked for.
    pub fn user(&self, key: &UserKey) -> Result<Arc<str>, NotWatched> {
        self.watched.get(key, |key| self.limiters.user(key))
    }

    /// A snapshot, and what will change from it on.
    #[must_use]
    pub fn subscribe(&self) -> (Event, broadcast::Receiver<Event>) {
        let mut last = self.lock();
        self.publish(&mut last);
        let data = json(&last.state);
        (
            Event {
                id: last.id,
                name: "snapshot",
                data,
            },
            self.events.subscribe(),
        )
    }

    /// Publishes for ever.
    pub async fn run(self: Arc<Self>) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if self.events.receiver_count() > 0 {
                self.publish(&mut self.lock());
            }
        }
    }

    fn publish(&self, last: &mut Last) {
        let state = self.state();
        last.as_of.clone_from(&state.as_of);
        last.looked_at = Some(Instant::now());
        let delta = last.state.delta_to(&state);
        let quiet = delta
            == Delta {
                as_of: delta.as_of.clone(),
                time_scale: delta.time_scale,
                ..Delta::default()
            };
        if quiet && last.sent_at.elapsed() < HEARTBEAT {
            return;
        }
        last.id += 1;
        last.sent_at = Instant::now();
        let name = if quiet { "heartbeat" } else { "delta" };
        // Nobody may be reading: then there is nobody to tell.
        let _ = self.events.send(Event {
            id: last.id,
            name,
            data: json(&delta),
        });
        last.state = state;
    }

    fn lock(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn json(value: &impl serde::Serialize) -> Arc<str> {
    // Plain structs of strings and numbers: they can always be written.
    serde_json::to_string(value).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{config::Config, limiter::Recovery, store::Store};

    #[tokio::test]
    async fn pages_and_streams_share_one_look_a_period() {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display();
        let config = Config::parse(&format!(
            "[server]\ndatabase_url = 'sqlite://{at}/a.db'\nstate_dir = '{at}'\n\
             [upstreams.graph]\nbase_url = 'http://127.0.0.1:9/'\npresets = ['onenote']\n"
        ))
        .unwrap();
        let store = Store::open(&config.server.database_url).await.unwrap();
        let limiters = Limiters::open(&config, &store, Recovery::AssumeEmpty, 1);
        let publisher = Publisher::new(Arc::new(limiters.await.unwrap()));

        tokio::time::pause();
        let (_, _events) = publisher.subscribe();
        let looked_at = || publisher.lock().looked_at;
        let first = looked_at();
        let state = publisher.recent();
        assert_eq!(looked_at(), first, "the stream has just looked");
        assert_eq!(state.upstreams[0].name, "graph");
        assert!(!state.as_of.is_empty());
        tokio::time::advance(PERIOD).await;
        assert!(publisher.recent().as_of >= state.as_of);
        assert!(looked_at() > first, "that was too long ago");
        store.close().await;
    }
}
