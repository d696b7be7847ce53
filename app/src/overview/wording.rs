//! How limits and numbers are said.

use crate::live::{Budget, Dimension, Layer};

/// What limits of the upstream's own are of, in the place of a workload's name.
pub const ALL_WORKLOADS: &str = "all workloads";

/// The name under which the state has them.
const GLOBAL: &str = "_global";

/// A workload as it is called on the page.
#[must_use]
pub fn workload_title(name: &str) -> &str {
    match name {
        GLOBAL => ALL_WORKLOADS,
        name => name,
    }
}

/// How close something is to its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Zone {
    /// Below the soft threshold.
    Clear,
    /// From [`NEAR_PERMILLE`] of the limit on.
    Near,
    /// At the limit.
    Full,
}

/// Where amber begins. Graph's own advice is to slow down from 80 % on, and its
/// `RateLimit` headers appear there.
pub const NEAR_PERMILLE: u32 = 800;

impl Zone {
    /// Of one layer.
    #[must_use]
    pub fn of(layer: &Layer) -> Self {
        Self::at(layer.used_permille())
    }

    /// Of a fill level in per mille of the limit.
    #[must_use]
    pub fn at(permille: u32) -> Self {
        match permille {
            0..NEAR_PERMILLE => Self::Clear,
            NEAR_PERMILLE..1000 => Self::Near,
            _ => Self::Full,
        }
    }

    /// The class that colours it.
    #[must_use]
    pub fn class(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Near => "near",
            Self::Full => "full",
        }
    }

    /// The word that goes with the colour.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Clear => "Clear",
            Self::Near => "Near",
            Self::Full => "Full",
        }
    }

    /// The word within a sentence.
    #[must_use]
    pub fn small_word(self) -> &'static str {
        self.class()
    }
}

