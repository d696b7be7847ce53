//! What forms have come to, kept until the page that they lead to says it: once, to whoever sent
//! the form, and in memory alone, since it may be a secret that is never shown again.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use http::request::Parts;
use spillway_app::Told;

use crate::http::Visitor;

/// How many are kept; the oldest makes way.
const KEPT_MAX: usize = 256;

/// For how long: pages follow their forms at once.
const KEPT_FOR: Duration = Duration::from_secs(120);

/// The name under which an address says what is to be told.
const NAME: &str = "told";

/// Who sent a form: the handle of their session; where nobody signs in, all are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sender(String);

/// What is to be said yet.
#[derive(Debug, Default)]
pub(super) struct Outbox(Mutex<VecDeque<Kept>>);

#[derive(Debug)]
struct Kept {
    key: String,
    of: Sender,
    at: Instant,
    told: Told,
}

impl Sender {
    /// Whoever made a request with this head.
    pub(super) fn of(parts: &Parts) -> Self {
        let visitor = parts.extensions.get::<Visitor>();
        let session = visitor.and_then(|visitor| visitor.0.as_ref());
        Self(session.map_or_else(String::new, |session| session.handle.clone()))
    }
}

impl Outbox {
    /// The address of the page at `path` that will say this.
    pub(super) fn lead(&self, path: &str, of: Sender, told: Told, now: Instant) -> String {
        let key = format!("{:032x}", rand::random::<u128>());
        let question = if path.contains('?') { '&' } else { '?' };
        let to = format!("{path}{question}{NAME}={key}");
        let mut kept = self.kept();
        while kept.len() >= KEPT_MAX {
            kept.pop_front();
        }
        kept.push_back(Kept {
            key,
            of,
            at: now,
            told,
        });
        to
    }

    /// What the page with this query is to say.
    pub(super) fn take(&self, query: Option<&str>, of: &Sender, now: Instant) -> Option<Told> {
        let pairs = query?.split('&').filter_map(|pair| pair.split_once('='));
        let key = pairs
            .filter(|(name, _)| *name == NAME)
            .map(|(_, key)| key)
            .next()?;
        let mut kept = self.kept();
        kept.retain(|it| now.saturating_duration_since(it.at) < KEPT_FOR);
        let at = kept.iter().position(|it| it.key == key && it.of == *of)?;
        kept.remove(at).map(|it| it.told)
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, VecDeque<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ada() -> Sender {
        Sender("ada".to_owned())
    }

    fn query(to: &str) -> Option<&str> {
        to.split_once('?').map(|(_, query)| query)
    }

    #[test]
    fn it_is_said_once_to_who_sent_the_form_and_soon() {
        let (outbox, now) = (Outbox::default(), Instant::now());
        let to = outbox.lead("/tokens?a=b", ada(), Told::done("x".to_owned()), now);
        assert!(to.starts_with("/tokens?a=b&told="), "{to}");
        let eve = Sender("eve".to_owned());
        assert!(outbox.take(query(&to), &eve, now).is_none());
        assert!(outbox.take(Some("told=0"), &ada(), now).is_none());
        assert!(outbox.take(None, &ada(), now).is_none());
        assert!(outbox.take(query(&to), &ada(), now).is_some());
        assert!(outbox.take(query(&to), &ada(), now).is_none());
        let to = outbox.lead("/tokens", ada(), Told::done("x".to_owned()), now);
        assert!(outbox.take(query(&to), &ada(), now + KEPT_FOR).is_none());
    }

    #[test]
    fn so_many_are_kept_and_the_oldest_makes_way() {
        let (outbox, now) = (Outbox::default(), Instant::now());
        let lead = || outbox.lead("/", ada(), Told::done("x".to_owned()), now);
        let first = lead();
        let later: Vec<_> = (0..KEPT_MAX).map(|_| lead()).collect();
        assert!(outbox.take(query(&first), &ada(), now).is_none());
        assert!(
            later
                .iter()
                .all(|to| outbox.take(query(to), &ada(), now).is_some())
        );
    }
}
