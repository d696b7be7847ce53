//! Blocks: developers.notion.com/reference/block.

use serde_json::Value;

use super::{BLOCKS_MAX, Judge, LEVELS_MAX};

/// What the blocks are in.
#[derive(Clone, Copy)]
pub(super) enum Within {
    /// A page, or a block that holds others.
    Page,
    /// A table of so many columns.
    Table(usize),
    /// A table that is at Notion already.
    SomeTable,
}

/// What a type's object may have.
fn fields(name: &str) -> Option<&'static [&'static str]> {
    Some(match name {
        "paragraph" | "bulleted_list_item" | "numbered_list_item" | "quote" => {
            &["rich_text", "color", "children"]
        }
        "heading_1" | "heading_2" | "heading_3" => &["rich_text", "color", "is_toggleable"],
        "to_do" => &["rich_text", "color", "checked", "children"],
        "callout" => &["rich_text", "color", "icon", "children"],
        "code" => &["rich_text", "caption", "language"],
        "equation" => &["expression"],
        "divider" => &[],
        "table" => &[
            "table_width",
            "has_column_header",
            "has_row_header",
            "children",
        ],
        "table_row" => &["cells"],
        "image" | "pdf" | "audio" | "video" => &["type", "external", "file_upload", "caption"],
        "file" => &["type", "external", "file_upload", "caption", "name"],
        "embed" | "bookmark" => &["url", "caption"],
        _ => return None,
    })
}

impl Judge {
    pub(super) fn children(&mut self, value: &Value, place: &str, level: usize, within: Within) {
        for (index, block) in self.array(value, place).iter().enumerate() {
            self.block(block, &format!("{place}[{index}]"), level, within);
        }
    }

    fn block(&mut self, block: &Value, place: &str, level: usize, within: Within) {
        self.blocks += 1;
        if self.blocks == BLOCKS_MAX + 1 {
            self.add("body", format!("has more than {BLOCKS_MAX} blocks"));
        }
        let name = block["type"].as_str().unwrap_or("");
        let Some(names) = fields(name) else {
            return self.add(&format!("{place}.type"), format!("is no block: `{name}`"));
        };
        self.only(block, place, &["object", "type", name]);
        let object = &block[name];
        let inner = format!("{place}.{name}");
        if self.only(object, &inner, names).is_none() {
            return;
        }
        self.place(name, object, place, within);
        self.content(name, object, &inner);
        self.below(name, object, &inner, level);
    }

    fn place(&mut self, name: &str, object: &Value, place: &str, within: Within) {
        match (within, name) {
            (Within::Page, "table_row") => self.add(place, "is a row outside of a table"),
            (Within::Table(_) | Within::SomeTable, name) if name != "table_row" => {
                self.add(place, "is in a table and no row");
            }
            (Within::Table(width), _) => {
                let cells = object["cells"].as_array().map_or(0, Vec::len);
                if cells != width {
                    self.add(
                        place,
                        format!("has {cells} cells in a table of {width} columns"),
                    );
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, name: &str, object: &Value, place: &str, level: usize) {
        let children = &object["children"];
        if name == "table" && children.as_array().is_none_or(Vec::is_empty) {
            self.add(place, "should have a row");
        }
        if children.is_null() {
            return;
        }
        let place = format!("{place}.children");
        if level >= LEVELS_MAX {
            return self.add(&place, "should be not present");
        }
        let width = object["table_width"]
            .as_u64()
            .and_then(|width| usize::try_from(width).ok());
        let within = match (name, width) {
            ("table", width) => Within::Table(width.unwrap_or(0)),
            _ => Within::Page,
        };
        self.children(children, &place, level + 1, within);
    }

    fn content(&mut self, name: &str, object: &Value, place: &str) {
        let at = |field: &str| format!("{place}.{field}");
        self.colour(&object["color"], &at("color"));
        match name {
            "equation" => self.expression(&object["expression"], &at("expression")),
            "divider" => {}
            "table" => {
                if !object["table_width"]
                    .as_u64()
                    .is_some_and(|width| (1..=100).contains(&width))
                {
                    self.add(&at("table_width"), "should be from 1 to 100");
                }
            }
            "table_row" => {
                for (index, cell) in self
                    .array(&object["cells"], &at("cells"))
                    .iter()
                    .enumerate()
                {
                    self.texts(cell, &format!("{place}.cells[{index}]"));
                }
            }
            "image" | "file" | "pdf" | "audio" | "video" => self.file(object, place),
            "embed" | "bookmark" => self.url(&object["url"], &at("url")),
            _ => self.texts(&object["rich_text"], &at("rich_text")),
        }
        self.special(name, object, place);
    }

    fn special(&mut self, name: &str, object: &Value, place: &str) {
        if name == "code" && object["language"] != "plain text" {
            self.add(&format!("{place}.language"), "should be one that is known");
        }
        if name == "to_do" && !object["checked"].is_boolean() {
            self.add(&format!("{place}.checked"), "should be true or false");
        }
        if !object["caption"].is_null() {
            self.texts(&object["caption"], &format!("{place}.caption"));
        }
    }

    fn file(&mut self, object: &Value, place: &str) {
        match object["type"].as_str() {
            Some("external") => {
                self.url(&object["external"]["url"], &format!("{place}.external.url"))
            }
            Some("file_upload") => {
                let id = object["file_upload"]["id"].as_str().unwrap_or("");
                if id.is_empty() {
                    self.add(&format!("{place}.file_upload.id"), "should be there");
                }
            }
            _ => self.add(
                &format!("{place}.type"),
                "should be `external` or `file_upload`",
            ),
        }
    }

    /// A change has what it changes, and nothing else.
    pub(super) fn change(&mut self, name: &str, object: &Value) {
        let Some(names) = fields(name) else {
            return self.add(name, "is no block");
        };
        let names: Vec<_> = names
            .iter()
            .copied()
            .filter(|name| *name != "children")
            .collect();
        self.only(object, name, &names);
        for texts in ["rich_text", "caption"] {
            if !object[texts].is_null() {
                self.texts(&object[texts], &format!("{name}.{texts}"));
            }
        }
        if let Some(cells) = object["cells"].as_array() {
            for (index, cell) in cells.iter().enumerate() {
                self.texts(cell, &format!("{name}.cells[{index}]"));
            }
        }
    }
}
