//! Where the axes have their marks: at round instants and round numbers.

use std::ops::Range;

use jiff::Timestamp;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::Span;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// How far marks may be apart.
const STEPS_MS: [i64; 16] = [
    1_000,
    10_000,
    MINUTE_MS,
    2 * MINUTE_MS,
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    4 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
    2 * DAY_MS,
    5 * DAY_MS,
    10 * DAY_MS,
];

/// The most marks on the axis of time: what has room on a phone.
const MARKS_MAX: i64 = 7;

/// What the smallest axis ends with: its steps of a hundredth can still be written.
const LEAST: f64 = 0.04;

/// Round instants within `span`, and how far they are apart.
pub(super) fn instants(span: Span) -> (Vec<i64>, i64) {
    let length = span.until_ms() - span.from_ms();
    let fits = |step: &&i64| length / **step < MARKS_MAX;
    let step = STEPS_MS.iter().find(fits).copied();
    let step = step.unwrap_or_else(|| length / MARKS_MAX + 1);
    let first = span.from_ms().div_euclid(step) * step;
    let marks = (0..=MARKS_MAX + 1).map(|n| first + n * step);
    let inside = marks.filter(|at| (span.from_ms()..=span.until_ms()).contains(at));
    (inside.collect(), step)
}

/// How such an instant is written, UTC.
pub(super) fn instant(at_ms: i64, step_ms: i64) -> String {
    let form = match step_ms {
        ..MINUTE_MS => "%H:%M:%S",
        MINUTE_MS..DAY_MS => "%H:%M",
        _ => "%b %-d",
    };
    Timestamp::from_millisecond(at_ms)
        .map_or_else(|_| String::new(), |at| at.strftime(form).to_string())
}

/// Round numbers from 0 to `most` or a little more: four steps of 1, 2, 2.5 or 5 and a power of ten.
/// Where there is nothing to show they are those of a few calls.
pub(super) fn numbers(most: f64) -> Vec<f64> {
    let most = if most.is_finite() && most > 0.0 {
        most.max(LEAST)
    } else {
        4.0
    };
    let power = 10_f64.powf((most / 4.0).log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0].map(|factor| factor * power);
    let step = steps.into_iter().find(|step| step * 4.0 >= most * 0.9999);
    let step = step.unwrap_or(10.0 * power);
    (0..=4_u8).map(|n| f64::from(n) * step).collect()
}

/// How a number is written: `0`, `0.25`, `120`, `1.5k`, `2M`.
pub(super) fn number(value: f64) -> String {
    let (value, unit) = match value.abs() {
        1e6.. => (value / 1e6, "M"),
        1e3.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{value:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    [text, unit].concat()
}

/// An axis with its marks, and how they are written.
#[derive(Clone, Debug)]
pub(super) struct Axis {
    range: Range<f64>,
    marks: Vec<f64>,
    said: Said,
}

/// How marks are written.
#[derive(Clone, Copy, Debug)]
enum Said {
    Instant { step_ms: i64 },
    Percent,
    Number,
}

impl Axis {
    /// Of time, in Unix milliseconds.
    pub(super) fn of_time(span: Span) -> Self {
        let (marks, step_ms) = instants(span);
        Self {
            range: span.from_ms() as f64..span.until_ms() as f64,
            marks: marks.into_iter().map(|at| at as f64).collect(),
            said: Said::Instant { step_ms },
        }
    }

    /// Of values from 0 to `most` or a little more.
    pub(super) fn of_values(most: f64, percent: bool) -> Self {
        let marks = numbers(most);
        Self {
            range: 0.0..marks.last().copied().unwrap_or(1.0),
            marks,
            said: if percent { Said::Percent } else { Said::Number },
        }
    }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let part = (value - self.range.start) / (self.range.end - self.range.start);
        first + (part.clamp(0.0, 1.0) * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        match hint.weight().allow_light_points() {
            true => Vec::new(),
            false => self.marks.clone(),
        }
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

impl ValueFormatter<f64> for Axis {
    fn format(value: &f64) -> String {
        number(*value)
    }

    fn format_ext(&self, value: &f64) -> String {
        match self.said {
            Said::Instant { step_ms } => instant(*value as i64, step_ms),
            Said::Percent => number(*value) + "\u{a0}%",
            Said::Number => number(*value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-12-01T06:00:00Z.
    const SIX: i64 = 1_796_104_800_000;

    #[test]
    fn marks_of_time_are_round_and_few() {
        for (length, expected) in [
            (HOUR_MS, ["06:00", "06:10", "06:20"]),
            (DAY_MS, ["08:00", "12:00", "16:00"]),
            (30 * DAY_MS, ["Dec 3", "Dec 8", "Dec 13"]),
            (45_000, ["06:00:00", "06:00:10", "06:00:20"]),
        ] {
            let (marks, step) = instants(Span::new(SIX, SIX + length).unwrap());
            let words: Vec<_> = marks.iter().map(|at| instant(*at, step)).collect();
            assert_eq!(words[..3], expected, "{length}");
            assert!(marks.len() <= 8, "{words:?}");
        }
    }

    #[test]
    fn any_length_of_time_has_few_marks() {
        for length in [1, 59_999, 400 * DAY_MS, i64::MAX / 4] {
            let (marks, _) = instants(Span::new(0, length).unwrap());
            assert!((1..=8).contains(&marks.len()), "{length}: {marks:?}");
        }
    }

    #[test]
    fn marks_of_numbers_are_round_and_reach_the_most() {
        let last = |most| numbers(most).last().copied().map(number);
        let said = [0.0, 0.3, 1.0, 7.0, 100.0, 1_234.0, 5e6].map(|most| last(most).unwrap());
        assert_eq!(said, ["4", "0.4", "1", "8", "100", "2k", "8M"]);
        assert_eq!(numbers(100.0).map_words(), ["0", "25", "50", "75", "100"]);
        assert_eq!(
            numbers(1e-9).map_words(),
            ["0", "0.01", "0.02", "0.03", "0.04"]
        );
        assert_eq!(numbers(f64::NAN).len(), 5);
    }

    trait Words {
        fn map_words(&self) -> Vec<String>;
    }

    impl Words for Vec<f64> {
        fn map_words(&self) -> Vec<String> {
            self.iter().map(|it| number(*it)).collect()
        }
    }
}
