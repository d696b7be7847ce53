//! Reading counters back: the last whole snapshot, what changed after it, and the journals.

use std::{borrow::Cow, collections::BTreeMap, fs, io};

use spillway::{Call, Instant};

use super::files::{Files, Kind};
use super::notes::Notes;
use super::record::{Damaged, FORMAT, Header, Record};
use super::shards::ShardIndex;

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) records: Vec<Record<'static>>,
    /// The engine's clock never was later than this.
    pub(super) high_water: Instant,
    /// No permit has this number or a higher one.
    pub(super) next_permit: u64,
    /// Since when every key counts as full: the counts were lost not long before.
    pub(super) full_at: Option<Instant>,
    /// Who had paused and forced what, before the records.
    pub(super) notes: Notes,
}

/// Why the files cannot be relied on.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// There is no whole snapshot.
    #[error("there is no snapshot of the counters")]
    Missing,
    /// A file that must be there is not.
    #[error("{0} is missing")]
    Gap(String),
    /// A file is damaged, other than by an unfinished last line.
    #[error("{0} is damaged")]
    Damaged(String),
    /// A file belongs to another database or upstream, or has another layout.
    #[error("{0} belongs to another database")]
    Foreign(String),
    /// A file cannot be read.
    #[error("{file} cannot be read")]
    Unreadable {
        /// Which one.
        file: String,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Reads what was written for `instance`, for workloads called `workloads`; and the
/// generation to go on with.
pub(super) fn read(
    files: &Files,
    instance: &str,
    workloads: &[String],
) -> (u64, Result<Found, Unusable>) {
    let list = match files.list() {
        Ok(list) => list,
        Err(source) => {
            let file = "the state folder".to_owned();
            return (1, Err(Unusable::Unreadable { file, source }));
        }
    };
    let next_generation = list.last().map_or(1, |(generation, _)| generation + 1);
    let found = Reader {
        files,
        instance,
        workloads,
        found: Found::default(),
    }
    .all(&list);
    (next_generation, found)
}

/// What one file says behind its header.
struct Lines {
    /// How many journals its generation has; 0 where its header was not finished.
    journals: usize,
    records: Vec<Record<'static>>,
    /// Whether its last line is not whole.
    torn: bool,
}

struct Reader<'a> {
    files: &'a Files,
    instance: &'a str,
    workloads: &'a [String],
    found: Found,
}

