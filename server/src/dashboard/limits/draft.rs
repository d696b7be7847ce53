//! The editor's form: read leniently, so that everything typed can come back, and then checked as
//! any other policy is, each mistake at its field.

use spillway::{Policy, policy::LAYERS_MAX};
use spillway_app::{Draft, LayerDraft, Typed};

use super::numbers;
use crate::{
    audit,
    policy::{
        Document, Mistake, Place, WrittenDimension, WrittenLayer, WrittenScope,
        words::{self, UNITS},
    },
};

/// The names and values of a form, in its order.
pub(super) type Pairs = Vec<(String, String)>;

/// A form that comes back.
pub(super) struct Form {
    pub(super) draft: Draft,
    /// Which button was pressed.
    pub(super) act: Act,
    /// Which limits were looked at in a preview.
    pub(super) tried: String,
    /// Which version is to be replaced although it was not the one that this began with.
    pub(super) over: Option<i64>,
    /// Whether that version was seen.
    pub(super) seen: bool,
}

/// What a button asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Add,
    Remove(usize),
    Preview,
    Apply,
    Overwrite,
}

/// What is written in `policy`, as a form to begin with.
pub(super) fn of(policy: &Policy, base: i64) -> Draft {
    let document = Document::from(policy);
    Draft {
        base,
        layers: document.layers.iter().map(layer_of).collect(),
        numbers: numbers::of(&document),
        ..Draft::default()
    }
}

/// An empty layer, as it is added.
pub(super) fn new_layer(scope: &str) -> LayerDraft {
    LayerDraft {
        scope: typed(scope),
        dimension: typed("rate"),
        unit: "s".to_owned(),
        ..LayerDraft::default()
    }
}

fn layer_of(layer: &WrittenLayer) -> LayerDraft {
    let window = layer.window_ms.and_then(|ms| u64::try_from(ms).ok());
    let (window, unit) = match window.map(words::in_units) {
        Some((number, unit)) => (number.to_string(), unit),
        None => (String::new(), "s"),
    };
    LayerDraft {
        scope: typed(match layer.scope {
            WrittenScope::User => "user",
            WrittenScope::Tenant => "tenant",
            WrittenScope::App => "app",
        }),
        dimension: typed(match layer.dimension {
            WrittenDimension::Rate => "rate",
            WrittenDimension::Concurrency => "concurrency",
        }),
        limit: typed(layer.limit),
        window: typed(window),
        unit: unit.to_owned(),
        wrong: None,
    }
}

pub(super) fn typed(text: impl ToString) -> Typed {
    Typed {
        text: text.to_string(),
        wrong: None,
    }
}

/// Reads a form. What it does not know it leaves out, and of layers it takes one more than there
/// can be, so that the check says what is wrong.
pub(super) fn read(pairs: &Pairs) -> Form {
    let value = |name: &str| {
        let found = pairs.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let number = |name| value(name).parse().ok();
    let layers = (0..=LAYERS_MAX).map_while(|n| read_layer(pairs, n));
    Form {
        draft: Draft {
            base: number("base").unwrap_or(0),
            layers: layers.collect(),
            numbers: numbers::read(value),
            reason: typed(value("reason")),
            wrong: Vec::new(),
        },
        act: act(value("do")),
        tried: value("tried").to_owned(),
        over: number("over"),
        seen: value("seen") == "yes",
    }
}

fn read_layer(pairs: &Pairs, n: usize) -> Option<LayerDraft> {
    let prefix = format!("layers.{n}.");
    let mut parts = pairs
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix(&prefix)?, value)))
        .peekable();
    parts.peek()?;
    let mut layer = LayerDraft::default();
    for (part, value) in parts {
        match part {
            "scope" => layer.scope = typed(value),
            "dimension" => layer.dimension = typed(value),
            "limit" => layer.limit = typed(value.trim()),
            "window" => layer.window = typed(value.trim()),
            "unit" => value.clone_into(&mut layer.unit),
            _ => {}
        }
    }
    Some(layer)
}

/// What changes nothing where it cannot be told.
fn act(text: &str) -> Act {
    match text.split_once(':') {
        Some(("remove", n)) => n.parse().map_or(Act::Preview, Act::Remove),
        _ => match text {
            "add" => Act::Add,
            "apply" => Act::Apply,
            "overwrite" => Act::Overwrite,
            _ => Act::Preview,
        },
    }
}

