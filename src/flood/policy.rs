//! When a list's events are a flood, and how many floods are too many.

/// The highest threshold: 16,666 events a second of one list, far above what a form platform handles.
pub const PER_MINUTE_MAX: u32 = 1_000_000;

/// The most strikes a day can bring: one a minute, in the longest day of a zone with daylight saving (25 h).
pub const STRIKES_MAX: u32 = 25 * 60;

/// What a component endures. One that is illegal cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Document", into = "Document"))]
pub struct Policy {
    per_minute: u32,
    strikes_per_day: u32,
    grace: u32,
}

/// Why a policy cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A threshold of 0, or above [`PER_MINUTE_MAX`].
    #[error(
        "per_minute is {0}; it must be from 1 to {PER_MINUTE_MAX} (to stop all events of a list, pause it)"
    )]
    PerMinute(u32),
    /// No strike, or above [`STRIKES_MAX`].
    #[error(
        "strikes_per_day is {0}; it must be from 1 to {STRIKES_MAX}, the minutes of the longest day"
    )]
    StrikesPerDay(u32),
    /// More graced strikes than disable.
    #[error(
        "grace is {grace}, but strike number {strikes_per_day} disables; it must be from 0 to {strikes_per_day}"
    )]
    Grace {
        /// The graced strikes.
        grace: u32,
        /// The strike that disables.
        strikes_per_day: u32,
    },
}

impl Policy {
    /// The vendor's first: 30 a minute, 10 strikes a day, none graced.
    pub const FIRST: Self = Self {
        per_minute: 30,
        strikes_per_day: 10,
        grace: 0,
    };

    /// The vendor's second: 100 a minute, 20 strikes a day, the first graced.
    pub const SECOND: Self = Self {
        per_minute: 100,
        strikes_per_day: 20,
        grace: 1,
    };

    /// The vendor's third, and the default: 100 a minute, 20 strikes a day, the first three graced.
    pub const THIRD: Self = Self {
        per_minute: 100,
        strikes_per_day: 20,
        grace: 3,
    };

    /// `per_minute` events of a list are handled in a minute, the last of them a strike; strike
    /// number `strikes_per_day` of a day disables; the minutes of the day's first `grace` strikes
    /// run on.
    ///
    /// # Errors
    /// See [`Error`].
    pub const fn new(per_minute: u32, strikes_per_day: u32, grace: u32) -> Result<Self, Error> {
        if per_minute == 0 || per_minute > PER_MINUTE_MAX {
            return Err(Error::PerMinute(per_minute));
        }
        if strikes_per_day == 0 || strikes_per_day > STRIKES_MAX {
            return Err(Error::StrikesPerDay(strikes_per_day));
        }
        if grace > strikes_per_day {
            return Err(Error::Grace {
                grace,
                strikes_per_day,
            });
        }
        Ok(Self {
            per_minute,
            strikes_per_day,
            grace,
        })
    }

    /// The number of the event that is a minute's strike, at least 1.
    #[must_use]
    pub const fn per_minute(self) -> u32 {
        self.per_minute
    }

    /// The number of the day's strike that disables, at least 1.
    #[must_use]
    pub const fn strikes_per_day(self) -> u32 {
        self.strikes_per_day
    }

    /// How many of the day's first strikes stop nothing.
    #[must_use]
    pub const fn grace(self) -> u32 {
        self.grace
    }
}

impl Default for Policy {
    fn default() -> Self {
        Self::THIRD
    }
}

/// A policy as it is written.
#[cfg(feature = "serde")]
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    per_minute: u32,
    strikes_per_day: u32,
    grace: u32,
}

#[cfg(feature = "serde")]
impl TryFrom<Document> for Policy {
    type Error = Error;

    fn try_from(written: Document) -> Result<Self, Error> {
        Self::new(written.per_minute, written.strikes_per_day, written.grace)
    }
}

#[cfg(feature = "serde")]
impl From<Policy> for Document {
    fn from(policy: Policy) -> Self {
        Self {
            per_minute: policy.per_minute,
            strikes_per_day: policy.strikes_per_day,
            grace: policy.grace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_are_legal() {
        for preset in [Policy::FIRST, Policy::SECOND, Policy::THIRD] {
            let again = Policy::new(preset.per_minute, preset.strikes_per_day, preset.grace);
            assert_eq!(again, Ok(preset));
        }
        assert_eq!(Policy::default(), Policy::THIRD);
    }

    #[test]
    fn what_means_nothing_is_refused() {
        assert_eq!(Policy::new(0, 20, 3), Err(Error::PerMinute(0)));
        assert_eq!(
            Policy::new(1_000_001, 20, 3),
            Err(Error::PerMinute(1_000_001))
        );
        assert_eq!(Policy::new(100, 0, 0), Err(Error::StrikesPerDay(0)));
        assert_eq!(Policy::new(100, 1501, 0), Err(Error::StrikesPerDay(1501)));
        let grace = Err(Error::Grace {
            grace: 21,
            strikes_per_day: 20,
        });
        assert_eq!(Policy::new(100, 20, 21), grace);
        assert!(Policy::new(1, 1, 1).is_ok());
    }
}
