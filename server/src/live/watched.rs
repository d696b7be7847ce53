//! Single users that somebody looks at: one computation each for all who look.
//!
//! What was computed for one viewer answers all others of the same user for a quarter of a
//! second, and so many users at most are computed in that time. However many pages are open
//! and however often they ask, the limiters are asked [`USERS_MAX`] times in [`PERIOD`].

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use spillway_app::live::UserState;
use tokio::time::Instant;

use super::{PERIOD, json};
use crate::limiter::{NoSuchLimits, UserKey};

/// The most users that are computed in one [`PERIOD`].
const USERS_MAX: usize = 64;

/// Why nothing is said of a user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWatched {
    /// There are no such limits.
    #[error(transparent)]
    NoSuch(#[from] NoSuchLimits),
    /// Too many users are looked at in this instant.
    #[error("at most {USERS_MAX} users are looked up in a quarter of a second; try again")]
    TooMany,
}

/// What was computed lately.
#[derive(Debug, Default)]
pub struct Watched {
    known: Mutex<HashMap<UserKey, Known>>,
}

#[derive(Debug)]
struct Known {
    at: Instant,
    json: Arc<str>,
}

impl Watched {
    /// What is true of `key` now, or was a quarter of a second ago; it says when itself.
    ///
    /// # Errors
    /// See [`NotWatched`].
    pub fn get(
        &self,
        key: &UserKey,
        compute: impl FnOnce(&UserKey) -> Result<UserState, NoSuchLimits>,
    ) -> Result<Arc<str>, NotWatched> {
        // Held while it is computed: those who ask meanwhile wait for the same answer.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, known| known.at.elapsed() < PERIOD);
        if let Some(known) = known.get(key) {
            return Ok(Arc::clone(&known.json));
        }
        if known.len() >= USERS_MAX {
            return Err(NotWatched::TooMany);
        }
        let json = json(&compute(key)?);
        let at = Instant::now();
        known.insert(
            key.clone(),
            Known {
                at,
                json: Arc::clone(&json),
            },
        );
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn key(user: usize) -> UserKey {
        UserKey {
            upstream: "graph".to_owned(),
            workload: "onenote".to_owned(),
            app: None,
            tenant: String::new(),
            user: user.to_string(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_who_look_at_one_user_cost_one_computation() {
        let watched = Watched::default();
        let computed = Cell::new(0);
        let get = || {
            let compute = |_: &UserKey| {
                computed.set(computed.get() + 1);
                Ok(UserState::default())
            };
            watched.get(&key(1), compute).unwrap()
        };
        for _ in 0..100 {
            get();
        }
        assert_eq!(computed.get(), 1);
        tokio::time::advance(PERIOD).await;
        get();
        assert_eq!(computed.get(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_users_are_computed_at_once() {
        let watched = Watched::default();
        let get = |user| watched.get(&key(user), |_| Ok(UserState::default()));
        for user in 0..USERS_MAX {
            get(user).unwrap();
        }
        assert_eq!(get(USERS_MAX), Err(NotWatched::TooMany));
        get(0).unwrap();
        tokio::time::advance(PERIOD).await;
        get(USERS_MAX).unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn what_does_not_exist_takes_no_place() {
        let watched = Watched::default();
        let error = NoSuchLimits::Workload {
            known: "onenote".to_owned(),
        };
        for user in 0..=USERS_MAX {
            let got = watched.get(&key(user), |_| Err(error.clone()));
            assert_eq!(got, Err(NotWatched::NoSuch(error.clone())));
        }
    }
}