impl Reader<'_> {
    fn all(mut self, list: &[(u64, Kind)]) -> Result<Found, Unusable> {
        let of = |kind| {
            list.iter()
                .filter(move |(_, it)| *it == kind)
                .map(|(generation, _)| *generation)
        };
        let full = of(Kind::Full).max().ok_or(Unusable::Missing)?;
        let newest = of(Kind::Delta).max().map_or(full, |delta| delta.max(full));
        let mut budgets = BTreeMap::new();
        let mut leases = Vec::new();
        for generation in full..=newest {
            let kind = if generation == full {
                Kind::Full
            } else {
                Kind::Delta
            };
            leases.clear();
            for record in self.snapshot(kind, generation)? {
                match record {
                    Record::Budget(budget) => drop(budgets.insert(budget.key.clone(), budget)),
                    lease => leases.push(lease),
                }
            }
        }
        self.found
            .records
            .extend(budgets.into_values().map(Record::Budget));
        self.found.records.append(&mut leases);
        let mut journals = BTreeMap::<u64, Vec<ShardIndex>>::new();
        for (generation, kind) in list {
            if let Kind::Journal(shard) = kind {
                journals.entry(*generation).or_default().push(*shard);
            }
        }
        let last = journals.keys().max().copied().unwrap_or_default();
        for generation in newest..=last.max(newest) {
            let shards = journals.remove(&generation).unwrap_or_default();
            let begun = generation == newest || generation < last;
            self.journals(generation, &shards, begun, generation + 1 >= last)?;
        }
        Ok(self.found)
    }

    fn snapshot(&mut self, kind: Kind, generation: u64) -> Result<Vec<Record<'static>>, Unusable> {
        let Lines {
            mut records, torn, ..
        } = self.lines(kind, generation)?;
        if torn || records.pop() != Some(Record::End) {
            return Err(Unusable::Damaged(self.name(kind, generation)));
        }
        Ok(records)
    }

    /// The journals of one generation, of which none may be missing where it was begun. The
    /// first shard's is made last: only without it may the newest generation not have begun.
    ///
    /// Only those of the last generation may end in an unfinished line, and those of the one
    /// before, since shards change over one after the other: that call was never let through.
    fn journals(
        &mut self,
        generation: u64,
        shards: &[ShardIndex],
        begun: bool,
        newest: bool,
    ) -> Result<(), Unusable> {
        let mut begun = begun || shards.contains(&0);
        let mut made = shards.len();
        for shard in shards {
            let kind = Kind::Journal(*shard);
            let lines = self.lines(kind, generation)?;
            if lines.torn && !newest {
                return Err(Unusable::Damaged(self.name(kind, generation)));
            }
            made = made.max(lines.journals);
            begun |= !lines.records.is_empty();
            self.found.records.extend(lines.records);
        }
        match (0..made.max(1)).find(|shard| !shards.contains(shard)) {
            Some(missing) if begun => {
                Err(Unusable::Gap(self.name(Kind::Journal(missing), generation)))
            }
            _ => Ok(()),
        }
    }

    fn lines(&mut self, kind: Kind, generation: u64) -> Result<Lines, Unusable> {
        let name = self.name(kind, generation);
        let content =
            fs::read(self.files.path(kind, generation)).map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => Unusable::Gap(name.clone()),
                _ => Unusable::Unreadable {
                    file: name.clone(),
                    source,
                },
            })?;
        let (lines, torn) =
            whole_lines(&content).map_err(|Damaged| Unusable::Damaged(name.clone()))?;
        let mut journals = 0;
        let mut names = Vec::new();
        let mut records = Vec::with_capacity(lines.len());
        for (n, record) in lines.into_iter().enumerate() {
            match (n, record) {
                (0, Record::Header(header)) => {
                    journals = header.journals;
                    names = self.header(&name, header)?;
                }
                (0, _) => return Err(Unusable::Damaged(name)),
                (_, record) => records.extend(self.known(record, &names)),
            }
        }
        if names.is_empty() && !(matches!(kind, Kind::Journal(_)) && records.is_empty()) {
            return Err(Unusable::Damaged(name));
        }
        Ok(Lines {
            journals,
            records,
            torn,
        })
    }

    /// The names that positions stood for when the file was written.
    fn header(&mut self, name: &str, header: Header<'_>) -> Result<Vec<Option<usize>>, Unusable> {
        let ours = header.format == FORMAT
            && header.instance == self.instance
            && header.upstream == self.files.upstream();
        if !ours {
            return Err(Unusable::Foreign(name.to_owned()));
        }
        self.saw(header.clock);
        self.gave(header.next_permit.0);
        self.found.full_at = self.found.full_at.max(header.full_at);
        let position = |name: &Cow<'_, str>| self.workloads.iter().position(|known| known == name);
        let positions: Vec<_> = header.workloads.iter().map(position).collect();
        self.found.notes.read(header.notes, &positions);
        Ok(positions)
    }

    /// The record with today's positions; none if its workload is no more.
    fn known(
        &mut self,
        mut record: Record<'static>,
        names: &[Option<usize>],
    ) -> Option<Record<'static>> {
        match &mut record {
            Record::Budget(budget) => {
                let workload = names.get(budget.key.workload).copied().flatten()?;
                budget.to_mut().key.workload = workload;
            }
            Record::Breaker { key, .. } => {
                let workload = names.get(key.workload).copied().flatten()?;
                key.to_mut().workload = workload;
            }
            Record::Lease(lease) | Record::Overdue(lease) => {
                self.saw(lease.granted_at);
                self.gave(lease.permit.0.saturating_add(1));
                let Call { workload, .. } = &mut lease.to_mut().call;
                *workload = names.get(*workload).copied().flatten()?;
            }
            Record::Renewed { at, .. }
            | Record::Weighed { at, .. }
            | Record::Pause { at, .. }
            | Record::Ended { at, .. }
            | Record::Refunded { at, .. } => self.saw(*at),
            Record::Outside(_) | Record::Header(_) | Record::End => {}
        }
        Some(record)
    }

    fn saw(&mut self, at: Instant) {
        self.found.high_water = self.found.high_water.max(at);
    }

    /// Numbers below `next` were given out.
    fn gave(&mut self, next: u64) {
        self.found.next_permit = self.found.next_permit.max(next);
    }

    fn name(&self, kind: Kind, generation: u64) -> String {
        self.files.path(kind, generation).display().to_string()
    }
}

/// The lines before the first that is not whole, and whether there is such a one. Writing
/// ends in the middle of a line when the machine loses power or the disk is full; but where
/// a whole line follows a damaged one, something else happened.
fn whole_lines(content: &[u8]) -> Result<(Vec<Record<'static>>, bool), Damaged> {
    let mut lines: Vec<_> = content.split(|byte| *byte == b'\n').collect();
    let unfinished = lines.pop().is_some_and(|rest| !rest.is_empty());
    let mut records = lines.into_iter().map(Record::read);
    let whole: Vec<_> = records.by_ref().map_while(Result::ok).collect();
    // `map_while` has swallowed the first damaged line; none of the rest may be whole.
    let damaged = whole.len() < content.iter().filter(|byte| **byte == b'\n').count();
    if records.any(|record| record.is_ok()) {
        Err(Damaged)
    } else {
        Ok((whole, damaged || unfinished))
    }
}
