//! Looks at all lists: few at a time, and one for all who ask for the same within a second.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use crate::floods::{Floods, Found, Search};

/// How many look at a time: each keeps a core busy, with 100,000 lists for some hundredths of a
/// second.
const LOOKS_MAX: usize = 2;

/// How many looks are kept; the oldest makes way.
const KEPT_MAX: usize = 16;

/// For how long: pages ask once a second.
const KEPT_FOR: Duration = Duration::from_millis(900);

/// How long a page waits for its turn.
const TURN_WITHIN: Duration = Duration::from_secs(5);

/// Looks, shared by all pages.
#[derive(Debug)]
pub(in crate::dashboard) struct Looks {
    turns: Semaphore,
    kept: Mutex<Vec<(Instant, Search, Arc<Found>)>>,
}

impl Default for Looks {
    fn default() -> Self {
        Self {
            turns: Semaphore::new(LOOKS_MAX),
            kept: Mutex::default(),
        }
    }
}

impl Looks {
    /// What is found; `None`: no turn came. Parts that move are asked for each second by every page
    /// that is open, and may be a second old; whoever loads a page sees what is.
    pub(super) async fn look(
        &self,
        floods: &Floods,
        search: Search,
        is_part: bool,
    ) -> Option<Arc<Found>> {
        if let Some(found) = self.kept(&search, Instant::now()).filter(|_| is_part) {
            return Some(found);
        }
        let turn = timeout(TURN_WITHIN, self.turns.acquire())
            .await
            .ok()?
            .ok()?;
        // Whoever had the turn before may have looked for the same.
        if let Some(found) = self.kept(&search, Instant::now()).filter(|_| is_part) {
            return Some(found);
        }
        let (floods, wanted) = (floods.clone(), search.clone());
        let found = spawn_blocking(move || floods.search(&wanted)).await.ok()?;
        drop(turn);
        let found = Arc::new(found);
        self.keep(search, Arc::clone(&found), Instant::now());
        Some(found)
    }

    /// Nothing that was found before is current: something was done.
    pub(super) fn forget(&self) {
        self.lock().clear();
    }

    fn kept(&self, search: &Search, now: Instant) -> Option<Arc<Found>> {
        let kept = self.lock();
        let is_current = |at: &Instant| now.saturating_duration_since(*at) < KEPT_FOR;
        let mut all = kept.iter();
        let found = all.find(|(at, of, _)| of == search && is_current(at));
        found.map(|(_, _, found)| Arc::clone(found))
    }

    fn keep(&self, search: Search, found: Arc<Found>, now: Instant) {
        let mut kept = self.lock();
        kept.retain(|(at, of, _)| now.saturating_duration_since(*at) < KEPT_FOR && *of != search);
        if kept.len() >= KEPT_MAX {
            kept.remove(0);
        }
        kept.push((now, search, found));
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, Search, Arc<Found>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(text: &str) -> Search {
        Search {
            text: text.to_owned(),
            ..Search::default()
        }
    }

    #[test]
    fn a_look_is_kept_for_a_second_for_who_asks_for_the_same() {
        let (looks, now) = (Looks::default(), Instant::now());
        looks.keep(search("a"), Arc::default(), now);
        assert!(looks.kept(&search("a"), now).is_some());
        assert!(looks.kept(&search("b"), now).is_none());
        assert!(looks.kept(&search("a"), now + KEPT_FOR).is_none());
        looks.forget();
        assert!(looks.kept(&search("a"), now).is_none());
    }

    #[test]
    fn so_many_are_kept() {
        let (looks, now) = (Looks::default(), Instant::now());
        for n in 0..KEPT_MAX + 5 {
            looks.keep(search(&n.to_string()), Arc::default(), now);
        }
        assert_eq!(looks.lock().len(), KEPT_MAX);
        assert!(looks.kept(&search("0"), now).is_none());
    }
}
