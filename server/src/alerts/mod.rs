//! Who tells people and programs that something is wrong, and that it is right again.
//!
//! [`incident`] decides, pure; [`sight`] says what is wrong; [`words`] says it to people. The
//! driver here looks every few seconds, and writes down what changed together with the messages
//! that tell of it before anything is sent; the [outbox](crate::outbox) does that.

mod hook;
pub mod incident;
mod sight;
mod telling;
mod words;

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::time::{MissedTickBehavior, interval};

use crate::{
    config::{self, Config},
    limiter::Limiters,
    outbox::{self, Outbox},
    store::{self, Kind, Store},
};
use incident::{Incident, Incidents, Rules, Subject, Trouble};
pub use sight::{Sight, Wrong};
pub use telling::keep;
pub(crate) use words::{SUBJECT_CHARS_MAX, cut, shown};
pub use words::{Words, sentences, title, words};

/// What messages are about.
pub const TOPIC: &str = "alerts";

/// How often it is looked what is wrong.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// The quickest that a scaled clock makes it.
const LOOK_EVERY_MIN: Duration = Duration::from_millis(100);

/// For so long after one of its own mails was given up, mail counts as failing.
const GIVEN_UP_MS: i64 = 3_600_000;

/// Somebody who is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipient {
    /// How.
    pub kind: Kind,
    /// An address, or a webhook's name.
    pub name: String,
}

/// Looks what is wrong, and owes messages that say so.
#[derive(Debug)]
pub struct Alerts {
    store: Store,
    limiters: Arc<Limiters>,
    outbox: Outbox,
    counters: outbox::Counters,
    told: Told,
    rules: Rules,
    users_min: u32,
    look_every: Duration,
    incidents: Incidents,
    /// Whether more is wrong than is followed one by one, as it was said last.
    is_crowded: bool,
}

/// Who is told, and where all of it is shown.
#[derive(Clone, Debug)]
pub struct Told {
    /// Who.
    pub recipients: Vec<Recipient>,
    /// The address of the page.
    pub link: String,
}

impl Rules {
    /// Those that are configured.
    #[must_use]
    pub fn of(alerts: &config::Alerts) -> Self {
        let ms = |time: Duration| i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
        Self {
            tell_after_ms: ms(alerts.tell_after),
            over_after_ms: ms(alerts.over_after),
            drift_min: alerts.drift_min,
            per_hour_max: alerts.per_hour_max as usize,
        }
    }
}

impl Told {
    /// Those who are configured.
    #[must_use]
    pub fn of(config: &Config, dashboard: &config::WebAddress) -> Self {
        let people = config.mail.iter().flat_map(|mail| &mail.to);
        let people = people.map(|to| Recipient {
            kind: Kind::Mail,
            name: to.to_string(),
        });
        let programs = config.alerts.webhooks.iter().map(|webhook| Recipient {
            kind: Kind::Webhook,
            name: webhook.name.clone(),
        });
        Self {
            recipients: people.chain(programs).collect(),
            link: dashboard.below("alerts").to_string(),
        }
    }
}

impl Alerts {
    /// Goes on where the last process ended.
    ///
    /// # Errors
    /// The database does not answer.
    pub async fn restored(
        store: Store,
        limiters: Arc<Limiters>,
        outbox: Outbox,
        counters: outbox::Counters,
        config: &config::Alerts,
        told: Told,
    ) -> Result<Self, store::Error> {
        let time_scale = limiters.clock().scale();
        let incidents = restored(&store, Timestamp::now().as_millisecond()).await?;
        Ok(Self {
            rules: Rules::of(&config.scaled(time_scale)),
            users_min: config.users_min,
            look_every: (LOOK_EVERY / time_scale).max(LOOK_EVERY_MIN),
            store,
            limiters,
            outbox,
            counters,
            told,
            incidents,
            is_crowded: false,
        })
    }

