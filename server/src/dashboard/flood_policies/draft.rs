//! A policy as it is typed, and what is made of it.

use spillway_app::{FLOOD_PRESETS, FloodDraft, FloodListDraft, Typed};

use crate::floods::{Checked, FloodDocument, ListDocument};

/// The most lists of a form.
const LISTS_MAX: usize = 1_000;

/// The names of the numbers in the form and in the document.
const NUMBERS: [&str; 3] = ["per_minute", "strikes_per_day", "grace"];

/// Which button was pressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Act {
    Preview,
    Apply,
    Overwrite,
    /// One more list.
    Add,
    /// Without this list.
    Remove(usize),
    /// With these numbers for all lists.
    Preset([u32; 3]),
}

/// What the form holds.
#[derive(Clone, Debug)]
pub(super) struct Form {
    pub(super) draft: FloodDraft,
    pub(super) act: Act,
    /// What was tried.
    pub(super) tried: String,
    /// The version that is to be replaced, and whether it was seen.
    pub(super) over: Option<i64>,
    pub(super) seen: bool,
}

/// Reads a form's names and values.
pub(super) fn read(pairs: Vec<(String, String)>) -> Form {
    let mut form = Form {
        draft: FloodDraft::default(),
        act: Act::Preview,
        tried: String::new(),
        over: None,
        seen: false,
    };
    for (name, value) in pairs {
        let value = value.trim().to_owned();
        match name.as_str() {
            "base" => form.draft.base = value.parse().unwrap_or(0),
            "tried" => form.tried = value,
            "over" => form.over = value.parse().ok(),
            "seen" => form.seen = value == "yes",
            "do" => form.act = act(&value),
            "reason" => {
                form.draft.reason = Typed {
                    text: value,
                    wrong: None,
                }
            }
            _ => number_or_list(&mut form.draft, &name, value),
        }
    }
    form
}

fn act(word: &str) -> Act {
    let removed = word.strip_prefix("remove-").and_then(|n| n.parse().ok());
    let preset = word.strip_prefix("preset-");
    let mut presets = FLOOD_PRESETS.iter();
    let preset = preset.and_then(|word| presets.find(|(name, _)| *name == word));
    match (word, removed, preset) {
        (_, Some(n), _) => Act::Remove(n),
        (.., Some((_, numbers))) => Act::Preset(*numbers),
        ("apply", ..) => Act::Apply,
        ("overwrite", ..) => Act::Overwrite,
        ("add", ..) => Act::Add,
        _ => Act::Preview,
    }
}

/// `per_minute`, or `list-3-grace`.
fn number_or_list(draft: &mut FloodDraft, name: &str, value: String) {
    if let Some(at) = NUMBERS.iter().position(|it| *it == name) {
        draft.numbers[at] = value;
        return;
    }
    let of_list = name.strip_prefix("list-").and_then(|it| it.split_once('-'));
    let Some((n, field)) = of_list else { return };
    let Some(n) = n.parse().ok().filter(|n: &usize| *n < LISTS_MAX) else {
        return;
    };
    if draft.lists.len() <= n {
        draft.lists.resize(n + 1, FloodListDraft::default());
    }
    let Some(list) = draft.lists.get_mut(n) else {
        return;
    };
    match (field, NUMBERS.iter().position(|it| *it == field)) {
        ("site", _) => list.site = value,
        ("list", _) => list.list = value,
        (_, Some(at)) => list.numbers[at] = value,
        _ => {}
    }
}

/// Does to the form what its button says; whether that was all.
pub(super) fn reshape(form: &mut Form) -> bool {
    let draft = &mut form.draft;
    match form.act {
        Act::Add if draft.lists.len() < LISTS_MAX => draft.lists.push(FloodListDraft {
            numbers: draft.numbers.clone(),
            ..FloodListDraft::default()
        }),
        Act::Add => {}
        Act::Remove(n) if n < draft.lists.len() => drop(draft.lists.remove(n)),
        Act::Remove(_) => {}
        Act::Preset(numbers) => draft.numbers = numbers.map(|it| it.to_string()),
        Act::Preview | Act::Apply | Act::Overwrite => return false,
    }
    true
}

