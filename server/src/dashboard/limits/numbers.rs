//! What of a policy is a number beside its layers: as fields of the editor's form.

use spillway_app::{NumberField, Typed};

use super::draft::typed;
use crate::policy::{Document, Mistake, WrittenLayer, words};

const SHARE: &str = "share";

/// The fields, as `document` has them.
pub(super) fn of(document: &Document) -> Vec<NumberField> {
    let share = u16::try_from(document.background_share_permille).unwrap_or(u16::MAX);
    vec![share_field(typed(words::decimal(share)))]
}

/// The fields as they were typed.
pub(super) fn read<'a>(value: impl Fn(&str) -> &'a str) -> Vec<NumberField> {
    vec![share_field(typed(value(SHARE).trim()))]
}

fn share_field(typed: Typed) -> NumberField {
    NumberField {
        name: SHARE,
        label: "Background may use",
        unit: "% of each limit",
        means: "The rest is kept for the foreground, which may use all that is free.",
        range: ("0.1", "100", "0.1"),
        typed,
    }
}

/// The document of these and of the layers.
pub(super) fn write(
    numbers: &[NumberField],
    layers: Vec<WrittenLayer>,
    mistakes: &mut Vec<Mistake>,
) -> Document {
    let text = |name: &str| {
        let found = numbers.iter().find(|field| field.name == name);
        found.map_or("", |field| field.typed.text.as_str())
    };
    let share = permille(text(SHARE)).unwrap_or_else(|| {
        mistakes.push(Mistake {
            field: "background_share_permille".to_owned(),
            detail: "is no number from 0.1 to 100 with at most one decimal".to_owned(),
        });
        0
    });
    Document {
        background_share_permille: share,
        layers,
    }
}

/// `33.3` as 333; `None`: it is no such number.
fn permille(percent: &str) -> Option<i64> {
    let (whole, tenth) = percent.split_once(['.', ',']).unwrap_or((percent, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || whole.len() > 3 || !digits(tenth) || tenth.len() > 1 {
        return None;
    }
    let permille = whole.parse::<i64>().ok()? * 10 + tenth.parse::<i64>().ok()?;
    (1..=1_000).contains(&permille).then_some(permille)
}

/// Where a mistake of this field of a document is said.
pub(super) fn field<'a>(
    numbers: &'a mut [NumberField],
    field: &str,
) -> Option<&'a mut Option<String>> {
    let name = match field {
        "background_share_permille" => SHARE,
        _ => return None,
    };
    let mut numbers = numbers.iter_mut();
    let found = numbers.find(|it| it.name == name)?;
    Some(&mut found.typed.wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_typed_in_per_cent() {
        assert_eq!(
            ["50", "33.3", "0,5", "100", "100.0"].map(permille),
            [Some(500), Some(333), Some(5), Some(1_000), Some(1_000)]
        );
        for none in [
            "", "0", "0.0", "100.1", "50.55", "-5", "+5", "1e1", "x", ".5", "5.",
        ] {
            assert_eq!(permille(none), None, "{none}");
        }
    }
}