    /// Looks for ever.
    pub async fn run(mut self) {
        let mut ticks = interval(self.look_every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // A database that is gone is said once, not each time.
        let mut failing = false;
        loop {
            ticks.tick().await;
            let looked = self.look(Timestamp::now().as_millisecond()).await;
            match &looked {
                Err(error) if !failing => {
                    let error = error as &dyn std::error::Error;
                    tracing::error!(error, "what is wrong cannot be written down");
                }
                Ok(()) if failing => tracing::info!("what is wrong is written down again"),
                _ => {}
            }
            failing = looked.is_err();
        }
    }

    async fn look(&mut self, now_ms: i64) -> Result<(), store::Error> {
        let Some((wrong, unnamed)) = self.wrong(now_ms).await? else {
            return Ok(());
        };
        let step = self.incidents.step(now_ms, &wrong, &self.rules);
        let left_out = unnamed + step.left_out as u64;
        if left_out > 0 && !self.is_crowded {
            tracing::warn!(left_out, "more is wrong than is followed one by one");
        }
        self.is_crowded = left_out > 0;
        if !keep(&self.store, &step, &self.told, now_ms).await? {
            // Somebody's message is being sent just now: all of it once more, soon.
            return Ok(());
        }
        if !step.told.is_empty() {
            tracing::warn!(
                incidents = step.told.len(),
                subject = words(&step.told, "").subject,
                "told"
            );
            self.outbox.wake();
        }
        let going_on = step.next.all().iter();
        let going_on = going_on.filter(|it| it.due_at_ms.is_some() && it.ended_at_ms.is_none());
        self.counters.incidents(going_on.count());
        self.incidents = step.next;
        Ok(())
    }

    /// What is wrong, and how much more that has no name here; `None`: nobody could look, which is
    /// not the same as that nothing is wrong.
    async fn wrong(&self, now_ms: i64) -> Result<Option<(Wrong, u64)>, store::Error> {
        let (limiters, users_min) = (Arc::clone(&self.limiters), self.users_min);
        let looking = tokio::task::spawn_blocking(move || seen(&limiters, users_min));
        let (mut wrong, unnamed) = match looking.await {
            Ok(seen) => seen,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, "it cannot be looked what is wrong");
                return Ok(None);
            }
        };
        if let Some(trouble) = mail_trouble(&self.store, now_ms).await? {
            wrong.insert(Subject::Mail, trouble);
        }
        Ok(Some((wrong, unnamed)))
    }
}

fn seen(limiters: &Limiters, users_min: u32) -> (Wrong, u64) {
    let (mut wrong, mut unnamed) = (Wrong::new(), 0);
    for limiter in limiters.all() {
        for (workload, found) in limiter.trouble() {
            let sight = Sight {
                upstream: limiter.name(),
                workload: &workload,
                users_min,
                when_ms: |at| limiter.timestamp(at).as_millisecond(),
            };
            unnamed += sight.add(found, &mut wrong);
        }
    }
    (wrong, unnamed)
}

/// Whether mail does not go out: its server cannot be reached, or has refused what is said here.
///
/// # Errors
/// The database does not answer.
pub async fn mail_trouble(store: &Store, now_ms: i64) -> Result<Option<Trouble>, store::Error> {
    let figures = store.outbox_figures(Kind::Mail).await?;
    let trouble = |error: Option<String>| Trouble {
        is_full: true,
        error,
        ..Trouble::default()
    };
    if figures.down_since_ms.is_some() {
        return Ok(Some(trouble(figures.error)));
    }
    let refused = store
        .given_up(Kind::Mail, TOPIC, now_ms - GIVEN_UP_MS)
        .await?;
    Ok(refused.map(|message| trouble(message.error)))
}

/// What went on when the process ended, as it was written down.
///
/// # Errors
/// The database does not answer.
pub async fn restored(store: &Store, now_ms: i64) -> Result<Incidents, store::Error> {
    const HOUR_MS: i64 = 3_600_000;
    let told = store.owed_at(TOPIC, now_ms - HOUR_MS).await?;
    let stored = store.unsettled_incidents().await?;
    let incidents = stored.iter().filter_map(|it| {
        let read = serde_json::from_str::<Incident>(&it.facts);
        read.inspect_err(|error| tracing::error!(%error, "an incident cannot be read"))
            .ok()
    });
    Ok(Incidents::restored(incidents.collect(), told))
}

#[cfg(test)]
mod tests;
