//! Which end tags may be left out, and how far an end tag reaches.

/// Elements that never have content (HTML Living Standard, 13.1.2).
pub(super) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area"
            | "base"
            | "br"
            | "col"
            | "embed"
            | "hr"
            | "img"
            | "input"
            | "link"
            | "meta"
            | "param"
            | "source"
            | "track"
            | "wbr"
    )
}

/// Elements whose start ends a paragraph (13.2.6.4.7, "in body").
pub(super) fn ends_paragraph(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "center"
            | "dd"
            | "details"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hr"
            | "li"
            | "main"
            | "nav"
            | "ol"
            | "p"
            | "pre"
            | "section"
            | "summary"
            | "table"
            | "ul"
    )
}

/// Elements that end a formula which was never closed (13.2.6.5, "foreign content"), and those with a file or a link.
pub(super) fn ends_formula(name: &str) -> bool {
    ends_paragraph(name)
        || matches!(
            name,
            "a" | "b"
                | "big"
                | "body"
                | "br"
                | "code"
                | "em"
                | "embed"
                | "head"
                | "i"
                | "iframe"
                | "img"
                | "listing"
                | "menu"
                | "meta"
                | "nobr"
                | "object"
                | "ruby"
                | "s"
                | "small"
                | "span"
                | "strong"
                | "strike"
                | "sub"
                | "sup"
                | "tt"
                | "u"
                | "var"
        )
}

/// What the start of an element ends, if that is open, and what it does not look behind.
pub(super) fn ended_by(name: &str) -> Option<(&'static [&'static str], &'static [&'static str])> {
    const CELLS: &[&str] = &["td", "th", "caption"];
    const ROWS: &[&str] = &["td", "th", "caption", "tr"];
    const GROUPS: &[&str] = &["td", "th", "caption", "tr", "tbody", "thead", "tfoot"];
    match name {
        "li" => Some((&["li"], &["ul", "ol", "table", "td", "th"])),
        "dt" | "dd" => Some((&["dt", "dd"], &["dl", "table", "td", "th"])),
        "td" | "th" => Some((CELLS, &["tr", "table"])),
        "tr" => Some((ROWS, &["table"])),
        "tbody" | "thead" | "tfoot" => Some((GROUPS, &["table"])),
        _ => None,
    }
}

/// Whether an end tag must not look behind an open element: one inside a cell ends nothing outside of it.
pub(super) fn stops(end: &str, open: &str) -> bool {
    match open {
        "table" => end != "table" && end != "body" && end != "html",
        "td" | "th" | "caption" => !matches!(
            end,
            "td" | "th"
                | "caption"
                | "tr"
                | "tbody"
                | "thead"
                | "tfoot"
                | "table"
                | "body"
                | "html"
        ),
        _ => false,
    }
}

/// Where a paragraph is looked for no further.
pub(super) fn bounds_paragraph(open: &str) -> bool {
    open != "p"
        && (ends_paragraph(open)
            || matches!(open, "td" | "th" | "caption" | "body" | "html" | "object"))
}
