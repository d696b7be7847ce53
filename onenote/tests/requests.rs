//! How blocks become requests: numbers that can be worked out by hand, and the cases of cases.md.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

mod support;

use serde_json::{Value, json};
use spillway_onenote::{
    convert,
    plan::{Outcome, Under},
    rules,
};
use support::{converted, sent, upstream};

/// The sizes of the requests' first levels.
fn sizes(html: &str) -> Vec<usize> {
    let plan = converted(html).plan;
    sent(&plan);
    plan.requests
        .iter()
        .map(|request| request.children.len())
        .collect()
}

#[test]
fn a_page_of_191_paragraphs_is_100_and_91() {
    let html: String = (0..191).map(|n| format!("<p>paragraph {n}.</p>")).collect();
    assert_eq!(sizes(&html), [100, 91]);
    let text = sent(&converted(&html).plan).text();
    let lines: Vec<_> = text.lines().collect();
    assert!(
        lines
            .iter()
            .enumerate()
            .all(|(n, line)| *line == format!("paragraph {n}."))
    );
}

#[test]
fn a_list_five_deep_whose_third_level_has_150_items() {
    let third: String = (0..150).map(|n| format!("<li>third {n}.</li>")).collect();
    let third = third.replace(
        "third 149.",
        "third 149.<ul><li>fourth<ul><li>fifth</li></ul></li></ul>",
    );
    let html = format!(
        "<p>before</p><ul><li>first<ul><li>second<ul>{third}</ul></li></ul></li></ul><p>after</p>"
    );
    // The page; the first item and what follows; the second with 100 of the third; the other 50 with what is below.
    assert_eq!(sizes(&html), [1, 2, 1, 50]);
    let page = sent(&converted(&html).plan);
    let text = page.text();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 156);
    assert_eq!(lines[..3], ["before", "first", "second"]);
    assert_eq!(lines[152..], ["third 149.", "fourth", "fifth", "after"]);
}

#[test]
fn a_table_of_250_rows_is_sent_in_three() {
    let rows: String = (0..250)
        .map(|n| format!("<tr><td>{n}</td><td>x</td></tr>"))
        .collect();
    let html = format!("<table>{rows}</table>");
    // Only an append says a block's id, so the page itself is made without it.
    assert_eq!(sizes(&html), [0, 1, 100, 50]);
    let page = sent(&converted(&html).plan);
    assert_eq!(page.children[0].children.len(), 250);
}

#[test]
fn a_table_of_250_columns_is_three_tables() {
    let cells: String = (0..250).map(|n| format!("<td>c{n}.</td>")).collect();
    let page = sent(&converted(&format!("<table><tr>{cells}</tr><tr>{cells}</tr></table>")).plan);
    let widths: Vec<_> = page
        .children
        .iter()
        .map(|table| table.object["table_width"].clone())
        .collect();
    assert_eq!(widths, [100, 100, 50]);
    assert!(page.text().contains("c249."));
}

#[test]
fn a_request_has_a_thousand_blocks_and_500_kilobytes() {
    let item = format!("<li>a<ul>{}</ul></li>", "<li>b</li>".repeat(49));
    // 50 blocks each: 20 of them in a request.
    assert_eq!(sizes(&format!("<ul>{}</ul>", item.repeat(45))), [20, 20, 5]);
    let long = format!("<p>{}</p>", "ü".repeat(45_000));
    // 90 kB each: 5 in a request.
    assert_eq!(sizes(&long.repeat(12)), [5, 5, 2]);
    // One item of more than a request, in part with its parent.
    let many = format!("<ul><li>a<ul>{}</ul></li></ul>", item.repeat(30));
    let plan = converted(&many).plan;
    assert_eq!(plan.requests.len(), 3);
    assert_eq!(sent(&plan).text().lines().count(), 1 + 30 * 50);
}

#[test]
fn a_row_of_huge_cells_still_fits_its_request() {
    let cell = format!("<td>{}</td>", "\"ü ".repeat(30_000));
    let row = format!("<tr>{}</tr>", cell.repeat(30));
    let converted = converted(&format!("<table>{row}</table>"));
    let page = sent(&converted.plan);
    assert_eq!(page.text().matches('ü').count(), 30 * 30_000);
    assert!(
        converted
            .warnings
            .list
            .iter()
            .any(|it| it.what == "row 1, column 30")
    );
}

#[test]
fn a_file_that_cannot_be_had_is_a_note_with_its_caption() {
    let html = "<img src='https://graph.microsoft.com/v1.0/me/onenote/resources/1/$value' alt='A cat'><p>x</p>";
    let mut plan = convert(html, &upstream(), &()).plan;
    assert_eq!(plan.files(0), [0]);
    let unfilled = serde_json::to_value(plan.body(0, "parent").unwrap());
    assert_eq!(
        unfilled.unwrap_err().to_string(),
        "file 0 is not uploaded yet"
    );
    plan.put_file(0, Outcome::Missing("answered 404\r\n"));
    assert_eq!(plan.files(0), Vec::<usize>::new());
    let page = sent(&plan);
    assert_eq!(page.outline(), "page(callout paragraph)");
    assert_eq!(
        page.text().lines().next(),
        Some("A picture or file is missing here: answered 404. A cat")
    );
}

