//! Strikes are counted by days of the site's time zone: today's, and yesterday's while late
//! reports still reach it.

use smallvec::SmallVec;

use super::{LATE_MS_MAX, event::Day};
use crate::time::Instant;

#[derive(Clone, Debug, Default)]
pub(super) struct Strikes(SmallVec<[Counted; 1]>);

#[derive(Clone, Copy, Debug)]
struct Counted {
    day: Day,
    strikes: u32,
}

impl Strikes {
    pub(super) fn of(&self, day: Day) -> u32 {
        let counted = self
            .0
            .iter()
            .find(|counted| counted.day.number == day.number);
        counted.map_or(0, |counted| counted.strikes)
    }

    /// One more. Its number within the day, from 1.
    pub(super) fn add(&mut self, now: Instant, day: Day) -> u32 {
        let number = self.of(day).saturating_add(1);
        self.at_least(now, day, number);
        number
    }

    /// The day has had at least so many.
    pub(super) fn at_least(&mut self, now: Instant, day: Day, strikes: u32) {
        self.forget(now);
        match self
            .0
            .iter_mut()
            .find(|counted| counted.day.number == day.number)
        {
            Some(counted) => {
                // The zone may have been changed: the later end keeps them longer.
                counted.day.ends = counted.day.ends.max(day.ends);
                counted.strikes = counted.strikes.max(strikes);
            }
            None => self.0.push(Counted { day, strikes }),
        }
    }

    pub(super) fn forget(&mut self, now: Instant) {
        self.0
            .retain(|counted| now < counted.day.ends.plus_ms(LATE_MS_MAX + 1));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
