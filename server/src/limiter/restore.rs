//! Reading counters back: the last whole snapshot, what changed after it, and the journal.

use std::{borrow::Cow, collections::BTreeMap, fs, io};

use spillway::{Call, Engine, Instant};

use super::files::{Files, Kind};
use super::outside::{Outside, Restored};
use super::record::{Damaged, FORMAT, Header, Record};

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Found {
    records: Vec<Record<'static>>,
    /// The engine's clock never was later than this.
    pub(super) high_water: Instant,
    next_permit: u64,
    /// Since when every key counts as full: the counts were lost not long before.
    pub(super) full_at: Option<Instant>,
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

impl Found {
    /// Brings `engine`, and who holds which permit, to where the files end.
    pub(super) fn replay(self, engine: &mut Engine, outside: Outside) -> Outside {
        let mut outside = Restored::new(outside);
        for record in self.records {
            match record {
                Record::Budget(budget) => engine.restore_budget(&budget),
                Record::Lease(lease) => engine.restore_lease(&lease),
                Record::Overdue(lease) => engine.restore_overdue(lease.into_owned()),
                Record::Outside(handed) => outside.insert(handed.into_owned()),
                Record::Breaker { key, breaker } => {
                    engine.restore_breaker(&key, breaker.map(Cow::into_owned));
                }
                Record::Renewed {
                    permit, expires_at, ..
                } => {
                    engine.restore_renewal(permit, expires_at);
                    outside.extend(permit, expires_at);
                }
                Record::Weighed {
                    permit,
                    at,
                    weight,
                    spares_user,
                } => {
                    engine.correct(at, permit, weight);
                    if spares_user {
                        engine.spare_user(at, permit);
                    }
                }
                Record::Pause { whose, at, until } => match until {
                    Some(until) => engine.restore_pause(whose.into_owned(), until),
                    None => drop(engine.resume(at, &whose)),
                },
                Record::Ended { permit, at } => {
                    drop_outcome(engine.complete(at, permit));
                    outside.end(permit);
                }
                Record::Refunded { permit, at } => {
                    drop_outcome(engine.refund(at, permit));
                    outside.end(permit);
                }
                Record::Header(_) | Record::End => {}
            }
        }
        if let Some(at) = self.full_at {
            engine.assume_full(at);
        }
        engine.restored(spillway::Permit(self.next_permit));
        outside.finish()
    }
}

/// What an end did is of no interest here: one that was written twice counts once.
const fn drop_outcome(_: spillway::Ended) {}

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
        let last = of(Kind::Journal)
            .max()
            .map_or(newest, |last| last.max(newest));
        for generation in newest..=last {
            let records = self.journal(generation, generation == last)?;
            self.found.records.extend(records);
        }
        Ok(self.found)
    }

    fn snapshot(&mut self, kind: Kind, generation: u64) -> Result<Vec<Record<'static>>, Unusable> {
        let (mut records, torn) = self.lines(kind, generation)?;
        if torn || records.pop() != Some(Record::End) {
            return Err(Unusable::Damaged(self.name(kind, generation)));
        }
        Ok(records)
    }

    /// Only the last journal may end in an unfinished line: that call was never let through.
    fn journal(&mut self, generation: u64, last: bool) -> Result<Vec<Record<'static>>, Unusable> {
        let (records, torn) = self.lines(Kind::Journal, generation)?;
        if torn && !last {
            return Err(Unusable::Damaged(self.name(Kind::Journal, generation)));
        }
        Ok(records)
    }

    fn lines(
        &mut self,
        kind: Kind,
        generation: u64,
    ) -> Result<(Vec<Record<'static>>, bool), Unusable> {
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
        let mut names = Vec::new();
        let mut records = Vec::with_capacity(lines.len());
        for (n, record) in lines.into_iter().enumerate() {
            match (n, record) {
                (0, Record::Header(header)) => names = self.header(&name, header)?,
                (0, _) => return Err(Unusable::Damaged(name)),
                (_, record) => records.extend(self.known(record, &names)),
            }
        }
        if names.is_empty() && !(kind == Kind::Journal && records.is_empty()) {
            return Err(Unusable::Damaged(name));
        }
        Ok((records, torn))
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
        self.found.next_permit = self.found.next_permit.max(header.next_permit.0);
        self.found.full_at = self.found.full_at.max(header.full_at);
        let position = |name: &Cow<'_, str>| self.workloads.iter().position(|known| known == name);
        Ok(header.workloads.iter().map(position).collect())
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
