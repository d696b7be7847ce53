//! When breakers trip, as people and programs write it.

use serde::{Deserialize, Serialize};
use spillway::policy::{
    BreakerRules, COOL_DOWN_MS_MAX, COOL_DOWN_MS_MIN, OUTAGE_FAILURES_MAX, OUTAGE_MS_MAX,
    OUTAGE_USERS_MAX,
};
use utoipa::ToSchema;

use super::{Mistake, mistake};

/// When a workload's breakers trip, and for how long; what is left out is as the design has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
#[schema(as = PolicyBreakers)]
pub struct WrittenBreakers {
    /// From this share of the limit on, as the upstream reports it, background is refused; from
    /// 1000 on everybody is.
    #[schema(minimum = 1, maximum = 1_000, default = 800)]
    pub soft_permille: i64,
    /// The shortest cool-down after a trip that names no wait, in milliseconds.
    #[schema(minimum = 100, maximum = 86_400_000, default = 1_000)]
    pub cool_down_ms_min: i64,
    /// The longest; at least the shortest.
    #[schema(minimum = 100, maximum = 86_400_000, default = 600_000)]
    pub cool_down_ms_max: i64,
    /// How many failures in a row are an outage,
    #[schema(minimum = 1, maximum = 1_000, default = 5)]
    pub outage_failures: i64,
    /// over how many milliseconds at least,
    #[schema(minimum = 0, maximum = 600_000, default = 10_000)]
    pub outage_ms: i64,
    /// of how many users at least.
    #[schema(minimum = 1, maximum = 16, default = 2)]
    pub outage_users: i64,
}

impl WrittenBreakers {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn check(&self, mistakes: &mut Vec<Mistake>) -> Option<BreakerRules> {
        let (least, most) = (COOL_DOWN_MS_MIN, COOL_DOWN_MS_MAX);
        let from = u64::try_from(self.cool_down_ms_min).unwrap_or(least);
        let mut read = |name: &str, number: i64, min: u64, max: u64| {
            let fits = u64::try_from(number).ok();
            let fits = fits.filter(|number| (min..=max).contains(number));
            if fits.is_none() {
                let detail = format!("{number} is outside {min} to {max}");
                mistakes.push(mistake(format!("breakers.{name}"), detail));
            }
            fits
        };
        let soft = read("soft_permille", self.soft_permille, 1, 1_000);
        let min = read("cool_down_ms_min", self.cool_down_ms_min, least, most);
        let from = from.clamp(least, most);
        let max = read("cool_down_ms_max", self.cool_down_ms_max, from, most);
        let failures = u64::from(OUTAGE_FAILURES_MAX);
        let failures = read("outage_failures", self.outage_failures, 1, failures);
        let lasting = read("outage_ms", self.outage_ms, 0, OUTAGE_MS_MAX);
        let users = read(
            "outage_users",
            self.outage_users,
            1,
            u64::from(OUTAGE_USERS_MAX),
        );
        Some(BreakerRules {
            soft_permille: u16::try_from(soft?).ok()?,
            cool_down_ms_min: min?,
            cool_down_ms_max: max?,
            outage_failures: u32::try_from(failures?).ok()?,
            outage_ms: lasting?,
            outage_users: u32::try_from(users?).ok()?,
        })
    }
}

impl Default for WrittenBreakers {
    fn default() -> Self {
        Self::from(&BreakerRules::DEFAULT)
    }
}

impl From<&BreakerRules> for WrittenBreakers {
    fn from(rules: &BreakerRules) -> Self {
        Self {
            soft_permille: rules.soft_permille.into(),
            cool_down_ms_min: rules.cool_down_ms_min.cast_signed(),
            cool_down_ms_max: rules.cool_down_ms_max.cast_signed(),
            outage_failures: rules.outage_failures.into(),
            outage_ms: rules.outage_ms.cast_signed(),
            outage_users: rules.outage_users.into(),
        }
    }
}
