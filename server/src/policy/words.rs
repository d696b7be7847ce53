//! Limits in words for people.

use spillway::{Dimension, Layer, Override, Scope};

/// `each user: 120 calls in 1 min`, `each app: 5 calls in flight (only counts)`.
#[must_use]
pub fn layer(layer: &Layer) -> String {
    let (whose, limit) = (each(layer.scope()), count(layer.limit()));
    let only = match layer.is_shadow() {
        true => " (only counts)",
        false => "",
    };
    format!("{whose}: {limit} {}{only}", calls(layer.dimension()))
}

/// `calls in 1 min`, `calls in flight`.
#[must_use]
pub fn calls(dimension: Dimension) -> String {
    match dimension {
        Dimension::Rate { window_ms } => format!("calls in {}", span(window_ms)),
        Dimension::Concurrency => "calls in flight".to_owned(),
    }
}

/// `user "ann" of tenant "t", app "a"`: names in quotes, with whatever nobody sees escaped.
#[must_use]
pub fn whose(own: &Override) -> String {
    let [app, tenant, user] = own
        .names()
        .map(|name| format!("\"{}\"", name.escape_debug()));
    let has_tenant = !own.names()[1].is_empty();
    match (own.scope(), has_tenant) {
        (Scope::App, _) => format!("app {app}"),
        (Scope::Tenant, _) => format!("tenant {tenant} of app {app}"),
        (Scope::User, true) => format!("user {user} of tenant {tenant}, app {app}"),
        (Scope::User, false) => format!("user {user} of app {app}"),
    }
}

/// What a layer limits, without how much: `each user, calls in 60 s`.
#[must_use]
pub fn limited(scope: Scope, dimension: Dimension) -> String {
    format!("{}, {}", each(scope), calls(dimension))
}

/// A part in thousandths: `50 %`, `33.3 %`.
#[must_use]
pub fn percent(permille: u16) -> String {
    format!("{} %", decimal(permille))
}

/// The same without its sign: `50`, `33.3`.
#[must_use]
pub fn decimal(permille: u16) -> String {
    match permille % 10 {
        0 => (permille / 10).to_string(),
        tenth => format!("{}.{tenth}", permille / 10),
    }
}

/// An exact length of time, in the largest unit that it is a whole number of: `60 s` is `1 min`.
#[must_use]
pub fn span(ms: u64) -> String {
    let (number, unit) = in_units(ms);
    format!("{number} {unit}")
}

/// The same as number and unit.
#[must_use]
pub fn in_units(ms: u64) -> (u64, &'static str) {
    let mut units = UNITS.iter().rev();
    let fitting = units.find(|(_, unit_ms)| ms > 0 && ms.is_multiple_of(*unit_ms));
    fitting.map_or((ms, "ms"), |(unit, unit_ms)| (ms / unit_ms, unit))
}

/// `1200000` as `1,200,000`.
#[must_use]
pub fn count(number: u32) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Units of time, the shortest first, in milliseconds.
pub const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("min", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

const fn each(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "each user",
        Scope::Tenant => "each tenant",
        Scope::App => "each app",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_limited_is_said_exactly() {
        let rate = |window_ms| Dimension::Rate { window_ms };
        let said = |scope, dimension, limit| layer(&Layer::new(scope, dimension, limit).unwrap());
        assert_eq!(
            said(Scope::User, rate(60_000), 120),
            "each user: 120 calls in 1 min"
        );
        assert_eq!(
            said(Scope::App, Dimension::Concurrency, 5),
            "each app: 5 calls in flight"
        );
        assert_eq!(
            said(Scope::Tenant, rate(86_400_000), 1_200_000),
            "each tenant: 1,200,000 calls in 1 d"
        );
        let spans = [0, 100, 1_500, 90_000, 3_600_000, 172_800_000].map(span);
        assert_eq!(spans, ["0 ms", "100 ms", "1500 ms", "90 s", "1 h", "2 d"]);
        assert_eq!(
            [500, 333, 1_000, 5].map(percent),
            ["50 %", "33.3 %", "100 %", "0.5 %"]
        );
    }
}
