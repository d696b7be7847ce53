//! Entities as Graph writes them.

use serde_json::{Value, json};

use super::links::Links;
use crate::clock::date;
use crate::content::library::{Group, Library, Notebook, Page, Place, Section};

/// When notebooks, groups and sections were made: 1 January 2024.
const MADE_S: i64 = 1_704_067_200;

/// The signed-in user, or another.
pub(super) fn user(user: &str) -> Value {
    json!({
        "id": user,
        "displayName": user,
        "userPrincipalName": user,
        "mail": null,
        "businessPhones": [],
    })
}

pub(super) fn notebook(notebook: &Notebook, links: &Links, user: &str) -> Value {
    let path = format!("notebooks/{}", notebook.id);
    let own = json!({
        "isDefault": notebook.is_default,
        "isShared": false,
        "userRole": "Owner",
        "sectionsUrl": links.onenote(&format!("{path}/sections")),
        "sectionGroupsUrl": links.onenote(&format!("{path}/sectionGroups")),
        "links": apps(links, &notebook.id),
    });
    merge(
        named(&notebook.id, &notebook.name, &links.onenote(&path), user),
        own,
    )
}

pub(super) fn group(group: &Group, library: &Library, links: &Links, user: &str) -> Value {
    let path = format!("sectionGroups/{}", group.id);
    let own = json!({
        "sectionsUrl": links.onenote(&format!("{path}/sections")),
        "sectionGroupsUrl": links.onenote(&format!("{path}/sectionGroups")),
    });
    let own = merge(own, parents(&group.place, library, links));
    merge(
        named(&group.id, &group.name, &links.onenote(&path), user),
        own,
    )
}

pub(super) fn section(section: &Section, library: &Library, links: &Links, user: &str) -> Value {
    let path = format!("sections/{}", section.id);
    let own = json!({
        "isDefault": false,
        "pagesUrl": links.onenote(&format!("{path}/pages")),
        "links": apps(links, &section.id),
    });
    let own = merge(own, parents(&section.place, library, links));
    merge(
        named(&section.id, &section.name, &links.onenote(&path), user),
        own,
    )
}

pub(super) fn page(page: &Page, links: &Links, with_level: bool) -> Value {
    let path = format!("pages/{}", page.id);
    let section = format!("sections/{}", page.section_id);
    let entity = json!({
        "id": page.id,
        "self": links.onenote(&path),
        "createdDateTime": zulu(page.created_s),
        "lastModifiedDateTime": zulu(page.modified_s),
        "title": page.title,
        "createdByAppId": "",
        "contentUrl": links.onenote(&format!("{path}/content")),
        "links": apps(links, &page.id),
        "parentSection": {
            "id": page.section_id,
            "displayName": page.section_name,
            "self": links.onenote(&section),
        },
    });
    match with_level {
        true => merge(entity, json!({"level": page.level, "order": page.order})),
        false => entity,
    }
}

fn named(id: &str, name: &str, url: &str, user: &str) -> Value {
    let by = json!({"user": {"id": user, "displayName": user}});
    json!({
        "id": id,
        "self": url,
        "displayName": name,
        "createdDateTime": zulu(MADE_S),
        "lastModifiedDateTime": zulu(MADE_S),
        "createdBy": by,
        "lastModifiedBy": by,
    })
}

/// The notebook that something lies in, and its section group or none.
fn parents(place: &Place, library: &Library, links: &Links) -> Value {
    let notebook = library
        .notebooks
        .iter()
        .find(|notebook| notebook.id == place.notebook);
    let notebook = notebook.map(|n| parent("notebooks", &n.id, &n.name, links));
    let group = library
        .groups
        .iter()
        .find(|group| Some(&group.id) == place.group.as_ref());
    let group = group.map(|g| parent("sectionGroups", &g.id, &g.name, links));
    json!({"parentNotebook": notebook, "parentSectionGroup": group})
}

fn parent(kind: &str, id: &str, name: &str, links: &Links) -> Value {
    json!({"id": id, "displayName": name, "self": links.onenote(&format!("{kind}/{id}"))})
}

/// Links that open something in the apps. The web one is foreign in real answers too.
fn apps(links: &Links, id: &str) -> Value {
    let client = links.onenote(id);
    json!({
        "oneNoteClientUrl": {"href": format!("onenote:{client}")},
        "oneNoteWebUrl": {"href": format!("https://onenote.invalid/{id}")},
    })
}

fn zulu(seconds: i64) -> String {
    date(seconds) + "Z"
}

/// The properties of both, the second's where both have one.
fn merge(mut into: Value, from: Value) -> Value {
    if let (Value::Object(into), Value::Object(from)) = (&mut into, from) {
        into.extend(from);
    }
    into
}