#[test]
fn blocks_that_an_answer_names_need_no_reading_for_their_links() {
    let link = "<a href='onenote:#x&page-id={1}&end'>link</a>";
    let html = format!(
        "{}<p>{link}</p><ul><li>{link}</li></ul>",
        "<p>x</p>".repeat(100)
    );
    let plan = converted(&html).plan;
    let sites = plan.sites();
    assert_eq!(sites.len(), 2);
    assert!(
        sites
            .iter()
            .all(|site| site.request == 1 && site.is_answered)
    );
    assert_eq!(plan.requests[1].under, Under::Page);
    let body = sites[0].update(&|_: &_| Some("ab-12".to_owned())).unwrap();
    let link = json!({ "url": "https://www.notion.so/ab12" });
    let expected = json!({ "paragraph": { "rich_text": [{ "type": "text", "text": { "content": "link", "link": link } }] } });
    assert_eq!(body, expected);
}

/// What is done to a body that is right.
type Change = Box<dyn Fn(&mut Value)>;

fn broken(change: impl Fn(&mut Value)) -> Vec<String> {
    let html =
        "<p>a <b>b</b></p><ul><li>c<ul><li>d</li></ul></li></ul><table><tr><td>e</td></tr></table>";
    let plan = converted(html).plan;
    let mut body = serde_json::to_value(plan.body(0, "parent").unwrap()).unwrap();
    assert!(rules::new_page(&body).is_empty());
    change(&mut body);
    rules::new_page(&body)
        .iter()
        .map(ToString::to_string)
        .collect()
}

#[test]
fn the_judge_refuses_each_breach_and_says_where() {
    let paragraph = || json!({ "type": "paragraph", "paragraph": { "rich_text": [] } });
    let cases: Vec<(Change, &str)> = vec![
        (
            Box::new(|it| it["parent"] = json!({})),
            "parent: should have the id of a page or a data source",
        ),
        (
            Box::new(|it| it["properties"] = json!({})),
            "properties.title.title: should be there",
        ),
        (
            Box::new(|it| {
                it["children"][0]["paragraph"]["rich_text"][0]["text"]["content"] =
                    json!("😀".repeat(1_001))
            }),
            "children[0].paragraph.rich_text[0].text.content: has 2002 characters, more than 2000",
        ),
        (
            Box::new(|it| {
                it["children"][0]["paragraph"]["rich_text"][0]["text"]["link"] =
                    json!({ "url": "javascript:x" })
            }),
            "children[0].paragraph.rich_text[0].text.link.url: should be an address of http or https",
        ),
        (
            Box::new(|it| {
                it["children"][0]["paragraph"]["rich_text"][1]["annotations"]["color"] =
                    json!("teal")
            }),
            "children[0].paragraph.rich_text[1].annotations.color: is not one: \"teal\"",
        ),
        (
            Box::new(|it| {
                it["children"][0]["paragraph"]["rich_text"] = json!(vec![
                        it["children"][0]["paragraph"]["rich_text"][0].clone();
                        101
                    ])
            }),
            "children[0].paragraph.rich_text: has 101 items, more than 100",
        ),
        (
            Box::new(|it| it["children"][0]["paragraph"]["x"] = json!(1)),
            "children[0].paragraph.x: should be not present",
        ),
        (
            Box::new(|it| it["children"][0]["type"] = json!("poem")),
            "children[0].type: is no block: `poem`",
        ),
        (
            Box::new(move |it| {
                let deeper = json!([{ "type": "paragraph", "paragraph": { "rich_text": [], "children": [paragraph()] } }]);
                it["children"][1]["bulleted_list_item"]["children"][0]["bulleted_list_item"]["children"] =
                    deeper;
            }),
            "children[1].bulleted_list_item.children[0].bulleted_list_item.children[0].paragraph.children: should be not present",
        ),
        (
            Box::new(|it| it["children"][2]["table"]["table_width"] = json!(2)),
            "children[2].table.children[0]: has 1 cells in a table of 2 columns",
        ),
        (
            Box::new(|it| it["children"][2]["table"]["children"] = json!([])),
            "children[2].table: should have a row",
        ),
        (
            Box::new(|it| it["children"][2] = it["children"][2]["table"]["children"][0].clone()),
            "children[2]: is a row outside of a table",
        ),
        (
            Box::new(|it| it["children"] = json!(vec![it["children"][0].clone(); 101])),
            "children: has 101 items, more than 100",
        ),
        (
            Box::new(|it| {
                it["children"][0] =
                    json!({ "type": "equation", "equation": { "expression": "x".repeat(1_001) } })
            }),
            "children[0].equation.expression: has 1001 characters, more than 1000",
        ),
    ];
    for (change, expected) in cases {
        let found = broken(change);
        assert_eq!(found, [expected]);
    }
    let wide = |it: &mut Value| {
        it["children"][0]["paragraph"]["children"] = json!(vec![it["children"][0].clone(); 101])
    };
    assert!(
        broken(wide)
            .iter()
            .any(|it| it.ends_with("has 101 items, more than 100"))
    );
    let many = |it: &mut Value| {
        let item = json!({ "type": "paragraph", "paragraph": { "rich_text": [], "children": vec![json!({ "type": "divider", "divider": {} }); 50] } });
        it["children"] = json!(vec![item; 20]);
    };
    assert_eq!(broken(many), ["body: has more than 1000 blocks"]);
}
