//! Policies: the limits of a workload, parsed once, legal ever after.

mod breakers;
#[cfg(feature = "serde")]
mod document;
mod overrides;

use std::fmt;

use crate::call::{Lane, Scope};

pub use breakers::{
    BreakerRules, COOL_DOWN_MS_MAX, COOL_DOWN_MS_MIN, OUTAGE_FAILURES_MAX, OUTAGE_MS_MAX,
    OUTAGE_USERS_MAX,
};
pub(crate) use overrides::beside;
pub use overrides::{NAME_BYTES_MAX, OVERRIDES_MAX, Override, OwnLimit};

/// The most layers a policy may have. OneNote has six; SharePoint, the richest preset known, ten.
pub const LAYERS_MAX: usize = 16;

/// The longest window, 31 days: the longest any documented upstream limit runs is a month.
pub const WINDOW_MS_MAX: u64 = 31 * 24 * 3_600_000;

/// The shortest window. Below it the guard of 1 ms against truncation would eat the budget.
pub const WINDOW_MS_MIN: u64 = 100;

/// The highest limit, far above any documented one (Graph: 6 million units a day), so that sums cannot overflow.
pub const LIMIT_MAX: u32 = 1_000_000_000;

/// What a layer limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(tag = "dimension", rename_all = "snake_case"))]
pub enum Dimension {
    /// Weight per window.
    Rate {
        /// The window's length in milliseconds, from [`WINDOW_MS_MIN`] to [`WINDOW_MS_MAX`].
        window_ms: u64,
    },
    /// Calls in flight.
    Concurrency,
}

impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate { window_ms } => write!(f, "rate/{}s", window_ms.div_ceil(1000)),
            Self::Concurrency => f.write_str("concurrency"),
        }
    }
}

/// One limit at one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "document::Layer", into = "document::Layer")
)]
pub struct Layer {
    scope: Scope,
    dimension: Dimension,
    limit: u32,
    /// Whether it only counts what it would refuse.
    shadow: bool,
}

impl Layer {
    /// A layer of `limit` weight per window, or `limit` calls in flight.
    ///
    /// # Errors
    /// A limit of 0 or above [`LIMIT_MAX`]; a window outside [`WINDOW_MS_MIN`] to [`WINDOW_MS_MAX`].
    pub const fn new(scope: Scope, dimension: Dimension, limit: u32) -> Result<Self, Error> {
        if limit == 0 {
            return Err(Error::LimitZero);
        }
        if limit > LIMIT_MAX {
            return Err(Error::LimitTooHigh(limit));
        }
        if let Dimension::Rate { window_ms } = dimension
            && (window_ms < WINDOW_MS_MIN || window_ms > WINDOW_MS_MAX)
        {
            return Err(Error::Window(window_ms));
        }
        Ok(Self {
            scope,
            dimension,
            limit,
            shadow: false,
        })
    }

    /// The same, but it refuses nothing: it only counts what it would have refused.
    #[must_use]
    pub const fn counting_only(mut self) -> Self {
        self.shadow = true;
        self
    }

    /// Whether it refuses nothing, and only counts what it would have refused.
    #[must_use]
    pub const fn is_shadow(&self) -> bool {
        self.shadow
    }

    /// Whose budget it belongs to.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// What it limits.
    #[must_use]
    pub const fn dimension(&self) -> Dimension {
        self.dimension
    }

    /// The most that may be used at once, at least 1.
    #[must_use]
    pub const fn limit(&self) -> u32 {
        self.limit
    }
}

/// The background lane's part of every layer, in whole per mille, 1 to 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "u16", into = "u16"))]
pub struct Share(u16);

impl Share {
    /// One half, the default of the design.
    pub const HALF: Self = Self(500);

