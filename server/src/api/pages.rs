//! Collections that are read page by page.

use http::StatusCode;
use jiff::Timestamp;
use utoipa::IntoParams;

use super::query::{bad, once, pairs, unknown};
use crate::http::Problem;

/// The most items of one page.
const ITEMS_MAX: usize = 1_000;

/// As many, where nothing is said.
const ITEMS_SHOWN: usize = 100;

/// Which part of a collection is asked for.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct Paging {
    /// `next_cursor` of the page before
    #[param(max_length = 64)]
    cursor: Option<String>,
    /// The most items; left out: 100
    #[param(minimum = 1, maximum = 1_000)]
    limit: Option<usize>,
}

/// Reads it.
///
/// # Errors
/// What cannot be understood.
pub(super) fn read(query: Option<&str>) -> Result<Paging, Problem> {
    let (mut cursor, mut limit) = (None, None);
    for pair in pairs(query.unwrap_or_default()) {
        let (name, value) = pair.map_err(bad)?;
        let read = match name.as_str() {
            "cursor" => once(&mut cursor, &name, value),
            "limit" => number(&value).and_then(|number| once(&mut limit, &name, number)),
            _ => Err(unknown(&name, "cursor, limit")),
        };
        read.map_err(bad)?;
    }
    Ok(Paging { cursor, limit })
}

fn number(value: &str) -> Result<usize, String> {
    let number = value.parse().ok();
    number
        .filter(|number| (1..=ITEMS_MAX).contains(number))
        .ok_or_else(|| format!("limit must be a whole number from 1 to {ITEMS_MAX}"))
}

impl Paging {
    /// The items of this page, and where the next one begins.
    ///
    /// # Errors
    /// The cursor's item is gone: the list is to be read anew.
    pub(super) fn of<T>(
        &self,
        all: Vec<T>,
        id: impl Fn(&T) -> &str,
    ) -> Result<(Vec<T>, Option<String>), Problem> {
        let from = match &self.cursor {
            None => 0,
            Some(cursor) => {
                let at = all.iter().position(|item| id(item) == cursor);
                1 + at.ok_or_else(gone)?
            }
        };
        let limit = self.limit.unwrap_or(ITEMS_SHOWN);
        let more = all.len() > from + limit;
        let some: Vec<_> = all.into_iter().skip(from).take(limit).collect();
        let next = some.last().filter(|_| more).map(|item| id(item).to_owned());
        Ok((some, next))
    }
}

fn gone() -> Problem {
    let title = "The query cannot be understood";
    let problem = Problem::new(StatusCode::BAD_REQUEST, "bad_query", title);
    problem.detail("nothing that this cursor names is there any more; read the list anew")
}

/// RFC 3339, of Unix milliseconds.
pub(super) fn instant(at_ms: i64) -> String {
    let at = Timestamp::from_millisecond(at_ms);
    at.map_or_else(|_| String::new(), |at| format!("{at:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_and_a_lost_place_is_said() {
        let all = || vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let page = |query: &str| read(Some(query)).unwrap().of(all(), |it| it);
        let texts = |texts: &[&str]| texts.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let first = page("limit=2").unwrap();
        assert_eq!(first, (texts(&["a", "b"]), Some("b".to_owned())));
        assert_eq!(page("limit=2&cursor=b").unwrap(), (texts(&["c"]), None));
        assert_eq!(page("").unwrap(), (texts(&["a", "b", "c"]), None));
        assert!(page("cursor=x").is_err());
        for query in [
            "limit=0",
            "limit=1001",
            "limit=x",
            "page=2",
            "limit=1&limit=2",
        ] {
            assert!(read(Some(query)).is_err(), "{query}");
        }
    }
}
