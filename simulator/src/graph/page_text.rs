//! What a client writes as a page, taken apart no further than is needed: title and body.

/// The text of the title; empty where there is none.
pub(super) fn title(html: &str) -> String {
    let title = between(html, "<title", "</title>").unwrap_or("");
    unescape(title.trim())
}

/// What stands in the body; all of it where no body is marked.
pub(super) fn body(html: &str) -> &str {
    between(html, "<body", "</body>").unwrap_or(html).trim()
}

/// What stands between a start tag and an end tag, whose letters are of either case.
fn between<'a>(html: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let from = find(html, start)?;
    let rest = html.get(from..)?;
    let rest = rest.get(rest.find('>')? + 1..)?;
    rest.get(..find(rest, end)?)
}

/// ASCII letters keep their place when they change case, so that the index fits both texts.
fn find(html: &str, tag: &str) -> Option<usize> {
    html.to_ascii_lowercase().find(tag)
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_and_body_are_found_whatever_surrounds_them() {
        let html = "<!DOCTYPE html><HTML><head><Title>a &amp;lt; b</title></head>\
                    <BODY style='x'>\n<p>É</p></Body></HTML>";
        assert_eq!((title(html).as_str(), body(html)), ("a &lt; b", "<p>É</p>"));
        assert_eq!(
            (title("<p>x</p>").as_str(), body("<p>x</p>")),
            ("", "<p>x</p>")
        );
        assert_eq!((title("<title").as_str(), body("<body")), ("", "<body"));
    }
}
