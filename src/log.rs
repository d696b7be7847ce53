//! What landed in a budget, packed.
//!
//! An entry is a few bytes: how long after the entry before it, whose lane, how much. Most
//! calls weigh 1 and come within minutes of one another, so two or three bytes tell all, and
//! a user who saturates 400 an hour fits into a kilobyte. Entries are only appended, merged
//! into the last one, and dropped from the front.

use crate::call::{Lane, PerLane};
use crate::time::Instant;

/// What landed at one instant, or in one bucket that ends then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Landed {
    /// The instant, or the bucket's end.
    pub at: Instant,
    /// The weight, by lane.
    pub weight: PerLane<u64>,
}

/// The entries, oldest first. An entry begins with one byte:
///
/// ```text
/// bits 0, 1   0: foreground 1; 1: background 1; 2: both lanes' weights follow
/// bit  2      more of the distance follows
/// bits 3 to 7 the lowest bits of the distance in milliseconds to the entry before
/// ```
#[derive(Clone, Debug, Default)]
pub(crate) struct Log {
    bytes: Vec<u8>,
    /// When the last entry landed.
    last: Instant,
    /// Where the last entry begins.
    last_start: u32,
}

/// Where an entry begins, or will.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cursor {
    position: u32,
    /// When the entry there landed; never, where there is none yet. So whether it counts is
    /// told without reading it.
    at: Instant,
}

const NEVER: Instant = Instant(u64::MAX);

const KIND: u8 = 0b11;
const FOREGROUND_1: u8 = 0;
const BACKGROUND_1: u8 = 1;
const WEIGHED: u8 = 2;
const CONTINUED: u8 = 0b100;
/// The distance's bits in the first byte, and where they begin.
const LOW_BITS: u32 = 5;
const LOW_SHIFT: u32 = 3;

/// From this many bytes of dropped entries on, the rest is moved to the front, once they are the larger part.
const DROPPED_MIN: u32 = 64;

impl Log {
    /// Whether the cursor is behind the last entry.
    pub(crate) fn is_end(&self, cursor: Cursor) -> bool {
        cursor.position as usize >= self.bytes.len()
    }

    /// When the last entry landed.
    pub(crate) const fn last(&self) -> Instant {
        self.last
    }

    /// The entry at the cursor, and the one after it.
    pub(crate) fn after(&self, cursor: Cursor) -> Option<(Landed, Cursor)> {
        let (_, weight, end) = self.entry(cursor.position as usize)?;
        let next = Cursor {
            position: end as u32,
            at: self
                .distance_ms(end)
                .map_or(NEVER, |distance_ms| cursor.at.plus_ms(distance_ms)),
        };
        Some((
            Landed {
                at: cursor.at,
                weight,
            },
            next,
        ))
    }

    /// The end, where an entry will land at `at`.
    pub(crate) fn end(&self, at: Instant) -> Cursor {
        Cursor {
            position: self.bytes.len() as u32,
            at: at.max(self.last),
        }
    }

    /// Forgets all entries; the next lands at `at`. Every cursor goes to the one returned.
    pub(crate) fn clear(&mut self, at: Instant) -> Cursor {
        self.bytes.clear();
        (self.last, self.last_start) = (at, 0);
        Cursor { position: 0, at }
    }

    /// Appends what landed at `at`, not before the last entry.
    pub(crate) fn push(&mut self, at: Instant, weight: PerLane<u64>) {
        let at = at.max(self.last);
        self.last_start = self.bytes.len() as u32;
        self.write(at.ms_since(self.last), weight);
        self.last = at;
    }

    /// Adds to the last entry, if there is one.
    pub(crate) fn merge(&mut self, more: PerLane<u64>) -> bool {
        let start = self.last_start as usize;
        let Some((distance_ms, mut weight, _)) = self.entry(start) else {
            return false;
        };
        weight.add(more);
        self.bytes.truncate(start);
        self.write(distance_ms, weight);
        true
    }

    /// Gives back the room of what lies before the cursor, where that is worth it: how far
    /// every cursor moves to the front.
    pub(crate) fn trim(&mut self, before: Cursor) -> u32 {
        let dropped = before.position;
        if dropped < DROPPED_MIN || (dropped as usize) * 2 < self.bytes.len() {
            return 0;
        }
        self.bytes.drain(..dropped as usize);
        self.last_start = self.last_start.saturating_sub(dropped);
        dropped
    }

    /// The entry that begins at `start`: its distance, its weight, and where it ends.
    #[inline]
    fn entry(&self, start: usize) -> Option<(u64, PerLane<u64>, usize)> {
        let (first, mut rest) = self.bytes.get(start..)?.split_first()?;
        let mut distance_ms = u64::from(first >> LOW_SHIFT);
        if first & CONTINUED != 0 {
            distance_ms |= number(&mut rest) << LOW_BITS;
        }
        let weight = match first & KIND {
            FOREGROUND_1 => of_one(Lane::Foreground),
            BACKGROUND_1 => of_one(Lane::Background),
            _ => PerLane {
                foreground: number(&mut rest),
                background: number(&mut rest),
            },
        };
        Some((distance_ms, weight, self.bytes.len() - rest.len()))
    }

