//! The driver: takes what is due, has it carried, and writes down how that ended.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use jiff::Timestamp;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Carriers, Counters, DOWN_MS_MAX, Failure, KEPT_MS, LATER_MS_MAX, Outbox, TRIED_MS_MAX, delay_ms,
};
use crate::{
    http::Shutdown,
    store::{self, Head, Kind, Settlement, Store, StoredMessage},
};

/// How many messages of a kind are on their way at once.
const AT_ONCE: usize = 4;

/// How many recipients are looked at for who comes next.
const HEADS_MAX: u32 = 500;

/// The driver looks this often although nobody woke it.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// But no more often than this, where what is due cannot be sent yet.
const LOOK_AFTER_MS_MIN: i64 = 1_000;

/// How often what is settled is looked through for what is old.
const FORGET_EVERY_MS: i64 = 3_600_000;

/// How long deliveries may go on when the server ends. What is cut off then is sent again.
const GRACE: Duration = Duration::from_secs(5);

/// What stands at a message whose delivery a restart cut off.
const CUT_OFF: &str =
    "the server ended while this was being sent: it is sent again, and may arrive twice";

/// The longest error that is kept, in bytes.
const ERROR_BYTES_MAX: usize = 500;

/// What is on its way, and who was served when.
pub struct Sending {
    store: Store,
    carriers: Carriers,
    counters: Counters,
    time_scale: i64,
    on_their_way: JoinSet<(StoredMessage, Result<(), Failure>)>,
    counts: HashMap<Kind, usize>,
    /// Nobody takes mail: until when nobody is asked, and how often in a row that failed.
    mail_down: Option<Down>,
    /// Who was served when, by the number of the turn.
    served: HashMap<(Kind, String), u64>,
    turn: u64,
    /// What could not be written down yet.
    unwritten: Vec<(i64, Settlement)>,
    forget_at_ms: i64,
}

#[derive(Clone, Copy, Debug)]
struct Down {
    until_ms: i64,
    failures: u32,
}

impl Sending {
    /// Nothing is on its way yet. Waits are so many times shorter than they would be.
    #[must_use]
    pub fn new(store: Store, carriers: Carriers, counters: Counters, time_scale: u32) -> Self {
        Self {
            store,
            carriers,
            counters,
            time_scale: i64::from(time_scale.max(1)),
            on_their_way: JoinSet::new(),
            counts: HashMap::new(),
            mail_down: None,
            served: HashMap::new(),
            turn: 0,
            unwritten: Vec::new(),
            forget_at_ms: 0,
        }
    }

    /// Sends what is owed until the shutdown begins, and lets end what is on its way then.
    pub async fn run(mut self, outbox: Outbox, shutdown: Shutdown) {
        let resumed = self.store.resume_sending(CUT_OFF).await;
        self.tell(resumed.map(drop), "the outbox cannot be resumed");
        loop {
            let begun = self.begin_due(now_ms()).await;
            self.tell(begun, "the outbox cannot be read");
            let pause = self.pause(now_ms()).await;
            tokio::select! {
                () = shutdown.begun() => break,
                () = outbox.owed.notified() => {}
                () = sleep(pause) => {}
                Some(ended) = self.on_their_way.join_next() => self.ended(ended, now_ms()).await,
            }
        }
        let _ = timeout(GRACE, async {
            while let Some(ended) = self.on_their_way.join_next().await {
                self.ended(ended, now_ms()).await;
            }
        })
        .await;
    }

    /// Sends what is due at `now_ms` and waits until all of it has ended.
    ///
    /// # Errors
    /// The database does not answer, or cannot be written.
    pub async fn round(&mut self, now_ms: i64) -> Result<(), store::Error> {
        self.begin_due(now_ms).await?;
        while let Some(ended) = self.on_their_way.join_next().await {
            self.ended(ended, now_ms).await;
            self.begin_due(now_ms).await?;
        }
        Ok(())
    }

    async fn begin_due(&mut self, now_ms: i64) -> Result<(), store::Error> {
        self.write_what_is_unwritten(now_ms).await?;
        if now_ms >= self.forget_at_ms {
            self.store.forget_settled(now_ms - KEPT_MS).await?;
            self.forget_at_ms = now_ms + FORGET_EVERY_MS;
        }
        for kind in Kind::ALL {
            let room = self.room(kind, now_ms);
            if room > 0 {
                self.begin(kind, room, now_ms).await?;
            }
            let figures = self.store.outbox_figures(kind).await?;
            self.counters.stands(kind, &figures, now_ms);
        }
        Ok(())
    }

    /// How many more of a kind may be sent now: one alone tries whether mail is taken again.
    fn room(&self, kind: Kind, now_ms: i64) -> usize {
        let under_way = self.counts.get(&kind).copied().unwrap_or_default();
        let most = match self.mail_down.filter(|_| kind == Kind::Mail) {
            Some(down) if down.until_ms > now_ms => 0,
            Some(_) => 1,
            None => AT_ONCE,
        };
        most.saturating_sub(under_way)
    }

    async fn begin(&mut self, kind: Kind, room: usize, now_ms: i64) -> Result<(), store::Error> {
        let mut heads = self.store.due(kind, now_ms, HEADS_MAX).await?;
        // Who was served longest ago; of those who never were, who waits longest.
        heads.sort_by_key(|head| self.served.get(&(kind, head.recipient.clone())).copied());
        self.forget_served(kind, &heads);
        for head in heads.into_iter().take(room) {
            let Some(message) = self.store.begin_sending(head.id).await? else {
                continue;
            };
            self.turn += 1;
            self.served.insert((kind, head.recipient), self.turn);
            *self.counts.entry(kind).or_default() += 1;
            let carriers = self.carriers.clone();
            self.on_their_way.spawn(async move {
                let carried = carriers.carry(&message).await;
                (message, carried)
            });
        }
        Ok(())
    }

