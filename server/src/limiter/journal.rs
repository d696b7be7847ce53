//! The journal: every grant is in the file before it leaves, so that it survives
//! `kill -9`; the file is synced each second, so that a power loss may lose that second.

use std::{
    borrow::Cow,
    fs::File,
    io::{self, Write},
};

use spillway::{Breaker, Instant, Key, Lease, Permit, Whose};

use super::outside::Handed;
use super::record::Record;

/// An open journal of one generation.
#[derive(Debug)]
pub(super) struct Journal {
    /// None before the first generation has begun.
    file: Option<File>,
    line: Vec<u8>,
    bytes: u64,
    unsynced: bool,
    broken: bool,
}

/// The journal cannot be written: nothing may be granted.
#[derive(Debug, thiserror::Error)]
#[error("the journal of the counters cannot be written")]
pub struct Unwritable;

impl Journal {
    pub(super) const fn new(file: File) -> Self {
        Self {
            file: Some(file),
            line: Vec::new(),
            bytes: 0,
            unsynced: false,
            broken: false,
        }
    }

    /// One that takes nothing, until the first generation begins.
    pub(super) const fn closed() -> Self {
        Self {
            file: None,
            line: Vec::new(),
            bytes: 0,
            unsynced: false,
            broken: true,
        }
    }

    /// How long it is.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether a line of it may be torn: it takes no more.
    pub(super) const fn is_broken(&self) -> bool {
        self.broken
    }

    pub(super) fn granted(&mut self, lease: &Lease) -> Result<(), Unwritable> {
        self.append(&Record::Lease(Cow::Borrowed(lease)))
    }

    pub(super) fn handed_out(&mut self, handed: &Handed) -> Result<(), Unwritable> {
        self.append(&Record::Outside(Cow::Borrowed(handed)))
    }

    pub(super) fn renewed(
        &mut self,
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

    pub(super) fn breaker(
        &mut self,
        key: &Key,
        breaker: Option<&Breaker>,
    ) -> Result<(), Unwritable> {
        self.append(&Record::Breaker {
            key: Cow::Borrowed(key),
            breaker: breaker.map(Cow::Borrowed),
        })
    }

    pub(super) fn weighed(&mut self, lease: &Lease, at: Instant) -> Result<(), Unwritable> {
        self.append(&Record::Weighed {
            permit: lease.permit,
            at,
            weight: lease.call.weight,
            spares_user: lease.spares_user,
        })
    }

    pub(super) fn paused(
        &mut self,
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

    pub(super) fn ended(&mut self, permit: Permit, at: Instant) -> Result<(), Unwritable> {
        self.append(&Record::Ended { permit, at })
    }

    pub(super) fn refunded(&mut self, permit: Permit, at: Instant) -> Result<(), Unwritable> {
        self.append(&Record::Refunded { permit, at })
    }

    /// A handle to sync with, if anything was written since the last.
    pub(super) fn take_unsynced(&mut self) -> Option<io::Result<File>> {
        let file = self.file.as_ref()?;
        std::mem::take(&mut self.unsynced).then(|| file.try_clone())
    }

    pub(super) fn append(&mut self, record: &Record<'_>) -> Result<(), Unwritable> {
        let Some(file) = self.file.as_mut().filter(|_| !self.broken) else {
            return Err(Unwritable);
        };
        self.line.clear();
        let written = record
            .write(&mut self.line)
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(&self.line));
        if let Err(error) = written {
            self.broken = true;
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the journal cannot be written; nothing is granted"
            );
            return Err(Unwritable);
        }
        self.bytes += self.line.len() as u64;
        self.unsynced = true;
        Ok(())
    }
}
