//! A page as OneNote writes it: absolutely placed divs, inline styles, `data-tag` to-dos, images
//! with two sources.

use std::fmt::Write;

use super::library::{Page, Resource, ResourceKind};
use super::words::sentence;
use crate::clock::date;
use crate::random::{between, hash};

/// The HTML of a page. Resources are linked under `resources_url`, such as
/// `http://host/v1.0/users('u')/onenote/resources`, which must need no escaping in an attribute.
pub(crate) fn page(page: &Page, resources_url: &str) -> String {
    let title = escape(&page.title);
    let created = date(page.created_s);
    let written = &page.text;
    let mut body = match &written.body {
        Some(body) => lines(body),
        None => text(page),
    };
    body = format!("{}{body}{}", lines(&written.first), lines(&written.last));
    for resource in page.resources() {
        body += &resource_html(&resource, resources_url);
    }
    format!(
        "<html lang=\"en-US\">\n\t<head>\n\t\t<title>{title}</title>\n\t\t\
         <meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\" />\n\t\t\
         <meta name=\"created\" content=\"{created}.0000000\" />\n\t</head>\n\t\
         <body data-absolute-enabled=\"true\" style=\"font-family:Calibri;font-size:11pt\">\n\t\t\
         <div data-id=\"_default\" style=\"position:absolute;left:48px;top:120px;width:624px\">\n\
         {body}\t\t</div>\n\t</body>\n</html>\n"
    )
}

/// Text with the characters that mean something in HTML written as references.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A piece of HTML as a line of its own; nothing of nothing.
fn lines(html: &str) -> String {
    match html {
        "" => String::new(),
        html => format!("\t\t\t{html}\n"),
    }
}

fn text(page: &Page) -> String {
    let mut html = String::new();
    for n in 0..between(page.seed, 2, 6) {
        let seed = hash(page.seed, &["paragraph", &n.to_string()]);
        let words = sentence(seed, between(seed, 6, 40));
        line(
            &mut html,
            &format!("<p style=\"margin-top:0pt;margin-bottom:0pt\">{words}.</p>"),
        );
    }
    match page.seed % 4 {
        0 => line(&mut html, TO_DOS),
        1 => line(&mut html, NESTED_LIST),
        2 => line(&mut html, TABLE),
        _ => {}
    }
    html
}

const TO_DOS: &str = "<p data-tag=\"to-do\" style=\"margin-top:0pt;margin-bottom:0pt\">Measure</p>\
    <p data-tag=\"to-do:completed\" style=\"margin-top:0pt;margin-bottom:0pt\">Calibrate</p>";

const NESTED_LIST: &str = "<ul>\
    <li><span style=\"font-weight:bold\">Upstream</span></li>\
    <li><p style=\"margin-top:0pt;margin-bottom:0pt\">Downstream</p>\
    <ol><li style=\"list-style-type:lower-alpha\">left bank</li><li>right bank</li></ol></li></ul>";

const TABLE: &str = "<table style=\"border:1px solid;border-collapse:collapse\">\
    <tr><td style=\"border:1px solid\">Gauge</td><td style=\"border:1px solid\">Level</td></tr>\
    <tr><td style=\"border:1px solid\">North</td><td style=\"border:1px solid\">3.2 m</td></tr>\
    </table>";

fn resource_html(resource: &Resource, resources_url: &str) -> String {
    let url = format!("{resources_url}/{}/$value", resource.id);
    let mut html = String::new();
    match resource.kind {
        ResourceKind::Image => line(
            &mut html,
            &format!(
                "<img alt=\"A gauge\" width=\"16\" height=\"16\" src=\"{url}\" \
                 data-src-type=\"image/png\" data-fullres-src=\"{url}\" \
                 data-fullres-src-type=\"image/png\" />"
            ),
        ),
        ResourceKind::Attachment => line(
            &mut html,
            &format!(
                "<object data-attachment=\"readings.txt\" type=\"text/plain\" data=\"{url}\" />"
            ),
        ),
    }
    html
}

fn line(html: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(html, "\t\t\t{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::library::Library;

    #[test]
    fn looks_like_onenotes_and_links_its_resources() {
        let library = Library::new(7, "u1", (32, 48));
        let pages = library.pages();
        let with_all = pages.iter().find(|page| page.order == 0).unwrap();
        let html = page(with_all, "http://host/v1.0/users('u1')/onenote/resources");
        assert!(html.contains("<body data-absolute-enabled=\"true\""));
        assert_eq!(html.matches("<img ").count(), 2);
        assert_eq!(html.matches("<object ").count(), 1);
        for resource in with_all.resources() {
            let url = format!(
                "http://host/v1.0/users('u1')/onenote/resources/{}/$value",
                resource.id
            );
            assert!(html.contains(&format!("=\"{url}\"")));
        }
        let plain = pages.iter().find(|page| page.order == 1).unwrap();
        assert!(!super::page(plain, "x").contains("<img"));
    }

    #[test]
    fn titles_are_escaped() {
        assert_eq!(
            escape("a <b> & \"c\" 'd'"),
            "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;"
        );
    }
}