/// The policy that is typed; what is wrong is said at its field.
pub(super) fn check(draft: &mut Draft, place: &Place<'_>) -> Option<Policy> {
    let mut mistakes = Vec::new();
    let document = document(draft, &mut mistakes);
    let checked = document.check(place.scopes());
    let unreadable = |field: &str| mistakes.iter().any(|it: &Mistake| it.field == field);
    let (policy, more) = match checked {
        Ok(policy) => (Some(policy), Vec::new()),
        Err(more) => (None, more),
    };
    let more: Vec<_> = more
        .into_iter()
        .filter(|it| !unreadable(&it.field))
        .collect();
    mistakes.extend(more);
    let is_sound = mistakes.is_empty();
    mistakes.into_iter().for_each(|mistake| say(draft, mistake));
    policy.filter(|_| is_sound)
}

/// Why they are changed; what is wrong with it is said at its field.
pub(super) fn reason(reason: &mut Typed) -> Option<String> {
    match audit::reason(&reason.text) {
        Ok(sound) => Some(sound.to_owned()),
        Err(_) => {
            let max = audit::REASON_CHARS_MAX;
            reason.wrong = Some(format!(
                "Say why, in one line of at most {max} characters: it stands in the history."
            ));
            None
        }
    }
}

/// As programs would write it. What is no number stands as one that no field takes, and is a
/// mistake already.
fn document(draft: &Draft, mistakes: &mut Vec<Mistake>) -> Document {
    let layers = draft.layers.iter().enumerate();
    let layers = layers.map(|(n, layer)| written(layer, &format!("layers[{n}]"), mistakes));
    let layers = layers.collect();
    numbers::write(&draft.numbers, layers, mistakes)
}

fn written(layer: &LayerDraft, field: &str, mistakes: &mut Vec<Mistake>) -> WrittenLayer {
    let scope = match layer.scope.text.as_str() {
        "tenant" => WrittenScope::Tenant,
        "app" => WrittenScope::App,
        _ => WrittenScope::User,
    };
    let dimension = match layer.dimension.text.as_str() {
        "concurrency" => WrittenDimension::Concurrency,
        _ => WrittenDimension::Rate,
    };
    let limit = whole(&layer.limit.text, &format!("{field}.limit"), mistakes);
    let window_ms = match dimension {
        WrittenDimension::Concurrency => None,
        WrittenDimension::Rate => {
            let field = format!("{field}.window_ms");
            let number = whole(&layer.window.text, &field, mistakes);
            let mut units = UNITS.iter();
            let unit_ms = units.find(|(unit, _)| *unit == layer.unit);
            let unit_ms = unit_ms.map_or(1_000, |(_, ms)| ms.cast_signed());
            Some(number.saturating_mul(unit_ms))
        }
    };
    WrittenLayer {
        scope,
        dimension,
        window_ms,
        limit,
    }
}

/// A whole number; 0 with a mistake where it is none.
pub(super) fn whole(text: &str, field: &str, mistakes: &mut Vec<Mistake>) -> i64 {
    text.parse().unwrap_or_else(|_| {
        let detail = match text {
            "" => "is missing: give a whole number".to_owned(),
            _ => "is no whole number".to_owned(),
        };
        mistakes.push(Mistake {
            field: field.to_owned(),
            detail,
        });
        0
    })
}

/// Puts a mistake to the field that it is of.
fn say(draft: &mut Draft, mistake: Mistake) {
    let Mistake { field, detail } = mistake;
    let of_number = numbers::field(&mut draft.numbers, &field);
    let of_layer = field.strip_prefix("layers[").and_then(|rest| {
        let (n, part) = rest.split_once(']')?;
        let layer = draft.layers.get_mut(n.parse::<usize>().ok()?)?;
        Some(match part {
            ".scope" => &mut layer.scope.wrong,
            ".dimension" => &mut layer.dimension.wrong,
            ".limit" => &mut layer.limit.wrong,
            ".window_ms" => &mut layer.window.wrong,
            _ => &mut layer.wrong,
        })
    });
    match of_number.or(of_layer) {
        Some(wrong) => *wrong = Some(detail),
        None => draft.wrong.push(detail),
    }
}

#[cfg(test)]
mod tests;
