//! Carries a batch: asks for its parts' permits, sends what may go, and waits for the rest.
//!
//! Everything here ends with the caller's connection: what waits for a permit leaves the
//! queue and nothing more is sent. Rounds that are upstream by then run on in tasks of their
//! own ([`super::round`]).

use std::{
    pin::{Pin, pin},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream::FuturesUnordered};
use http::{HeaderMap, Request};
use tokio::time::{Instant, sleep_until, timeout};

use super::{
    super::{
        Gateway, bearers::Turn, failure::Failure, record::Record, refusal::Refusal, slot::Slot,
        upstream::Upstream,
    },
    answer::Answer,
    hearing::Whole,
    memory::Reserved,
    own::Own,
    places::{Place, Placed, permits, poll_once},
    plan::Plan,
    request::Batch,
    round::{Came, Going, Over, Round},
    waits::Waits,
};
use crate::{access::Caller, limiter::Ask};

/// The most batches that one is split into: each part five times by itself.
const ROUNDS_MAX: usize = 100;

/// How long a part whose permit has come waits for others whose permits come with it: what
/// one answer frees is handed on permit by permit.
const GATHER: Duration = Duration::from_millis(5);

/// What a part is answered.
#[derive(Clone, Debug)]
pub(super) enum Answered {
    /// By itself.
    Part(Answer),
    /// With its whole batch, by something that is no batch's answer.
    Whole(Arc<Whole>),
}

/// What a batch is, and where it goes.
pub(super) struct Job<'a> {
    pub(super) gateway: &'a Gateway,
    pub(super) upstream: &'a Upstream,
    /// Who sent it: nothing goes on when its token ends.
    pub(super) caller: &'a Caller,
    pub(super) batch: &'a Batch,
    /// Whose limits each part meets; `None`: nobody's.
    pub(super) asks: Vec<Option<Arc<Ask>>>,
    /// Its bearer's turn, if it has one: of the first part's user, as all have one bearer.
    pub(super) turn: Option<Arc<Turn>>,
    /// The request with a body of its own.
    pub(super) onward: &'a (dyn Fn(Bytes) -> Request<Body> + Send + Sync),
    pub(super) own: Own<'a>,
    /// When the hold ends.
    pub(super) until: Instant,
}

/// A batch under way.
pub(super) struct Run<'a> {
    pub(super) job: Job<'a>,
    pub(super) plan: Plan,
    pub(super) records: Vec<Record>,
    pub(super) memory: Vec<Reserved>,
    /// Each part's last answer, whether or not it is final.
    pub(super) answers: Vec<Option<Answered>>,
    pub(super) waits: Waits,
    /// The head of the first answer from upstream.
    pub(super) head: Option<HeaderMap>,
    pub(super) rounds: FuturesUnordered<Pin<Box<dyn Future<Output = Over> + Send>>>,
    waiting: Vec<(usize, Placed<'a>)>,
    pub(super) held: Vec<(usize, Slot)>,
    pub(super) rounds_sent: usize,
}

impl<'a> Run<'a> {
    /// Nothing sent yet. `memory` is what the batch itself takes.
    pub(super) fn new(job: Job<'a>, plan: Plan, records: Vec<Record>, memory: Reserved) -> Self {
        Self {
            answers: vec![None; job.batch.parts.len()],
            waits: Waits::of(job.batch.parts.len()),
            job,
            plan,
            records,
            memory: vec![memory],
            head: None,
            rounds: FuturesUnordered::new(),
            waiting: Vec::new(),
            held: Vec::new(),
            rounds_sent: 0,
        }
    }

    /// Sees to it that each part is answered, and answers the batch.
    ///
    /// # Errors
    /// Its caller's token ended before anything was sent.
    pub(super) async fn run(mut self) -> Result<Response, Refusal> {
        while !self.plan.is_over() {
            if let Err(not) = self.job.caller.still_valid() {
                self.end(not)?;
            }
            self.take_permits().await;
            self.ask().await;
            self.send();
            if !self.plan.is_over() && !self.wait().await {
                self.give_up();
            }
        }
        Ok(self.answer().await)
    }

    /// Goes through the parts once, each after all that it depends on.
    async fn ask(&mut self) {
        for part in self.plan.in_order() {
            if self.plan.is_in_vain(part) {
                self.conclude(part, Answered::Part(self.job.own.failed_dependency()));
            } else if self.plan.may_ask(part, Instant::now()) {
                self.ask_for(part).await;
            }
        }
    }

