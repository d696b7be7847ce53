//! How long points last, and for how long they are kept.

use crate::store::HistoryKept;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// One fineness of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// Ten seconds, for an hour.
    Fine,
    /// A minute, for a day.
    Middle,
    /// An hour, for 30 days.
    Coarse,
}

/// How far back one looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[schema(as = HistoryRange)]
pub enum Range {
    /// An hour.
    #[default]
    #[serde(rename = "1h")]
    Hour,
    /// A day.
    #[serde(rename = "24h")]
    Day,
    /// 30 days.
    #[serde(rename = "30d")]
    Month,
}

impl Grade {
    /// All, the finest first.
    pub const ALL: [Self; 3] = [Self::Fine, Self::Middle, Self::Coarse];

    /// How long a point lasts, milliseconds.
    #[must_use]
    pub const fn step_ms(self) -> i64 {
        match self {
            Self::Fine => 10 * SECOND_MS,
            Self::Middle => MINUTE_MS,
            Self::Coarse => HOUR_MS,
        }
    }

    /// For how long points are kept, milliseconds.
    #[must_use]
    pub const fn kept_ms(self) -> i64 {
        match self {
            Self::Fine => HOUR_MS,
            Self::Middle => DAY_MS,
            Self::Coarse => 30 * DAY_MS,
        }
    }

    /// The begin of the point that `at_ms` is in.
    #[must_use]
    pub const fn begin(self, at_ms: i64) -> i64 {
        at_ms.div_euclid(self.step_ms()) * self.step_ms()
    }

    /// What of this grade is kept at `now_ms`: no more points than fit into its time, and none of
    /// a clock that ran ahead.
    pub(super) const fn keep(self, now_ms: i64) -> HistoryKept {
        HistoryKept {
            step_ms: self.step_ms(),
            first_ms: self.begin(now_ms - self.kept_ms()) + self.step_ms(),
            last_ms: self.begin(now_ms),
        }
    }
}

impl Range {
    /// All, the shortest first.
    pub const ALL: [Self; 3] = [Self::Hour, Self::Day, Self::Month];

    /// As it is written: `1h`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hour => "1h",
            Self::Day => "24h",
            Self::Month => "30d",
        }
    }

    /// The range of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|range| range.name() == name)
    }

    /// Whose points cover it.
    #[must_use]
    pub const fn grade(self) -> Grade {
        match self {
            Self::Hour => Grade::Fine,
            Self::Day => Grade::Middle,
            Self::Month => Grade::Coarse,
        }
    }
}
