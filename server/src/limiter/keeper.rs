//! What a limiter does by itself: lets waiting calls go when their time has come, syncs the
//! journal each second, and begins a new generation of files now and then.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs::{self, File},
    io,
    sync::{Arc, PoisonError, atomic::Ordering},
    time::Duration,
};

use spillway::{BudgetRecord, Instant, Lease, Permit, Whose};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::Inner;
use super::core::Core;
use super::files::Kind;
use super::journal::Journal;
use super::outside::Handed;
use super::record::{FORMAT, Header, Record};
use super::shards::ShardIndex;

/// A power loss may cost this much of the journal (engine.md, Persistence).
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A new generation begins when the journal is this long: some 30,000 calls, read back in
/// under a second.
const JOURNAL_BYTES_MAX: u64 = 8 * 1024 * 1024;

/// Each so many generations the snapshot is whole, so that few files have to be read back.
const DELTAS_MAX: u64 = 20;

/// Lets a shard's waiting calls go when their time has come. Ends when the limiter is gone.
pub(super) async fn wake(inner: Arc<Inner>, shard: ShardIndex) {
    loop {
        let armed = inner.shards.lock(shard).engine.wake_at();
        tokio::select! {
            () = inner.shards.rearmed(shard) => {}
            () = async {
                match armed {
                    Some(at) => sleep_until(inner.clock.reached_at(at)).await,
                    None => std::future::pending().await,
                }
            } => inner.with(shard, |_, _| ()),
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
        let journal = self.shards.journal();
        if journal.bytes() >= JOURNAL_BYTES_MAX || journal.is_broken() {
            return self.next_generation(false);
        }
        journal
            .take_unsynced()
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
        let known = self.swap_journal(&journal, whole);
        let kind = if whole { Kind::Full } else { Kind::Delta };
        self.files
            .write_whole(kind, next, &self.snapshot(&known)?)?;
        self.gap.store(false, Ordering::Relaxed);
        self.files.remove_before(next, whole)
    }

    /// A journal with its header on disk; nothing is left of one that cannot be written.
    fn new_journal(&self, generation: u64) -> io::Result<Journal> {
        let journal = Journal::new(self.files.create(Kind::Journal, generation)?);
        let written = journal
            .append(&Record::Header(self.header()))
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

    /// From here on `journal` takes what happens; what was known until then comes back. The
    /// shards change over one after the other, the first one first: each app's lines are
    /// either known or in the new journal.
    fn swap_journal(&self, journal: &Journal, whole: bool) -> Known {
        let mut known = Known::default();
        for mut core in self.shards.each() {
            core.journal = journal.clone();
            known.add(&mut core, self.clock.now(), whole);
        }
        known
    }

    fn header(&self) -> Header<'_> {
        let engines = self.shards.each().map(|core| {
            let engine = &core.engine;
            (engine.next_permit(), engine.full_at())
        });
        let (next_permits, full_at): (Vec<_>, Vec<_>) = engines.unzip();
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
            next_permit: next_permits.into_iter().max().unwrap_or(Permit(1)),
            full_at: full_at.into_iter().flatten().max(),
        }
    }

    fn snapshot(&self, known: &Known) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        // Of now, so that neither time nor numbers go back behind what is known.
        let header = self.header();
        let at = header.clock;
        Record::Header(header).write(&mut content)?;
        for (whose, until) in &known.pauses {
            let pause = Record::Pause {
                whose: Cow::Borrowed(whose),
                at,
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
#[derive(Default)]
struct Known {
    /// Those of the whole upstream are in all shards.
    pauses: BTreeMap<Whose, Instant>,
    budgets: Vec<BudgetRecord>,
    leases: Vec<Lease>,
    overdue: Vec<Lease>,
    outside: Vec<Handed>,
}

impl Known {
    fn add(&mut self, core: &mut Core, now: Instant, whole: bool) {
        let engine = &mut core.engine;
        let changes = engine.take_changes(now);
        self.budgets
            .extend(if whole { engine.records(now) } else { changes });
        self.leases.extend(engine.leases());
        let pauses = engine.pauses();
        self.pauses
            .extend(pauses.map(|(whose, until)| (whose.clone(), until)));
        let outside = core.outside.lock().of(core.shard, now);
        let running = outside.iter().filter(|handed| !handed.ended);
        self.overdue
            .extend(running.filter_map(|handed| engine.overdue(handed.permit).cloned()));
        self.outside.extend(outside);
    }
}
