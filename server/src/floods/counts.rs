//! The counts of lists' minutes, in a file beside the counters: what changed is appended each
//! second, and every quarter of an hour a new file begins with all that still matters.
//!
//! Lines are JSON, as people can read them; one that is torn ends what is read of its file, which
//! costs at most the second in which the machine lost power.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read as _, Seek as _, SeekFrom, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use spillway::{
    Instant,
    flood::{LATE_MS_MAX, MinuteRecord},
};

use super::{
    recorded::Recorder,
    shard::{Shard, Shards},
};

const NAME: &str = "floods.counts";

/// A file that grew beyond this, and to twice what it began with, begins anew earlier; in bytes.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The longest line: two keys of 256 bytes, each perhaps escaped to six.
const LINE_BYTES_MAX: u64 = 4 * 1024;

#[derive(Debug)]
pub(super) struct Counts {
    path: PathBuf,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    /// None: the next write begins a file.
    file: Option<File>,
    bytes: u64,
    /// How many of them it began with.
    begun_bytes: u64,
    /// When the file began.
    since: Instant,
}

/// Hands over what a file remembers, the later of two records of a minute last.
pub(super) fn read(state_dir: &Path, mut take: impl FnMut(MinuteRecord)) -> io::Result<()> {
    let Some(file) = open(state_dir)? else {
        return Ok(());
    };
    for (n, line) in BufReader::new(file).lines().enumerate() {
        let Ok(record) = serde_json::from_str(&line?) else {
            tracing::warn!(
                file = NAME,
                read = n,
                "a torn line; what is behind it is lost"
            );
            break;
        };
        take(record);
    }
    Ok(())
}

/// When the last record of a file was written, if there is one.
pub(super) fn latest(state_dir: &Path) -> io::Result<Option<Instant>> {
    let Some(mut file) = open(state_dir)? else {
        return Ok(None);
    };
    let length = file.seek(SeekFrom::End(0))?;
    // The last line may be torn; the one before is not.
    file.seek(SeekFrom::Start(length.saturating_sub(2 * LINE_BYTES_MAX)))?;
    let mut end = Vec::new();
    file.read_to_end(&mut end)?;
    let records = end.rsplit(|byte| *byte == b'\n');
    let mut records = records.filter_map(|line| serde_json::from_slice(line).ok());
    Ok(records.next().map(|record: MinuteRecord| record.at))
}

fn open(state_dir: &Path) -> io::Result<Option<File>> {
    match File::open(state_dir.join(NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some),
    }
}

impl Counts {
    /// In this folder. The first write begins a new file, so that what was read is in it.
    pub(super) fn new(state_dir: &Path) -> Self {
        let written = Written {
            file: None,
            bytes: 0,
            begun_bytes: 0,
            since: Instant(0),
        };
        Self {
            path: state_dir.join(NAME),
            written: Mutex::new(written),
        }
    }

    /// Writes what changed since the last time, and forgets what matters no more.
    pub(super) fn write(
        &self,
        now: Instant,
        shards: &Shards,
        recorder: &Mutex<Recorder>,
    ) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let grown = written.bytes > BYTES_MAX.max(2 * written.begun_bytes);
        let old = now.ms_since(written.since) > LATE_MS_MAX || grown;
        if written.file.is_none() || old {
            return self.begin(now, shards, recorder, &mut written);
        }
        let Some(file) = &mut written.file else {
            return Ok(());
        };
        match append(file, now, shards, recorder, false) {
            Ok(bytes) => {
                written.bytes += bytes;
                Ok(())
            }
            Err(error) => {
                // What is behind a torn line could not be read: begin a new file.
                written.file = None;
                Err(error)
            }
        }
    }

    /// A new file, complete before it takes the old one's place.
    fn begin(
        &self,
        now: Instant,
        shards: &Shards,
        recorder: &Mutex<Recorder>,
        written: &mut Written,
    ) -> io::Result<()> {
        let draft = self.path.with_extension("draft");
        let mut options = OpenOptions::new();
        let options = options.write(true).create(true).truncate(true).mode(0o600);
        let mut file = options.open(&draft)?;
        let bytes = append(&mut file, now, shards, recorder, true)?;
        file.sync_all()?;
        fs::rename(&draft, &self.path)?;
        *written = Written {
            file: Some(file),
            bytes,
            begun_bytes: bytes,
            since: now,
        };
        Ok(())
    }
}

