//! docs/CONVERSION.md tells what each construct becomes; here every row of it is tried.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod support;

use support::{BASE, converted, sent};

/// The rows of the tables under "What becomes what".
fn rows() -> Vec<Vec<String>> {
    let document = include_str!("../../docs/CONVERSION.md");
    let lines = document
        .lines()
        .filter(|line| line.starts_with("| ") && line.contains('`'));
    let cells = |line: &str| {
        line.trim_matches('|')
            .split(" | ")
            .map(|cell| cell.trim().to_owned())
            .collect()
    };
    lines.map(cells).collect()
}

fn code(cell: &str) -> String {
    cell.trim_matches('`').replace(
        "{r}",
        &format!("{BASE}/v1.0/me/onenote/resources/1-a!1-b/$value"),
    )
}

#[test]
fn every_row_is_true() {
    let rows = rows();
    assert!(rows.len() > 40, "{} rows", rows.len());
    for row in rows {
        let [what, html, blocks, warnings] = row.as_slice() else {
            panic!("four cells: {row:?}");
        };
        let html = code(html);
        let converted = converted(&html);
        let page = sent(&converted.plan);
        let outline: Vec<_> = page.children.iter().map(support::Made::outline).collect();
        assert_eq!(outline.join(" "), code(blocks), "{what}: {html}");
        let kinds: Vec<_> = converted
            .warnings
            .list
            .iter()
            .map(|it| serde_json::to_value(it.kind).unwrap())
            .collect();
        let kinds: Vec<_> = kinds.iter().map(|kind| kind.as_str().unwrap()).collect();
        assert_eq!(kinds.join(" "), code(warnings), "{what}: {html}");
    }
}
