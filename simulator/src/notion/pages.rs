//! Pages: make, read, change, find by title.

use std::cmp::Reverse;

use serde_json::{Map, Value, json};

use super::Act;
use super::errors::Error;
use super::id::Id;
use super::paging::Asked;
use super::workspace::Parent;
use super::{new_blocks, render, rich_text};

impl Act<'_> {
    pub(super) fn page(&self, id: Id) -> Result<Value, Error> {
        Ok(render::page(self.workspace.page(id)?, self.version))
    }

    pub(super) fn create_page(&mut self, body: &Value) -> Result<Value, Error> {
        let parent = self.parent(&body["parent"])?;
        if body.get("markdown").is_some() {
            return Err(Error::body(
                "body.markdown",
                "is not known to the lookalike",
            ));
        }
        let title = title(&body["properties"])?.unwrap_or(json!([]));
        let mut content = Map::from_iter([("title".to_owned(), title)]);
        content.extend(
            body.get("icon")
                .map(|icon| ("icon".to_owned(), icon.clone())),
        );
        let children = match &body["children"] {
            Value::Null => Vec::new(),
            children => new_blocks::read(children)?,
        };
        let id = self
            .workspace
            .add_page(parent, content, children, self.now_s)?;
        self.page(id)
    }

    pub(super) fn update_page(&mut self, id: Id, body: &Value) -> Result<Value, Error> {
        let page = self.workspace.page(id)?;
        let trash = self.trash(body)?;
        if page.in_trash && trash.is_none() {
            return Err(Error::in_trash("page"));
        }
        let title = title(&body["properties"])?.map(|title| ("title".to_owned(), title));
        let icon = body
            .get("icon")
            .map(|icon| ("icon".to_owned(), icon.clone()));
        self.workspace.change(id, self.now_s, |page| {
            page.content.extend(title.into_iter().chain(icon));
            page.in_trash = trash.unwrap_or(page.in_trash);
        });
        self.page(id)
    }

    pub(super) fn search(&self, body: &Value) -> Result<Value, Error> {
        let asked = Asked::of_body(body)?;
        let query = body["query"].as_str().unwrap_or("").to_lowercase();
        let wanted = body["filter"]["value"].as_str().unwrap_or("page");
        let fits = |title: &Value| rich_text::plain(title).to_lowercase().contains(&query);
        let pages = self.workspace.pages().filter(|_| wanted == "page");
        let mut pages: Vec<_> = pages.filter(|page| fits(&render::title(page))).collect();
        pages.sort_by_key(|page| (Reverse(page.edited_s), page.id));
        if body["sort"]["direction"] == "ascending" {
            pages.reverse();
        }
        let ids: Vec<Id> = pages.into_iter().map(|page| page.id).collect();
        asked.list("page_or_database", &ids, |id| self.page(id).ok())
    }

    fn parent(&self, given: &Value) -> Result<Parent, Error> {
        if given["workspace"] == true {
            return Ok(Parent::Workspace);
        }
        let Some(id) = given["page_id"].as_str() else {
            let what = "should have page_id or workspace defined";
            return Err(Error::body("body.parent", what));
        };
        let id = Id::parse(id).ok_or_else(|| Error::not_an_id(id))?;
        match self.workspace.page(id)?.in_trash {
            true => Err(Error::in_trash("page")),
            false => Ok(Parent::Page(id)),
        }
    }
}

/// The title among a page's properties, in either of its forms. A page outside a database has no
/// other.
fn title(properties: &Value) -> Result<Option<Value>, Error> {
    let Some(properties) = properties.as_object() else {
        return Ok(None);
    };
    if let Some(other) = properties.keys().find(|name| *name != "title") {
        let other: String = other.chars().take(100).collect();
        return Err(Error::invalid(&format!(
            "{other} is not a property that exists."
        )));
    }
    let Some(title) = properties.get("title") else {
        return Ok(None);
    };
    let title = title.get("title").unwrap_or(title);
    rich_text::check(title, "body.properties.title.title")?;
    Ok(Some(title.clone()))
}