    /// A share of `permille` thousandths.
    ///
    /// # Errors
    /// 0 (pause the lane instead) and anything above 1000.
    pub const fn new(permille: u16) -> Result<Self, Error> {
        if permille == 0 || permille > 1000 {
            return Err(Error::Share(permille));
        }
        Ok(Self(permille))
    }

    /// In thousandths.
    #[must_use]
    pub const fn permille(self) -> u16 {
        self.0
    }

    /// What background may hold of `limit`: rounded down, at least 1.
    #[must_use]
    pub const fn of(self, limit: u32) -> u32 {
        let part = (limit as u64 * self.0 as u64 / 1000) as u32;
        if part == 0 { 1 } else { part }
    }
}

/// A workload's limits. One that is illegal cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "document::Policy", into = "document::Policy")
)]
pub struct Policy {
    layers: Vec<Layer>,
    background_share: Share,
    breakers: BreakerRules,
    overrides: Vec<Override>,
}

impl Policy {
    /// A policy of these layers.
    ///
    /// # Errors
    /// No layer, more than [`LAYERS_MAX`], or two with the same scope and dimension.
    pub fn new(layers: Vec<Layer>, background_share: Share) -> Result<Self, Error> {
        if layers.is_empty() {
            return Err(Error::NoLayers);
        }
        if layers.len() > LAYERS_MAX {
            return Err(Error::TooManyLayers(layers.len()));
        }
        for (n, layer) in layers.iter().enumerate() {
            let same =
                |other: &Layer| other.scope == layer.scope && other.dimension == layer.dimension;
            if layers[..n].iter().any(same) {
                return Err(Error::Doubled(layer.scope, layer.dimension));
            }
        }
        Ok(Self {
            layers,
            background_share,
            breakers: BreakerRules::default(),
            overrides: Vec::new(),
        })
    }

    /// The same with other rules for its breakers.
    ///
    /// # Errors
    /// A number out of its range, see [`BreakerRules`].
    pub fn with_breakers(mut self, rules: BreakerRules) -> Result<Self, Error> {
        rules.check()?;
        self.breakers = rules;
        Ok(self)
    }

    /// The same with own limits for some keys, in the place of those that it had.
    ///
    /// # Errors
    /// More than [`OVERRIDES_MAX`], two of the same key, or so many different ones that a scope
    /// would have more than [`LAYERS_MAX`] limits.
    pub fn with_overrides(mut self, overrides: Vec<Override>) -> Result<Self, Error> {
        overrides::check(&self.layers, &overrides)?;
        self.overrides = overrides;
        Ok(self)
    }

    /// The same with its overrides' keys under other names, for a driver that knows keys by
    /// others. Different names must stay different.
    #[must_use]
    pub fn with_names(mut self, name: impl Fn(&str) -> String) -> Self {
        let renamed = self.overrides.into_iter().map(|it| it.renamed(&name));
        self.overrides = renamed.collect();
        self
    }

    /// When its breakers trip, and for how long.
    #[must_use]
    pub const fn breakers(&self) -> &BreakerRules {
        &self.breakers
    }

    /// Own limits of some keys, in the order given.
    #[must_use]
    pub fn overrides(&self) -> &[Override] {
        &self.overrides
    }

    /// Its limits, in the order given.
    #[must_use]
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Its limits at `scope`, in the order given.
    pub fn layers_at(&self, scope: Scope) -> impl Iterator<Item = &Layer> {
        self.layers.iter().filter(move |layer| layer.scope == scope)
    }

    /// Whether any limit is at `scope`.
    #[must_use]
    pub fn has(&self, scope: Scope) -> bool {
        self.layers_at(scope).next().is_some()
    }

    /// The background's part of every layer.
    #[must_use]
    pub const fn background_share(&self) -> Share {
        self.background_share
    }

    /// The most that `lane` may hold of `layer`.
    #[must_use]
    pub const fn cap(&self, layer: &Layer, lane: Lane) -> u32 {
        match lane {
            Lane::Foreground => layer.limit,
            Lane::Background => self.background_share.of(layer.limit),
        }
    }
}

