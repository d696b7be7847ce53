//! What other limits would have done to the calls that asked lately.
//!
//! An engine of its own gets the same calls at the same times, each of which runs as long as it
//! ran. Limits alone are tried: no breaker opens, and nobody comes back because it was refused.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
    fmt,
};

use jiff::Timestamp;
use spillway::{Answer, Call, Engine, Instant, Lane, PerLane, Permit, Policy, Settings, Ticket};

use super::traffic::{Fate, Seen};
use super::{Limiter, WorkloadIndex, open};

/// How long calls run of which no other one has ended yet, in milliseconds.
const RAN_MS_DEFAULT: u64 = 500;

/// In a preview a lease lasts until its call's end, which is known.
const LEASE_MS: u64 = 86_400_000;

/// Limits as they are and as they might be, tried on the same calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// When the first of these calls asked; none: there were no calls.
    pub from: Option<Timestamp>,
    /// When the last one did.
    pub until: Option<Timestamp>,
    /// What really became of them; who waited, and how long, is not known.
    pub really: PerLane<Tried>,
    /// Under the limits in force.
    pub current: PerLane<Tried>,
    /// Under the others.
    pub changed: PerLane<Tried>,
    /// How many were refused in each of [`SLICES`] equally long parts of the time between.
    pub refused: Vec<Slice>,
}

/// How many parts a preview's time has: as many points as a chart shows well.
pub const SLICES: usize = 30;

/// What became of the calls that asked in a part of a preview's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When it begins.
    pub at: Timestamp,
    /// How many were refused under the limits in force.
    pub current: u64,
    /// How many under the others.
    pub changed: u64,
}

/// What became of a lane's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tried {
    /// How many asked.
    pub asked: u64,
    /// How many of them may not go, or left.
    pub refused: u64,
    /// How many of those that went had to wait.
    pub waited: u64,
    /// How long the longest of these waits was, wall time in milliseconds.
    pub wait_ms_max: u64,
}

/// In a sentence.
impl fmt::Display for Preview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from.is_none() {
            return f.write_str("nothing called in the last quarter of an hour");
        }
        let all = |lanes: &PerLane<Tried>, of: fn(&Tried) -> u64| {
            of(&lanes.foreground) + of(&lanes.background)
        };
        let changed = &self.changed;
        let (refused, asked) = (all(changed, |it| it.refused), all(changed, |it| it.asked));
        let now = all(&self.current, |it| it.refused);
        let lane = |name, lane: &Tried| {
            let (seconds, tenth) = (lane.wait_ms_max / 1_000, lane.wait_ms_max % 1_000 / 100);
            let (refused, asked) = (lane.refused, lane.asked);
            format!("{name} {refused} of {asked}, longest wait {seconds}.{tenth} s")
        };
        write!(
            f,
            "would have refused {refused} of {asked} calls (now {now}): {}; {}",
            lane("foreground", &changed.foreground),
            lane("background", &changed.background),
        )
    }
}

impl Limiter {
    /// Tries `policy` on the calls of the last quarter of an hour. It takes about a microsecond
    /// for each, so call it where waiting is allowed.
    #[must_use]
    pub fn preview(&self, workload: WorkloadIndex, policy: &Policy) -> Preview {
        let (calls, policies) = self.recent();
        let of = |call: &Seen| self.inner.global == Some(workload) || call.workload == workload;
        let mut changed = policies.clone();
        if let Some(place) = changed.get_mut(workload) {
            *place = self.unnamed(policy.clone());
        }
        let tried = |policies| -> Vec<(&Seen, Option<u64>)> {
            let ends = Replay::new(self.settings(), policies).run(&calls);
            let ends = ends.into_iter();
            ends.filter_map(|(position, end)| Some((calls.get(position)?, end)))
                .filter(|(call, _)| of(call))
                .collect()
        };
        let lanes = |ends: &[(&Seen, Option<u64>)]| {
            self.summed(ends.iter().map(|(call, end)| (call.lane, *end)))
        };
        let (current, changed) = (tried(policies), tried(changed));
        let mut concerned = calls.iter().filter(|call| of(call));
        let at = |call: &Seen| self.inner.clock.timestamp(call.at);
        Preview {
            from: concerned.clone().next().map(at),
            until: concerned.clone().next_back().map(at),
            current: lanes(&current),
            changed: lanes(&changed),
            refused: self.slices(&current, &changed),
            really: self.summed(concerned.by_ref().map(|call| {
                let refused = call.fate == Fate::Refused;
                (call.lane, (!refused).then_some(0))
            })),
        }
    }

