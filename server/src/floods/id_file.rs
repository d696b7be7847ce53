//! The ids of events, in two files beside the counts: what is new is appended each second; when a
//! file has been filled for as long as a report may be late, it takes the place of the one before.
//! So every id that still matters is in one of them.
//!
//! A record has a length and a check sum; one that is torn ends what is read of its file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use spillway::{
    Instant,
    flood::{Decision, LATE_MS_MAX},
};

use super::{
    Told,
    ids::{IDS_MAX, Known},
    shard::SHARDS,
};

const NAME: &str = "floods.ids";

/// The bytes of a record: its id, when it was noted, count and strikes, decision and whether it was
/// a strike, two that are 0, and the check sum.
const RECORD: usize = 16 + 8 + 4 + 4 + 1 + 1 + 2 + 4;

/// A file has no more records than a generation in memory.
const RECORDS_MAX: u64 = (SHARDS * IDS_MAX) as u64;

const DECISIONS: [Decision; 4] = [
    Decision::Handle,
    Decision::Stop,
    Decision::Disabled,
    Decision::Paused,
];

#[derive(Debug)]
pub(super) struct IdFile {
    path: PathBuf,
    written: Mutex<Written>,
    /// Answered with a strike that was not durable yet when others were written.
    held_back: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Written {
    /// None: the next write begins a file.
    file: Option<File>,
    records: u64,
    /// When the file began.
    since: Instant,
}

/// What the files in `state_dir` remember that still matters, the earliest first.
pub(super) fn read(state_dir: &Path, now: Instant) -> io::Result<Vec<Known>> {
    let path = state_dir.join(NAME);
    let mut known = Vec::new();
    for path in [before(&path), path] {
        let bytes = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            bytes => bytes?,
        };
        let records = bytes.as_chunks::<RECORD>().0.iter();
        known.extend(records.map_while(decode));
    }
    known.retain(|known| now.ms_since(known.at) <= LATE_MS_MAX);
    Ok(known)
}

fn before(path: &Path) -> PathBuf {
    path.with_extension("ids.before")
}

impl IdFile {
    /// In this folder. The first write begins a file.
    pub(super) fn new(state_dir: &Path) -> Self {
        let written = Written {
            file: None,
            records: 0,
            since: Instant(0),
        };
        Self {
            path: state_dir.join(NAME),
            written: Mutex::new(written),
            held_back: Mutex::default(),
        }
    }

    /// Those whose strike is not durable are written later: after a crash nobody may be told of
    /// strikes that are not there. At most as many as may wait to be written.
    pub(super) fn hold_back(&self, known: Vec<Known>) {
        let mut held = self
            .held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        held.extend(known);
    }

