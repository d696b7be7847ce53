//! The pages there are, and which one was asked for.
//!
//! There is no router in the browser: links load the next page from the server, which
//! renders it with values that are new. That keeps the module at half its size, and
//! pages work alike with and without JavaScript.

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// `/`
    Overview,
}

impl Page {
    /// All pages, in the order of the rail.
    pub const ALL: [Self; 1] = [Self::Overview];

    /// Where it is.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Overview => "/",
        }
    }

    /// Its title.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
        }
    }

    /// The page at a path.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|page| page.path() == path)
    }

    /// The page that was asked for.
    #[cfg(feature = "ssr")]
    #[must_use]
    pub fn asked() -> Option<Self> {
        use leptos::prelude::use_context;
        use leptos_router::location::RequestUrl;
        let url = use_context::<RequestUrl>().unwrap_or_default();
        Self::at(url.parse().ok()?.path())
    }

    /// The page that was asked for.
    #[cfg(not(feature = "ssr"))]
    #[must_use]
    pub fn asked() -> Option<Self> {
        let path = leptos::prelude::window().location().pathname();
        Self::at(&path.unwrap_or_default())
    }
}

/// Tells the server which paths have pages, while it makes its list of them.
#[cfg(feature = "ssr")]
pub fn register() {
    use leptos_router::{Method, PathSegment, RouteList, RouteListing, SsrMode};
    if RouteList::is_generating() {
        let listing = |page: Page| {
            let path = [PathSegment::Static(page.path().into())];
            RouteListing::new(path, SsrMode::default(), [Method::Get], [])
        };
        let listings: Vec<_> = Page::ALL.into_iter().map(listing).collect();
        RouteList::register(listings.into());
    }
}

/// Only the server has such a list.
#[cfg(not(feature = "ssr"))]
pub fn register() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_their_path() {
        assert_eq!(Page::at("/"), Some(Page::Overview));
        assert_eq!(Page::at("/nothing"), None);
        assert_eq!(Page::at(""), None);
    }

    #[cfg(feature = "ssr")]
    #[test]
    fn the_server_finds_the_page_whatever_is_asked_of_it() {
        use leptos::prelude::{Owner, provide_context};
        use leptos_router::location::RequestUrl;
        let asked = |url: &str| {
            Owner::new_root(None).with(|| {
                provide_context(RequestUrl::new(url));
                Page::asked()
            })
        };
        assert_eq!(asked("http://leptos.dev/?user=a"), Some(Page::Overview));
        assert_eq!(asked("/"), Some(Page::Overview));
        assert_eq!(asked("http://leptos.dev/nothing"), None);
    }
}