    fn slices(
        &self,
        current: &[(&Seen, Option<u64>)],
        changed: &[(&Seen, Option<u64>)],
    ) -> Vec<Slice> {
        let asked = current.iter().map(|(call, _)| call.at);
        let (Some(first), Some(last)) = (asked.clone().min(), asked.max()) else {
            return Vec::new();
        };
        // The last call belongs to the last part.
        let length_ms = last.ms_since(first) / SLICES as u64 + 1;
        let at = |n: u64| self.inner.clock.timestamp(first.plus_ms(n * length_ms));
        let mut slices: Vec<_> = (0..SLICES as u64)
            .map(|n| Slice {
                at: at(n),
                current: 0,
                changed: 0,
            })
            .collect();
        let mut count = |ends: &[(&Seen, Option<u64>)], of: fn(&mut Slice) -> &mut u64| {
            for (call, _) in ends.iter().filter(|(_, end)| end.is_none()) {
                let n = usize::try_from(call.at.ms_since(first) / length_ms).unwrap_or(SLICES);
                if let Some(slice) = slices.get_mut(n) {
                    *of(slice) += 1;
                }
            }
        };
        count(current, |slice| &mut slice.current);
        count(changed, |slice| &mut slice.changed);
        slices
    }

    /// What asked lately, oldest first, and the limits in force.
    fn recent(&self) -> (Vec<Seen>, Vec<Policy>) {
        let (mut calls, mut policies) = (Vec::new(), Vec::new());
        for core in self.inner.shards.each() {
            calls.extend(core.traffic.recent(self.inner.clock.now()));
            if policies.is_empty() {
                let all = (0..).map_while(|workload| core.engine.policy(workload));
                policies.extend(all.cloned());
            }
        }
        calls.sort_by_key(|call| call.at);
        let policies = policies.into_iter().map(|policy| self.unnamed(policy));
        (calls, policies.collect())
    }

    /// A policy whose overrides know their keys as recorded calls have them.
    fn unnamed(&self, policy: Policy) -> Policy {
        if policy.overrides().is_empty() {
            return policy;
        }
        let Some(first) = self.inner.shards.indices().next() else {
            return policy;
        };
        let core = self.inner.shards.lock(first);
        policy.with_names(|name| format!("{:x}", core.traffic.name(name)))
    }

    fn settings(&self) -> Settings {
        Settings {
            lease_ms: LEASE_MS,
            renewals_ms_max: LEASE_MS,
            ..open::settings(&self.inner.clock, usize::MAX, self.inner.global)
        }
    }

    /// Adds up: of each call its lane, and how long it waited, or that it may not go.
    fn summed(&self, ends: impl Iterator<Item = (Lane, Option<u64>)>) -> PerLane<Tried> {
        let mut summed = PerLane::<Tried>::default();
        for (lane, waited_ms) in ends {
            let outcome = summed.get_mut(lane);
            outcome.asked += 1;
            match waited_ms {
                None => outcome.refused += 1,
                Some(0) => {}
                Some(ms) => {
                    let ms = self.inner.clock.wall(ms).as_millis();
                    let ms = u64::try_from(ms).unwrap_or(u64::MAX);
                    outcome.waited += 1;
                    outcome.wait_ms_max = outcome.wait_ms_max.max(ms);
                }
            }
        }
        summed
    }
}

/// A call's position, and how long it waited; none: it may not go.
type End = (usize, Option<u64>);

