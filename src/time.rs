//! Time as the engine knows it: whole milliseconds, told by the driver.

/// An instant in milliseconds since an epoch that the driver chooses and keeps, in
/// practice the Unix epoch. Only its order and its differences matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Instant(pub u64);

impl Instant {
    /// This instant and `ms` more.
    #[must_use]
    pub const fn plus_ms(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// How long after `earlier` this is, 0 if it is not later.
    #[must_use]
    pub const fn ms_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
