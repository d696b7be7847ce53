//! Query strings, read strictly: what is not understood is said, not ignored.

use std::{borrow::Cow, collections::HashMap, sync::LazyLock};

use axum::extract::Request;
use http::{Method, StatusCode};
use percent_encoding::percent_decode_str;

use super::openapi;
use crate::http::Problem;

/// The longest part of an unknown parameter's name that is repeated.
const NAME_CHARS_MAX: usize = 64;

/// An operation's method, and what it can be asked by query.
type Asked = (Method, Vec<String>);

/// The operations of the document, by their route.
static DOCUMENTED: LazyLock<HashMap<String, Vec<Asked>>> = LazyLock::new(|| {
    let mut routes: HashMap<_, Vec<_>> = HashMap::new();
    for (route, method, names) in openapi::query_parameters() {
        routes.entry(route).or_default().push((method, names));
    }
    routes
});

/// Why the query of a request for `route` is refused: it names something that the route's
/// document does not. What the values mean is the handlers' to say.
pub(super) fn refusal(route: &str, request: &Request) -> Option<Problem> {
    let query = request.uri().query().filter(|query| !query.is_empty())?;
    // HEAD is asked what GET is. Other methods without a document are refused as such.
    let method = match *request.method() {
        Method::HEAD => &Method::GET,
        ref method => method,
    };
    let mut operations = DOCUMENTED.get(route)?.iter();
    let (_, known) = operations.find(|(documented, _)| documented == method)?;
    only(query, known).err().map(bad)
}

fn only(query: &str, known: &[String]) -> Result<(), String> {
    for pair in pairs(query) {
        let (name, _) = pair?;
        if !known.contains(&name) {
            return Err(unknown(&name, &known.join(", ")));
        }
    }
    Ok(())
}

/// Names and values as they were meant, where forms write `+` for a space.
pub(crate) fn pairs(query: &str) -> impl Iterator<Item = Result<(String, String), String>> {
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
    if known.is_empty() {
        return format!("there is no parameter \"{name}\": this takes none");
    }
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