/// Calls that are asked for again, of an engine of their own.
struct Replay<'a> {
    engine: Engine,
    calls: &'a [Seen],
    /// What runs, by its end.
    running: BinaryHeap<Reverse<(Instant, Permit)>>,
    /// What waits, by its position.
    waiting: HashMap<Ticket, usize>,
    /// How long a call of unknown length runs.
    usual_ms: u64,
    ends: Vec<End>,
}

impl<'a> Replay<'a> {
    fn new(settings: Settings, policies: Vec<Policy>) -> Self {
        Self {
            engine: Engine::new(settings, policies, Instant::default()),
            calls: &[],
            running: BinaryHeap::new(),
            waiting: HashMap::new(),
            usual_ms: RAN_MS_DEFAULT,
            ends: Vec::new(),
        }
    }

    fn run(mut self, calls: &'a [Seen]) -> Vec<End> {
        self.calls = calls;
        self.usual_ms = usual_ms(calls);
        self.ends.reserve(calls.len());
        for (position, seen) in calls.iter().enumerate() {
            self.pass(seen.at);
            let deadline = seen.at.plus_ms(seen.hold_ms);
            match self.engine.ask(seen.at, &call(seen), deadline) {
                Answer::Granted(grant) => self.start(position, seen.at, grant.permit),
                Answer::Parked(ticket) => drop(self.waiting.insert(ticket, position)),
                Answer::Refused(_) => self.ends.push((position, None)),
            }
            self.settle(seen.at);
        }
        // Every hold ends.
        while !self.waiting.is_empty() && self.step(None) {}
        self.ends
    }

    /// Lets everything happen that is due until `now`.
    fn pass(&mut self, now: Instant) {
        while self.step(Some(now)) {}
    }

    /// The next thing that happens, if anything does, and not after `until`.
    fn step(&mut self, until: Option<Instant>) -> bool {
        let end = self.running.peek().map(|Reverse((at, _))| *at);
        let wake = self.engine.wake_at();
        let Some(at) = end.into_iter().chain(wake).min() else {
            return false;
        };
        if until.is_some_and(|until| at > until) {
            return false;
        }
        if end == Some(at)
            && let Some(Reverse((_, permit))) = self.running.pop()
        {
            let _ = self.engine.complete(at, permit);
        }
        self.settle(at);
        true
    }

    fn settle(&mut self, now: Instant) {
        self.engine.settle(now);
        for settled in self.engine.take_settled() {
            let Some(position) = self.waiting.remove(&settled.ticket) else {
                continue;
            };
            match settled.outcome {
                Ok(grant) => self.start(position, now, grant.permit),
                Err(_) => self.ends.push((position, None)),
            }
        }
    }

    fn start(&mut self, position: usize, now: Instant, permit: Permit) {
        let seen = &self.calls[position];
        let ran_ms = match seen.fate {
            Fate::Ran(ms) => ms,
            Fate::Open | Fate::Refused => self.usual_ms,
        };
        self.running.push(Reverse((now.plus_ms(ran_ms), permit)));
        self.ends.push((position, Some(now.ms_since(seen.at))));
    }
}

/// The median of how long calls ran.
fn usual_ms(calls: &[Seen]) -> u64 {
    let ran = calls.iter().filter_map(|call| match call.fate {
        Fate::Ran(ms) => Some(ms),
        Fate::Open | Fate::Refused => None,
    });
    let mut ran: Vec<_> = ran.collect();
    if ran.is_empty() {
        return RAN_MS_DEFAULT;
    }
    let middle = ran.len() / 2;
    *ran.select_nth_unstable(middle).1
}

fn call(seen: &Seen) -> Call {
    Call {
        workload: seen.workload,
        app: format!("{:x}", seen.app),
        tenant: format!("{:x}", seen.tenant),
        user: format!("{:x}", seen.user),
        lane: seen.lane,
        weight: seen.weight,
    }
}

#[cfg(test)]
mod demo_tests;
#[cfg(test)]
mod tests;
