//! Whether a chain of entries is whole.

use super::{Entry, EntryHash, Head};

/// A chain that is followed from its beginning.
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    head: Head,
    /// One that is to be met on the way, as it was noted before.
    noted: Option<Head>,
}

/// Where a chain is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Entries were taken out.
    #[error("entry {missing} is missing: entry {found} comes where it should be")]
    Missing {
        /// The first that is not there.
        missing: i64,
        /// What comes instead.
        found: i64,
    },
    /// An entry was changed, or is in another's place.
    #[error("entry {seq} was changed, moved or put in: its hash does not follow from entry {}", seq - 1)]
    Changed {
        /// The first that is not as it was.
        seq: i64,
    },
    /// The noted entry is another now: everything up to it was written anew.
    #[error("entry {seq} is not the one whose hash was noted: the log was written anew")]
    Another {
        /// Its number.
        seq: i64,
    },
    /// The noted entry is not there any more: the end was cut off.
    #[error("entry {seq}, whose hash was noted, is missing: the log ends with entry {end}")]
    Cut {
        /// The noted one.
        seq: i64,
        /// The last there is.
        end: i64,
    },
}

impl Broken {
    /// The first entry that is not as it should be.
    #[must_use]
    pub const fn seq(&self) -> i64 {
        match self {
            Self::Missing { missing, .. } => *missing,
            Self::Changed { seq } | Self::Another { seq } | Self::Cut { seq, .. } => *seq,
        }
    }
}

impl Chain {
    /// That of the database with this identity; `noted` is to be on it.
    #[must_use]
    pub fn of(instance: &str, noted: Option<Head>) -> Self {
        let hash = EntryHash::before_all(instance);
        let head = Head { seq: 0, hash };
        Self { head, noted }
    }

    /// The next entry, by its number.
    ///
    /// # Errors
    /// It does not follow.
    pub fn follow(&mut self, entry: &Entry) -> Result<(), Broken> {
        let seq = self.head.seq.saturating_add(1);
        if entry.seq != seq {
            return Err(Broken::Missing {
                missing: seq,
                found: entry.seq,
            });
        }
        if entry.hash_after(self.head.hash) != entry.hash {
            return Err(Broken::Changed { seq });
        }
        let hash = entry.hash;
        self.head = Head { seq, hash };
        match self.noted {
            Some(noted) if noted.seq == seq && noted.hash != hash => Err(Broken::Another { seq }),
            _ => Ok(()),
        }
    }

    /// Where it ends, once there are no more entries.
    ///
    /// # Errors
    /// It ends too early.
    pub fn end(self) -> Result<Head, Broken> {
        match self.noted {
            Some(noted) if noted.seq > self.head.seq => Err(Broken::Cut {
                seq: noted.seq,
                end: self.head.seq,
            }),
            _ => Ok(self.head),
        }
    }

    /// The last entry that followed.
    #[must_use]
    pub const fn head(&self) -> Head {
        self.head
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Act, By, action};
    use super::*;

    const INSTANCE: &str = "0123";

    fn entries(count: i64) -> Vec<Entry> {
        let mut head = Chain::of(INSTANCE, None).head();
        let mut entries = Vec::new();
        for at_ms in 0..count {
            let act = Act::new(at_ms, &By::system("a test"), action::SERVER_START, "server");
            let entry = Entry::after(head, &act);
            head = Head {
                seq: entry.seq,
                hash: entry.hash,
            };
            entries.push(entry);
        }
        entries
    }

    fn check(entries: &[Entry], noted: Option<Head>) -> Result<Head, Broken> {
        let mut chain = Chain::of(INSTANCE, noted);
        entries.iter().try_for_each(|entry| chain.follow(entry))?;
        chain.end()
    }

    #[test]
    fn the_first_bad_entry_is_found() {
        let good = entries(6);
        assert_eq!(check(&good, None).map(|head| head.seq), Ok(6));
        assert_eq!(check(&[], None).map(|head| head.seq), Ok(0));

        let mut edited = good.clone();
        edited[2].reason = Some("another".to_owned());
        assert_eq!(check(&edited, None), Err(Broken::Changed { seq: 3 }));
        // Its own hash made to fit: then the next one's does not.
        edited[2].hash = edited[2].hash_after(edited[1].hash);
        assert_eq!(check(&edited, None), Err(Broken::Changed { seq: 4 }));

        let mut shorter = good.clone();
        shorter.remove(2);
        let missing = Broken::Missing {
            missing: 3,
            found: 4,
        };
        assert_eq!(check(&shorter, None), Err(missing));
        // Numbered anew, so that no gap is left.
        for (n, entry) in shorter.iter_mut().enumerate() {
            entry.seq = n as i64 + 1;
        }
        assert_eq!(check(&shorter, None), Err(Broken::Changed { seq: 3 }));

        let mut swapped = good.clone();
        swapped.swap(1, 2);
        (swapped[1].seq, swapped[2].seq) = (2, 3);
        assert_eq!(check(&swapped, None), Err(Broken::Changed { seq: 2 }));
        assert!(check(&good[1..], None).is_err(), "the beginning is cut off");
    }

    #[test]
    fn a_noted_head_finds_a_cut_end_and_a_log_that_was_written_anew() {
        let good = entries(6);
        let noted = |n: usize| Head {
            seq: good[n].seq,
            hash: good[n].hash,
        };
        assert_eq!(check(&good, Some(noted(3))), Ok(noted(5)));
        assert_eq!(check(&good[..4], Some(noted(3))), Ok(noted(3)));
        let cut = Broken::Cut { seq: 6, end: 4 };
        assert_eq!(check(&good[..4], Some(noted(5))), Err(cut));

        let mut anew = good.clone();
        let mut head = Chain::of(INSTANCE, None).head();
        for entry in &mut anew {
            entry.actor_name = "somebody else".to_owned();
            entry.hash = entry.hash_after(head.hash);
            head.hash = entry.hash;
        }
        assert!(check(&anew, None).is_ok(), "by itself it looks whole");
        let another = Broken::Another { seq: 4 };
        assert_eq!(check(&anew, Some(noted(3))), Err(another));
    }
}
