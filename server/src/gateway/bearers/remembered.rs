//! A bounded memory that forgets by time alone.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

/// How often a full memory looks for what it may forget.
const SWEEP_EVERY: Duration = Duration::from_secs(1);

/// Bearers until when they are remembered.
#[derive(Debug)]
pub(super) struct Remembered {
    until: HashMap<String, Instant>,
    lasts: Duration,
    max: usize,
    swept: Option<Instant>,
}

impl Remembered {
    /// None yet, and never more than `max`; each is remembered for as long as it `lasts`.
    pub(super) fn new(lasts: Duration, max: usize) -> Self {
        Self {
            until: HashMap::new(),
            lasts,
            max,
            swept: None,
        }
    }

    pub(super) fn has(&self, key: &str, now: Instant) -> bool {
        self.until.get(key).is_some_and(|until| *until > now)
    }

    /// Whether there was room for it.
    pub(super) fn remember(&mut self, key: &str, now: Instant) -> bool {
        if self.until.len() >= self.max && !self.until.contains_key(key) {
            self.sweep(now);
            if self.until.len() >= self.max {
                return false;
            }
        }
        self.until.insert(key.to_owned(), now + self.lasts);
        true
    }

    pub(super) fn forget(&mut self, key: &str) {
        self.until.remove(key);
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.until.len()
    }

    fn sweep(&mut self, now: Instant) {
        let due = self.swept.is_none_or(|swept| now >= swept + SWEEP_EVERY);
        if due {
            self.swept = Some(now);
            self.until.retain(|_, until| *until > now);
        }
    }
}
