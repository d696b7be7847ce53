//! The journal: every grant is in the file before it leaves, so that it survives
//! `kill -9`; the file is synced each second, so that a power loss may lose that second.
//!
//! Lines are gathered, and whoever may not go on before his is in the file writes all that have
//! been gathered until then ([`Gathered::write`]): calls that run together cost one write.
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

use super::notes::Note;
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
    /// How many bytes of lines are in the file.
    bytes: u64,
    /// Whole lines that are not in the file.
    gathered: Vec<u8>,
    /// Since when a line is not synced.
    unsynced: Option<std::time::Instant>,
}

/// A line that has been gathered: where it ends.
#[derive(Clone, Debug)]
pub(super) struct Gathered {
    journal: Journal,
    place: u64,
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
                gathered: Vec::new(),
                unsynced: None,
            }),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// How long it is.
    pub(super) fn bytes(&self) -> u64 {
        self.written().place()
    }

    /// Writes what has been gathered; where that fails, those who need it are told.
    pub(super) fn write_gathered(&self) {
        let mut written = self.written();
        if !written.gathered.is_empty() && !self.is_broken() {
            let _ = self.write(&mut written);
        }
    }

    /// How long ago the oldest line was written that is not synced; none: all are.
    pub(super) fn unsynced(&self) -> Option<std::time::Duration> {
        self.written().unsynced.map(|since| since.elapsed())
    }

    /// Whether a line of it may be torn: it takes no more.
    pub(super) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Acquire)
    }

    pub(super) fn granted(&self, lease: &Lease) -> Result<Gathered, Unwritable> {
        self.gather(&Record::Lease(Cow::Borrowed(lease)))
    }

    pub(super) fn handed_out(&self, handed: &Handed) -> Result<Gathered, Unwritable> {
        self.gather(&Record::Outside(Cow::Borrowed(handed)))
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

    /// `note`: it was forced just now.
    pub(super) fn breaker(
        &self,
        key: &Key,
        breaker: Option<&Breaker>,
        note: Option<&Note>,
    ) -> Result<(), Unwritable> {
        self.append(&Record::Breaker {
            key: Cow::Borrowed(key),
            breaker: breaker.map(Cow::Borrowed),
            note: note.map(Cow::Borrowed),
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
        note: Option<&Note>,
    ) -> Result<(), Unwritable> {
        self.append(&Record::Pause {
            whose: Cow::Borrowed(whose),
            at,
            until,
            note: note.map(Cow::Borrowed),
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
        self.write_gathered();
        let mut written = self.written();
        let unsynced = written.unsynced.take().is_some();
        let file = written.file.as_ref().filter(|_| unsynced)?;
        Some(file.try_clone())
    }

    /// Writes a line, behind those that have been gathered.
    fn append(&self, record: &Record<'_>) -> Result<(), Unwritable> {
        self.gather(record)?.write()
    }

    /// Gathers a line.
    ///
    /// # Errors
    /// It takes none any more.
    fn gather(&self, record: &Record<'_>) -> Result<Gathered, Unwritable> {
        let mut written = self.written();
        if written.file.is_none() || self.is_broken() {
            return Err(Unwritable);
        }
        record
            .write(&mut written.gathered)
            .map_err(|error| unwritable(&error.into()))?;
        if written.gathered.len() > GATHERED_BYTES_MAX {
            self.write(&mut written)?;
        }
        Ok(Gathered {
            journal: self.clone(),
            place: written.place(),
        })
    }

    /// Writes the gathered lines. Once that fails, nothing follows: what is behind a torn line
    /// could not be read back.
    fn write(&self, written: &mut Written) -> Result<(), Unwritable> {
        let Written {
            file: Some(file),
            bytes,
            gathered,
            unsynced,
        } = written
        else {
            return Err(Unwritable);
        };
        if let Err(error) = file.write_all(gathered) {
            self.shared.broken.store(true, Ordering::Release);
            return Err(unwritable(&error));
        }
        *bytes += gathered.len() as u64;
        gathered.clear();
        unsynced.get_or_insert_with(std::time::Instant::now);
        Ok(())
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        let written = self.shared.written.lock();
        written.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gathered {
    /// Returns when it is in the file, with all lines that were gathered until now.
    ///
    /// # Errors
    /// It is not, and will not be.
    pub(super) fn write(&self) -> Result<(), Unwritable> {
        let mut written = self.journal.written();
        if written.bytes >= self.place {
            return Ok(());
        }
        if self.journal.is_broken() {
            return Err(Unwritable);
        }
        self.journal.write(&mut written)
    }
}

impl Written {
    /// Where the next line begins.
    fn place(&self) -> u64 {
        self.bytes + self.gathered.len() as u64
    }
}

fn unwritable(error: &io::Error) -> Unwritable {
    tracing::error!(
        error = error as &dyn std::error::Error,
        "the journal cannot be written; nothing is granted"
    );
    Unwritable
}

/// So much is gathered at most, in bytes: a hundred grants or more.
const GATHERED_BYTES_MAX: usize = 64 * 1024;

#[cfg(test)]
mod tests;
