//! One polite voice for those who don't see the page: what changed, at most every few
//! seconds, and never the numbers, which move all the time.

use leptos::prelude::*;

use crate::connection::Freshness;
use crate::feed::Feed;

/// How long something must stay true before it is said.
const STEADY_FOR_MS: u64 = 3_000;

/// Decides what is worth saying.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    said: String,
    next: String,
    since_ms: u64,
}

impl Batch {
    /// Takes what is true at `now_ms`; answers with it when it is to be said. What is true
    /// first is on the page already and not said.
    pub fn consider(&mut self, text: &str, now_ms: u64) -> Option<String> {
        if self.said.is_empty() {
            text.clone_into(&mut self.said);
        }
        if self.next != text {
            text.clone_into(&mut self.next);
            self.since_ms = now_ms;
        }
        let steady = now_ms.saturating_sub(self.since_ms) >= STEADY_FOR_MS;
        (steady && self.next != self.said).then(|| {
            self.said.clone_from(&self.next);
            self.said.clone()
        })
    }
}

/// The voice; `headline` is the page's first sentence.
#[component]
pub fn Announcer(
    /// The page's first sentence.
    #[prop(into)]
    headline: Signal<String>,
) -> impl IntoView {
    let feed = Feed::expect();
    let said = RwSignal::new(String::new());
    let batch = StoredValue::new(Batch::default());
    Effect::new(move |_| {
        let now_ms = feed.now_ms.get();
        let text = sentence(feed.freshness.get(), &headline.read());
        if let Some(Some(text)) = batch.try_update_value(|batch| batch.consider(&text, now_ms)) {
            said.set(text);
        }
    });
    view! { <p class="unseen" role="status">{move || said.get()}</p> }
}

fn sentence(freshness: Freshness, headline: &str) -> String {
    match freshness {
        Freshness::Stale | Freshness::Disconnected => {
            "Spillway cannot be reached; values are no longer current.".to_owned()
        }
        Freshness::SignedOut => "You are signed out; values are no longer current.".to_owned(),
        Freshness::Paused => "Updates are paused.".to_owned(),
        _ => headline.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stays_true_is_said_and_only_once() {
        let mut batch = Batch::default();
        let mut said = |text, now| batch.consider(text, now);
        assert_eq!(said("All clear", 0), None);
        assert_eq!(said("All clear", 9_000), None);
        assert_eq!(said("Out", 9_100), None);
        assert_eq!(said("All clear", 10_000), None);
        assert_eq!(said("Out", 11_000), None);
        assert_eq!(said("Out", 14_000), Some("Out".to_owned()));
        assert_eq!(said("Out", 30_000), None);
    }

    #[test]
    fn a_loss_is_said_instead_of_an_old_headline() {
        assert!(sentence(Freshness::Disconnected, "All clear").contains("cannot be reached"));
        assert_eq!(sentence(Freshness::Late, "All clear"), "All clear");
    }
}