/// The policy that is typed.
///
/// # Errors
/// What is wrong, with its place.
pub(super) fn check(draft: &FloodDraft) -> Result<(FloodDocument, Checked), String> {
    let [per_minute, strikes_per_day, grace] = numbers("", &draft.numbers)?;
    let lists = draft.lists.iter().enumerate().map(|(n, list)| {
        let [per_minute, strikes_per_day, grace] =
            numbers(&format!("List {}: ", n + 1), &list.numbers)?;
        Ok(ListDocument {
            site: list.site.clone(),
            list: list.list.clone(),
            per_minute,
            strikes_per_day,
            grace,
        })
    });
    let document = FloodDocument {
        per_minute,
        strikes_per_day,
        grace,
        lists: lists.collect::<Result<_, String>>()?,
    };
    let checked = document.check()?;
    Ok((document, checked))
}

fn numbers(place: &str, typed: &[String; 3]) -> Result<[u32; 3], String> {
    let mut numbers = [0; 3];
    for ((number, text), name) in numbers.iter_mut().zip(typed).zip(NUMBERS) {
        *number = text.parse().map_err(|_| {
            format!("{place}{name} must be a whole number, not \u{201c}{text}\u{201d}")
        })?;
    }
    Ok(numbers)
}

/// A policy as it is edited.
pub(super) fn of(document: &FloodDocument, base: i64) -> FloodDraft {
    let text = |numbers: [u32; 3]| numbers.map(|it| it.to_string());
    let lists = document.lists.iter().map(|it| FloodListDraft {
        site: it.site.clone(),
        list: it.list.clone(),
        numbers: text([it.per_minute, it.strikes_per_day, it.grace]),
    });
    FloodDraft {
        base,
        numbers: text([
            document.per_minute,
            document.strikes_per_day,
            document.grace,
        ]),
        lists: lists.collect(),
        ..FloodDraft::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(pairs: &[(&str, &str)]) -> Form {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        read(pairs.iter().map(own).collect())
    }

    const TYPED: [(&str, &str); 8] = [
        ("per_minute", "100"),
        ("strikes_per_day", " 20 "),
        ("grace", "3"),
        ("list-0-site", "s1"),
        ("list-0-list", "l1"),
        ("list-0-per_minute", "500"),
        ("list-0-strikes_per_day", "20"),
        ("list-0-grace", "0"),
    ];

    #[test]
    fn what_is_typed_is_the_document_and_back() {
        let read = form(&TYPED).draft;
        let (document, _) = check(&read).unwrap();
        assert_eq!(
            (document.per_minute, document.lists[0].per_minute),
            (100, 500)
        );
        let again = of(&document, 7);
        assert_eq!((again.base, &again.lists), (7, &read.lists));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let with = |name: &str, value: &str| {
            let mut pairs = TYPED.to_vec();
            pairs.push((name, value));
            check(&form(&pairs).draft).unwrap_err()
        };
        assert!(with("grace", "x").contains("grace must be a whole number"));
        assert!(with("list-0-grace", "-1").starts_with("List 1: grace must be"));
        assert!(with("list-0-site", "").starts_with("lists[0]"));
        assert!(with("per_minute", "0").starts_with("per_minute is 0"));
    }

    #[test]
    fn buttons_change_the_form_alone() {
        let pressed = |word: &str| {
            let mut pairs = TYPED.to_vec();
            pairs.push(("do", word));
            let mut form = form(&pairs);
            (reshape(&mut form), form.draft)
        };
        let (changed, draft) = pressed("add");
        assert!(changed && draft.lists.len() == 2);
        assert_eq!(draft.lists[1].numbers, ["100", "20", "3"]);
        assert_eq!(pressed("remove-0").1.lists.len(), 0);
        assert_eq!(pressed("remove-9").1.lists.len(), 1);
        assert_eq!(pressed("preset-30/10/0").1.numbers, ["30", "10", "0"]);
        assert!(!pressed("apply").0 && !pressed("anything").0);
    }

    #[test]
    fn a_form_holds_so_many_lists() {
        assert!(form(&[("list-1000-site", "s")]).draft.lists.is_empty());
        assert!(
            form(&[("list-x-site", "s"), ("list-", "s")])
                .draft
                .lists
                .is_empty()
        );
    }
}
