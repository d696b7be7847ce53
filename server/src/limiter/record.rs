//! The lines of journals and snapshots: JSON behind its own checksum, so that an operator
//! can read them and a torn or damaged one is noticed.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use spillway::{Breaker, BudgetRecord, Instant, Key, Lease, Permit, Whose};

use super::notes::{Note, Notes};
use super::outside::Handed;

/// The layout of the files. Another number is another layout, and not read.
pub(super) const FORMAT: u32 = 2;

/// The checksum's eight digits, and what is between them and the rest of the line.
const SUM_BYTES: usize = 9;

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record<'a> {
    /// The first line of every file.
    Header(Header<'a>),
    /// The counts of one budget.
    Budget(Cow<'a, BudgetRecord>),
    /// A call that runs: granted, or, in a snapshot, still held.
    Lease(Cow<'a, Lease>),
    /// A call that has expired and may still be completed, in a snapshot.
    Overdue(Cow<'a, Lease>),
    /// A permit is outside: handed out, or, in a snapshot, still known.
    Outside(Cow<'a, Handed>),
    /// A breaker changed; without one it is closed.
    Breaker {
        key: Cow<'a, Key>,
        breaker: Option<Cow<'a, Breaker>>,
        /// Who forced it, where it was forced just now.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Cow<'a, Note>>,
    },
    /// A running call was renewed.
    Renewed {
        permit: Permit,
        at: Instant,
        expires_at: Instant,
    },
    /// What a running call costs, as the upstream told it.
    Weighed {
        permit: Permit,
        at: Instant,
        weight: u32,
        spares_user: bool,
    },
    /// Background calls are paused until then, or, without an end, no more.
    Pause {
        whose: Cow<'a, Whose>,
        at: Instant,
        until: Option<Instant>,
        /// Who paused them; left out by those who did not know it yet, and in snapshots, whose
        /// header has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<Cow<'a, Note>>,
    },
    /// A running call's answer has ended.
    Ended { permit: Permit, at: Instant },
    /// A running call was never written to the wire.
    Refunded { permit: Permit, at: Instant },
    /// The last line of a snapshot: it is complete.
    End,
}

/// What a file belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Header<'a> {
    pub(super) format: u32,
    /// The database that it belongs to.
    pub(super) instance: Cow<'a, str>,
    pub(super) upstream: Cow<'a, str>,
    /// Names for the positions that keys hold.
    pub(super) workloads: Vec<Cow<'a, str>>,
    /// How many journals its generation has.
    pub(super) journals: usize,
    /// The engine's clock when it was begun.
    pub(super) clock: Instant,
    pub(super) next_permit: Permit,
    /// Since when every key counts as full, while that matters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) full_at: Option<Instant>,
    /// Who paused and forced what.
    #[serde(default, skip_serializing_if = "Notes::is_empty")]
    pub(super) notes: Notes,
}

/// A line that is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a damaged line")]
pub(super) struct Damaged;

impl Record<'_> {
    /// Appends this line to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> serde_json::Result<()> {
        let begin = out.len();
        let json = begin + SUM_BYTES;
        out.resize(json, b' ');
        if let Err(error) = serde_json::to_writer(&mut *out, self) {
            out.truncate(begin);
            return Err(error);
        }
        let mut sum = crc32fast::hash(&out[json..]);
        for digit in out[begin..json - 1].iter_mut().rev() {
            *digit = b"0123456789abcdef"[(sum & 0xf) as usize];
            sum >>= 4;
        }
        out.push(b'\n');
        Ok(())
    }

    /// Reads a line without its line feed.
    pub(super) fn read(line: &[u8]) -> Result<Record<'static>, Damaged> {
        let (sum, json) = line.split_at_checked(SUM_BYTES).ok_or(Damaged)?;
        let sum = std::str::from_utf8(&sum[..8])
            .ok()
            .and_then(|sum| u32::from_str_radix(sum, 16).ok());
        if sum != Some(crc32fast::hash(json)) {
            return Err(Damaged);
        }
        serde_json::from_slice(json).map_err(|_| Damaged)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_and_a_damaged_one_does_not() {
        let record = Record::Ended {
            permit: Permit(7),
            at: Instant(9),
        };
        let mut line = Vec::new();
        record.write(&mut line).unwrap();
        let line = line.strip_suffix(b"\n").unwrap();
        assert_eq!(Record::read(line), Ok(record));
        for damaged in [&line[..line.len() - 1], &line[1..], b"", b"00000000 {}"] {
            assert_eq!(Record::read(damaged), Err(Damaged));
        }
    }

    /// Journals that were written before anybody's name was.
    #[test]
    fn lines_of_those_who_knew_no_notes_are_read() {
        let line = |json: &str| format!("{:08x} {json}", crc32fast::hash(json.as_bytes()));
        let pause = r#"{"pause":{"whose":{"scope":"upstream"},"at":7,"until":9}}"#;
        let Ok(Record::Pause { note, until, .. }) = Record::read(line(pause).as_bytes()) else {
            panic!("a pause");
        };
        assert_eq!((note, until), (None, Some(Instant(9))));
        let header = r#"{"header":{"format":2,"instance":"i","upstream":"graph","workloads":[],"journals":1,"clock":7,"next_permit":1}}"#;
        let Ok(Record::Header(header)) = Record::read(line(header).as_bytes()) else {
            panic!("a header");
        };
        assert!(header.notes.is_empty());
    }
}
