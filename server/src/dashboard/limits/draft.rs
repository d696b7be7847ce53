//! The editor's form: read leniently, so that everything typed can come back, and then checked as
//! any other policy is, each mistake at its field.

use spillway::{
    Policy,
    policy::{LAYERS_MAX, OVERRIDES_MAX},
};
use spillway_app::{Draft, LayerDraft, OwnDraft, Typed};

use super::numbers;
use crate::{
    audit,
    policy::{
        Document, Mistake, Place, WrittenBreakers, WrittenDimension, WrittenLayer, WrittenOverride,
        WrittenOwnLimit, WrittenScope,
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
    OwnAdd,
    OwnRemove(usize),
    OwnLimitAdd(usize),
    OwnLimitRemove(usize, usize),
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
        own: document.overrides.iter().map(own_of).collect(),
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

/// An override as it is added.
pub(super) fn new_own(scope: &str) -> OwnDraft {
    OwnDraft {
        scope: typed(scope),
        limits: vec![new_layer(scope)],
        ..OwnDraft::default()
    }
}

/// A layer in force, as it is typed.
pub(super) fn typed_layer(layer: &spillway::Layer) -> LayerDraft {
    layer_of(&WrittenLayer::from(layer))
}

fn own_of(own: &WrittenOverride) -> OwnDraft {
    let limits = own.limits.iter().map(|limit| {
        layer_of(&WrittenLayer {
            scope: own.scope,
            dimension: limit.dimension,
            window_ms: limit.window_ms,
            limit: limit.limit,
            shadow: false,
        })
    });
    OwnDraft {
        scope: typed(scope_name(own.scope)),
        app: typed(&own.app),
        tenant: typed(&own.tenant),
        user: typed(&own.user),
        limits: limits.collect(),
        wrong: None,
    }
}

const fn scope_name(scope: WrittenScope) -> &'static str {
    match scope {
        WrittenScope::User => "user",
        WrittenScope::Tenant => "tenant",
        WrittenScope::App => "app",
    }
}

fn layer_of(layer: &WrittenLayer) -> LayerDraft {
    let window = layer.window_ms.and_then(|ms| u64::try_from(ms).ok());
    let (window, unit) = match window.map(words::in_units) {
        Some((number, unit)) => (number.to_string(), unit),
        None => (String::new(), "s"),
    };
    LayerDraft {
        scope: typed(scope_name(layer.scope)),
        dimension: typed(match layer.dimension {
            WrittenDimension::Rate => "rate",
            WrittenDimension::Concurrency => "concurrency",
        }),
        limit: typed(layer.limit),
        window: typed(window),
        unit: unit.to_owned(),
        shadow: layer.shadow,
        counted: None,
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
    let layers = (0..=LAYERS_MAX).map_while(|n| read_layer(pairs, &format!("layers.{n}.")));
    let own = (0..=OVERRIDES_MAX).map_while(|n| read_own(pairs, n));
    Form {
        draft: Draft {
            base: number("base").unwrap_or(0),
            layers: layers.collect(),
            numbers: numbers::read(value),
            own: own.collect(),
            reason: typed(value("reason")),
            wrong: Vec::new(),
        },
        act: act(value("do")),
        tried: value("tried").to_owned(),
        over: number("over"),
        seen: value("seen") == "yes",
    }
}

/// The fields that begin so; `None`: there are none.
fn fields<'a>(pairs: &'a Pairs, prefix: &str) -> Option<Vec<(&'a str, &'a str)>> {
    let fields = pairs.iter();
    let fields = fields.filter_map(|(name, value)| Some((name.strip_prefix(prefix)?, &**value)));
    let fields: Vec<_> = fields.collect();
    (!fields.is_empty()).then_some(fields)
}

fn read_layer(pairs: &Pairs, prefix: &str) -> Option<LayerDraft> {
    let mut layer = LayerDraft::default();
    for (part, value) in fields(pairs, prefix)? {
        match part {
            "scope" => layer.scope = typed(value),
            "dimension" => layer.dimension = typed(value),
            "limit" => layer.limit = typed(value.trim()),
            "window" => layer.window = typed(value.trim()),
            "unit" => value.clone_into(&mut layer.unit),
            "shadow" => layer.shadow = value == "yes",
            _ => {}
        }
    }
    Some(layer)
}

fn read_own(pairs: &Pairs, n: usize) -> Option<OwnDraft> {
    let prefix = format!("overrides.{n}.");
    let mut own = OwnDraft::default();
    for (part, value) in fields(pairs, &prefix)? {
        match part {
            "scope" => own.scope = typed(value),
            "app" => own.app = typed(value),
            "tenant" => own.tenant = typed(value),
            "user" => own.user = typed(value),
            _ => {}
        }
    }
    let limits = (0..=LAYERS_MAX).map_while(|m| read_layer(pairs, &format!("{prefix}limits.{m}.")));
    own.limits = limits.collect();
    Some(own)
}

/// What changes nothing where it cannot be told.
fn act(text: &str) -> Act {
    let (word, rest) = text.split_once(':').unwrap_or((text, ""));
    let n = rest.parse();
    let act = match (word, rest.split_once(':')) {
        ("add", None) if rest.is_empty() => Some(Act::Add),
        ("apply", None) if rest.is_empty() => Some(Act::Apply),
        ("overwrite", None) if rest.is_empty() => Some(Act::Overwrite),
        ("own-add", None) if rest.is_empty() => Some(Act::OwnAdd),
        ("remove", None) => n.ok().map(Act::Remove),
        ("own-remove", None) => n.ok().map(Act::OwnRemove),
        ("own-limit-add", None) => n.ok().map(Act::OwnLimitAdd),
        ("own-limit-remove", Some((n, m))) => {
            let both = n.parse().ok().zip(m.parse().ok());
            both.map(|(n, m)| Act::OwnLimitRemove(n, m))
        }
        _ => None,
    };
    act.unwrap_or(Act::Preview)
}

/// Adds or takes away what a button says; false: it says something else.
pub(super) fn reshape(draft: &mut Draft, act: Act, scope: &str) -> bool {
    match act {
        Act::Add => draft.layers.push(new_layer(scope)),
        Act::Remove(n) => take(&mut draft.layers, n),
        Act::OwnAdd => draft.own.push(new_own(scope)),
        Act::OwnRemove(n) => take(&mut draft.own, n),
        Act::OwnLimitAdd(n) => {
            if let Some(own) = draft.own.get_mut(n) {
                own.limits.push(new_layer(scope));
            }
        }
        Act::OwnLimitRemove(n, m) => {
            if let Some(own) = draft.own.get_mut(n) {
                take(&mut own.limits, m);
            }
        }
        Act::Preview | Act::Apply | Act::Overwrite => return false,
    }
    true
}

fn take<T>(from: &mut Vec<T>, n: usize) {
    if n < from.len() {
        from.remove(n);
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
    let own = draft.own.iter().enumerate();
    let own = own.map(|(n, own)| written_own(own, &format!("overrides[{n}]"), mistakes));
    let mut document = Document {
        layers,
        overrides: own.collect(),
        background_share_permille: 0,
        breakers: WrittenBreakers::default(),
    };
    numbers::write(&draft.numbers, &mut document, mistakes);
    document
}

fn scope(text: &str) -> WrittenScope {
    match text {
        "tenant" => WrittenScope::Tenant,
        "app" => WrittenScope::App,
        _ => WrittenScope::User,
    }
}

fn written(layer: &LayerDraft, field: &str, mistakes: &mut Vec<Mistake>) -> WrittenLayer {
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
        scope: scope(&layer.scope.text),
        dimension,
        window_ms,
        limit,
        shadow: layer.shadow,
    }
}

fn written_own(own: &OwnDraft, field: &str, mistakes: &mut Vec<Mistake>) -> WrittenOverride {
    let limits = own.limits.iter().enumerate().map(|(n, limit)| {
        let limit = written(limit, &format!("{field}.limits[{n}]"), mistakes);
        WrittenOwnLimit {
            dimension: limit.dimension,
            window_ms: limit.window_ms,
            limit: limit.limit,
        }
    });
    WrittenOverride {
        scope: scope(&own.scope.text),
        limits: limits.collect(),
        app: own.app.text.clone(),
        tenant: own.tenant.text.clone(),
        user: own.user.text.clone(),
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
    if numbers::said(&mut draft.numbers, &mistake) {
        return;
    }
    let Mistake { field, detail } = mistake;
    let of_layer = of_layer(&mut draft.layers, "layers", &field);
    match of_layer.or_else(|| of_own(&mut draft.own, &field)) {
        Some(wrong) => *wrong = Some(detail),
        None => draft.wrong.push(detail),
    }
}

fn of_layer<'a>(
    layers: &'a mut [LayerDraft],
    list: &str,
    field: &str,
) -> Option<&'a mut Option<String>> {
    let (n, part) = nth(list, field)?;
    let layer = layers.get_mut(n)?;
    Some(match part {
        ".scope" => &mut layer.scope.wrong,
        ".dimension" => &mut layer.dimension.wrong,
        ".limit" => &mut layer.limit.wrong,
        ".window_ms" => &mut layer.window.wrong,
        _ => &mut layer.wrong,
    })
}

fn of_own<'a>(own: &'a mut [OwnDraft], field: &str) -> Option<&'a mut Option<String>> {
    let (n, part) = nth("overrides", field)?;
    let own = own.get_mut(n)?;
    Some(match part {
        ".scope" => &mut own.scope.wrong,
        ".app" => &mut own.app.wrong,
        ".tenant" => &mut own.tenant.wrong,
        ".user" => &mut own.user.wrong,
        _ => match nth(".limits", part) {
            Some(_) => of_layer(&mut own.limits, ".limits", part)?,
            None => &mut own.wrong,
        },
    })
}

/// `list[3].limit` as 3 and `.limit`.
fn nth<'a>(list: &str, field: &'a str) -> Option<(usize, &'a str)> {
    let rest = field.strip_prefix(list)?.strip_prefix('[')?;
    let (n, part) = rest.split_once(']')?;
    Some((n.parse().ok()?, part))
}

#[cfg(test)]
mod tests;