/// Writes what changed, or `all` that there is, a shard at a time; on its way it is recorded. How
/// many bytes it were.
fn append(
    file: &mut File,
    now: Instant,
    shards: &Shards,
    recorder: &Mutex<Recorder>,
    all: bool,
) -> io::Result<u64> {
    let (mut bytes, mut lines) = (0, Vec::new());
    for shard in shards.each() {
        put_lines(&mut lines, now, shard, recorder, all)?;
        file.write_all(&lines)?;
        bytes += lines.len() as u64;
        lines.clear();
    }
    Ok(bytes)
}

/// Lets go of the shard when its lines are in memory.
fn put_lines(
    lines: &mut Vec<u8>,
    now: Instant,
    mut shard: MutexGuard<'_, Shard>,
    recorder: &Mutex<Recorder>,
    all: bool,
) -> io::Result<()> {
    let mut failed = None;
    let mut recorder = recorder.lock().unwrap_or_else(PoisonError::into_inner);
    let Shard { guard, days, .. } = &mut *shard;
    let take = |record: MinuteRecord| {
        if let Err(error) = serde_json::to_writer(&mut *lines, &record) {
            failed = Some(error);
        }
        lines.push(b'\n');
        let day = days.of(&record.key.site, record.minute);
        recorder.note(&record, day.number);
    };
    if all {
        guard.forget(now);
        guard.counts(now, take);
    } else {
        guard.changed(now, take);
    }
    failed.map_or(Ok(()), |error| Err(error.into()))
}

#[cfg(test)]
mod tests {
    use spillway::flood::{Component, Day, Event, Trigger};

    use super::*;

    const NOW: Instant = Instant(1_796_082_000_000);

    fn event(shards: &Shards, list: &str, times: u32) {
        for _ in 0..times {
            let event = Event {
                site: "s",
                list,
                component: Component::Action,
                trigger: Trigger::Event,
                at: NOW,
                day: Day {
                    number: 1,
                    ends: NOW.plus_ms(86_400_000),
                },
            };
            shards.of("s").guard.ask(NOW, &event).unwrap();
        }
    }

    fn restored(folder: &Path) -> Vec<(String, u32)> {
        let shards = Shards::new();
        let restore = |record| shards.of("s").guard.restore_minute(NOW, &record);
        read(folder, restore).unwrap();
        let mut found = Vec::new();
        shards
            .of("s")
            .guard
            .counts(NOW, |record| found.push((record.key.list, record.count)));
        found.sort();
        found
    }

    #[test]
    fn counts_come_back_and_a_torn_line_costs_what_is_behind_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(restored(folder.path()), []);
        assert_eq!(latest(folder.path()).unwrap(), None);
        let (shards, counts) = (Shards::new(), Counts::new(folder.path()));
        event(&shards, "a", 3);
        counts.write(NOW, &shards, &Mutex::default()).unwrap();
        event(&shards, "a", 2);
        event(&shards, "b", 1);
        counts.write(NOW, &shards, &Mutex::default()).unwrap();
        let whole = [("a".to_owned(), 5), ("b".to_owned(), 1)];
        assert_eq!(restored(folder.path()), whole);
        let path = folder.path().join(NAME);
        let text = fs::read(&path).unwrap();
        fs::write(&path, &text[..text.len() - 5]).unwrap();
        let torn = restored(folder.path());
        assert!(
            torn == [("a".to_owned(), 5)] || torn == [("a".to_owned(), 3), ("b".to_owned(), 1)],
            "{torn:?}"
        );
    }

    #[test]
    fn a_file_begins_anew_with_all_that_still_matters() {
        let folder = tempfile::tempdir().unwrap();
        let (shards, counts) = (Shards::new(), Counts::new(folder.path()));
        event(&shards, "a", 3);
        counts.write(NOW, &shards, &Mutex::default()).unwrap();
        let later = NOW.plus_ms(LATE_MS_MAX - 60_000);
        counts.write(later, &shards, &Mutex::default()).unwrap();
        let anew = NOW.plus_ms(LATE_MS_MAX + 1);
        counts.write(anew, &shards, &Mutex::default()).unwrap();
        assert_eq!(latest(folder.path()).unwrap(), Some(anew));
        let whole = [("a".to_owned(), 3)];
        assert_eq!(restored(folder.path()), whole, "it can still be reached");
        counts
            .write(anew.plus_ms(LATE_MS_MAX + 1), &shards, &Mutex::default())
            .unwrap();
        assert_eq!(restored(folder.path()), []);
    }
}
