//! How Spillway itself is, and what happened to it in the last hour: asked of the database every
//! few seconds by one task, so that the live state, which is computed four times a second, only
//! has to copy it.

mod wording;

use std::{
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use jiff::Timestamp;
use spillway_app::{
    FLOODS_DISABLED_PATH,
    live::{self, Attention, CHANGES_MAX, HousePart},
};
use tokio::{
    task::spawn_blocking,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::{
    floods::{Floods, Region, Search},
    history::{History, Range},
    limiter::{JournalHealth, Limiters},
    store::{AuditQuery, Kind, OutboxFigures, Store},
};

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// How long the database may take to answer before that is trouble.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);

/// Journals are synced each second; one that has not been for so long is behind.
const BEHIND: Duration = Duration::from_secs(5);

/// From here on waiting strikes are trouble: more than one commit takes.
const UNWRITTEN_MANY: usize = 512;

/// How far back changes are told.
const HOUR_MS: i64 = 3_600_000;

/// The most entries of the audit log that are looked through for changes.
const ENTRIES_MAX: u32 = 200;

/// What is known of Spillway itself. Clones share it.
#[derive(Clone, Debug)]
pub struct House {
    store: Store,
    limiters: Arc<Limiters>,
    history: History,
    floods: Floods,
    known: Arc<RwLock<Option<live::House>>>,
}

impl House {
    /// Of a server with this database and these limiters; nothing is known before the first look.
    #[must_use]
    pub fn new(store: Store, limiters: Arc<Limiters>, history: History, floods: Floods) -> Self {
        Self {
            store,
            limiters,
            history,
            floods,
            known: Arc::default(),
        }
    }

    /// What was known at the last look.
    #[must_use]
    pub fn known(&self) -> Option<live::House> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.clone()
    }

    /// Looks for ever.
    pub async fn run(self) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.look(Timestamp::now().as_millisecond()).await;
        }
    }

    /// Looks how it is at `now_ms`.
    pub async fn look(&self, now_ms: i64) {
        let looked = timeout(ANSWERS_WITHIN, self.ask(now_ms)).await;
        let house = looked.unwrap_or_else(|_| {
            let seconds = ANSWERS_WITHIN.as_secs();
            self.without_database(format!("does not answer within {seconds} s"))
        });
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = Some(house);
    }

    async fn ask(&self, now_ms: i64) -> live::House {
        let query = AuditQuery {
            from_ms: Some(now_ms - HOUR_MS),
            ..AuditQuery::default()
        };
        let entries = match self.store.audit(&query, ENTRIES_MAX).await {
            Ok(entries) => entries,
            Err(error) => return self.without_database(error.to_string()),
        };
        let names = match self.store.names(&entries).await {
            Ok(names) => names,
            Err(error) => return self.without_database(error.to_string()),
        };
        let change = |entry| wording::change(entry, &names);
        let mut changes: Vec<_> = entries.iter().filter_map(change).collect();
        let more = changes.len().saturating_sub(CHANGES_MAX);
        changes.truncate(CHANGES_MAX);
        let mut parts = self.parts("answers", false);
        for kind in Kind::ALL {
            match self.store.outbox_figures(kind).await {
                Ok(figures) => parts.push(sending(kind, &figures, now_ms)),
                Err(error) => return self.without_database(error.to_string()),
            }
        }
        let (guard, attention) = self.floods().await;
        parts.push(guard);
        live::House {
            parts,
            attention,
            throttled: self.throttled(now_ms).await,
            changes,
            more_changes: more as u64,
            unknown: String::new(),
        }
    }

    /// How the flood guard is, and what it disabled that waits for a person.
    async fn floods(&self) -> (HousePart, Vec<Attention>) {
        let floods = self.floods.clone();
        let unwritten = floods.unwritten();
        let all = spawn_blocking(move || floods.search(&Search::default()).totals.all);
        let all = all.await.unwrap_or_default();
        (guard(&all, unwritten), disabled(all.disabled))
    }

    fn without_database(&self, said: String) -> live::House {
        live::House {
            parts: self.parts(&said, true),
            unknown: "What was changed is not known: the database does not answer.".to_owned(),
            ..live::House::default()
        }
    }

    /// How many answers in the last hour said that an upstream throttled. A workload whose history
    /// cannot be read adds nothing: that the database is in trouble is said beside.
    async fn throttled(&self, now_ms: i64) -> u64 {
        let mut throttled = 0_u64;
        for limiter in self.limiters.all() {
            for workload in limiter.limited() {
                let past = self
                    .history
                    .past(limiter.name(), workload, Range::Hour, now_ms);
                let points = past.await.unwrap_or_default().points;
                let sum: u64 = points.iter().map(|(_, it)| it.upstream_throttled).sum();
                throttled = throttled.saturating_add(sum);
            }
        }
        throttled
    }

    fn parts(&self, database: &str, is_trouble: bool) -> Vec<HousePart> {
        let database = HousePart {
            name: "Database".to_owned(),
            said: database.to_owned(),
            is_trouble,
        };
        let journals = self.limiters.all().iter().map(|limiter| {
            let (said, is_trouble) = journal(limiter.journal_health());
            HousePart {
                name: format!("Journal of {}", limiter.name()),
                said,
                is_trouble,
            }
        });
        std::iter::once(database).chain(journals).collect()
    }
}

