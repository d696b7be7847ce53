//! When a workload's breakers trip, and for how long.

use super::Error;

/// The least that the shortest cool-down may be: below it a trip is no pause.
pub const COOL_DOWN_MS_MIN: u64 = 100;

/// The most that the longest cool-down may be, 24 h: no wait of an upstream is believed longer.
pub const COOL_DOWN_MS_MAX: u64 = 86_400_000;

/// The most failures that an outage may take.
pub const OUTAGE_FAILURES_MAX: u32 = 1_000;

/// The most time that failures may have to last: evidence is forgotten after ten minutes.
pub const OUTAGE_MS_MAX: u64 = 600_000;

/// The most users whose calls may have to fail: they are remembered by name.
pub const OUTAGE_USERS_MAX: u32 = 16;

/// When breakers trip, and for how long. Its default is the design's (engine.md, Signals and
/// Breakers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(default, deny_unknown_fields))]
pub struct BreakerRules {
    /// From this share of the limit on, as the upstream reports it, background calls are refused:
    /// 1 to 1000 per mille. From 1000 on a budget opens, whatever this is.
    pub soft_permille: u16,
    /// The shortest cool-down, [`COOL_DOWN_MS_MIN`] to the longest, in milliseconds: steps of the
    /// ladder (1 s, 2 s, 30 s, then doubling) that are shorter last so long.
    pub cool_down_ms_min: u64,
    /// The longest, at most [`COOL_DOWN_MS_MAX`]: the ladder ends there.
    pub cool_down_ms_max: u64,
    /// As many failures in a row are an outage, 1 to [`OUTAGE_FAILURES_MAX`] …
    pub outage_failures: u32,
    /// … over so many milliseconds, at most [`OUTAGE_MS_MAX`] …
    pub outage_ms: u64,
    /// … of so many users, 1 to [`OUTAGE_USERS_MAX`].
    pub outage_users: u32,
}

impl BreakerRules {
    /// Those of the design.
    pub const DEFAULT: Self = Self {
        soft_permille: 800,
        cool_down_ms_min: 1_000,
        cool_down_ms_max: 600_000,
        outage_failures: 5,
        outage_ms: 10_000,
        outage_users: 2,
    };

    /// Whether each number is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), Error> {
        let ranges = [
            ("soft_permille", u64::from(self.soft_permille), 1, 1_000),
            (
                "cool_down_ms_min",
                self.cool_down_ms_min,
                COOL_DOWN_MS_MIN,
                COOL_DOWN_MS_MAX,
            ),
            (
                "cool_down_ms_max",
                self.cool_down_ms_max,
                self.cool_down_ms_min,
                COOL_DOWN_MS_MAX,
            ),
            (
                "outage_failures",
                u64::from(self.outage_failures),
                1,
                u64::from(OUTAGE_FAILURES_MAX),
            ),
            ("outage_ms", self.outage_ms, 0, OUTAGE_MS_MAX),
            (
                "outage_users",
                u64::from(self.outage_users),
                1,
                u64::from(OUTAGE_USERS_MAX),
            ),
        ];
        let mut outside = ranges
            .into_iter()
            .filter(|(_, is, min, max)| !(min..=max).contains(&is));
        match outside.next() {
            Some((what, is, min, max)) => Err(Error::Breakers { what, is, min, max }),
            None => Ok(()),
        }
    }

    /// For how long a budget is closed to all after so many failures in a row that named no wait.
    pub(crate) fn cool_down_ms(&self, trips: u32) -> u64 {
        let step_ms = match trips {
            0 => 1_000,
            1 => 2_000,
            more => 30_000_u64.saturating_mul(1 << (more - 2).min(32)),
        };
        step_ms.clamp(self.cool_down_ms_min, self.cool_down_ms_max)
    }
}

impl Default for BreakerRules {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ladder_is_the_design_s_and_its_ends_can_be_moved() {
        let ladder = |rules: &BreakerRules| -> Vec<_> {
            (0..9)
                .map(|trips| rules.cool_down_ms(trips) / 1_000)
                .collect()
        };
        let design = BreakerRules::DEFAULT;
        let expected = [1, 2, 30, 60, 120, 240, 480, 600, 600];
        assert_eq!(ladder(&design), expected);
        let narrow = BreakerRules {
            cool_down_ms_min: 5_000,
            cool_down_ms_max: 100_000,
            ..design
        };
        assert_eq!(ladder(&narrow), [5, 5, 30, 60, 100, 100, 100, 100, 100]);
        let wide = BreakerRules {
            cool_down_ms_max: COOL_DOWN_MS_MAX,
            ..design
        };
        assert_eq!(wide.cool_down_ms(u32::MAX), COOL_DOWN_MS_MAX);
        assert_eq!(wide.cool_down_ms(8), 1_920_000);
    }

    #[test]
    fn each_number_has_its_range() {
        let design = BreakerRules::DEFAULT;
        assert_eq!(design.check(), Ok(()));
        let other = |change: fn(&mut BreakerRules)| {
            let mut rules = design;
            change(&mut rules);
            rules
        };
        let outside = [
            other(|it| it.soft_permille = 0),
            other(|it| it.soft_permille = 1_001),
            other(|it| it.cool_down_ms_min = 99),
            other(|it| it.cool_down_ms_min = 700_000),
            other(|it| it.cool_down_ms_max = COOL_DOWN_MS_MAX + 1),
            other(|it| it.outage_failures = 0),
            other(|it| it.outage_failures = 1_001),
            other(|it| it.outage_ms = 600_001),
            other(|it| it.outage_users = 0),
            other(|it| it.outage_users = 17),
        ];
        for rules in outside {
            assert!(rules.check().is_err(), "{rules:?}");
        }
        let error = outside[3].check().unwrap_err().to_string();
        assert_eq!(
            error,
            "cool_down_ms_max: 600000 is outside 700000 to 86400000"
        );
    }
}
