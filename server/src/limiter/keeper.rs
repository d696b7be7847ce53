//! What a limiter does by itself: lets waiting calls go when their time has come, syncs the
//! journal each second, and begins a new generation of files now and then.

use std::{
    borrow::Cow,
    fs::{self, File},
    io,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use spillway::{BudgetRecord, Engine, Instant, Lease, Whose};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::Inner;
use super::files::Kind;
use super::journal::Journal;
use super::outside::Handed;
use super::record::{FORMAT, Header, Record};

/// A power loss may cost this much of the journal (engine.md, Persistence).
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A new generation begins when the journal is this long: some 30,000 calls, read back in
/// under a second.
const JOURNAL_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Each so many generations the snapshot is whole, so that few files have to be read back.
const DELTAS_MAX: u64 = 20;

/// Lets waiting calls go when their time has come. Ends when the limiter is gone.
pub(super) async fn wake(inner: Arc<Inner>) {
    loop {
        let armed = inner.armed();
        tokio::select! {
            () = inner.rearm.notified() => {}
            () = async {
                match armed {
                    Some(at) => sleep_until(inner.clock.reached_at(at)).await,
                    None => std::future::pending().await,
                }
            } => inner.with(|_, _| ()),
        }
    }
}

/// Syncs the journal each second and begins new generations.
pub(super) async fn keep(inner: Arc<Inner>) {
    let mut ticks = interval(SYNC_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let inner = Arc::clone(&inner);
        let kept = tokio::task::spawn_blocking(move || inner.keep_once()).await;
        match kept {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "the counters are not on disk"
            ),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "keeping the counters failed"
            ),
        }
    }
}

impl Inner {
    fn keep_once(&self) -> io::Result<()> {
        let (to_sync, renew) = {
            let mut core = self.lock();
            (
                core.journal.take_unsynced(),
                core.journal.bytes() >= JOURNAL_BYTES_MAX || core.journal.is_broken(),
            )
        };
        if renew {
            return self.next_generation(false);
        }
        to_sync
            .transpose()?
            .map_or(Ok(()), |journal: File| journal.sync_data())
    }

    /// Begins a new journal, and writes down what is known up to it.
    pub(super) fn next_generation(&self, whole: bool) -> io::Result<()> {
        let mut generation = self
            .generation
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let next = *generation + 1;
        let journal = self.new_journal(next)?;
        *generation = next;
        // Behind a generation without its snapshot, changes alone would leave a gap.
        let gap = self.gap.swap(true, Ordering::Relaxed);
        let whole = whole || gap || next.is_multiple_of(DELTAS_MAX);
        let known = self.swap_journal(journal, whole);
        let kind = if whole { Kind::Full } else { Kind::Delta };
        self.files
            .write_whole(kind, next, &Self::snapshot(&known)?)?;
        self.gap.store(false, Ordering::Relaxed);
        self.files.remove_before(next, whole)
    }

    /// A journal with its header on disk; nothing is left of one that cannot be written.
    fn new_journal(&self, generation: u64) -> io::Result<Journal> {
        let mut journal = Journal::new(self.files.create(Kind::Journal, generation)?);
        let header = self.header(&self.lock().engine);
        let written = journal
            .append(&Record::Header(header))
            .map_err(io::Error::other);
        let synced = written.and_then(|()| {
            journal
                .take_unsynced()
                .transpose()?
                .map_or(Ok(()), |file| file.sync_all())
        });
        synced
            .and_then(|()| self.files.sync_folder())
            .inspect_err(|_| {
                let _ = fs::remove_file(self.files.path(Kind::Journal, generation));
            })?;
        Ok(journal)
    }

    /// From here on `journal` takes what happens; what was known until then comes back.
    fn swap_journal(&self, journal: Journal, whole: bool) -> Known<'_> {
        let mut core = self.lock();
        let now = self.clock.now();
        core.journal = journal;
        let changes = core.engine.take_changes(now);
        let outside: Vec<_> = core.outside.iter(now).cloned().collect();
        let overdue = outside
            .iter()
            .filter(|handed| !handed.ended)
            .filter_map(|handed| core.engine.overdue(handed.permit).cloned())
            .collect();
        Known {
            header: self.header(&core.engine),
            pauses: core
                .engine
                .pauses()
                .map(|(whose, until)| (whose.clone(), until))
                .collect(),
            budgets: if whole {
                core.engine.records(now)
            } else {
                changes
            },
            leases: core.engine.leases().collect(),
            overdue,
            outside,
        }
    }

    fn header(&self, engine: &Engine) -> Header<'_> {
        Header {
            format: FORMAT,
            instance: Cow::Borrowed(&self.instance),
            upstream: Cow::Borrowed(&self.name),
            workloads: self
                .workloads
                .iter()
                .map(|workload| Cow::Borrowed(workload.name.as_str()))
                .collect(),
            clock: self.clock.now(),
            next_permit: engine.next_permit(),
            full_at: engine.full_at(),
        }
    }

    fn snapshot(known: &Known<'_>) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Record::Header(known.header.clone()).write(&mut content)?;
        for (whose, until) in &known.pauses {
            let pause = Record::Pause {
                whose: Cow::Borrowed(whose),
                at: known.header.clock,
                until: Some(*until),
            };
            pause.write(&mut content)?;
        }
        for budget in &known.budgets {
            Record::Budget(Cow::Borrowed(budget)).write(&mut content)?;
        }
        for lease in &known.leases {
            Record::Lease(Cow::Borrowed(lease)).write(&mut content)?;
        }
        for lease in &known.overdue {
            Record::Overdue(Cow::Borrowed(lease)).write(&mut content)?;
        }
        for handed in &known.outside {
            Record::Outside(Cow::Borrowed(handed)).write(&mut content)?;
        }
        Record::End.write(&mut content)?;
        Ok(content)
    }
}

/// What is known at the instant at which a generation begins.
struct Known<'a> {
    header: Header<'a>,
    pauses: Vec<(Whose, Instant)>,
    budgets: Vec<BudgetRecord>,
    leases: Vec<Lease>,
    overdue: Vec<Lease>,
    outside: Vec<Handed>,
}
