//! The journal: every grant is in the file before it leaves, so that it survives
//! `kill -9`; the file is synced each second, so that a power loss may lose that second.
//!
//! Each shard of an upstream writes to one of its own, so that shards do not wait for each
//! other's writes. That a call has ended is written with what comes next, at the latest before
//! the file is synced: who is killed before holds it for running until its lease expires. Lines of one app keep their order, since they are written while the app's
//! shard is locked; the order of different apps' lines does not matter.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Write},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use spillway::{Breaker, Instant, Key, Lease, Permit, Whose};

use super::outside::Handed;
use super::record::Record;

/// An open journal of one generation and shard. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Journal {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Whether a line may be torn: it takes no more.
    broken: AtomicBool,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    /// None before the first generation has begun.
    file: Option<File>,
    /// Lines that are written with the next one.
    late: Vec<u8>,
    bytes: u64,
    /// Since when a line is not synced.
    unsynced: Option<std::time::Instant>,
}

/// The journal cannot be written: nothing may be granted.
#[derive(Debug, thiserror::Error)]
#[error("the journal of the counters cannot be written")]
pub struct Unwritable;

impl Journal {
    pub(super) fn new(file: File) -> Self {
        Self::with(Some(file))
    }

    /// One that takes nothing, until the first generation begins.
    pub(super) fn closed() -> Self {
        Self::with(None)
    }

    /// One of a process that was killed: it takes nothing, and nobody begins another.
    #[cfg(test)]
    pub(super) fn of_the_dead() -> Self {
        let journal = Self::closed();
        journal.shared.broken.store(false, Ordering::Release);
        journal
    }

    fn with(file: Option<File>) -> Self {
        let shared = Shared {
            broken: AtomicBool::new(file.is_none()),
            written: Mutex::new(Written {
                file,
                late: Vec::new(),
                bytes: 0,
                unsynced: None,
            }),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> u64 {
        self.written().bytes
    }

    /// How long ago the oldest line was written that is not synced; none: all are.
    pub(super) fn unsynced(&self) -> Option<std::time::Duration> {
        self.written().unsynced.map(|since| since.elapsed())
    }

    /// Whether a line of it may be torn: it takes no more.
    pub(super) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Acquire)
    }

    pub(super) fn granted(&self, lease: &Lease) -> Result<(), Unwritable> {
        self.append(&Record::Lease(Cow::Borrowed(lease)))
    }

    pub(super) fn handed_out(&self, handed: &Handed) -> Result<(), Unwritable> {
        self.append(&Record::Outside(Cow::Borrowed(handed)))
    }

    pub(super) fn renewed(
        &self,
        permit: Permit,
        at: Instant,
        expires_at: Instant,
    ) -> Result<(), Unwritable> {
        self.append(&Record::Renewed {
            permit,
            at,
            expires_at,
        })
    }

    pub(super) fn breaker(&self, key: &Key, breaker: Option<&Breaker>) -> Result<(), Unwritable> {
        self.append(&Record::Breaker {
            key: Cow::Borrowed(key),
            breaker: breaker.map(Cow::Borrowed),
        })
    }

    pub(super) fn weighed(&self, lease: &Lease, at: Instant) -> Result<(), Unwritable> {
        self.append(&Record::Weighed {
            permit: lease.permit,
            at,
            weight: lease.call.weight,
            spares_user: lease.spares_user,
        })
    }

    pub(super) fn paused(
        &self,
        whose: &Whose,
        at: Instant,
        until: Option<Instant>,
    ) -> Result<(), Unwritable> {
        self.append(&Record::Pause {
            whose: Cow::Borrowed(whose),
            at,
            until,
        })
    }

    pub(super) fn ended(&self, permit: Permit, at: Instant) -> Result<(), Unwritable> {
        self.put(&Record::Ended { permit, at }, When::Late)
    }

    pub(super) fn refunded(&self, permit: Permit, at: Instant) -> Result<(), Unwritable> {
        self.append(&Record::Refunded { permit, at })
    }

    /// A handle to sync with, if anything was written since the last.
    pub(super) fn take_unsynced(&self) -> Option<io::Result<File>> {
        let mut written = self.written();
        let unsynced = written.unsynced.take().is_some();
        let file = written.file.as_ref().filter(|_| unsynced)?;
        Some(file.try_clone())
    }

    pub(super) fn append(&self, record: &Record<'_>) -> Result<(), Unwritable> {
        self.put(record, When::Now)
    }

    /// Writes what was left for later.
    pub(super) fn catch_up(&self) -> Result<(), Unwritable> {
        let mut written = self.written();
        if written.late.is_empty() {
            return Ok(());
        }
        let caught_up = self.write(&mut written);
        self.said(caught_up)
    }

    fn put(&self, record: &Record<'_>, when: When) -> Result<(), Unwritable> {
        let mut written = self.written();
        let put = record.write(&mut written.late).map_err(io::Error::from);
        let late = when == When::Late && written.late.len() < LATE_BYTES_MAX;
        let put = match put {
            Ok(()) if late && !self.is_broken() => return Ok(()),
            Ok(()) => self.write(&mut written),
            Err(error) => Err(error),
        };
        self.said(put)
    }

    fn said(&self, written: io::Result<Result<(), Unwritable>>) -> Result<(), Unwritable> {
        written.unwrap_or_else(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the journal cannot be written; nothing is granted"
            );
            Err(Unwritable)
        })
    }

    /// Appends whole lines. Once that fails, nothing follows: what is behind a torn line could
    /// not be read back.
    fn write(&self, written: &mut Written) -> io::Result<Result<(), Unwritable>> {
        let Written { file, late, .. } = written;
        let Some(file) = file.as_mut().filter(|_| !self.is_broken()) else {
            late.clear();
            return Ok(Err(Unwritable));
        };
        let done = file.write_all(late);
        let bytes = late.len() as u64;
        late.clear();
        if let Err(error) = done {
            self.shared.broken.store(true, Ordering::Release);
            return Err(error);
        }
        written.bytes += bytes;
        written.unsynced.get_or_insert_with(std::time::Instant::now);
        Ok(Ok(()))
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        let written = self.shared.written.lock();
        written.unwrap_or_else(PoisonError::into_inner)
    }
}

/// When a line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    /// With the next one.
    Late,
}

/// How much may be left for later, in bytes: the ends of some hundred calls.
const LATE_BYTES_MAX: usize = 16 * 1024;
