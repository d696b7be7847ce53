//! Where links lead: to the web, to another page of a notebook, or nowhere that Notion would take.

use url::Url;

/// A link's URL has at most as many characters (developers.notion.com/reference/request-limits, "any URL").
pub(crate) const URL_CHARS_MAX: usize = 2_000;

/// A page or section of OneNote that a link means.
///
/// Links name GUIDs that are not the ids of Graph's pages; a page's own are in `links.oneNoteClientUrl`, which
/// [`Target::of`] reads just as well.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// The GUID in lower case, without braces.
    pub page: Option<String>,
    /// The same of its section. A target without a page is the section itself.
    pub section: Option<String>,
}

impl Target {
    /// What a `onenote:` address names: `onenote:…#Title&section-id={…}&page-id={…}&end`. `None` if it is none, or
    /// names neither page nor section.
    pub fn of(address: &str) -> Option<Self> {
        let scheme = address.get(.."onenote:".len())?;
        if !scheme.eq_ignore_ascii_case("onenote:") {
            return None;
        }
        let mut target = Self::default();
        for part in address.split(['#', '&', '?']) {
            match part.split_once('=') {
                Some((name, id)) if name.eq_ignore_ascii_case("page-id") => target.page = guid(id),
                Some((name, id)) if name.eq_ignore_ascii_case("section-id") => {
                    target.section = guid(id)
                }
                _ => {}
            }
        }
        (target != Self::default()).then_some(target)
    }
}

fn guid(text: &str) -> Option<String> {
    let text = text
        .replace("%7B", "")
        .replace("%7D", "")
        .replace("%7b", "")
        .replace("%7d", "");
    let text = text.trim_matches(['{', '}']).to_ascii_lowercase();
    let harmless = text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    (harmless && (1..=64).contains(&text.len())).then_some(text)
}

/// Which pages are at Notion already.
pub trait Known {
    /// The id of the Notion page that a link's target became.
    fn page(&self, target: &Target) -> Option<String>;
}

/// None yet.
impl Known for () {
    fn page(&self, _target: &Target) -> Option<String> {
        None
    }
}

impl<F: Fn(&Target) -> Option<String>> Known for F {
    fn page(&self, target: &Target) -> Option<String> {
        self(target)
    }
}

/// The address of a Notion page, by which a link in a text leads there.
pub(crate) fn notion_url(page: &str) -> String {
    let id: String = page.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("https://www.notion.so/{id}")
}

/// A web address as browsers would spell it; `None` for every other scheme, and for what is no address. Of hosts those
/// are taken that a name or a number can be: `url` takes more.
pub(crate) fn web(address: &str) -> Option<String> {
    let url = Url::parse(address).ok()?;
    let host = url.host_str()?;
    let begins = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    let harmless = |c: u8| c.is_ascii_alphanumeric() || b"-._[]:".contains(&c);
    let web = matches!(url.scheme(), "http" | "https") && begins && host.bytes().all(harmless);
    web.then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_from_links_and_from_pages() {
        let link = "onenote:https://d.docs.live.net/x/N.one#A%20B&section-id={AB-1}&page-id=%7BCd-2%7D&end&base-path=y";
        let target = Target::of(link).unwrap();
        assert_eq!(target.page.as_deref(), Some("cd-2"));
        assert_eq!(target.section.as_deref(), Some("ab-1"));
        assert_eq!(Target::of("OneNote:#x&section-id={1}").unwrap().page, None);
        for none in [
            "onenote:#x&end",
            "https://a.example/#page-id={1}",
            "onenote:#&page-id={../..}",
            "",
            "on",
        ] {
            assert_eq!(Target::of(none), None, "{none}");
        }
    }

    #[test]
    fn only_the_web_is_linked_to() {
        assert_eq!(
            web("https://a.example/ü x").as_deref(),
            Some("https://a.example/%C3%BC%20x")
        );
        assert_eq!(
            web("HTTP://A.example").as_deref(),
            Some("http://a.example/")
        );
        for none in [
            "javascript:alert(1)",
            " java\nscript:x",
            "data:text/html,x",
            "mailto:a@b.example",
            "//a.example",
            "a b",
            "file:///x",
            "https://&a.example/",
            "https:///",
        ] {
            assert_eq!(web(none), None, "{none}");
        }
    }
}
