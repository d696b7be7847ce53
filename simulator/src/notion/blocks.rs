//! Blocks: read, list, append, change, delete.

use serde_json::Value;

use super::Act;
use super::errors::Error;
use super::id::Id;
use super::new_blocks;
use super::paging::Asked;
use super::render;
use super::version::Version;
use super::workspace::{Block, PAGE, Position};

impl Act<'_> {
    pub(super) fn block(&self, id: Id) -> Result<Value, Error> {
        Ok(self.shown(self.workspace.block(id)?))
    }

    pub(super) fn children(&self, id: Id) -> Result<Value, Error> {
        let asked = Asked::of_query(self.uri)?;
        let ids = self.workspace.children(self.workspace.block(id)?);
        asked.list("block", &ids, |id| self.block(id).ok())
    }

    pub(super) fn append(&mut self, id: Id, body: &Value) -> Result<Value, Error> {
        let into = self.editable(id)?;
        let at = self.position(into, body)?;
        let children = new_blocks::read(&body["children"])?;
        let ids = self.workspace.append(id, children, at, self.now_s)?;
        // All of them: one request brings no more than one part may list.
        let all = Asked::of_body(&Value::Null)?;
        all.list("block", &ids, |id| self.block(id).ok())
    }

    pub(super) fn update_block(&mut self, id: Id, body: &Value) -> Result<Value, Error> {
        let block = self.workspace.block(id)?;
        let trash = self.trash(body)?;
        let kind = block.kind.clone();
        let content = body.get(&kind).filter(|_| kind != PAGE);
        match (content, trash) {
            (None, None) => {
                let at = format!("body.{kind}");
                return Err(Error::body(&at, "should be defined"));
            }
            (Some(_), None) if block.in_trash => return Err(Error::in_trash("block")),
            _ => {}
        }
        if let Some(content) = content {
            new_blocks::check_content(&kind, content, &format!("body.{kind}"))?;
        }
        let content = content.and_then(Value::as_object).cloned();
        self.workspace.change(id, self.now_s, |block| {
            block.content.extend(content.into_iter().flatten());
            block.in_trash = trash.unwrap_or(block.in_trash);
        });
        self.block(id)
    }

    pub(super) fn delete_block(&mut self, id: Id) -> Result<Value, Error> {
        self.editable(id)?;
        self.workspace
            .change(id, self.now_s, |block| block.in_trash = true);
        self.block(id)
    }

    /// Whether the body moves something into the trash or out of it.
    pub(super) fn trash(&self, body: &Value) -> Result<Option<bool>, Error> {
        let archived = body
            .get("archived")
            .filter(|_| self.version.says_archived());
        let Some(value) = body.get("in_trash").or(archived) else {
            return Ok(None);
        };
        let bad = || Error::body("body.in_trash", "should be a boolean");
        value.as_bool().map(Some).ok_or_else(bad)
    }

    fn editable(&self, id: Id) -> Result<&Block, Error> {
        let block = self.workspace.block(id)?;
        match block.in_trash {
            true => Err(Error::in_trash("block")),
            false => Ok(block),
        }
    }

    /// Where new children go. The newest version knows `after` no longer.
    fn position(&self, into: &Block, body: &Value) -> Result<Position, Error> {
        let wanted = match &body["position"] {
            Value::Null => &body["after"],
            position => match position["type"].as_str() {
                Some("start") => return Ok(Position::Start),
                Some("end") => return Ok(Position::End),
                Some("after_block") => &position["after_block"]["id"],
                _ => {
                    return Err(Error::body(
                        "body.position.type",
                        "should be start, end or after_block",
                    ));
                }
            },
        };
        if body.get("after").is_some() && self.version >= Version::V20260311 {
            return Err(Error::body("body.after", "should be not present"));
        }
        let after = match wanted {
            Value::Null => return Ok(Position::End),
            Value::String(text) => Id::parse(text).ok_or_else(|| Error::not_an_id(text))?,
            _ => return Err(Error::body("body.after", "should be a string")),
        };
        match into.children.contains(&after) {
            true => Ok(Position::After(after)),
            false => Err(Error::not_found("block", after)),
        }
    }

    fn shown(&self, block: &Block) -> Value {
        let has_children = !self.workspace.children(block).is_empty();
        render::block(block, has_children, self.version)
    }
}
