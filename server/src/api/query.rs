//! Query strings, read strictly: what is not understood is said, not ignored.

use std::borrow::Cow;

use http::StatusCode;
use percent_encoding::percent_decode_str;

use crate::http::Problem;

/// The longest part of an unknown parameter's name that is repeated.
const NAME_CHARS_MAX: usize = 64;

/// Names and values as they were meant, where forms write `+` for a space.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), String>> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        Ok((decoded(name)?, decoded(value)?))
    })
}

/// Keeps a value that may be given once.
pub(super) fn once<T>(place: &mut Option<T>, name: &str, value: T) -> Result<(), String> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(format!("{name} is given twice")),
    }
}

/// What is said of a parameter that there is not.
pub(super) fn unknown(name: &str, known: &str) -> String {
    let name: String = name.chars().take(NAME_CHARS_MAX).collect();
    format!("there is no parameter \"{name}\"; known: {known}")
}

/// The answer to a query that cannot be understood.
pub(super) fn bad(detail: String) -> Problem {
    let title = "The query cannot be understood";
    Problem::new(StatusCode::BAD_REQUEST, "bad_query", title).detail(detail)
}

fn decoded(text: &str) -> Result<String, String> {
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8().map(Cow::into_owned);
    decoded.map_err(|_| "the query must be UTF-8".to_owned())
}