/// How messages of a kind go, and whether that is trouble: somebody who would take them cannot be
/// reached.
fn sending(kind: Kind, figures: &OutboxFigures, now_ms: i64) -> HousePart {
    let name = match kind {
        Kind::Mail => "Mail",
        Kind::Webhook => "Webhooks",
    };
    let said = match (figures.owed, figures.down_since_ms) {
        (0, _) => "nothing waits".to_owned(),
        (owed, None) => format!("{owed} to be sent"),
        (owed, Some(since_ms)) => {
            let minutes = now_ms.saturating_sub(since_ms).max(0) / 60_000;
            format!("not delivered for {minutes} min, {owed} wait")
        }
    };
    HousePart {
        name: name.to_owned(),
        said,
        is_trouble: figures.owed > 0 && figures.down_since_ms.is_some(),
    }
}

/// How the flood guard is, and whether that is trouble: strikes wait for the database.
fn guard(all: &Region, unwritten: usize) -> HousePart {
    let lists = match all.lists {
        0 => "no list yet".to_owned(),
        1 => "1 list".to_owned(),
        lists => format!("{lists} lists"),
    };
    let said = match unwritten {
        0..UNWRITTEN_MANY => format!("{lists}, {} disabled, {} paused", all.disabled, all.paused),
        many => format!("{many} strikes wait to be written"),
    };
    HousePart {
        name: "Flood guard".to_owned(),
        said,
        is_trouble: unwritten >= UNWRITTEN_MANY,
    }
}

/// What is disabled, as what waits for a person.
fn disabled(components: u64) -> Vec<Attention> {
    let (says, way) = match components {
        0 => return Vec::new(),
        1 => (
            "A component is disabled by floods.".to_owned(),
            "Look at it",
        ),
        many => (
            format!("{many} components are disabled by floods."),
            "Look at them",
        ),
    };
    vec![Attention {
        says,
        path: FLOODS_DISABLED_PATH.to_owned(),
        way: way.to_owned(),
    }]
}

/// How a journal is, and whether that is trouble.
fn journal(health: JournalHealth) -> (String, bool) {
    match health {
        JournalHealth {
            is_writable: false, ..
        } => ("cannot be written: all calls are refused".to_owned(), true),
        JournalHealth { unsynced, .. } if unsynced > BEHIND => {
            (format!("{} s not on disk", unsynced.as_secs()), true)
        }
        JournalHealth { errors: 0, .. } => ("on disk".to_owned(), false),
        JournalHealth { errors, .. } => {
            (format!("on disk, {errors} failures since the start"), false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_cannot_be_delivered_are_trouble_and_others_are_not() {
        let figures = |owed, down_since_ms| OutboxFigures {
            owed,
            oldest_ms: None,
            down_since_ms,
            error: None,
        };
        for (figures, said, is_trouble) in [
            (figures(0, None), "nothing waits", false),
            (figures(2, None), "2 to be sent", false),
            (figures(2, Some(0)), "not delivered for 3 min, 2 wait", true),
        ] {
            let part = sending(Kind::Mail, &figures, 200_000);
            assert_eq!((part.said.as_str(), part.is_trouble), (said, is_trouble));
        }
    }

    #[test]
    fn what_is_disabled_waits_for_a_person_and_what_is_unwritten_is_trouble() {
        let all = |lists, disabled| Region {
            lists,
            disabled,
            ..Region::default()
        };
        assert_eq!(
            guard(&all(0, 0), 0).said,
            "no list yet, 0 disabled, 0 paused"
        );
        let well = guard(&all(12, 2), 511);
        assert_eq!(
            (well.said.as_str(), well.is_trouble),
            ("12 lists, 2 disabled, 0 paused", false)
        );
        assert!(guard(&all(12, 2), 512).is_trouble);
        assert!(disabled(0).is_empty());
        assert_eq!(disabled(2)[0].says, "2 components are disabled by floods.");
    }

    #[test]
    fn a_journal_is_in_trouble_when_it_is_behind_or_cannot_be_written() {
        let health = |is_writable, unsynced_s, errors| JournalHealth {
            is_writable,
            unsynced: Duration::from_secs(unsynced_s),
            errors,
        };
        for (health, said, is_trouble) in [
            (health(true, 1, 0), "on disk", false),
            (
                health(true, 1, 3),
                "on disk, 3 failures since the start",
                false,
            ),
            (health(true, 9, 3), "9 s not on disk", true),
            (
                health(false, 0, 0),
                "cannot be written: all calls are refused",
                true,
            ),
        ] {
            assert_eq!(journal(health), (said.to_owned(), is_trouble));
        }
    }
}
