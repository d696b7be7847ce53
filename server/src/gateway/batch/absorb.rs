//! What came back of a round, and what becomes of its parts.

use std::{sync::Arc, time::Duration};

use spillway::{Signal, Verdict};
use tokio::time::Instant;

use super::{
    super::{record::Outcome, refusal::Refusal, retry::Trouble},
    answer::Answer,
    own::UNINTELLIGIBLE,
    plan::Ended,
    round::{Came, Over},
    run::{Answered, Run},
};
use crate::access::NotValid;

/// From here on an answer is a failure.
const FAILURE_MIN: u16 = 400;

/// "Internal server error": of one part's service, so that the engine takes it for no outage.
const FAILED: u16 = 500;

impl Run<'_> {
    /// Takes in what became of a round.
    pub(super) fn absorb(&mut self, over: Over) {
        let ended = self.note(over.parts, over.came);
        self.memory.push(over.memory);
        let now = Instant::now();
        for ended in &ended {
            self.waits.told(ended.part, now, ended.told);
        }
        let left = self.job.until.saturating_duration_since(now);
        for part in self.plan.absorb(&ended, now, left, rand::random) {
            if let Some(answered) = self.answers[part].take() {
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
                // A success that answers no part is not mended by another one, as little as a
                // call's own; what became of the parts is anyone's guess.
                let trouble = trouble(whole.status.as_u16(), &signal);
                let answered = Answered::Whole(Arc::new(whole));
                let status = Some(answered.status());
                self.note_all(&parts, &answered, |part| Ended {
                    part,
                    status,
                    trouble,
                    told: told(&signal),
                })
            }
            Came::Lost(failure) => {
                let answer = own.lost(&failure);
                let (trouble, told) = (failure.trouble(), told(&answer.signal(0)));
                self.note_all(&parts, &Answered::Part(answer), |part| Ended {
                    told,
                    ..unanswered(part, trouble)
                })
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
        let rest = if whole.status.is_success() {
            Answered::Part(self.job.own.not_sent())
        } else {
            Answered::Whole(whole)
        };
        for part in self.plan.in_order() {
            if !self.plan.is_answered(part) {
                self.conclude(part, rest.clone());
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
        if let Refusal::Busy(busy, _) = refusal {
            self.waits.has_place(part, Instant::now() + busy.wait);
        }
        // What throttled it is known here better than to the upstream's last answer.
        let throttled = |answered: &Answered| answered.verdict() == Verdict::Throttled;
        let earlier = earlier.filter(|it| match refusal {
            Refusal::Busy(..) => !throttled(it),
            // Its caller is to know that coming again is of no use.
            Refusal::Unauthorized(..) => false,
            _ => true,
        });
        let own = self.job.own;
        let answered = earlier.unwrap_or_else(|| {
            let answer = own.refused(refusal);
            self.waits.says(part, &answer);
            Answered::Part(answer)
        });
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

impl Answered {
    /// What its part is told.
    pub(super) fn status(&self) -> u16 {
        match self {
            Self::Part(answer) => answer.status,
            Self::Whole(whole) if whole.status.as_u16() < FAILURE_MIN => UNINTELLIGIBLE,
            Self::Whole(whole) => whole.status.as_u16(),
        }
    }

    /// What it says of limits.
    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Self::Part(answer) if answer.status < FAILURE_MIN => Verdict::Passed,
            Self::Part(answer) => answer.signal(0).verdict,
            Self::Whole(whole) => whole.verdict,
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
