//! Pages that show every construct, each against a snapshot of the JSON that Notion gets.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod support;

use std::fmt::Write;

use spillway_onenote::plan::Under;
use support::{converted, sent};

/// Requests with a block a line, then what goes with them.
fn shown(html: &str) -> String {
    let converted = converted(html);
    let plan = &converted.plan;
    sent(plan);
    let mut out = String::new();
    for (number, request) in plan.requests.iter().enumerate() {
        let body = serde_json::to_value(plan.body(number, "parent").unwrap()).unwrap();
        match request.under {
            Under::NewPage => writeln!(out, "new page {}", body["properties"]["title"]["title"]),
            Under::Page => writeln!(out, "to the page"),
            Under::Block { request, index } => {
                writeln!(out, "to block {index} of request {request}")
            }
        }
        .unwrap();
        for block in &request.children {
            writeln!(out, "  {}", serde_json::to_string(block).unwrap()).unwrap();
        }
    }
    for file in &converted.files {
        writeln!(
            out,
            "file {:?} {} {:?}",
            file.media, file.name, file.resource.path
        )
        .unwrap();
    }
    for site in plan.sites() {
        writeln!(
            out,
            "site {} {:?} answered {} {:?}",
            site.request, site.path, site.is_answered, site.targets
        )
        .unwrap();
    }
    for warning in &converted.warnings.list {
        writeln!(
            out,
            "warning {:?} {:?} after {:?}",
            warning.kind, warning.what, warning.after
        )
        .unwrap();
    }
    writeln!(out, "more warnings {}", converted.warnings.more).unwrap();
    out
}

macro_rules! pages {
    ($($name:ident $file:literal)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(shown(include_str!(concat!("pages/", $file, ".html"))));
        }
    )*

        #[test]
        fn every_page_is_tested() {
            let named = [$(concat!($file, ".html")),*];
            for page in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pages")).unwrap() {
                let page = page.unwrap().file_name().into_string().unwrap();
                assert!(named.contains(&page.as_str()), "{page}");
            }
        }
    };
}

pages! {
    attachments "attachments"
    code "code"
    formulas "formulas"
    headings "headings"
    hostile "hostile"
    ink "ink"
    links "links"
    lists "lists"
    looks "looks"
    pictures "pictures"
    printouts "printouts"
    reading_order "reading-order"
    tables "tables"
    to_dos "to-dos"
}
