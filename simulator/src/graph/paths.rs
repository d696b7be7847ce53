//! What a path names.

use percent_encoding::percent_decode_str;

use super::errors::GraphError;

/// A path of Graph's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GraphPath {
    pub(super) version: Version,
    /// The user named in it; none for `/me`.
    pub(super) user: Option<String>,
    /// Whether OneNote's limits apply, whatever the rest of the path names.
    pub(super) onenote: bool,
    /// What it names, or the segment that names nothing.
    pub(super) target: Result<Target, String>,
}

/// The version of the API; the two are alike here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    V1,
    Beta,
}

/// What can be read. The strings are ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    User,
    Notebooks,
    Notebook(String),
    NotebookSections(String),
    NotebookGroups(String),
    Groups,
    Group(String),
    GroupSections(String),
    GroupGroups(String),
    Sections,
    Section(String),
    SectionPages(String),
    Pages,
    Page(String),
    PageContent(String),
    Resource(String),
}

impl Version {
    /// As it stands in a path.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1.0",
            Self::Beta => "beta",
        }
    }
}

impl GraphPath {
    /// Reads a raw path: `/v1.0/me/…`, `/beta/users/{id}/…`, `/v1.0/users('{id}')/…`.
    pub(super) fn parse(path: &str) -> Result<Self, GraphError> {
        let segments = segments(path)?;
        let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
        let (version, rest) = match segments.as_slice() {
            ["v1.0", rest @ ..] => (Version::V1, rest),
            ["beta", rest @ ..] => (Version::Beta, rest),
            other => return Err(GraphError::version(other.first().unwrap_or(&""))),
        };
        let (user, rest) = match rest {
            ["me", rest @ ..] => (None, rest),
            ["users", id, rest @ ..] => (Some((*id).to_owned()), rest),
            other => return Err(GraphError::segment(other.last().unwrap_or(&""))),
        };
        Ok(Self {
            version,
            user,
            onenote: rest.first() == Some(&"onenote"),
            target: target(rest),
        })
    }
}

fn target(rest: &[&str]) -> Result<Target, String> {
    let id = |text: &&str| (*text).to_owned();
    let target = match rest {
        [] => Target::User,
        ["onenote", "notebooks"] => Target::Notebooks,
        ["onenote", "notebooks", n] => Target::Notebook(id(n)),
        ["onenote", "notebooks", n, "sections"] => Target::NotebookSections(id(n)),
        ["onenote", "notebooks", n, "sectionGroups"] => Target::NotebookGroups(id(n)),
        ["onenote", "sectionGroups"] => Target::Groups,
        ["onenote", "sectionGroups", g] => Target::Group(id(g)),
        ["onenote", "sectionGroups", g, "sections"] => Target::GroupSections(id(g)),
        ["onenote", "sectionGroups", g, "sectionGroups"] => Target::GroupGroups(id(g)),
        ["onenote", "sections"] => Target::Sections,
        ["onenote", "sections", s] => Target::Section(id(s)),
        ["onenote", "sections", s, "pages"] => Target::SectionPages(id(s)),
        ["onenote", "pages"] => Target::Pages,
        ["onenote", "pages", p] => Target::Page(id(p)),
        ["onenote", "pages", p, "content" | "$value"] => Target::PageContent(id(p)),
        ["onenote", "resources", r, "content" | "$value"] => Target::Resource(id(r)),
        other => return Err(other.last().map(id).unwrap_or_default()),
    };
    Ok(target)
}

/// The decoded segments, with `name('key')` taken apart into `name` and `key`.
fn segments(path: &str) -> Result<Vec<String>, GraphError> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut segments = Vec::new();
    for raw in path.split('/') {
        match raw
            .strip_suffix("')")
            .and_then(|text| text.split_once("('"))
        {
            Some((name, key)) => segments.extend([decode(name)?, decode(key)?]),
            None => segments.push(decode(raw)?),
        }
    }
    Ok(segments)
}

fn decode(raw: &str) -> Result<String, GraphError> {
    let text = percent_decode_str(raw).decode_utf8();
    text.map(|text| text.into_owned())
        .map_err(|_| GraphError::encoding())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(path: &str) -> GraphPath {
        GraphPath::parse(path).unwrap()
    }

    #[test]
    fn names_things_of_me_and_of_others_in_both_forms() {
        let pages = parse("/v1.0/me/onenote/sections/1-a%21b/pages");
        assert_eq!(pages.target, Ok(Target::SectionPages("1-a!b".to_owned())));
        assert_eq!((pages.user, pages.onenote), (None, true));
        for path in [
            "/beta/users/a%40b/onenote/resources/1-r/$value",
            "/beta/users('a@b')/onenote/resources('1-r')/$value",
        ] {
            let resource = parse(path);
            assert_eq!(
                resource.target,
                Ok(Target::Resource("1-r".to_owned())),
                "{path}"
            );
            assert_eq!(
                (resource.version, resource.user.as_deref()),
                (Version::Beta, Some("a@b"))
            );
        }
    }

    #[test]
    fn only_onenote_is_limited_whatever_it_names() {
        assert!(!parse("/v1.0/me").onenote);
        let unknown = parse("/v1.0/me/onenote/nothing/here");
        assert_eq!(
            (unknown.onenote, unknown.target),
            (true, Err("here".to_owned()))
        );
    }

    #[test]
    fn the_rest_is_refused_as_graph_does() {
        assert_eq!(
            GraphPath::parse("/v2.0/me"),
            Err(GraphError::version("v2.0"))
        );
        assert_eq!(GraphPath::parse("/"), Err(GraphError::version("")));
        assert_eq!(
            GraphPath::parse("/v1.0/them"),
            Err(GraphError::segment("them"))
        );
        assert_eq!(
            GraphPath::parse("/v1.0/users/%ff"),
            Err(GraphError::encoding())
        );
    }
}