/// Why a policy is illegal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A limit of 0 would refuse for ever.
    #[error("a limit of 0 is illegal (to stop calls, pause the lane instead)")]
    LimitZero,
    /// A limit above [`LIMIT_MAX`].
    #[error("a limit of {0} is above the highest, {LIMIT_MAX}")]
    LimitTooHigh(u32),
    /// A window out of range.
    #[error("a window of {0} ms is outside {WINDOW_MS_MIN} ms to {WINDOW_MS_MAX} ms (31 days)")]
    Window(u64),
    /// A share of 0 or above 1000.
    #[error(
        "a background share of {0} per mille is outside 1 to 1000 (to stop background calls, pause the lane instead)"
    )]
    Share(u16),
    /// Nothing to limit.
    #[error("a policy needs at least one layer")]
    NoLayers,
    /// More layers than [`LAYERS_MAX`].
    #[error("{0} layers are more than the most a policy may have, {LAYERS_MAX}")]
    TooManyLayers(usize),
    /// Two layers limit the same thing.
    #[error("two layers limit {0}/{1}: keep the lower one")]
    Doubled(Scope, Dimension),
    /// A number of the breakers' rules is out of its range.
    #[error("{what}: {is} is outside {min} to {max}")]
    Breakers {
        /// Which one.
        what: &'static str,
        /// What it is.
        is: u64,
        /// The least.
        min: u64,
        /// The most.
        max: u64,
    },
    /// More overrides than [`OVERRIDES_MAX`].
    #[error("{0} overrides are more than the most a policy may have, {OVERRIDES_MAX}")]
    TooManyOverrides(usize),
    /// An override that names nobody, or more than its scope has, or with a name too long.
    #[error(
        "an override of one {0} names its app and whatever else its scope has, and nothing more, in at most {NAME_BYTES_MAX} bytes each"
    )]
    OverrideKey(Scope),
    /// Two overrides of the same key.
    #[error("two overrides are of the same {0}: keep one")]
    OverrideDoubled(Scope),
    /// An override without limits.
    #[error("an override needs at least one limit")]
    OverrideEmpty,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };

    #[test]
    fn limits_of_zero_cannot_be_made() {
        assert_eq!(Layer::new(Scope::User, MINUTE, 0), Err(Error::LimitZero));
        assert_eq!(Share::new(0), Err(Error::Share(0)));
        assert_eq!(Share::new(1001), Err(Error::Share(1001)));
    }

    #[test]
    fn windows_have_bounds() {
        let layer = |window_ms| Layer::new(Scope::App, Dimension::Rate { window_ms }, 1);
        assert_eq!(layer(0), Err(Error::Window(0)));
        assert_eq!(
            layer(WINDOW_MS_MAX + 1),
            Err(Error::Window(WINDOW_MS_MAX + 1))
        );
        assert!(layer(WINDOW_MS_MIN).is_ok() && layer(WINDOW_MS_MAX).is_ok());
    }

    #[test]
    fn a_policy_needs_layers_and_takes_each_once() {
        let layer = Layer::new(Scope::User, MINUTE, 5).unwrap();
        assert_eq!(Policy::new(vec![], Share::HALF), Err(Error::NoLayers));
        assert_eq!(
            Policy::new(vec![layer; 2], Share::HALF),
            Err(Error::Doubled(Scope::User, MINUTE))
        );
        assert_eq!(
            Policy::new(vec![layer; 17], Share::HALF),
            Err(Error::TooManyLayers(17))
        );
    }

    #[test]
    fn the_share_rounds_down_but_leaves_one() {
        assert_eq!(Share::HALF.of(5), 2);
        assert_eq!(Share::HALF.of(1), 1);
        assert_eq!(Share::new(1000).unwrap().of(LIMIT_MAX), LIMIT_MAX);
    }
}