    /// Asks for a part's permit. One that would have to wait for it while what it depends on
    /// goes is asked for again when that was answered.
    async fn ask_for(&mut self, part: usize) {
        let mut placed = self.job.place(part);
        match poll_once(&mut placed).await {
            Poll::Ready(placed) => self.settle(part, placed),
            Poll::Pending if self.plan.stands_alone(part) => {
                self.plan.asked(part);
                self.waiting.push((part, placed));
            }
            Poll::Pending => drop(placed),
        }
    }

    fn settle(&mut self, part: usize, placed: Result<Place, Refusal>) {
        match placed {
            Ok(Place { slot, probe: false }) => {
                self.plan.held(part);
                self.held.push((part, slot));
            }
            Ok(Place { slot, probe: true }) if self.plan.stands_alone(part) => {
                self.plan.send_alone(part);
                self.start(vec![(part, Vec::new())], vec![(part, slot)]);
            }
            // The probe is another call's, and the part waits for what it depends on.
            Ok(place) => drop(place),
            Err(refusal) => self.refuse(part, &refusal),
        }
    }

    /// Takes the permits that have come.
    async fn take_permits(&mut self) {
        let placed = poll_once(&mut pin!(permits(&mut self.waiting))).await;
        if let Poll::Ready(placed) = placed {
            self.settle_all(placed);
        }
    }

    fn settle_all(&mut self, placed: Vec<(usize, Result<Place, Refusal>)>) {
        for (part, placed) in placed {
            self.settle(part, placed);
        }
    }

    /// Sends all parts that have their permits in one batch.
    fn send(&mut self) {
        let round = self.plan.send_held();
        if !round.is_empty() {
            let slots = std::mem::take(&mut self.held);
            self.start(round, slots);
        }
    }

    fn start(&mut self, round: Vec<(usize, Vec<usize>)>, slots: Vec<(usize, Slot)>) {
        if self.rounds_sent == ROUNDS_MAX {
            for (part, _) in round {
                let answer = self.answers[part].take();
                let exhausted = || Answered::Part(self.job.own.exhausted());
                let answer = answer.unwrap_or_else(exhausted);
                self.conclude(part, answer);
            }
            return;
        }
        self.rounds_sent += 1;
        let request = (self.job.onward)(self.job.batch.write(&round));
        let going = slots.into_iter().map(|(part, slot)| {
            let record = &mut self.records[part];
            record.retries += u32::from(record.was_admitted());
            record.admit();
            Going {
                part,
                key: self.job.batch.parts[part].key.clone(),
                payer: payer(self.job.asks[part].as_deref()),
                slot,
            }
        });
        let round = Round {
            parts: going.collect(),
            connections: Arc::clone(&self.job.upstream.connections),
            caller: self.job.caller.clone(),
            memory: self.job.gateway.batches.memory.none(),
        };
        let parts = round.parts.iter().map(|going| going.part).collect();
        let nothing = self.job.gateway.batches.memory.none();
        let task = self.job.gateway.exchanges.spawn(round.run(request));
        self.rounds.push(Box::pin(async move {
            task.await.unwrap_or_else(|_| Over {
                parts,
                came: Came::Lost(Failure::Gone),
                memory: nothing,
            })
        }));
    }

    /// Waits until something has happened; false if nothing can any more.
    async fn wait(&mut self) -> bool {
        let now = Instant::now();
        let next_at = self.plan.next_at(now);
        tokio::select! {
            biased;
            Some(over) = self.rounds.next() => self.absorb(over),
            // The next turn of the loop sees to it.
            _ = self.job.caller.ended(), if self.plan.has_unsent() => {}
            placed = permits(&mut self.waiting), if !self.waiting.is_empty() => {
                self.settle_all(placed);
                self.gather().await;
            }
            () = sleep_until(next_at.unwrap_or(now)), if next_at.is_some() => {}
            () = self.job.gateway.closing.begun(), if next_at.is_some() => self.refuse_resting(),
            else => return false,
        }
        true
    }

    /// Lets permits come that are just being handed on.
    async fn gather(&mut self) {
        let until = Instant::now() + GATHER;
        while !self.waiting.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            match timeout(left, permits(&mut self.waiting)).await {
                Ok(placed) => self.settle_all(placed),
                Err(_) => break,
            }
        }
    }

    /// Nobody waits for these permits any more.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    /// Answers what is left: nothing can happen any more.
    fn give_up(&mut self) {
        for part in self.plan.in_order() {
            if !self.plan.is_answered(part) {
                self.conclude(part, Answered::Part(self.job.own.exhausted()));
            }
        }
    }
}

/// Whose outages are counted together.
fn payer(ask: Option<&Ask>) -> String {
    ask.map_or_else(String::new, |Ask { call: ask, .. }| {
        format!(
            "{}\n{}\n{}\n{}",
            ask.workload, ask.app, ask.tenant, ask.user
        )
    })
}