    /// Only whoever waits has to be told from others.
    fn forget_served(&mut self, kind: Kind, heads: &[Head]) {
        if self.served.len() > 2 * HEADS_MAX as usize {
            let waiting: HashSet<_> = heads.iter().map(|head| head.recipient.as_str()).collect();
            self.served
                .retain(|(of, recipient), _| *of != kind || waiting.contains(recipient.as_str()));
        }
    }

    async fn ended(
        &mut self,
        ended: Result<(StoredMessage, Result<(), Failure>), tokio::task::JoinError>,
        now_ms: i64,
    ) {
        let Ok((message, carried)) = ended else {
            tracing::error!("a delivery broke: its message is sent again at the next start");
            return;
        };
        let count = self.counts.entry(message.kind).or_default();
        *count = count.saturating_sub(1);
        let how = self.settlement(&message, carried, now_ms);
        self.log(&message, &how);
        self.unwritten.push((message.id, how));
        let written = self.write_what_is_unwritten(now_ms).await;
        self.tell(
            written,
            "it cannot be written down what became of a message",
        );
    }

    async fn write_what_is_unwritten(&mut self, now_ms: i64) -> Result<(), store::Error> {
        while let Some((id, how)) = self.unwritten.first() {
            self.store.settle(*id, how, now_ms).await?;
            self.unwritten.remove(0);
        }
        Ok(())
    }

    fn settlement(
        &mut self,
        message: &StoredMessage,
        carried: Result<(), Failure>,
        now_ms: i64,
    ) -> Settlement {
        let is_mail = message.kind == Kind::Mail;
        let is_down = matches!(carried, Err(Failure::Down(_)));
        if is_mail {
            self.mail_down = is_down.then(|| self.still_down(now_ms));
        }
        let error = match carried {
            Ok(()) => return Settlement::Sent,
            Err(Failure::Never(error)) => return Settlement::Failed { error: cut(error) },
            Err(Failure::Down(error) | Failure::Later(error)) => cut(error),
        };
        if now_ms.saturating_sub(message.created_at_ms) >= TRIED_MS_MAX / self.time_scale {
            let error = cut(format!("given up: {error}"));
            return Settlement::Failed { error };
        }
        // How long nobody takes mail is the same for all of it.
        let wait_ms = match is_mail && is_down {
            true => 0,
            false => self.delay_ms(attempts(message), LATER_MS_MAX),
        };
        Settlement::Again {
            not_before_ms: now_ms.saturating_add(wait_ms),
            error,
            is_down,
        }
    }

    fn still_down(&self, now_ms: i64) -> Down {
        let failures = self
            .mail_down
            .map_or(0, |down| down.failures)
            .saturating_add(1);
        Down {
            until_ms: now_ms.saturating_add(self.delay_ms(failures, DOWN_MS_MAX)),
            failures,
        }
    }

    fn delay_ms(&self, failures: u32, ms_max: i64) -> i64 {
        delay_ms(failures, ms_max, rand::random_range(0..=1_000)) / self.time_scale
    }

    fn log(&self, message: &StoredMessage, how: &Settlement) {
        let (kind, uid) = (message.kind.name(), message.uid.as_str());
        let outcome = match how {
            Settlement::Sent => {
                tracing::info!(kind, uid, "a message was delivered");
                "sent"
            }
            Settlement::Again { error, .. } => {
                tracing::warn!(kind, uid, error, "a message was not delivered yet");
                "again"
            }
            Settlement::Failed { error } => {
                tracing::error!(kind, uid, error, "a message is given up");
                "failed"
            }
        };
        self.counters.ended(message.kind, outcome, 1);
    }

    /// How long there is nothing to do, unless something happens.
    async fn pause(&self, now_ms: i64) -> Duration {
        let next_ms = self.store.next_due().await.ok().flatten();
        let down_until_ms = self.mail_down.map(|down| down.until_ms);
        let wait_ms = [next_ms, down_until_ms].into_iter().flatten();
        let wait_ms = wait_ms.map(|at| at - now_ms).filter(|ms| *ms > 0).min();
        let most = i64::try_from(LOOK_EVERY.as_millis()).unwrap_or(i64::MAX) / self.time_scale;
        let least = (LOOK_AFTER_MS_MIN / self.time_scale).max(20);
        let wait_ms = wait_ms
            .unwrap_or(most)
            .clamp(least.min(most), most.max(least));
        Duration::from_millis(wait_ms.unsigned_abs())
    }

    fn tell(&self, done: Result<(), store::Error>, what: &'static str) {
        if let Err(error) = done {
            tracing::error!(error = &error as &dyn std::error::Error, "{what}");
        }
    }
}

impl std::fmt::Debug for Sending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sending").finish_non_exhaustive()
    }
}

fn attempts(message: &StoredMessage) -> u32 {
    u32::try_from(message.attempts).unwrap_or(u32::MAX)
}

fn now_ms() -> i64 {
    Timestamp::now().as_millisecond()
}

/// What somebody else's program said, at a length that can be kept.
fn cut(mut error: String) -> String {
    if error.len() > ERROR_BYTES_MAX {
        let end = (0..=ERROR_BYTES_MAX)
            .rev()
            .find(|at| error.is_char_boundary(*at));
        error.truncate(end.unwrap_or_default());
        error.push('…');
    }
    error
}

#[cfg(test)]
mod tests;
