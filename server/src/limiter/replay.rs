//! Bringing engines to where the files end, whatever number of shards wrote them: each
//! record finds its engine by its app, and what speaks of a permit by the permit's lease.

use std::{borrow::Cow, collections::HashMap};

use spillway::{Engine, Instant, Lease, Permit, Whose};

use super::notes::Notes;
use super::outside::{Outside, Restored};
use super::record::Record;
use super::restore::Found;
use super::shards::{ShardIndex, shard_of};

impl Found {
    /// Brings `engines`, one for each shard, and who holds which permit, to where the files
    /// end, and says who had paused and forced what.
    pub(super) fn replay(self, engines: &mut [Engine], outside: Outside) -> (Outside, Notes) {
        let mut replay = Replay {
            engines,
            outside: Restored::new(outside),
            of: HashMap::new(),
            notes: self.notes,
        };
        for record in self.records {
            replay.record(record);
        }
        for engine in &mut *replay.engines {
            if let Some(at) = self.full_at {
                engine.assume_full(at);
            }
            let outside = &replay.outside;
            engine.restored(Permit(self.next_permit), |permit| outside.holds(permit));
        }
        (replay.outside.finish(), replay.notes)
    }
}

struct Replay<'a> {
    engines: &'a mut [Engine],
    outside: Restored,
    /// The shard of each permit whose lease was read.
    of: HashMap<Permit, ShardIndex>,
    notes: Notes,
}

impl Replay<'_> {
    fn record(&mut self, record: Record<'static>) {
        match record {
            Record::Budget(budget) => self.app(&budget.key.app).restore_budget(&budget),
            Record::Lease(lease) => self.lease(&lease).restore_lease(&lease),
            Record::Overdue(lease) => self.lease(&lease).restore_overdue(lease.into_owned()),
            Record::Outside(handed) => {
                let mut handed = handed.into_owned();
                handed.shard = self.shard(handed.permit);
                self.outside.insert(handed);
            }
            Record::Breaker { key, breaker, note } => {
                note.inspect(|note| self.notes.force(&key, Some(note)));
                let breaker = breaker.map(Cow::into_owned);
                self.app(&key.app).restore_breaker(&key, breaker);
            }
            Record::Renewed {
                permit, expires_at, ..
            } => {
                self.engine(permit).restore_renewal(permit, expires_at);
                self.outside.extend(permit, expires_at);
            }
            Record::Weighed {
                permit,
                at,
                weight,
                spares_user,
            } => {
                let engine = self.engine(permit);
                engine.correct(at, permit, weight);
                if spares_user {
                    engine.spare_user(at, permit);
                }
            }
            Record::Pause {
                whose,
                at,
                until,
                note,
            } => {
                // A snapshot's pause says nothing of what its header said.
                if note.is_some() || until.is_none() {
                    self.notes.pause(&whose, note.as_deref());
                }
                self.pause(&whose, at, until);
            }
            // What an end did is of no interest here: one that was written twice counts once.
            Record::Ended { permit, at } => {
                let _ = self.engine(permit).complete(at, permit);
                self.outside.end(permit);
            }
            Record::Refunded { permit, at } => {
                let _ = self.engine(permit).refund(at, permit);
                self.outside.end(permit);
            }
            Record::Header(_) | Record::End => {}
        }
    }

    /// A pause of the whole upstream is in every engine.
    fn pause(&mut self, whose: &Whose, at: Instant, until: Option<Instant>) {
        let engines = match whose.app() {
            Some(app) => std::slice::from_mut(self.app(app)),
            None => &mut *self.engines,
        };
        for engine in engines {
            match until {
                Some(until) => engine.restore_pause(whose.clone(), until),
                None => drop(engine.resume(at, whose)),
            }
        }
    }

    fn app(&mut self, app: &str) -> &mut Engine {
        let shard = shard_of(app, self.engines.len());
        &mut self.engines[shard]
    }

    /// The engine of a lease, whose permit the following records may speak of.
    fn lease(&mut self, lease: &Lease) -> &mut Engine {
        let shard = shard_of(&lease.call.app, self.engines.len());
        self.of.insert(lease.permit, shard);
        &mut self.engines[shard]
    }

    /// Where a permit's lease is; any engine says of one without that it is unknown.
    fn shard(&self, permit: Permit) -> ShardIndex {
        self.of.get(&permit).copied().unwrap_or_default()
    }

    fn engine(&mut self, permit: Permit) -> &mut Engine {
        let shard = self.shard(permit);
        &mut self.engines[shard]
    }
}
