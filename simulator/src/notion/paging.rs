//! Lists in parts: `start_cursor` and `page_size`.

use axum::extract::Query;
use axum::http::Uri;
use serde::Deserialize;
use serde_json::{Value, json};

use super::errors::Error;
use super::id::Id;

/// The most entries of one part, and how many there are where nothing is said.
const SIZE_MAX: usize = 100;

/// Which part is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asked {
    cursor: Option<Id>,
    size: usize,
}

#[derive(Deserialize)]
struct Raw {
    start_cursor: Option<String>,
    page_size: Option<String>,
}

impl Asked {
    /// As the query says.
    pub(super) fn of_query(uri: &Uri) -> Result<Self, Error> {
        let raw = Query::<Raw>::try_from_uri(uri);
        let Query(raw) = raw.map_err(|_| Error::invalid("query failed validation."))?;
        let size = raw.page_size.map(|text| text.parse().ok());
        Self::new(raw.start_cursor.as_deref(), size)
    }

    /// As the body says.
    pub(super) fn of_body(body: &Value) -> Result<Self, Error> {
        let size = body.get("page_size").map(Value::as_u64);
        Self::new(body["start_cursor"].as_str(), size)
    }

    fn new(cursor: Option<&str>, size: Option<Option<u64>>) -> Result<Self, Error> {
        let cursor = cursor.map(|text| Id::parse(text).ok_or_else(|| no_cursor(text)));
        let size = match size {
            None => SIZE_MAX,
            Some(Some(size @ 1..=100)) => size as usize,
            Some(_) => {
                let message = "page_size failed validation: it should be from 1 to 100.";
                return Err(Error::invalid(message));
            }
        };
        Ok(Self {
            cursor: cursor.transpose()?,
            size,
        })
    }

    /// That part of a list, each entry rendered. The cursor is the id of the next entry, so that
    /// what is put in before it moves nothing.
    pub(super) fn list(
        &self,
        kind: &str,
        ids: &[Id],
        render: impl Fn(Id) -> Option<Value>,
    ) -> Result<Value, Error> {
        let from = match self.cursor {
            None => 0,
            Some(cursor) => {
                let place = ids.iter().position(|id| *id == cursor);
                place.ok_or_else(|| no_cursor(&cursor.to_string()))?
            }
        };
        let part = ids.iter().skip(from).take(self.size);
        let next = ids.get(from + self.size);
        Ok(json!({
            "object": "list",
            "results": part.filter_map(|id| render(*id)).collect::<Vec<Value>>(),
            "next_cursor": next,
            "has_more": next.is_some(),
            "type": kind,
            kind: {},
        }))
    }
}

fn no_cursor(given: &str) -> Error {
    let given: String = given.chars().take(100).collect();
    Error::invalid(&format!("The start_cursor provided is invalid: {given}"))
}
