//! Things as Notion writes them.

use serde_json::{Map, Value, json};

use super::id::Id;
use super::rich_text;
use super::version::Version;
use super::workspace::{Block, PAGE, Parent};
use crate::clock::date;

/// The user that every connection is.
const BOT: &str = "b0700000-0000-4000-8000-000000000001";

/// The bot.
pub(super) fn bot() -> Value {
    json!({
        "object": "user",
        "id": BOT,
        "name": "Lookalike",
        "avatar_url": null,
        "type": "bot",
        "bot": {
            "owner": {"type": "workspace", "workspace": true},
            "workspace_name": "Lookalike",
        },
    })
}

/// A page.
pub(super) fn page(page: &Block, version: Version) -> Value {
    let title = title(page);
    let own = json!({
        "object": "page",
        "cover": null,
        "icon": page.content.get("icon").cloned().unwrap_or_default(),
        "properties": {
            "title": {"id": "title", "type": "title", "title": rich_text::shown(&title)},
        },
        // The web address is another's than the API's in real answers too.
        "url": format!("https://notion.invalid/{}", page.id.to_string().replace('-', "")),
        "public_url": null,
    });
    merge(common(page, version), own)
}

/// A block; a page as its parent's children show it.
pub(super) fn block(block: &Block, has_children: bool, version: Version) -> Value {
    let content = match block.kind.as_str() {
        PAGE => json!({"title": rich_text::plain(&title(block))}),
        _ => Value::Object(shown(&block.content)),
    };
    let own = json!({
        "object": "block",
        "has_children": has_children,
        "type": block.kind,
        (block.kind.as_str()): content,
    });
    merge(common(block, version), own)
}

/// A page's title as rich text.
pub(super) fn title(page: &Block) -> Value {
    page.content.get("title").cloned().unwrap_or(json!([]))
}

fn common(block: &Block, version: Version) -> Value {
    let by = json!({"object": "user", "id": BOT});
    let mut common = json!({
        "id": block.id,
        "parent": parent(block.parent),
        "created_time": minute(block.created_s),
        "last_edited_time": minute(block.edited_s),
        "created_by": by,
        "last_edited_by": by,
        "in_trash": block.in_trash,
    });
    if version.says_archived() {
        common["archived"] = block.in_trash.into();
    }
    common
}

fn parent(parent: Parent) -> Value {
    let of = |kind: &str, id: Id| json!({"type": kind, kind: id});
    match parent {
        Parent::Workspace => json!({"type": "workspace", "workspace": true}),
        Parent::Page(id) => of("page_id", id),
        Parent::Block(id) => of("block_id", id),
    }
}

/// Content with what a request may leave out.
fn shown(content: &Map<String, Value>) -> Map<String, Value> {
    let mut shown = content.clone();
    for name in ["rich_text", "caption"] {
        if let Some(text) = shown.get_mut(name) {
            *text = rich_text::shown(text);
        }
    }
    if let Some(Value::Array(cells)) = shown.get_mut("cells") {
        for cell in cells {
            *cell = rich_text::shown(cell);
        }
    }
    if content.contains_key("rich_text") {
        shown.entry("color").or_insert("default".into());
    }
    shown
}

/// Notion tells times to the minute.
fn minute(seconds: i64) -> String {
    format!("{}.000Z", date(seconds - seconds.rem_euclid(60)))
}

/// The properties of both, the second's where both have one.
fn merge(mut into: Value, from: Value) -> Value {
    if let (Value::Object(into), Value::Object(from)) = (&mut into, from) {
        into.extend(from);
    }
    into
}
