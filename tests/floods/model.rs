//! The rules, played plainly: everything that ever happened to one component of one list is kept,
//! and each answer is counted up from it.

use spillway::Instant;
use spillway::flood::{Day, Decision, Policy, Trigger};

const MINUTE: u64 = 60_000;
const LATE: u64 = 15 * MINUTE;

/// What happened, in the order in which it was told.
enum Told {
    /// An event was counted.
    Counted {
        minute: u64,
    },
    /// A minute reached the threshold.
    Strike {
        minute: u64,
        day: i32,
    },
    Enabled {
        at: u64,
    },
}

/// A plain answer: decision, count, strikes, and whether a mail is owed.
pub type Plain = Option<(Decision, u32, u32, bool)>;

pub struct Model {
    told: Vec<Told>,
    disabled: bool,
    /// From when until when, of the list and of its site.
    pauses: [Vec<(u64, u64)>; 2],
}

impl Model {
    pub fn new() -> Self {
        Self {
            told: Vec::new(),
            disabled: false,
            pauses: [Vec::new(), Vec::new()],
        }
    }

    pub fn ask(
        &mut self,
        now: Instant,
        at: Instant,
        day: Day,
        trigger: Trigger,
        policy: Policy,
    ) -> Plain {
        let minute = at.0 / MINUTE;
        if trigger != Trigger::Event {
            return self.answer(Decision::Handle, minute, day, false);
        }
        if now.0 - at.0 > LATE {
            return None;
        }
        let paused = |&(since, until): &(u64, u64)| since <= at.0 && at.0 < until;
        if self.pauses.iter().flatten().any(paused) {
            return self.answer(Decision::Paused, minute, day, false);
        }
        if self.disabled {
            return self.answer(Decision::Disabled, minute, day, false);
        }
        let enabled =
            |told: &Told| matches!(told, Told::Enabled { at: enabled } if at.0 < *enabled);
        if self.told.iter().any(enabled) {
            return self.answer(Decision::Handle, minute, day, false);
        }
        self.told.push(Told::Counted { minute });
        let count = self.count(minute);
        let Some(number) = self.strike_of(minute) else {
            if count < policy.per_minute() {
                return self.answer(Decision::Handle, minute, day, false);
            }
            self.told.push(Told::Strike {
                minute,
                day: day.number,
            });
            self.disabled = self.strikes(day) >= policy.strikes_per_day();
            return self.answer(Decision::Handle, minute, day, self.disabled);
        };
        let stopped = count > policy.per_minute() && number > policy.grace();
        let decision = if stopped {
            Decision::Stop
        } else {
            Decision::Handle
        };
        self.answer(decision, minute, day, false)
    }

    pub fn enable(&mut self, now: Instant) -> bool {
        if self.disabled {
            self.told.push(Told::Enabled { at: now.0 });
        }
        std::mem::take(&mut self.disabled)
    }

    pub fn pause(&mut self, whose: usize, now: Instant, until: Instant) {
        match self.running(whose, now) {
            Some(pause) => pause.1 = until.0,
            None => self.pauses[whose].push((now.0, until.0)),
        }
    }

    pub fn resume(&mut self, whose: usize, now: Instant) -> bool {
        let running = self.running(whose, now);
        running.map(|pause| pause.1 = now.0).is_some()
    }

    fn running(&mut self, whose: usize, now: Instant) -> Option<&mut (u64, u64)> {
        self.pauses[whose].iter_mut().find(|pause| now.0 < pause.1)
    }

    /// What has been told since the component was last re-enabled.
    fn since_enabled(&self) -> &[Told] {
        let enabled = |told: &Told| matches!(told, Told::Enabled { .. });
        let after = self
            .told
            .iter()
            .rposition(enabled)
            .map_or(0, |place| place + 1);
        &self.told[after..]
    }

    fn count(&self, minute: u64) -> u32 {
        let counted = |told: &&Told| matches!(told, Told::Counted { minute: of } if *of == minute);
        self.since_enabled().iter().filter(counted).count() as u32
    }

    /// The number within its day of a minute's strike.
    fn strike_of(&self, minute: u64) -> Option<u32> {
        let of_minute =
            |told: &Told| matches!(told, Told::Strike { minute: of, .. } if *of == minute);
        self.since_enabled().iter().find(|told| of_minute(told))?;
        let place = self.told.iter().rposition(of_minute)?;
        let Told::Strike { day, .. } = self.told[place] else {
            return None;
        };
        let of_day = |told: &&Told| matches!(told, Told::Strike { day: of, .. } if *of == day);
        Some(self.told[..=place].iter().filter(of_day).count() as u32)
    }

    fn strikes(&self, day: Day) -> u32 {
        let of_day =
            |told: &&Told| matches!(told, Told::Strike { day: of, .. } if *of == day.number);
        self.told.iter().filter(of_day).count() as u32
    }

    fn answer(&self, decision: Decision, minute: u64, day: Day, mail: bool) -> Plain {
        Some((decision, self.count(minute), self.strikes(day), mail))
    }
}
