//! What of a policy is a number beside its limits: as fields of the editor's form.

use spillway_app::{NumberField, Typed};

use super::draft::typed;
use crate::policy::{Document, Mistake};

/// A number of a document.
struct Number {
    /// Its name in the form.
    name: &'static str,
    /// Its place in the document.
    field: &'static str,
    label: &'static str,
    unit: &'static str,
    means: &'static str,
    range: (&'static str, &'static str, &'static str),
    /// How many decimals it is typed with at most; the document has it without.
    decimals: usize,
    at: fn(&mut Document) -> &mut i64,
}

const NUMBERS: [Number; 7] = [
    Number {
        name: "share",
        field: "background_share_permille",
        label: "Background may use",
        unit: "% of each limit",
        means: "The rest is kept for the foreground, which may use all that is free.",
        range: ("0.1", "100", "0.1"),
        decimals: 1,
        at: |document| &mut document.background_share_permille,
    },
    Number {
        name: "soft",
        field: "breakers.soft_permille",
        label: "Refuse background from",
        unit: "% reported",
        means: "As the upstream reports its limit's use, for a minute after. From 100 % on nobody calls.",
        range: ("0.1", "100", "0.1"),
        decimals: 1,
        at: |document| &mut document.breakers.soft_permille,
    },
    Number {
        name: "cool-down-min",
        field: "breakers.cool_down_ms_min",
        label: "Shortest cool-down",
        unit: "s",
        means: "After a trip that names no wait. The steps are 1, 2 and 30 s, then each twice the last.",
        range: ("0.1", "86400", "0.001"),
        decimals: 3,
        at: |document| &mut document.breakers.cool_down_ms_min,
    },
    Number {
        name: "cool-down-max",
        field: "breakers.cool_down_ms_max",
        label: "Longest cool-down",
        unit: "s",
        means: "The steps end there.",
        range: ("0.1", "86400", "0.001"),
        decimals: 3,
        at: |document| &mut document.breakers.cool_down_ms_max,
    },
    Number {
        name: "outage-failures",
        field: "breakers.outage_failures",
        label: "An outage is at least",
        unit: "failures in a row",
        means: "502, 503 without a wait, 504, time-outs and broken connections, with no success between.",
        range: ("1", "1000", "1"),
        decimals: 0,
        at: |document| &mut document.breakers.outage_failures,
    },
    Number {
        name: "outage-time",
        field: "breakers.outage_ms",
        label: "Over at least",
        unit: "s",
        means: "From the first of them to the last.",
        range: ("0", "600", "0.001"),
        decimals: 3,
        at: |document| &mut document.breakers.outage_ms,
    },
    Number {
        name: "outage-users",
        field: "breakers.outage_users",
        label: "Of at least",
        unit: "users",
        means: "One user's broken endpoint stops nobody else.",
        range: ("1", "16", "1"),
        decimals: 0,
        at: |document| &mut document.breakers.outage_users,
    },
];

/// The fields, as `document` has them.
pub(super) fn of(document: &Document) -> Vec<NumberField> {
    let mut document = document.clone();
    let fields = NUMBERS.iter().map(|number| {
        let is = *(number.at)(&mut document);
        number.field(typed(decimal(is, number.decimals)))
    });
    fields.collect()
}

/// The fields as they were typed.
pub(super) fn read<'a>(value: impl Fn(&str) -> &'a str) -> Vec<NumberField> {
    let fields = NUMBERS.iter();
    fields
        .map(|number| number.field(typed(value(number.name).trim())))
        .collect()
}

/// Writes them into a document.
pub(super) fn write(fields: &[NumberField], document: &mut Document, mistakes: &mut Vec<Mistake>) {
    for number in &NUMBERS {
        let typed = fields.iter().find(|field| field.name == number.name);
        let typed = typed.map_or("", |field| field.typed.text.as_str());
        match fixed(typed, number.decimals) {
            Some(is) => *(number.at)(document) = is,
            None => mistakes.push(Mistake {
                field: number.field.to_owned(),
                detail: number.no_number(),
            }),
        }
    }
}

/// Where a mistake of this field of a document is said. What documents have in thousandths and
/// milliseconds is typed otherwise, and so are their ranges.
pub(super) fn said(fields: &mut [NumberField], mistake: &Mistake) -> bool {
    let Some(number) = NUMBERS.iter().find(|it| it.field == mistake.field) else {
        return false;
    };
    let mut fields = fields.iter_mut();
    let Some(field) = fields.find(|field| field.name == number.name) else {
        return false;
    };
    field.typed.wrong = Some(match number.name {
        "cool-down-max" => "must be a number from the shortest cool-down to 86400".to_owned(),
        _ => number.no_number(),
    });
    true
}

impl Number {
    fn field(&self, typed: Typed) -> NumberField {
        NumberField {
            name: self.name,
            label: self.label,
            unit: self.unit,
            means: self.means,
            range: self.range,
            of_breakers: self.field.starts_with("breakers."),
            typed,
        }
    }

    fn no_number(&self) -> String {
        let (min, max, _) = self.range;
        match self.decimals {
            0 => format!("must be a whole number from {min} to {max}"),
            1 => format!("must be a number from {min} to {max} with at most one decimal"),
            more => format!("must be a number from {min} to {max} with at most {more} decimals"),
        }
    }
}

/// A number that is typed with so many decimals at most, without them: `33.3` is 333.
fn fixed(text: &str, decimals: usize) -> Option<i64> {
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, ""));
    let has_part = whole.len() < text.len();
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || !digits(whole) || !digits(part) {
        return None;
    }
    if part.len() > decimals || (has_part && part.is_empty()) {
        return None;
    }
    format!("{whole}{part:0<decimals$}").parse().ok()
}

/// The other way, without zeros at the end: 333 is `33.3`.
fn decimal(number: i64, decimals: usize) -> String {
    let digits = format!("{number:0>width$}", width = decimals + 1);
    let (whole, part) = digits.split_at(digits.len() - decimals);
    match part.trim_end_matches('0') {
        "" => whole.to_owned(),
        part => format!("{whole}.{part}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_typed_with_decimals() {
        let one = |text| fixed(text, 1);
        assert_eq!(
            ["50", "33.3", "0,5", "100.0", "0"].map(one),
            [Some(500), Some(333), Some(5), Some(1_000), Some(0)]
        );
        assert_eq!([fixed("2", 3), fixed("0.25", 3)], [Some(2_000), Some(250)]);
        assert_eq!([fixed("7", 0), fixed("7.0", 0)], [Some(7), None]);
        for none in [
            "",
            "50.55",
            "-5",
            "+5",
            "1e1",
            "x",
            ".5",
            "5.",
            "1234567890123",
        ] {
            assert_eq!(one(none), None, "{none}");
        }
        for (number, decimals, text) in [
            (333, 1, "33.3"),
            (500, 1, "50"),
            (5, 1, "0.5"),
            (1_250, 3, "1.25"),
            (0, 3, "0"),
            (7, 0, "7"),
        ] {
            assert_eq!(decimal(number, decimals), text);
            assert_eq!(fixed(text, decimals), Some(number));
        }
    }
}
