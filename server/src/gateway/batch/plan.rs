//! What of a batch goes when: the rules alone. Time, randomness and what became of each
//! part are passed in; [`super::run`] asks for permits, sends and waits.
//!
//! A part may go once everything that it depends on was answered well, or goes in the same
//! round. A permit is asked for only then, so that no part keeps a place that another one
//! needs which it waits for. Parts that are to go again wait for the longest of their waits
//! ([msgraph-sdk-design], "retry all in a new batch after the longest").

use std::time::Duration;

use tokio::time::Instant;

use super::super::retry::{Retries, Trouble};

/// Where a part stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not asked for yet; not to be asked for before that instant.
    Waiting(Option<Instant>),
    /// A permit is waited for.
    Asked,
    /// It has its permit and goes with the next round.
    Held,
    /// It is upstream.
    Sent,
    /// It has its answer.
    Answered {
        /// Whether what depends on it may go.
        well: bool,
    },
}

/// A batch under way.
#[derive(Debug)]
pub(super) struct Plan {
    parts: Vec<Part>,
    /// The parts so that each comes after all that it depends on.
    order: Vec<usize>,
}

#[derive(Debug)]
struct Part {
    depends_on: Vec<usize>,
    retries: Retries,
    state: State,
}

/// What became of one part in a round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    /// Which part.
    pub(super) part: usize,
    /// Its answer's status, if it was answered.
    pub(super) status: Option<u16>,
    /// What is wrong with it, if another attempt may mend it.
    pub(super) trouble: Option<Trouble>,
    /// The upstream's `Retry-After`.
    pub(super) told: Option<Duration>,
}

/// "The request was not performed because a request that it depends on failed" (RFC 4918;
/// OData JSON format 4.01, 19.2: such a request is not carried out).
pub(super) const FAILED_DEPENDENCY: u16 = 424;

/// From here on an answer is a failure.
const FAILURE_MIN: u16 = 400;

impl Plan {
    /// Nothing sent yet. `order` holds each part after all that it depends on.
    pub(super) fn new(parts: Vec<(Vec<usize>, Retries)>, order: Vec<usize>) -> Self {
        let part = |(depends_on, retries)| Part {
            depends_on,
            retries,
            state: State::Waiting(None),
        };
        Self {
            parts: parts.into_iter().map(part).collect(),
            order,
        }
    }

    /// Whether every part has its answer.
    pub(super) fn is_over(&self) -> bool {
        let mut states = self.parts.iter().map(|part| part.state);
        states.all(|state| matches!(state, State::Answered { .. }))
    }

    /// The parts, each after all that it depends on.
    pub(super) fn in_order(&self) -> Vec<usize> {
        self.order.clone()
    }

    /// Whether a permit is to be asked for now.
    pub(super) fn may_ask(&self, part: usize, now: Instant) -> bool {
        let State::Waiting(not_before) = self.parts[part].state else {
            return false;
        };
        let goes_along = |other: &usize| {
            matches!(
                self.parts[*other].state,
                State::Held | State::Answered { well: true }
            )
        };
        not_before.is_none_or(|at| at <= now) && self.parts[part].depends_on.iter().all(goes_along)
    }

    /// Whether all that it depends on was answered well, so that it may wait for its permit
    /// however long the others take.
    pub(super) fn stands_alone(&self, part: usize) -> bool {
        let answered = |other: &usize| self.parts[*other].state == State::Answered { well: true };
        self.parts[part].depends_on.iter().all(answered)
    }

    /// A permit is waited for.
    pub(super) fn asked(&mut self, part: usize) {
        self.parts[part].state = State::Asked;
    }

    /// It has its permit.
    pub(super) fn held(&mut self, part: usize) {
        self.parts[part].state = State::Held;
    }

    /// It has its answer.
    pub(super) fn answered(&mut self, part: usize, well: bool) {
        self.parts[part].state = State::Answered { well };
    }

    /// Whether its answer is known without sending it: something that it depends on failed.
    pub(super) fn is_in_vain(&self, part: usize) -> bool {
        let failed = |other: &usize| self.parts[*other].state == State::Answered { well: false };
        matches!(self.parts[part].state, State::Waiting(_))
            && self.parts[part].depends_on.iter().any(failed)
    }

