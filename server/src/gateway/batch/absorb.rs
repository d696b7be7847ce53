//! What came back of a round, and what becomes of its parts.

use std::{sync::Arc, time::Duration};

use spillway::{Signal, Verdict};
use tokio::time::Instant;

use super::{
    super::{readmission::next_room, record::Outcome, refusal::Refusal, retry::Trouble},
    answer::Answer,
    own::tells_when,
    plan::Ended,
    round::{Came, Over},
    run::{Answered, Job, Run},
};
use crate::access::NotValid;

/// From here on an answer is a failure.
const FAILURE_MIN: u16 = 400;

/// "Too many requests", the one failure that another attempt of the client's own mends.
const THROTTLED: u16 = 429;

/// "Internal server error": of one part's service, so that the engine takes it for no outage.
const FAILED: u16 = 500;

impl Run<'_> {
    /// Takes in what became of a round.
    pub(super) async fn absorb(&mut self, over: Over) {
        let ended = self.note(over.parts, over.came);
        self.memory.push(over.memory);
        let now = Instant::now();
        let left = self.job.until.saturating_duration_since(now);
        for part in self.plan.absorb(&ended, now, left, rand::random) {
            if let Some(mut answered) = self.answers[part].take() {
                if let Answered::Part(answer) = &mut answered {
                    self.job.tell_when(part, answer).await;
                }
                self.conclude(part, answered);
            }
        }
        self.stop_if_refused_whole();
    }

    /// Keeps the answers, and says what they mean.
    fn note(&mut self, parts: Vec<usize>, came: Came) -> Vec<Ended> {
        let own = self.job.own;
        match came {
            Came::Answers(head, told) => {
                self.head.get_or_insert(head.headers);
                told.into_iter()
                    .map(|(part, told)| self.note_part(part, told))
                    .collect()
            }
            Came::Other(whole, signal) => {
                let status = Some(whole.status.as_u16()).filter(|status| *status >= FAILURE_MIN);
                // A success that answers no part: what became of them is anyone's guess.
                let trouble = match status {
                    Some(status) => trouble(status, &signal),
                    None => Some(Trouble::Broken),
                };
                self.note_all(&parts, &Answered::Whole(Arc::new(whole)), |part| Ended {
                    part,
                    status,
                    trouble,
                    told: told(&signal),
                })
            }
            Came::Lost(failure) => {
                let trouble = failure.trouble();
                let lost = Answered::Part(own.lost(&failure));
                self.note_all(&parts, &lost, |part| unanswered(part, trouble))
            }
            Came::TooLarge => {
                let too_large = Answered::Part(own.too_large());
                self.note_all(&parts, &too_large, |part| unanswered(part, None))
            }
        }
    }

    fn note_part(&mut self, part: usize, told_of_it: Option<(Answer, Signal)>) -> Ended {
        let (answer, ended) = match told_of_it {
            Some((answer, signal)) => {
                let ended = Ended {
                    part,
                    status: Some(answer.status),
                    trouble: trouble(answer.status, &signal),
                    told: told(&signal),
                };
                (answer, ended)
            }
            None => (
                self.job.own.left_out(),
                unanswered(part, Some(Trouble::Broken)),
            ),
        };
        self.answers[part] = Some(Answered::Part(answer));
        ended
    }

    fn note_all(
        &mut self,
        parts: &[usize],
        answered: &Answered,
        ended: impl Fn(usize) -> Ended,
    ) -> Vec<Ended> {
        for part in parts {
            self.answers[*part] = Some(answered.clone());
        }
        parts.iter().map(|part| ended(*part)).collect()
    }

    /// A batch that was refused as a whole, before anything of it was answered, is not tried
    /// part by part: what refused it (a token, a form) would refuse the rest as well.
    fn stop_if_refused_whole(&mut self) {
        let answered = self.answers.iter().enumerate();
        let answered = answered.filter(|(part, _)| self.plan.is_answered(*part));
        let mut whole = None;
        for (_, answer) in answered {
            match answer {
                Some(Answered::Whole(it)) => whole = Some(Arc::clone(it)),
                _ => return,
            }
        }
        let Some(whole) = whole else { return };
        if !self.rounds.is_empty() || self.plan.has_retries() {
            return;
        }
        self.forget_waiting();
        for part in self.plan.in_order() {
            if !self.plan.is_answered(part) {
                self.conclude(part, Answered::Whole(Arc::clone(&whole)));
            }
        }
    }

    /// Its caller's token ended: nothing more is sent. What is upstream comes to its end.
    ///
    /// # Errors
    /// Nothing has gone: the batch is refused as a whole.
    pub(super) fn end(&mut self, not: NotValid) -> Result<(), Refusal> {
        self.forget_waiting();
        self.held.clear();
        let refused = Refusal::by_token(not, self.job.upstream.dialect());
        for part in self.plan.in_order() {
            if !self.plan.is_answered(part) && !self.plan.is_sent(part) {
                self.refuse(part, &refused);
            }
        }
        if self.rounds_sent == 0 {
            return Err(refused);
        }
        Ok(())
    }

    /// It was not let through: not at all, or not once more.
    pub(super) fn refuse(&mut self, part: usize, refusal: &Refusal) {
        let earlier = self.answers[part].take();
        let throttled = |answered: &Answered| answered.status() == THROTTLED;
        // What throttled it is known here better than to the upstream's last answer.
        let earlier = earlier.filter(|it| match refusal {
            Refusal::Busy(..) => !throttled(it),
            // Its caller is to know that coming again is of no use.
            Refusal::Unauthorized(..) => false,
            _ => true,
        });
        let own = self.job.own;
        let answered = earlier.unwrap_or_else(|| Answered::Part(own.refused(refusal)));
        self.conclude(part, answered);
        self.records[part].reason = Some(refusal.code().to_owned());
    }

    /// The process ends: parts that wait to go again keep the answers that they have.
    pub(super) fn refuse_resting(&mut self) {
        for part in self.plan.resting(Instant::now()) {
            self.refuse(part, &Refusal::Closing);
        }
    }

    /// A part's answer is final.
    pub(super) fn conclude(&mut self, part: usize, answered: Answered) {
        let status = answered.status();
        self.plan.answered(part, status < FAILURE_MIN);
        let record = &mut self.records[part];
        record.status = http::StatusCode::from_u16(status).ok();
        record.outcome = if record.was_admitted() {
            Outcome::Relayed
        } else {
            Outcome::Refused
        };
        self.answers[part] = Some(answered);
    }
}

