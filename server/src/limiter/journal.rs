//! The journal: every grant is in the file before it leaves, so that it survives
//! `kill -9`; the file is synced each second, so that a power loss may lose that second.
//!
//! Each shard of an upstream writes to one of its own, so that shards do not wait for each
//! other's writes. Lines of one app keep their order, since they are written while the app's
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
        self.append(&Record::Ended { permit, at })
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
        let mut line = Vec::with_capacity(LINE_USUAL);
        let appended = record
            .write(&mut line)
            .map_err(io::Error::from)
            .and_then(|()| self.write(&line));
        appended.unwrap_or_else(|error| {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the journal cannot be written; nothing is granted"
            );
            Err(Unwritable)
        })
    }

    /// Appends a whole line. Once that fails, nothing follows: what is behind a torn line
    /// could not be read back.
    fn write(&self, line: &[u8]) -> io::Result<Result<(), Unwritable>> {
        let mut written = self.written();
        let Some(file) = written.file.as_mut().filter(|_| !self.is_broken()) else {
            return Ok(Err(Unwritable));
        };
        if let Err(error) = file.write_all(line) {
            self.shared.broken.store(true, Ordering::Release);
            return Err(error);
        }
        written.bytes += line.len() as u64;
        written.unsynced.get_or_insert_with(std::time::Instant::now);
        Ok(Ok(()))
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        let written = self.shared.written.lock();
        written.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most lines fit in so many bytes.
const LINE_USUAL: usize = 512;
