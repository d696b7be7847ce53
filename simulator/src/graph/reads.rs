//! Reading: from what a path names to an answer.

use axum::http::Uri;
use serde_json::{Value, json};

use super::answer::{Answer, Payload};
use super::entities;
use super::errors::GraphError;
use super::links::Links;
use super::paths::Target;
use super::query::{OrderBy, PAGES_TOP, Query, TOP_MAX};
use crate::content::library::{Library, Page, Place, ResourceKind};
use crate::content::{html, png};

/// The largest body made on demand: 64 MiB.
const LARGE_MAX: u64 = 64 * 1024 * 1024;

/// Answers a read of `owner`'s things.
pub(super) fn read(
    uri: &Uri,
    target: &Target,
    owner: &str,
    library: Library,
    links: Links,
) -> Result<Answer, GraphError> {
    let reader = Reader {
        library,
        query: Query::parse(uri)?,
        path: uri.path(),
        owner: owner.to_owned(),
        links,
    };
    reader.read(target)
}

struct Reader<'a> {
    library: Library,
    query: Query,
    path: &'a str,
    owner: String,
    links: Links,
}

impl Reader<'_> {
    fn read(&self, target: &Target) -> Result<Answer, GraphError> {
        match target {
            Target::User => {
                let context = self.links.context("users/$entity");
                Ok(self.entity(&context, entities::user(&self.owner)))
            }
            Target::Notebooks => self.notebooks(),
            Target::Notebook(id) => self.notebook(id),
            Target::NotebookSections(id) => self.inside_notebook(id, "sections"),
            Target::NotebookGroups(id) => self.inside_notebook(id, "sectionGroups"),
            Target::Groups => self.groups("sectionGroups", |_| true),
            Target::Group(id) => self.group(id),
            Target::GroupSections(id) => self.inside_group(id, "sections"),
            Target::GroupGroups(id) => self.inside_group(id, "sectionGroups"),
            Target::Sections => self.sections("sections", |_| true),
            Target::Section(id) => self.section(id),
            Target::SectionPages(id) => self.section_pages(id),
            Target::Pages => self.pages("pages", self.library.pages()),
            Target::Page(id) => self.page(id),
            Target::PageContent(id) => self.content(id),
            Target::Resource(id) => self.resource(id),
        }
    }

    fn notebooks(&self) -> Result<Answer, GraphError> {
        let notebooks = self.library.notebooks.iter().collect();
        self.list("notebooks", notebooks, |n| {
            entities::notebook(n, &self.links, &self.owner)
        })
    }

    fn notebook(&self, id: &str) -> Result<Answer, GraphError> {
        let notebook = found(self.library.notebooks.iter().find(|n| n.id == id))?;
        let entity = entities::notebook(notebook, &self.links, &self.owner);
        Ok(self.entity(&self.links.onenote_context("notebooks/$entity"), entity))
    }

    fn inside_notebook(&self, id: &str, what: &str) -> Result<Answer, GraphError> {
        found(self.library.notebooks.iter().find(|n| n.id == id))?;
        let context = format!("notebooks('{id}')/{what}");
        let directly = |place: &Place| place.notebook == id && place.group.is_none();
        match what {
            "sections" => self.sections(&context, directly),
            _ => self.groups(&context, directly),
        }
    }

    fn group(&self, id: &str) -> Result<Answer, GraphError> {
        let group = found(self.library.groups.iter().find(|g| g.id == id))?;
        let entity = entities::group(group, &self.library, &self.links, &self.owner);
        Ok(self.entity(&self.links.onenote_context("sectionGroups/$entity"), entity))
    }

    fn inside_group(&self, id: &str, what: &str) -> Result<Answer, GraphError> {
        found(self.library.groups.iter().find(|g| g.id == id))?;
        let context = format!("sectionGroups('{id}')/{what}");
        let directly = |place: &Place| place.group.as_deref() == Some(id);
        match what {
            "sections" => self.sections(&context, directly),
            _ => self.groups(&context, directly),
        }
    }

    fn groups(&self, context: &str, inside: impl Fn(&Place) -> bool) -> Result<Answer, GraphError> {
        let groups = self
            .library
            .groups
            .iter()
            .filter(|group| inside(&group.place));
        let mut groups: Vec<_> = groups.collect();
        groups.sort_by_key(|group| &group.name);
        self.list(context, groups, |group| {
            entities::group(group, &self.library, &self.links, &self.owner)
        })
    }

    fn sections(
        &self,
        context: &str,
        inside: impl Fn(&Place) -> bool,
    ) -> Result<Answer, GraphError> {
        let sections = self
            .library
            .sections
            .iter()
            .filter(|section| inside(&section.place));
        let mut sections: Vec<_> = sections.collect();
        sections.sort_by_key(|section| &section.name);
        self.list(context, sections, |section| {
            entities::section(section, &self.library, &self.links, &self.owner)
        })
    }

    fn section(&self, id: &str) -> Result<Answer, GraphError> {
        let section = found(self.library.sections.iter().find(|s| s.id == id))?;
        let entity = entities::section(section, &self.library, &self.links, &self.owner);
        Ok(self.entity(&self.links.onenote_context("sections/$entity"), entity))
    }

    fn section_pages(&self, id: &str) -> Result<Answer, GraphError> {
        let section = found(self.library.sections.iter().find(|s| s.id == id))?;
        self.pages(
            &format!("sections('{id}')/pages"),
            self.library.pages_of(section),
        )
    }

    fn pages(&self, context: &str, mut pages: Vec<Page>) -> Result<Answer, GraphError> {
        if let Some(order_by) = &self.query.order_by {
            sort_pages(&mut pages, order_by)?;
        }
        let part = self.query.part(pages, self.path, PAGES_TOP);
        let render = |page: &Page| entities::page(page, &self.links, self.query.page_level);
        let items = part.items.iter().map(render).collect();
        Ok(self.collection(context, items, part.total, part.next))
    }

    fn page(&self, id: &str) -> Result<Answer, GraphError> {
        let entity = entities::page(&self.find_page(id)?, &self.links, true);
        Ok(self.entity(&self.links.onenote_context("pages/$entity"), entity))
    }

    fn content(&self, id: &str) -> Result<Answer, GraphError> {
        let html = html::page(&self.find_page(id)?, &self.links.resources());
        Ok(Answer::ok(
            "text/html; charset=utf-8",
            Payload::Bytes(html.into()),
        ))
    }

    fn resource(&self, id: &str) -> Result<Answer, GraphError> {
        const BINARY: &str = "application/octet-stream";
        if let Some(length) = id.strip_prefix("large-") {
            let length = length.parse().ok().filter(|length| *length <= LARGE_MAX);
            return Ok(Answer::ok(BINARY, Payload::Large(found(length)?)));
        }
        let resource = found(self.library.resource(id))?;
        let bytes = match resource.kind {
            ResourceKind::Image => png::image(resource.seed),
            ResourceKind::Attachment => format!("North gauge: {}\n", resource.seed % 1000).into(),
        };
        Ok(Answer::ok(BINARY, Payload::Bytes(bytes.into())))
    }

    fn find_page(&self, id: &str) -> Result<Page, GraphError> {
        found(self.library.pages().into_iter().find(|page| page.id == id))
    }

    fn list<T>(
        &self,
        context: &str,
        items: Vec<T>,
        render: impl Fn(&T) -> Value,
    ) -> Result<Answer, GraphError> {
        if self.query.order_by.is_some() {
            return Err(GraphError::query(
                "'$orderby' is only supported for pages here.",
            ));
        }
        let part = self.query.part(items, self.path, TOP_MAX);
        let items = part.items.iter().map(render).collect();
        Ok(self.collection(context, items, part.total, part.next))
    }

    fn entity(&self, context: &str, entity: Value) -> Answer {
        let mut entity = self.query.narrow(entity);
        entity["@odata.context"] = json!(context);
        Answer::json(&entity)
    }

    fn collection(
        &self,
        context: &str,
        items: Vec<Value>,
        total: usize,
        next: Option<String>,
    ) -> Answer {
        let items: Vec<Value> = items
            .into_iter()
            .map(|item| self.query.narrow(item))
            .collect();
        let mut list = json!({
            "@odata.context": self.links.onenote_context(context),
            "value": items,
        });
        if self.query.count {
            list["@odata.count"] = json!(total);
        }
        if let Some(next) = next {
            list["@odata.nextLink"] = json!(self.links.at(&next));
        }
        Answer::json(&list)
    }
}

fn found<T>(item: Option<T>) -> Result<T, GraphError> {
    item.ok_or_else(GraphError::not_found)
}

fn sort_pages(pages: &mut [Page], by: &OrderBy) -> Result<(), GraphError> {
    match by.property.as_str() {
        "title" => pages.sort_by(|a, b| a.title.cmp(&b.title)),
        "createdDateTime" => pages.sort_by_key(|page| page.created_s),
        "lastModifiedDateTime" | "lastModifiedTime" => pages.sort_by_key(|page| page.modified_s),
        "order" => pages.sort_by_key(|page| page.order),
        _ => {
            return Err(GraphError::query(
                "Pages cannot be sorted by that property.",
            ));
        }
    }
    if by.descending {
        pages.reverse();
    }
    Ok(())
}