    /// How long after the one before it the entry that begins at `start` landed.
    #[inline]
    fn distance_ms(&self, start: usize) -> Option<u64> {
        let (first, mut rest) = self.bytes.get(start..)?.split_first()?;
        let low = u64::from(first >> LOW_SHIFT);
        Some(if first & CONTINUED == 0 {
            low
        } else {
            low | number(&mut rest) << LOW_BITS
        })
    }

    /// How many bytes it holds on to.
    #[cfg(test)]
    pub(crate) fn room(&self) -> usize {
        self.bytes.capacity()
    }

    fn write(&mut self, distance_ms: u64, weight: PerLane<u64>) {
        let kind = match (weight.foreground, weight.background) {
            (1, 0) => FOREGROUND_1,
            (0, 1) => BACKGROUND_1,
            _ => WEIGHED,
        };
        let low = (distance_ms as u8) << LOW_SHIFT;
        let high = distance_ms >> LOW_BITS;
        if high == 0 {
            self.bytes.push(low | kind);
        } else {
            self.bytes.push(low | kind | CONTINUED);
            self.write_number(high);
        }
        if kind == WEIGHED {
            self.write_number(weight.foreground);
            self.write_number(weight.background);
        }
    }

    /// Seven bits a byte, the lowest first; the highest bit says that more follow (LEB128).
    fn write_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

impl Cursor {
    /// When the entry there landed.
    pub(crate) const fn at(self) -> Instant {
        self.at
    }

    /// How far behind the front it is.
    pub(crate) const fn position(self) -> u32 {
        self.position
    }

    /// Follows a [`trim`](Log::trim).
    pub(crate) fn moved(self, by: u32) -> Self {
        Self {
            position: self.position - by,
            ..self
        }
    }
}

const fn of_one(lane: Lane) -> PerLane<u64> {
    match lane {
        Lane::Foreground => PerLane {
            foreground: 1,
            background: 0,
        },
        Lane::Background => PerLane {
            foreground: 0,
            background: 1,
        },
    }
}

fn number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_lane(foreground: u64, background: u64) -> PerLane<u64> {
        PerLane {
            foreground,
            background,
        }
    }

    fn read(log: &Log, mut cursor: Cursor) -> Vec<(u64, u64, u64)> {
        let mut entries = Vec::new();
        while let Some((landed, next)) = log.after(cursor) {
            let PerLane {
                foreground,
                background,
            } = landed.weight;
            entries.push((landed.at.0, foreground, background));
            cursor = next;
        }
        assert!(log.is_end(cursor));
        entries
    }

    #[test]
    fn what_was_written_is_read() {
        let mut log = Log::default();
        let start = log.clear(Instant(1_000));
        let written = [
            (1_000, 1, 0),
            (1_000, 0, 1),
            (1_031, 1, 0),
            (1_064, 5, 0),
            (5_160, 0, 1_000_000_000),
            (2_700_000_000, 7, u64::MAX),
            (u64::MAX, 1, 0),
        ];
        for (at, foreground, background) in written {
            log.push(Instant(at), per_lane(foreground, background));
        }
        assert_eq!(read(&log, start), written);
    }

    #[test]
    fn a_call_of_weight_1_within_four_seconds_takes_two_bytes() {
        let mut log = Log::default();
        log.clear(Instant(0));
        for n in 1..=400 {
            log.push(Instant(n * 4_095), per_lane(1, 0));
        }
        assert_eq!(log.bytes.len(), 800);
    }

    #[test]
    fn the_last_entry_grows_in_its_place() {
        let mut log = Log::default();
        let start = log.clear(Instant(30));
        assert!(!log.merge(per_lane(1, 0)), "there is none");
        log.push(Instant(30), per_lane(1, 0));
        log.push(Instant(60_000), per_lane(1, 0));
        assert!(log.merge(per_lane(2, 0)) && log.merge(per_lane(0, 500)));
        log.push(Instant(60_001), per_lane(0, 1));
        assert_eq!(
            read(&log, start),
            [(30, 1, 0), (60_000, 3, 500), (60_001, 0, 1)]
        );
    }

    #[test]
    fn trimming_keeps_what_lies_behind_the_cursor() {
        let mut log = Log::default();
        let mut cursor = log.clear(Instant(1));
        for n in 1..=100 {
            log.push(Instant(n), per_lane(1, 0));
        }
        for _ in 0..80 {
            cursor = log.after(cursor).unwrap().1;
        }
        let by = log.trim(cursor);
        assert_eq!(by, 80);
        let cursor = cursor.moved(by);
        assert!(log.merge(per_lane(1, 0)));
        let left = read(&log, cursor);
        assert_eq!(
            (left.len(), left[0], left[19]),
            (20, (81, 1, 0), (100, 2, 0))
        );
    }
}