    /// Whether it has its answer.
    pub(super) fn is_answered(&self, part: usize) -> bool {
        matches!(self.parts[part].state, State::Answered { .. })
    }

    /// Whether it is upstream.
    pub(super) fn is_sent(&self, part: usize) -> bool {
        self.parts[part].state == State::Sent
    }

    /// Whether some part is neither answered nor upstream.
    pub(super) fn has_unsent(&self) -> bool {
        let mut parts = 0..self.parts.len();
        parts.any(|part| !self.is_sent(part) && !self.is_answered(part))
    }

    /// Whether some part is to go again.
    pub(super) fn has_retries(&self) -> bool {
        let mut parts = self.parts.iter();
        parts.any(|part| matches!(part.state, State::Waiting(Some(_))))
    }

    /// Sends one part by itself.
    pub(super) fn send_alone(&mut self, part: usize) {
        self.parts[part].state = State::Sent;
    }

    /// Sends all that have their permit, as they were listed; what each still depends on is
    /// what goes along.
    pub(super) fn send_held(&mut self) -> Vec<(usize, Vec<usize>)> {
        let held = |part: &usize| self.parts[*part].state == State::Held;
        let going: Vec<usize> = (0..self.parts.len()).filter(held).collect();
        let along = |part: &usize| {
            let depends_on = self.parts[*part].depends_on.iter().copied();
            (
                *part,
                depends_on.filter(|other| going.contains(other)).collect(),
            )
        };
        let round = going.iter().map(along).collect();
        for part in going {
            self.parts[part].state = State::Sent;
        }
        round
    }

    /// Takes in what became of a round: the parts whose answer is final. The others go again.
    ///
    /// `at` is when it became known, `left` what is left of the hold then.
    pub(super) fn absorb(
        &mut self,
        round: &[Ended],
        at: Instant,
        left: Duration,
        mut random: impl FnMut() -> u32,
    ) -> Vec<usize> {
        let mut last = Vec::new();
        let (mut again, mut longest) = (Vec::new(), Duration::ZERO);
        for part in self.in_order() {
            let Some(ended) = round.iter().find(|ended| ended.part == part) else {
                continue;
            };
            if self.was_held_up(ended) {
                self.parts[part].state = State::Waiting(None);
            } else if let Some(wait) = self.wait(ended, left, random()) {
                longest = longest.max(wait);
                again.push(part);
                self.parts[part].state = State::Waiting(None);
            } else {
                let well = ended.status.is_some_and(|status| status < FAILURE_MIN);
                self.answered(part, well);
                last.push(part);
            }
        }
        for part in again {
            self.parts[part].state = State::Waiting(Some(at + longest));
        }
        last
    }

    /// Whether it was not carried out because of a part that goes again.
    fn was_held_up(&self, ended: &Ended) -> bool {
        let goes_again = |other: &usize| matches!(self.parts[*other].state, State::Waiting(_));
        ended.status == Some(FAILED_DEPENDENCY)
            && self.parts[ended.part].depends_on.iter().any(goes_again)
    }

    fn wait(&mut self, ended: &Ended, left: Duration, random: u32) -> Option<Duration> {
        let retries = &mut self.parts[ended.part].retries;
        retries.next(ended.trouble?, ended.told, left, random)
    }

    /// When the next part that waits for its time may be asked for.
    pub(super) fn next_at(&self, now: Instant) -> Option<Instant> {
        let times = self.parts.iter().filter_map(|part| match part.state {
            State::Waiting(at) => at.filter(|at| *at > now),
            _ => None,
        });
        times.min()
    }

    /// The parts that wait for a time that has not come.
    pub(super) fn resting(&self, now: Instant) -> Vec<usize> {
        let parts = self.parts.iter().enumerate();
        let rests = |state: &State| matches!(state, State::Waiting(Some(at)) if *at > now);
        let resting = parts.filter(|(_, part)| rests(&part.state));
        resting.map(|(n, _)| n).collect()
    }
}

#[cfg(test)]
mod tests;
