//! Writing: notebooks, sections and pages, and changes of a page's text.
//!
//! Rules from learn.microsoft.com/graph/api: "Create page" (HTML; a multipart body with files is
//! not read here), "Update page" (a JSON array of changes), "Create section", "Create notebook".

use std::sync::Arc;

use axum::http::{HeaderValue, Method, Request, StatusCode, header};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{Answer, Payload};
use super::call::Call;
use super::entities;
use super::errors::GraphError;
use super::links::Links;
use super::page_text;
use super::paths::Target;
use crate::content::library::{Library, Notebook, Page, Place, Section, Text};
use crate::content::written::{Change, Edit, Entry, Written};

/// The longest name of a section, and of a notebook, in characters.
const SECTION_NAME_MAX: usize = 50;
const NOTEBOOK_NAME_MAX: usize = 128;
/// What a name must not contain, as error 20153 says.
const NAME_FORBIDDEN: &str = "?*\\/:<>|&#\"%~";
/// The most changes of a page in one call.
const EDITS_MAX: usize = 100;

/// One write.
pub(super) struct Write<'a> {
    pub(super) request: &'a Request<Bytes>,
    pub(super) call: &'a Call,
    /// Whose things they are.
    pub(super) owner: &'a str,
    pub(super) library: Library,
    pub(super) links: Links,
}

#[derive(Deserialize)]
struct Named {
    #[serde(rename = "displayName")]
    display_name: String,
}

#[derive(Deserialize)]
struct Command {
    target: String,
    action: String,
    #[serde(default)]
    position: Option<String>,
    content: String,
}

/// The methods that a target knows.
pub(super) fn methods(target: &Target) -> &'static [Method] {
    match target {
        Target::Notebooks | Target::NotebookSections(_) | Target::Pages => {
            &[Method::GET, Method::POST]
        }
        Target::GroupSections(_) | Target::SectionPages(_) => &[Method::GET, Method::POST],
        Target::PageContent(_) => &[Method::GET, Method::PATCH],
        Target::Page(_) => &[Method::GET, Method::DELETE],
        _ => &[Method::GET],
    }
}

