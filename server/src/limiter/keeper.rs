//! What a limiter does by itself: lets waiting calls go when their time has come, syncs the
//! journals each second, and begins a new generation of files now and then.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    fs,
    io::{self, Write as _},
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

/// A power loss may cost this much of the journals (engine.md, Persistence).
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A new generation begins when the journals are this long together: some 30,000 calls, read back in
/// under a second; and twice as long as the last snapshot, so that to write down what is known
/// costs less than what happens does, and to read it back at most thrice as much.
const JOURNALS_BYTES: u64 = 8 * 1024 * 1024;

/// But never later than this.
const JOURNALS_BYTES_MAX: u64 = 8 * JOURNALS_BYTES;

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

/// Syncs the journals each second and begins new generations.
pub(super) async fn keep(inner: Arc<Inner>) {
    let mut ticks = interval(SYNC_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let errors = Arc::clone(&inner);
        let inner = Arc::clone(&inner);
        let kept = tokio::task::spawn_blocking(move || inner.keep_once()).await;
        if !matches!(kept, Ok(Ok(()))) {
            errors.keeping_errors.fetch_add(1, Ordering::Relaxed);
        }
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
        let journals = self.shards.journals();
        let bytes: u64 = journals.iter().map(Journal::bytes).sum();
        let enough = (2 * self.snapshot_bytes.load(Ordering::Relaxed))
            .clamp(JOURNALS_BYTES, JOURNALS_BYTES_MAX);
        if bytes >= enough || journals.iter().any(Journal::is_broken) {
            return self.next_generation(false);
        }
        journals.iter().try_for_each(|journal| {
            let unsynced = journal.take_unsynced().transpose()?;
            unsynced.map_or(Ok(()), |file| file.sync_data())
        })
    }

    /// Begins new journals, and writes down what is known up to them.
    pub(super) fn next_generation(&self, whole: bool) -> io::Result<()> {
        let mut generation = self
            .generation
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let next = *generation + 1;
        let journals = self.new_journals(next)?;
        *generation = next;
        // Behind a generation without its snapshot, changes alone would leave a gap.
        let gap = self.gap.swap(true, Ordering::Relaxed);
        let whole = whole || gap || next.is_multiple_of(DELTAS_MAX);
        let known = self.swap_journals(journals, whole);
        let kind = if whole { Kind::Full } else { Kind::Delta };
        let snapshot = self.snapshot(&known)?;
        self.files.write_whole(kind, next, &snapshot)?;
        self.snapshot_bytes
            .store(snapshot.len() as u64, Ordering::Relaxed);
        self.gap.store(false, Ordering::Relaxed);
        self.files.remove_before(next, whole)
    }

    /// A generation's journals with their headers on disk, a shard's at each position; nothing
    /// is left of those that cannot be written. The first shard's is made last: where it is,
    /// all were.
    fn new_journals(&self, generation: u64) -> io::Result<Vec<Journal>> {
        let mut header = Vec::new();
        Record::Header(self.header()).write(&mut header)?;
        let shards = self.shards.indices().rev();
        let journals = shards.map(|shard| self.new_journal(generation, shard, &header));
        let mut journals = journals.collect::<io::Result<Vec<_>>>().inspect_err(|_| {
            for shard in self.shards.indices() {
                let _ = fs::remove_file(self.files.path(Kind::Journal(shard), generation));
            }
        })?;
        journals.reverse();
        Ok(journals)
    }

    fn new_journal(
        &self,
        generation: u64,
        shard: ShardIndex,
        header: &[u8],
    ) -> io::Result<Journal> {
        if shard == 0 {
            self.files.sync_folder()?;
        }
        let mut file = self.files.create(Kind::Journal(shard), generation)?;
        file.write_all(header)?;
        file.sync_all()?;
        if shard == 0 {
            self.files.sync_folder()?;
        }
        Ok(Journal::new(file))
    }

    /// From here on `journals` take what happens; what was known until then comes back. The
    /// shards change over one after the other: each app's lines are either known or in the new
    /// journal of its shard.
    fn swap_journals(&self, journals: Vec<Journal>, whole: bool) -> Known {
        let mut known = Known::default();
        for (mut core, journal) in self.shards.each().zip(journals) {
            core.journal.write_gathered();
            core.journal = journal;
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
            journals: self.shards.indices().len(),
            clock: self.clock.now(),
            next_permit: next_permits.into_iter().max().unwrap_or(Permit(1)),
            full_at: full_at.into_iter().flatten().max(),
            notes: self.notes().clone(),
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
                note: None,
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