    /// Hands over those that were held back.
    pub(super) fn take_held_back(&self) -> Vec<Known> {
        let mut held = self
            .held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut held)
    }

    /// All that was known at the start, as a file of its own; those before go.
    pub(super) fn begin(&self, now: Instant, all: &[Known]) -> io::Result<()> {
        let mut written = self.lock();
        let draft = self.path.with_extension("ids.draft");
        let mut file = create(&draft)?;
        file.write_all(&encode(all))?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        match fs::remove_file(before(&self.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        *written = Written {
            file: Some(file),
            records: all.len() as u64,
            since: now,
        };
        Ok(())
    }

    /// Appends what is new.
    pub(super) fn write(&self, now: Instant, new: &[Known]) -> io::Result<()> {
        let mut written = self.lock();
        let full = written.records + new.len() as u64 > RECORDS_MAX;
        if written.file.is_none() || full || now.ms_since(written.since) > LATE_MS_MAX {
            self.turn(now, &mut written)?;
        }
        let Some(file) = &mut written.file else {
            return Ok(());
        };
        if let Err(error) = file.write_all(&encode(new)) {
            // What is behind a torn record could not be read.
            written.file = None;
            return Err(error);
        }
        written.records += new.len() as u64;
        Ok(())
    }

    fn turn(&self, now: Instant, written: &mut Written) -> io::Result<()> {
        match fs::rename(&self.path, before(&self.path)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        *written = Written {
            file: Some(create(&self.path)?),
            records: 0,
            since: now,
        };
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

fn encode(records: &[Known]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(records.len() * RECORD);
    for known in records {
        let begin = bytes.len();
        let decision = DECISIONS.iter().position(|it| *it == known.told.decision);
        bytes.extend(known.id.to_le_bytes());
        bytes.extend(known.at.0.to_le_bytes());
        bytes.extend(known.told.count.to_le_bytes());
        bytes.extend(known.told.strikes.to_le_bytes());
        bytes.push(u8::try_from(decision.unwrap_or(0)).unwrap_or(0));
        bytes.extend([u8::from(known.struck), 0, 0]);
        let sum = crc32fast::hash(&bytes[begin..]);
        bytes.extend(sum.to_le_bytes());
    }
    bytes
}

/// None: it is torn.
fn decode(record: &[u8; RECORD]) -> Option<Known> {
    let (said, sum) = record.split_last_chunk()?;
    if crc32fast::hash(said) != u32::from_le_bytes(*sum) {
        return None;
    }
    let mut said = said;
    let known = Known {
        id: u128::from_le_bytes(next(&mut said)?),
        at: Instant(u64::from_le_bytes(next(&mut said)?)),
        told: Told {
            count: u32::from_le_bytes(next(&mut said)?),
            strikes: u32::from_le_bytes(next(&mut said)?),
            decision: *DECISIONS.get(usize::from(next::<1>(&mut said)?[0]))?,
        },
        struck: next::<1>(&mut said)?[0] == 1,
    };
    Some(known)
}

fn next<const N: usize>(bytes: &mut &[u8]) -> Option<[u8; N]> {
    let mut part = [0; N];
    bytes.read_exact(&mut part).ok()?;
    Some(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant(1_796_082_000_000);

    fn known(id: u128, at: Instant) -> Known {
        Known {
            id,
            at,
            told: Told {
                decision: Decision::Paused,
                count: 7,
                strikes: 3,
            },
            struck: id % 2 == 1,
        }
    }

    fn ids(folder: &Path, now: Instant) -> Vec<u128> {
        let known = read(folder, now).unwrap();
        known.iter().map(|known| known.id).collect()
    }

    #[test]
    fn what_still_matters_comes_back_whatever_is_torn() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, file) = (folder.path(), IdFile::new(folder.path()));
        assert_eq!(read(folder, NOW).unwrap(), []);
        file.write(NOW, &[known(1, NOW), known(2, NOW)]).unwrap();
        file.write(NOW, &[]).unwrap();
        let all = [known(1, NOW), known(2, NOW)];
        assert_eq!(read(folder, NOW).unwrap(), all);

        // Another generation, and one more: the first is gone when nothing of it matters.
        let later = NOW.plus_ms(LATE_MS_MAX);
        file.write(later, &[known(3, later)]).unwrap();
        assert_eq!(ids(folder, later), [1, 2, 3]);
        let later = NOW.plus_ms(LATE_MS_MAX + 1);
        file.write(later, &[known(4, later)]).unwrap();
        assert_eq!(ids(folder, later), [3, 4]);
        assert!(before(&folder.join(NAME)).exists());

        let path = folder.join(NAME);
        let mut bytes = fs::read(&path).unwrap();
        bytes.extend(encode(&[known(5, later), known(6, later)]));
        for cut in [1, RECORD - 1] {
            fs::write(&path, &bytes[..bytes.len() - cut]).unwrap();
            assert_eq!(ids(folder, later), [3, 4, 5], "{cut}");
        }
        let at = bytes.len() - RECORD - 20;
        bytes[at] ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(ids(folder, later), [3, 4]);
    }

    #[test]
    fn a_start_makes_one_file_of_both() {
        let folder = tempfile::tempdir().unwrap();
        let (folder, file) = (folder.path(), IdFile::new(folder.path()));
        file.write(NOW, &[known(1, NOW)]).unwrap();
        let later = NOW.plus_ms(LATE_MS_MAX + 1);
        file.write(later, &[known(2, later)]).unwrap();
        let file = IdFile::new(folder);
        file.begin(later, &read(folder, later).unwrap()).unwrap();
        assert_eq!(ids(folder, later), [2]);
        assert!(!before(&folder.join(NAME)).exists());
        file.write(later, &[known(3, later)]).unwrap();
        assert_eq!(ids(folder, later), [2, 3]);
    }
}