impl Write<'_> {
    /// Carries it out; `target` is known to have the request's method.
    pub(super) fn run(&self, target: &Target, written: &mut Written) -> Result<Answer, GraphError> {
        match target {
            Target::Notebooks => self.notebook(written),
            Target::NotebookSections(id) => self.section(written, self.in_notebook(id)?),
            Target::GroupSections(id) => self.section(written, self.in_group(id)?),
            Target::SectionPages(id) => self.page(written, self.find_section(id)?),
            Target::Pages => self.page(written, self.default_section()?),
            Target::PageContent(id) => self.edit(written, id),
            Target::Page(id) => self.delete(written, id),
            _ => Err(GraphError::method(&[Method::GET])),
        }
    }

    fn notebook(&self, written: &mut Written) -> Result<Answer, GraphError> {
        let name = self.name(NOTEBOOK_NAME_MAX)?;
        let others = self.library.notebooks.iter().map(|n| &n.name);
        free(&name, others)?;
        let notebook = Notebook {
            id: self.id(written, "notebook"),
            name,
            is_default: false,
        };
        let entity = entities::notebook(&notebook, &self.links, self.owner);
        self.keep(written, Entry::Notebook(notebook))?;
        self.created("notebooks", entity)
    }

    fn section(&self, written: &mut Written, place: Place) -> Result<Answer, GraphError> {
        let name = self.name(SECTION_NAME_MAX)?;
        let beside = self.library.sections.iter().filter(|s| s.place == place);
        free(&name, beside.map(|section| &section.name))?;
        let section = Section {
            id: self.id(written, "section"),
            name,
            place,
            pages: 0,
            index: 0,
        };
        let entity = entities::section(&section, &self.library, &self.links, self.owner);
        self.keep(written, Entry::Section(section))?;
        self.created("sections", entity)
    }

    fn page(&self, written: &mut Written, section: &Section) -> Result<Answer, GraphError> {
        if !self.is_of(&["text/html", "application/xhtml+xml"]) {
            return Err(GraphError::media_type("text/html or application/xhtml+xml"));
        }
        let html = std::str::from_utf8(self.request.body()).map_err(|_| GraphError::body())?;
        let order = self.library.next_order(section);
        let section_part = section.id.trim_start_matches("1-");
        let page = Page {
            id: format!("{}!1-{section_part}", self.id(written, "page")),
            title: page_text::title(html),
            section_id: section.id.clone(),
            section_name: section.name.clone(),
            order,
            level: 0,
            created_s: self.call.wall_seconds,
            modified_s: self.call.wall_seconds,
            seed: u64::from(order),
            text: Text {
                body: Some(Arc::from(page_text::body(html))),
                ..Text::default()
            },
        };
        let entity = entities::page(&page, &self.links, true);
        self.keep(written, Entry::Page(page))?;
        self.created("pages", entity)
    }

    fn edit(&self, written: &mut Written, id: &str) -> Result<Answer, GraphError> {
        let page = self.find_page(id)?;
        let commands: Vec<Command> = self.json()?;
        if commands.is_empty() || commands.len() > EDITS_MAX {
            return Err(GraphError::edits(EDITS_MAX));
        }
        let at_s = self.call.wall_seconds;
        let edit = |command| {
            Ok(Edit {
                change: change(command)?,
                at_s,
            })
        };
        let edits: Result<Vec<Edit>, GraphError> = commands.into_iter().map(edit).collect();
        self.keep(written, Entry::Edits(page.id, edits?))?;
        Ok(no_content())
    }

    fn delete(&self, written: &mut Written, id: &str) -> Result<Answer, GraphError> {
        let page = self.find_page(id)?;
        self.keep(written, Entry::Deleted(page.id))?;
        Ok(no_content())
    }

    fn keep(&self, written: &mut Written, entry: Entry) -> Result<(), GraphError> {
        let kept = written.add(self.owner, entry);
        kept.map_err(|_| GraphError::full())
    }

    fn created(&self, kind: &str, mut entity: Value) -> Result<Answer, GraphError> {
        let context = self.links.onenote_context(&format!("{kind}/$entity"));
        entity["@odata.context"] = context.into();
        let location = entity["self"].as_str().unwrap_or_default();
        let location = HeaderValue::from_str(location).map_err(|_| GraphError::encoding())?;
        let answer = Answer::json(&entity).with_headers([(header::LOCATION, location)]);
        Ok(Answer {
            status: StatusCode::CREATED,
            ..answer
        })
    }

    fn id(&self, written: &Written, kind: &str) -> String {
        let number = written.number().to_string();
        self.library.id(&format!("written {kind}"), &number)
    }

    fn name(&self, chars_max: usize) -> Result<String, GraphError> {
        let named: Named = self.json()?;
        let name = named.display_name;
        if name.trim().is_empty() {
            return Err(GraphError::no_name());
        }
        if name.contains(|c| NAME_FORBIDDEN.contains(c)) {
            return Err(GraphError::name(NAME_FORBIDDEN));
        }
        match name.chars().count() > chars_max {
            true => Err(GraphError::long_name(chars_max)),
            false => Ok(name),
        }
    }

    fn json<T: serde::de::DeserializeOwned>(&self) -> Result<T, GraphError> {
        if !self.is_of(&["application/json"]) {
            return Err(GraphError::media_type("application/json"));
        }
        serde_json::from_slice(self.request.body()).map_err(|_| GraphError::body())
    }

    fn is_of(&self, types: &[&str]) -> bool {
        let given = self.request.headers().get(header::CONTENT_TYPE);
        let given = given.and_then(|value| value.to_str().ok()).unwrap_or("");
        let given = given.split(';').next().unwrap_or("").trim();
        types.iter().any(|known| given.eq_ignore_ascii_case(known))
    }

    fn in_notebook(&self, id: &str) -> Result<Place, GraphError> {
        let notebook = self.library.notebooks.iter().find(|n| n.id == id);
        let notebook = notebook.ok_or_else(GraphError::not_found)?;
        Ok(Place {
            notebook: notebook.id.clone(),
            group: None,
        })
    }

    fn in_group(&self, id: &str) -> Result<Place, GraphError> {
        let group = self.library.groups.iter().find(|group| group.id == id);
        let group = group.ok_or_else(GraphError::not_found)?;
        Ok(Place {
            notebook: group.place.notebook.clone(),
            group: Some(group.id.clone()),
        })
    }

    fn find_section(&self, id: &str) -> Result<&Section, GraphError> {
        let section = self.library.sections.iter().find(|s| s.id == id);
        section.ok_or_else(GraphError::not_found)
    }

    /// Where a page goes for which no section is named: the first one of the default notebook, or
    /// the one that `?sectionName=` tells.
    fn default_section(&self) -> Result<&Section, GraphError> {
        let query = self.request.uri().query().unwrap_or("");
        let named = query
            .split('&')
            .find_map(|pair| pair.strip_prefix("sectionName="));
        let named = named.map(|name| percent_decode_str(name).decode_utf8_lossy());
        let fits = |section: &&Section| named.as_ref().is_none_or(|name| *name == section.name);
        let section = self.library.sections.iter().find(fits);
        section.ok_or_else(GraphError::not_found)
    }

    fn find_page(&self, id: &str) -> Result<Page, GraphError> {
        let page = self.library.pages().into_iter().find(|page| page.id == id);
        page.ok_or_else(GraphError::not_found)
    }
}

/// Elements by id are not known here: the lookalike keeps no tree of a page.
fn change(command: Command) -> Result<Change, GraphError> {
    let first = command.position.as_deref() == Some("before");
    match (command.target.as_str(), command.action.as_str()) {
        ("title", "replace") => Ok(Change::Title(command.content)),
        ("body", "append") if !first => Ok(Change::Last(command.content)),
        ("body", "append" | "prepend") => Ok(Change::First(command.content)),
        _ => Err(GraphError::edit()),
    }
}

fn free<'a>(name: &str, mut others: impl Iterator<Item = &'a String>) -> Result<(), GraphError> {
    match others.any(|other| other.eq_ignore_ascii_case(name)) {
        true => Err(GraphError::taken()),
        false => Ok(()),
    }
}

fn no_content() -> Answer {
    Answer {
        status: StatusCode::NO_CONTENT,
        content_type: "",
        payload: Payload::Bytes(Bytes::new()),
        headers: Vec::new(),
    }
}
