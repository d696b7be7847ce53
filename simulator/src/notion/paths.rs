//! What a method and a path name.

use axum::http::Method;

use super::errors::Error;
use super::id::Id;

/// What can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Bot,
    Search,
    CreatePage,
    Page(Id),
    UpdatePage(Id),
    Block(Id),
    UpdateBlock(Id),
    DeleteBlock(Id),
    Children(Id),
    AppendChildren(Id),
}

impl Target {
    /// Reads a raw path, such as `/v1/blocks/{id}/children`.
    pub(super) fn parse(method: &Method, path: &str) -> Result<Self, Error> {
        let rest = path.strip_prefix("/v1/").unwrap_or(path);
        let segments: Vec<&str> = rest.split('/').collect();
        let id = |text: &str| Id::parse(text).ok_or_else(|| Error::not_an_id(text));
        match (method.as_str(), segments.as_slice()) {
            ("GET", ["users", "me"]) => Ok(Self::Bot),
            ("POST", ["search"]) => Ok(Self::Search),
            ("POST", ["pages"]) => Ok(Self::CreatePage),
            ("GET", ["pages", page]) => id(page).map(Self::Page),
            ("PATCH", ["pages", page]) => id(page).map(Self::UpdatePage),
            ("GET", ["blocks", block]) => id(block).map(Self::Block),
            ("PATCH", ["blocks", block]) => id(block).map(Self::UpdateBlock),
            ("DELETE", ["blocks", block]) => id(block).map(Self::DeleteBlock),
            ("GET", ["blocks", block, "children"]) => id(block).map(Self::Children),
            ("PATCH", ["blocks", block, "children"]) => id(block).map(Self::AppendChildren),
            _ => Err(Error::url()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_something_under_its_own_methods_only() {
        let page = "/v1/pages/01234567-89ab-4def-bedc-ba9876543210";
        let id = Id::parse(&page[10..]).unwrap();
        assert_eq!(Target::parse(&Method::GET, page), Ok(Target::Page(id)));
        let children = page.replace("pages", "blocks") + "/children";
        let append = Target::parse(&Method::PATCH, &children);
        assert_eq!(append, Ok(Target::AppendChildren(id)));
        assert_eq!(Target::parse(&Method::PUT, page), Err(Error::url()));
        let none = Target::parse(&Method::GET, "/v1/pages/home");
        assert_eq!(none, Err(Error::not_an_id("home")));
    }
}
