use serde_json::json;

use super::*;

fn text(content: &str) -> Value {
    json!([{"text": {"content": content}}])
}

fn paragraph(content: &str) -> Value {
    json!({"paragraph": {"rich_text": text(content)}})
}

/// A list item with others in it, `levels` deep in all.
fn nested(levels: usize) -> Value {
    let mut content = json!({"rich_text": text("x")});
    if levels > 1 {
        content["children"] = json!([nested(levels - 1)]);
    }
    json!({"type": "bulleted_list_item", "bulleted_list_item": content})
}

fn refusal(children: Value) -> String {
    format!("{:?}", read(&children).unwrap_err())
}

#[test]
fn blocks_nest_two_levels_and_no_deeper() {
    let read = read(&json!([nested(3)])).unwrap();
    assert_eq!(read[0].children[0].children[0].kind, "bulleted_list_item");
    assert!(read[0].content.get("children").is_none());
    let at = "body.children[0].bulleted_list_item.children[0].bulleted_list_item\
              .children[0].bulleted_list_item.children should be not present";
    assert!(refusal(json!([nested(4)])).contains(at));
}

#[test]
fn sizes_are_bounded_where_notion_bounds_them() {
    let lines = |count: usize| Value::from(vec![paragraph("x"); count]);
    assert_eq!(read(&lines(100)).unwrap().len(), 100);
    assert!(refusal(lines(101)).contains("body.children.length should be ≤ `100`"));

    assert!(read(&json!([paragraph(&"é".repeat(2000))])).is_ok());
    let long = refusal(json!([paragraph(&"é".repeat(2001))]));
    let at = "body.children[0].paragraph.rich_text[0].text.content.length";
    assert!(long.contains(at) && long.contains("`2001`"), "{long}");

    let mut wide = paragraph("");
    wide["paragraph"]["rich_text"] = vec![text("x")[0].clone(); 101].into();
    assert!(refusal(json!([wide])).contains("rich_text.length"));

    // 10 times 100 lines and the 10 that hold them.
    let mut holder = json!({"toggle": {"rich_text": text("x")}});
    holder["toggle"]["children"] = lines(100);
    assert!(refusal(vec![holder.clone(); 10].into()).contains("at most 1000 blocks"));
    assert_eq!(read(&vec![holder; 9].into()).unwrap().len(), 9);
}

#[test]
fn kinds_have_their_shapes() {
    let row = |cells: usize| json!({"table_row": {"cells": vec![text("x"); cells]}});
    let table = |rows: Value| json!([{"table": {"table_width": 2, "children": rows}}]);
    assert_eq!(
        read(&table(json!([row(2), row(2)]))).unwrap()[0]
            .children
            .len(),
        2
    );
    for (bad, at) in [
        (table(json!([row(3)])), "as the table is wide"),
        (table(json!([])), "as the table is wide"),
        (
            json!([{"table": {"table_width": 2}}]),
            "table.children should be defined",
        ),
        (
            json!([{"type": "paragraph", "toggle": {}}]),
            "body.children[0]",
        ),
        (json!([{"wave": {}}]), "known kind"),
        (json!([{"paragraph": {}}]), "rich_text should be an array"),
        (
            json!([{"divider": {"children": []}}]),
            "should be not present",
        ),
        (
            json!([{"image": {"external": {}}}]),
            "external.url should be a string",
        ),
        (
            json!([{"equation": {"expression": "x".repeat(1001)}}]),
            "`1001`",
        ),
        (json!([{"embed": {"url": "x".repeat(2001)}}]), "`2001`"),
        (json!({}), "should be an array"),
    ] {
        let refused = refusal(bad);
        assert!(refused.contains(at), "{refused}");
    }
}
