//! Blocks as a request brings them: which there are, and how large and how deep they may be.
//!
//! Limits: developers.notion.com/reference/request-limits, "Size limits", and the types of
//! Notion's own client for the nesting: a block may bring children, and these may too, but no
//! further.

use serde_json::{Map, Value};

use super::errors::Error;
use super::rich_text::{self, URL_MAX};

/// The most blocks in one request, those in others included.
const BLOCKS_MAX: usize = 1000;
/// How many levels one request may hold: a block, and two levels in it.
const LEVELS_MAX: usize = 3;

/// A block that is as it should be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct NewBlock {
    pub(super) kind: String,
    /// What stands under its kind, children apart.
    pub(super) content: Map<String, Value>,
    pub(super) children: Vec<NewBlock>,
}

/// What a kind of block consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Rich text, and other blocks in it.
    Text,
    /// Rich text alone.
    Line,
    Nothing,
    Equation,
    Table,
    Row,
    /// A file that lies elsewhere. Uploaded ones are not known here yet.
    File,
    Url,
}

const KINDS: [(&str, Shape); 23] = [
    ("paragraph", Shape::Text),
    ("heading_1", Shape::Text),
    ("heading_2", Shape::Text),
    ("heading_3", Shape::Text),
    ("bulleted_list_item", Shape::Text),
    ("numbered_list_item", Shape::Text),
    ("to_do", Shape::Text),
    ("toggle", Shape::Text),
    ("quote", Shape::Text),
    ("callout", Shape::Text),
    ("code", Shape::Line),
    ("divider", Shape::Nothing),
    ("breadcrumb", Shape::Nothing),
    ("equation", Shape::Equation),
    ("table", Shape::Table),
    ("table_row", Shape::Row),
    ("image", Shape::File),
    ("file", Shape::File),
    ("pdf", Shape::File),
    ("audio", Shape::File),
    ("video", Shape::File),
    ("bookmark", Shape::Url),
    ("embed", Shape::Url),
];

impl NewBlock {
    /// How much its content takes as JSON, that of its children included.
    pub(super) fn bytes(&self) -> usize {
        let own: usize = self
            .content
            .values()
            .map(|value| value.to_string().len())
            .sum();
        own + self.children.iter().map(Self::bytes).sum::<usize>()
    }
}

/// Reads `children` of a request's body.
pub(super) fn read(children: &Value) -> Result<Vec<NewBlock>, Error> {
    let mut left = BLOCKS_MAX;
    blocks(children, "body.children", LEVELS_MAX, &mut left)
}

/// Checks the content of a block that is changed, its kind being known.
pub(super) fn check_content(kind: &str, content: &Value, at: &str) -> Result<(), Error> {
    if content.get("children").is_some() {
        return Err(Error::body(
            &format!("{at}.children"),
            "should be not present",
        ));
    }
    // What a change leaves out stays as it is.
    match KINDS.iter().find(|(name, _)| *name == kind) {
        Some((_, Shape::Text | Shape::Line)) if content.get("rich_text").is_none() => Ok(()),
        Some((_, Shape::Table)) => Ok(()),
        Some((_, shape)) => check_shape(*shape, content, at),
        None => Err(Error::body(at, "should be of a kind that can be changed")),
    }
}

fn blocks(
    value: &Value,
    at: &str,
    levels: usize,
    left: &mut usize,
) -> Result<Vec<NewBlock>, Error> {
    if levels == 0 {
        return Err(Error::body(at, "should be not present"));
    }
    let items = rich_text::array(value, at)?;
    *left = left
        .checked_sub(items.len())
        .ok_or_else(|| Error::body("body", &format!("should have at most {BLOCKS_MAX} blocks")))?;
    let each = items.iter().enumerate();
    each.map(|(n, item)| block(item, &format!("{at}[{n}]"), levels, left))
        .collect()
}

fn block(item: &Value, at: &str, levels: usize, left: &mut usize) -> Result<NewBlock, Error> {
    let (kind, shape) = kind_of(item, at)?;
    let at = format!("{at}.{kind}");
    let Some(mut content) = item[kind].as_object().cloned() else {
        return Err(Error::body(&at, "should be an object"));
    };
    let children = content.remove("children");
    check_shape(shape, &Value::Object(content.clone()), &at)?;
    let inside = format!("{at}.children");
    let children = match (children, shape) {
        (None, Shape::Table) => return Err(Error::body(&inside, "should be defined")),
        (None, _) => Vec::new(),
        (Some(children), Shape::Text | Shape::Table) => {
            blocks(&children, &inside, levels - 1, left)?
        }
        (Some(_), _) => return Err(Error::body(&inside, "should be not present")),
    };
    if shape == Shape::Table {
        check_rows(&content, &children, &inside)?;
    }
    Ok(NewBlock {
        kind: kind.to_owned(),
        content,
        children,
    })
}

/// The kind of a block, which may only show by what it has.
fn kind_of(item: &Value, at: &str) -> Result<(&'static str, Shape), Error> {
    let named = item["type"].as_str();
    let fits = |name: &str| named.map_or(item.get(name).is_some(), |named| named == name);
    let kind = KINDS.iter().find(|(name, _)| fits(name));
    let kind = kind.filter(|(name, _)| item.get(name).is_some());
    kind.copied().ok_or_else(|| {
        let what = "should have the content of a known kind defined, such as `paragraph`";
        Error::body(at, what)
    })
}

fn check_shape(shape: Shape, content: &Value, at: &str) -> Result<(), Error> {
    match shape {
        Shape::Text | Shape::Line => {
            rich_text::check(&content["rich_text"], &format!("{at}.rich_text"))
        }
        Shape::Nothing => Ok(()),
        Shape::Equation => {
            let at = format!("{at}.expression");
            rich_text::text(&content["expression"], &at, 1000).map(|_| ())
        }
        Shape::Table => match content["table_width"].as_u64() {
            Some(1..=100) => Ok(()),
            _ => Err(Error::body(
                &format!("{at}.table_width"),
                "should be 1 to 100",
            )),
        },
        Shape::Row => {
            let cells = rich_text::array(&content["cells"], &format!("{at}.cells"))?;
            let mut each = cells.iter().enumerate();
            each.try_for_each(|(n, cell)| rich_text::check(cell, &format!("{at}.cells[{n}]")))
        }
        Shape::File => {
            let at = format!("{at}.external.url");
            rich_text::text(&content["external"]["url"], &at, URL_MAX).map(|_| ())
        }
        Shape::Url => {
            let at = format!("{at}.url");
            rich_text::text(&content["url"], &at, URL_MAX).map(|_| ())
        }
    }
}

fn check_rows(table: &Map<String, Value>, rows: &[NewBlock], at: &str) -> Result<(), Error> {
    let width = table.get("table_width").and_then(Value::as_u64);
    let fits = |row: &NewBlock| {
        let cells = row.content.get("cells").and_then(Value::as_array);
        row.kind == "table_row" && cells.map(|cells| cells.len() as u64) == width
    };
    match !rows.is_empty() && rows.iter().all(fits) {
        true => Ok(()),
        false => Err(Error::body(
            at,
            "should be rows with as many cells as the table is wide",
        )),
    }
}

#[cfg(test)]
mod tests;
