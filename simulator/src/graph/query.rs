//! OData query options: `$top`, `$skip`, `$select`, `$count`, `$orderby` and OneNote's
//! `pagelevel`. Others that begin with `$` are refused rather than ignored; custom ones are
//! ignored, as OData says.

use axum::http::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::errors::GraphError;

/// The most entries in one answer (error 20129 beyond).
pub(super) const TOP_MAX: usize = 100;
/// Pages in one answer where `$top` says nothing.
pub(super) const PAGES_TOP: usize = 20;
/// The most options in one request.
const OPTIONS_MAX: usize = 50;

/// What stands unescaped in a query value here.
const VALUE: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'$')
    .remove(b',')
    .remove(b'/');

/// The options of one request.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Query {
    top: Option<usize>,
    skip: usize,
    select: Option<Vec<String>>,
    pub(super) order_by: Option<OrderBy>,
    pub(super) count: bool,
    /// Whether pages are to tell their level and order.
    pub(super) page_level: bool,
    /// All options but `$skip`, decoded, for the link to the next part.
    kept: Vec<(String, String)>,
}

/// How to sort.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OrderBy {
    pub(super) property: String,
    pub(super) descending: bool,
}

/// One part of a list.
#[derive(Debug)]
pub(super) struct Part<T> {
    pub(super) items: Vec<T>,
    /// How many there are in all.
    pub(super) total: usize,
    /// Path and query of the next part, if there is one.
    pub(super) next: Option<String>,
}

impl Query {
    /// Reads the options of a request.
    pub(super) fn parse(uri: &Uri) -> Result<Self, GraphError> {
        let pairs = axum::extract::Query::<Vec<(String, String)>>::try_from_uri(uri)
            .map_err(|_| GraphError::query("The query string is malformed."))?;
        if pairs.0.len() > OPTIONS_MAX {
            return Err(GraphError::query("Too many query options."));
        }
        let mut query = Self::default();
        for (name, value) in pairs.0 {
            query.set(&name, &value)?;
            if name != "$skip" {
                query.kept.push((name, value));
            }
        }
        Ok(query)
    }

    /// The part of the list that is asked for, `default_top` entries where nothing is said.
    pub(super) fn part<T>(&self, items: Vec<T>, path: &str, default_top: usize) -> Part<T> {
        let top = self.top.unwrap_or(default_top);
        let total = items.len();
        let end = self.skip.saturating_add(top);
        // Some clients report that `$top` turns the link off. The documentation does not say so,
        // and a client that pages by `$skip` alone is served as well.
        let next = (end < total).then(|| self.next(path, end));
        Part {
            items: items.into_iter().skip(self.skip).take(top).collect(),
            total,
            next,
        }
    }

    /// Leaves only the selected properties of an entity, and its `@odata` ones.
    pub(super) fn narrow(&self, mut entity: Value) -> Value {
        if let (Some(select), Some(object)) = (&self.select, entity.as_object_mut()) {
            object.retain(|name, _| name.starts_with("@odata") || select.iter().any(|s| s == name));
        }
        entity
    }

    fn next(&self, path: &str, skip: usize) -> String {
        let kept = self.kept.iter().map(|(name, value)| {
            let [name, value] = [name, value].map(|text| utf8_percent_encode(text, VALUE));
            format!("{name}={value}&")
        });
        format!("{path}?{}$skip={skip}", kept.collect::<String>())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), GraphError> {
        match name {
            "$top" => self.top = Some(top(value)?),
            "$skip" => self.skip = number(name, value)?,
            "$select" => self.select = Some(list(value)),
            "$orderby" => self.order_by = Some(order_by(value)?),
            "$count" => self.count = boolean(name, value)?,
            "pagelevel" => self.page_level = boolean(name, value)?,
            other if other.starts_with('$') => {
                let message = format!("The query option '{other}' is not supported here.");
                return Err(GraphError::query(&message));
            }
            _ => {}
        }
        Ok(())
    }
}

fn top(value: &str) -> Result<usize, GraphError> {
    match number("$top", value)? {
        0 => Err(invalid("$top", value)),
        top if top > TOP_MAX => Err(GraphError::top()),
        top => Ok(top),
    }
}

fn number(name: &str, value: &str) -> Result<usize, GraphError> {
    value.parse().map_err(|_| invalid(name, value))
}

fn boolean(name: &str, value: &str) -> Result<bool, GraphError> {
    value
        .to_ascii_lowercase()
        .parse()
        .map_err(|_| invalid(name, value))
}

fn list(value: &str) -> Vec<String> {
    value
        .split(',')
        .map(|name| name.trim().to_owned())
        .collect()
}

fn order_by(value: &str) -> Result<OrderBy, GraphError> {
    let (property, descending) = match value.split_whitespace().collect::<Vec<_>>().as_slice() {
        [property] | [property, "asc"] => (*property, false),
        [property, "desc"] => (*property, true),
        _ => return Err(invalid("$orderby", value)),
    };
    Ok(OrderBy {
        property: property.to_owned(),
        descending,
    })
}

fn invalid(name: &str, value: &str) -> GraphError {
    let value: String = value.chars().take(100).collect();
    GraphError::query(&format!(
        "The value '{value}' of the query option '{name}' is invalid."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Query, GraphError> {
        Query::parse(&format!("/x?{query}").parse().unwrap())
    }

    #[test]
    fn a_list_comes_in_parts_that_link_to_the_next() {
        let query = parse("%24top=40&$skip=80&$select=id,title&a=b%20c").unwrap();
        let part = query.part((0..150).collect(), "/v1.0/me", 20);
        assert_eq!((part.items, part.total), ((80..120).collect(), 150));
        let next = part.next.unwrap();
        assert_eq!(next, "/v1.0/me?$top=40&$select=id,title&a=b%20c&$skip=120");
        let rest = Query::parse(&next.parse().unwrap()).unwrap();
        let last = rest.part((0..150).collect(), "/v1.0/me", 20);
        assert_eq!((last.items, last.next), ((120..150).collect(), None));
    }

    #[test]
    fn a_skip_beyond_the_end_is_empty() {
        let part = parse("$skip=18446744073709551615")
            .unwrap()
            .part(vec![1], "/x", 20);
        assert_eq!((part.items.len(), part.next), (0, None));
    }

    #[test]
    fn bad_options_are_refused() {
        assert_eq!(parse("$top=101"), Err(GraphError::top()));
        assert_eq!(parse("$top=100").unwrap().top, Some(100));
        for bad in [
            "$top=0",
            "$top=-1",
            "$top=x",
            "$skip=1.5",
            "$count=maybe",
            "$filter=a",
            "$orderby=a+b+c",
        ] {
            let message = format!("{:?}", parse(bad).unwrap_err());
            assert!(
                message.contains("10017") && message.contains(&bad[..4]),
                "{bad}: {message}"
            );
        }
    }
}
