//! Rich text: what a request may hold, and how an answer shows it.
//!
//! Limits: developers.notion.com/reference/request-limits, "Size limits".

use serde_json::{Map, Value, json};

use super::errors::Error;

/// The most elements of any array in a request.
pub(super) const ARRAY_MAX: usize = 100;
/// The most characters of a text, and of a URL.
const TEXT_MAX: usize = 2000;
pub(super) const URL_MAX: usize = 2000;
/// The most characters of an equation.
const EQUATION_MAX: usize = 1000;

/// Checks an array of rich text; `at` says where it stands.
pub(super) fn check(value: &Value, at: &str) -> Result<(), Error> {
    let items = array(value, at)?;
    let mut each = items.iter().enumerate();
    each.try_for_each(|(n, item)| check_item(item, &format!("{at}[{n}]")))
}

/// An array that is not too long.
pub(super) fn array<'a>(value: &'a Value, at: &str) -> Result<&'a Vec<Value>, Error> {
    let Some(items) = value.as_array() else {
        return Err(Error::body(at, "should be an array"));
    };
    match items.len() > ARRAY_MAX {
        true => Err(Error::length(at, ARRAY_MAX, items.len())),
        false => Ok(items),
    }
}

/// A string that is not too long, in characters.
pub(super) fn text<'a>(value: &'a Value, at: &str, most: usize) -> Result<&'a str, Error> {
    let Some(text) = value.as_str() else {
        return Err(Error::body(at, "should be a string"));
    };
    match text.chars().count() {
        length if length > most => Err(Error::length(at, most, length)),
        _ => Ok(text),
    }
}

fn check_item(item: &Value, at: &str) -> Result<(), Error> {
    match kind(item) {
        "text" => {
            text(
                &item["text"]["content"],
                &format!("{at}.text.content"),
                TEXT_MAX,
            )?;
            match &item["text"]["link"] {
                Value::Null => Ok(()),
                link => text(&link["url"], &format!("{at}.text.link.url"), URL_MAX).map(|_| ()),
            }
        }
        "equation" => {
            let at = format!("{at}.equation.expression");
            text(&item["equation"]["expression"], &at, EQUATION_MAX).map(|_| ())
        }
        "mention" => Ok(()),
        _ => Err(Error::body(
            at,
            "should have text, mention or equation defined",
        )),
    }
}

/// The kind of an item, which may only show by what it has.
fn kind(item: &Value) -> &str {
    let named = item["type"].as_str();
    named.unwrap_or_else(|| {
        let known = ["text", "mention", "equation"];
        let has = known.into_iter().find(|kind| item.get(kind).is_some());
        has.unwrap_or("")
    })
}

/// As an answer shows it, with everything that a request may leave out.
pub(super) fn shown(value: &Value) -> Value {
    let items = value.as_array().into_iter().flatten();
    items.map(shown_item).collect()
}

/// The plain text of it all.
pub(super) fn plain(value: &Value) -> String {
    let items = value.as_array().into_iter().flatten();
    items.map(plain_item).collect()
}

fn shown_item(item: &Value) -> Value {
    let kind = kind(item);
    let mut annotations = json!({
        "bold": false,
        "italic": false,
        "strikethrough": false,
        "underline": false,
        "code": false,
        "color": "default",
    });
    if let (Some(all), Some(given)) = (annotations.as_object_mut(), item["annotations"].as_object())
    {
        all.extend(given.clone());
    }
    let mut content = item[kind].clone();
    if kind == "text" && content.get("link").is_none() {
        content["link"] = Value::Null;
    }
    let href = item["text"]["link"]["url"].clone();
    let mut shown = Map::new();
    shown.insert("type".to_owned(), kind.into());
    shown.insert(kind.to_owned(), content);
    shown.insert("annotations".to_owned(), annotations);
    shown.insert("plain_text".to_owned(), plain_item(item).into());
    shown.insert("href".to_owned(), href);
    shown.into()
}

fn plain_item(item: &Value) -> String {
    let text = item["text"]["content"].as_str();
    let equation = item["equation"]["expression"].as_str();
    text.or(equation).unwrap_or("").to_owned()
}
