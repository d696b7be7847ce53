//! What Notion refuses, as its reference says: a judge of requests that knows nothing of what makes them.
//!
//! Sources: developers.notion.com/reference/request-limits (sizes), /patch-block-children and /post-page (nesting),
//! /block (what each type has), /rich-text. Where these leave open how a limit is counted, it is counted so that more
//! is refused: characters in UTF-16.

mod block;
mod text;

use std::fmt;

use serde_json::{Map, Value};

/// Bytes of a request's body.
pub const BODY_BYTES_MAX: usize = 500_000;
/// Blocks in a request.
pub const BLOCKS_MAX: usize = 1_000;
/// Items in an array of blocks, runs or cells.
pub const ARRAY_MAX: usize = 100;
/// Levels of blocks below those of the request itself.
pub const LEVELS_MAX: usize = 2;

/// What Notion would not take, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// As `children[3].paragraph.rich_text[0].text.content`.
    pub place: String,
    /// A sentence without its end.
    pub problem: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

/// What is wrong with a body of `POST /v1/pages`.
pub fn new_page(body: &Value) -> Vec<Violation> {
    let mut judge = Judge::default();
    judge.size(body);
    judge.only(
        body,
        "body",
        &["parent", "properties", "children", "icon", "cover"],
    );
    judge.parent(&body["parent"]);
    match &body["properties"]["title"]["title"] {
        Value::Null => judge.add("properties.title.title", "should be there"),
        title => judge.texts(title, "properties.title.title"),
    }
    if !body["children"].is_null() {
        judge.children(&body["children"], "children", 0, block::Within::Page);
    }
    judge.violations
}

/// What is wrong with a body of `PATCH /v1/blocks/{id}/children`. `to_table`: whether the block is a table.
pub fn append(body: &Value, to_table: bool) -> Vec<Violation> {
    let mut judge = Judge::default();
    judge.size(body);
    judge.only(body, "body", &["children", "after", "position"]);
    let within = if to_table {
        block::Within::SomeTable
    } else {
        block::Within::Page
    };
    match &body["children"] {
        Value::Array(children) if children.is_empty() => {
            judge.add("children", "should not be empty")
        }
        children => judge.children(children, "children", 0, within),
    }
    judge.violations
}

/// What is wrong with a body of `PATCH /v1/blocks/{id}` that changes a block's text.
pub fn update(body: &Value) -> Vec<Violation> {
    let mut judge = Judge::default();
    judge.size(body);
    match body
        .as_object()
        .map(|map| map.iter().collect::<Vec<_>>())
        .as_deref()
    {
        Some([(name, fields)]) => judge.change(name, fields),
        _ => judge.add("body", "should be one block's object"),
    }
    judge.violations
}

#[derive(Default)]
struct Judge {
    violations: Vec<Violation>,
    blocks: usize,
}

impl Judge {
    fn add(&mut self, place: &str, problem: impl Into<String>) {
        self.violations.push(Violation {
            place: place.to_owned(),
            problem: problem.into(),
        });
    }

    fn size(&mut self, body: &Value) {
        let bytes = body.to_string().len();
        if bytes > BODY_BYTES_MAX {
            self.add(
                "body",
                format!("has {bytes} bytes, more than {BODY_BYTES_MAX}"),
            );
        }
    }

    fn parent(&mut self, parent: &Value) {
        let id = ["page_id", "database_id", "data_source_id"]
            .iter()
            .find_map(|name| parent[name].as_str());
        if id.is_none_or(str::is_empty) {
            self.add("parent", "should have the id of a page or a data source");
        }
    }

    /// The object at a place, if it is one; what it has beyond these names is refused, as Notion does.
    fn only<'v>(
        &mut self,
        value: &'v Value,
        place: &str,
        names: &[&str],
    ) -> Option<&'v Map<String, Value>> {
        let Some(map) = value.as_object() else {
            self.add(place, "should be an object");
            return None;
        };
        for name in map.keys().filter(|name| !names.contains(&name.as_str())) {
            self.add(&format!("{place}.{name}"), "should be not present");
        }
        Some(map)
    }

    fn array<'v>(&mut self, value: &'v Value, place: &str) -> &'v [Value] {
        let Some(items) = value.as_array() else {
            self.add(place, "should be an array");
            return &[];
        };
        if items.len() > ARRAY_MAX {
            let problem = format!("has {} items, more than {ARRAY_MAX}", items.len());
            self.add(place, problem);
        }
        items
    }
}