impl Job<'_> {
    /// A throttled part that does not go again tells its client when to come back, even if
    /// the upstream did not (`OneNote` never does).
    async fn tell_when(&self, part: usize, answer: &mut Answer) {
        let Some(ask) = self.asks[part].clone() else {
            return;
        };
        let dialect = self.upstream.workload(ask.workload).1;
        if answer.status != THROTTLED || tells_when(answer, dialect) {
            return;
        }
        let told = answer.signal(0).retry_after_ms.map(Duration::from_millis);
        let wait = next_room(&self.upstream.limiter, ask).await;
        let wait = wait.max(told.unwrap_or_default());
        let seconds = self
            .own
            .retry_after
            .seconds(wait, dialect.retry_after_s_max());
        answer.set_header("Retry-After", seconds.to_string());
    }
}

impl Answered {
    fn status(&self) -> u16 {
        match self {
            Self::Part(answer) => answer.status,
            // A success that answers no part is a failure of each.
            Self::Whole(whole) => whole.status.as_u16().max(FAILURE_MIN),
        }
    }
}

fn unanswered(part: usize, trouble: Option<Trouble>) -> Ended {
    Ended {
        part,
        status: None,
        trouble,
        told: None,
    }
}

fn trouble(status: u16, signal: &Signal) -> Option<Trouble> {
    let failed = status == FAILED && signal.verdict == Verdict::Passed;
    Trouble::of(status, signal.verdict).or(failed.then_some(Trouble::Unavailable))
}

fn told(signal: &Signal) -> Option<Duration> {
    signal.retry_after_ms.map(Duration::from_millis)
}