/// `1204` as `1,204`.
#[must_use]
pub fn count(number: impl Into<u64>) -> String {
    let digits = number.into().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// [`count`], but `12.3k` from ten thousand and `1.2M` from a million on, rounded down.
#[must_use]
pub fn short(number: u32) -> String {
    let (unit, sign) = match number {
        0..10_000 => return count(number),
        10_000..1_000_000 => (1_000, "k"),
        _ => (1_000_000, "M"),
    };
    let (whole, tenth) = (number / unit, number % unit * 10 / unit);
    match (whole, tenth) {
        (_, 0) | (100.., _) => [&count(whole), sign].concat(),
        _ => [&count(whole), ".", &count(tenth), sign].concat(),
    }
}

/// `1 call`, `3 calls`.
#[must_use]
pub fn plural(number: u64, one: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    [&count(number), " ", one, s].concat()
}

/// The text with a capital first letter.
#[must_use]
pub fn capital(mut text: String) -> String {
    if let Some(first) = text.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    text
}

/// A layer's name: `Minute`, `Hour`, `10 seconds`, `In flight`.
#[must_use]
pub fn layer_name(layer: &Layer) -> String {
    match (layer.dimension, layer.window_ms) {
        (Dimension::Concurrency, _) => "In flight".to_owned(),
        (Dimension::Rate, Some(window_ms)) => capital(window(window_ms)),
        (Dimension::Rate, None) => "Rate".to_owned(),
    }
}

/// What stands beside the name: the window in numbers.
#[must_use]
pub fn layer_unit(layer: &Layer) -> String {
    match (layer.dimension, layer.window_ms) {
        (Dimension::Rate, Some(window_ms)) => match window_ms {
            0..1_000 => format!("{window_ms} ms window"),
            1_000..120_000 => format!("{} s window", window_ms / 1_000),
            _ => format!("{} min window", window_ms / 60_000),
        },
        _ => "calls now".to_owned(),
    }
}

/// How much of a layer is used, in a sentence: `344 of 400 this hour`, `5 of 5 in flight`.
#[must_use]
pub fn usage(layer: &Layer) -> String {
    [
        &count(layer.used),
        " of ",
        &count(layer.limit),
        " ",
        &period(layer),
    ]
    .concat()
}

/// When a layer counts: `this hour`, `in 10 seconds`, `in flight`.
#[must_use]
pub fn period(layer: &Layer) -> String {
    match (layer.dimension, layer.window_ms) {
        (Dimension::Rate, Some(window_ms)) => {
            let name = window(window_ms);
            let one = !name.starts_with(|first: char| first.is_ascii_digit());
            format!("{} {name}", if one { "this" } else { "in" })
        }
        (Dimension::Rate, None) => "used".to_owned(),
        (Dimension::Concurrency, _) => "in flight".to_owned(),
    }
}

/// The most of a layer that the background lane may hold: its share, rounded down, at least 1.
#[must_use]
pub fn background_cap(layer: &Layer) -> u32 {
    let cap = u64::from(layer.limit) * u64::from(layer.share_permille) / 1000;
    u32::try_from(cap).unwrap_or(u32::MAX).max(1)
}

/// A part of a limit, per mille, at most 1000.
#[must_use]
pub fn permille(part: u32, limit: u32) -> u32 {
    let limit = limit.max(1);
    let permille = u64::from(part.min(limit)) * 1000 / u64::from(limit);
    u32::try_from(permille).unwrap_or(1000)
}

/// The layer that is fullest; of equals the one with the longest window, as its wait is longest.
#[must_use]
pub fn tightest(budget: &Budget) -> Option<&Layer> {
    budget
        .layers
        .iter()
        .max_by_key(|layer| (layer.used_permille(), layer.window_ms))
}

/// How full the fullest rate is; calls in flight come and go too fast for a word.
#[must_use]
pub fn rate_permille(budget: &Budget) -> u32 {
    let rates = budget
        .layers
        .iter()
        .filter(|it| it.dimension == Dimension::Rate);
    rates.map(Layer::used_permille).max().unwrap_or(0)
}

/// Whether the budgets belong to several apps.
#[must_use]
pub fn apps_differ(budgets: &[Budget]) -> bool {
    let first = budgets.first().map(|it| &it.app);
    budgets.iter().any(|it| Some(&it.app) != first)
}

fn window(ms: u64) -> String {
    match ms {
        1_000 => "second".to_owned(),
        60_000 => "minute".to_owned(),
        3_600_000 => "hour".to_owned(),
        86_400_000 => "day".to_owned(),
        _ if ms.is_multiple_of(3_600_000) => format!("{} hours", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{} minutes", ms / 60_000),
        _ if ms.is_multiple_of(1_000) => format!("{} seconds", ms / 1_000),
        _ => format!("{ms} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{concurrency, rate};
    use super::*;

    #[test]
    fn windows_are_said_in_words() {
        let named = [1, 10, 60, 300, 3_600, 86_400].map(|s| layer_name(&rate(s, 10, 0, 0)));
        assert_eq!(
            named,
            ["Second", "10 seconds", "Minute", "5 minutes", "Hour", "Day"]
        );
        assert_eq!(layer_name(&concurrency(5, 0, 0)), "In flight");
        assert_eq!(layer_unit(&rate(60, 1, 0, 0)), "60 s window");
        assert_eq!(layer_unit(&rate(3_600, 1, 0, 0)), "60 min window");
    }

    #[test]
    fn use_is_said_in_a_sentence() {
        assert_eq!(
            usage(&rate(3_600, 4_000, 1_344, 0)),
            "1,344 of 4,000 this hour"
        );
        assert_eq!(usage(&rate(10, 12, 3, 0)), "3 of 12 in 10 seconds");
        assert_eq!(usage(&concurrency(5, 5, 0)), "5 of 5 in flight");
    }

    #[test]
    fn numbers_have_separators() {
        let said = [0_u32, 999, 1_000, 1_234_567].map(count);
        assert_eq!(said, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(
            [plural(1, "call"), plural(2, "call")],
            ["1 call", "2 calls"]
        );
    }

    #[test]
    fn large_numbers_have_a_short_form() {
        let said = [9_999, 10_000, 12_399, 100_000, 123_999, 1_250_000].map(short);
        assert_eq!(said, ["9,999", "10k", "12.3k", "100k", "123k", "1.2M"]);
    }

    #[test]
    fn amber_begins_at_eighty_per_cent_and_red_at_the_limit() {
        let zones = [319, 320, 399, 400, 401].map(|used| Zone::of(&rate(3_600, 400, used, 0)));
        assert_eq!(
            zones,
            [Zone::Clear, Zone::Near, Zone::Near, Zone::Full, Zone::Full]
        );
    }

    #[test]
    fn the_background_cap_is_the_share_rounded_down_but_one_at_least() {
        assert_eq!(background_cap(&concurrency(5, 0, 0)), 2);
        assert_eq!(background_cap(&concurrency(1, 0, 0)), 1);
    }
}
