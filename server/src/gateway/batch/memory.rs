//! What all batches together may keep in memory, and for how long.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most bytes of batches and their answers at once: 256 MiB. A batch of one megabyte
/// whose answers have four needs nine of it.
const BYTES_MAX: usize = 256 * 1024 * 1024;

/// In what portions it is given out.
const PORTION_BYTES: usize = 1024;

/// The memory for batches. Clones share it.
#[derive(Clone, Debug)]
pub(in super::super) struct Memory(Arc<Semaphore>);

impl Default for Memory {
    fn default() -> Self {
        Self::of(BYTES_MAX)
    }
}

/// Some of it, given back when dropped.
#[derive(Debug)]
pub(super) struct Reserved {
    memory: Memory,
    portions: Option<OwnedSemaphorePermit>,
    bytes: usize,
}

/// There is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Memory {
    fn of(bytes: usize) -> Self {
        Self(Arc::new(Semaphore::new(bytes / PORTION_BYTES)))
    }

    /// None of it yet.
    pub(super) fn none(&self) -> Reserved {
        Reserved {
            memory: self.clone(),
            portions: None,
            bytes: 0,
        }
    }
}

impl Reserved {
    /// Takes more.
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Full> {
        self.bytes = self.bytes.saturating_add(bytes);
        let held = self
            .portions
            .as_ref()
            .map_or(0, OwnedSemaphorePermit::num_permits);
        let missing = self.bytes.div_ceil(PORTION_BYTES).saturating_sub(held);
        let missing = u32::try_from(missing).map_err(|_| Full)?;
        let memory = Arc::clone(&self.memory.0);
        let more = memory.try_acquire_many_owned(missing).map_err(|_| Full)?;
        match &mut self.portions {
            Some(portions) => portions.merge(more),
            portions @ None => *portions = Some(more),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_no_more_than_there_is_and_it_comes_back() {
        let memory = Memory::of(10 * PORTION_BYTES);
        let mut one = memory.none();
        for _ in 0..5 {
            one.grow(PORTION_BYTES / 2).unwrap();
        }
        assert_eq!(memory.0.available_permits(), 7);
        let mut other = memory.none();
        assert_eq!(other.grow(8 * PORTION_BYTES), Err(Full));
        drop(one);
        assert_eq!(
            other.grow(0),
            Ok(()),
            "what could not be had is still wanted"
        );
        assert_eq!(memory.0.available_permits(), 2);
        drop(other);
        assert_eq!(memory.0.available_permits(), 10);
    }
}
