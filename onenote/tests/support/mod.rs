//! A page that is made of a plan, as Notion would make it, and what tests ask of it.
#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use serde_json::{Value, json};
use spillway_onenote::{
    Converted, Upstream, convert,
    plan::{Outcome, Plan, Under},
    rules,
};

pub const BASE: &str = "https://graph.microsoft.com";

pub fn upstream() -> Upstream {
    Upstream::new(BASE).unwrap()
}

/// Converts, with all files uploaded.
pub fn converted(html: &str) -> Converted {
    let mut converted = convert(html, &upstream(), &());
    for place in 0..converted.files.len() {
        let id = format!("00000000-0000-0000-0000-{place:012}");
        converted.plan.put_file(place, Outcome::Uploaded(&id));
    }
    converted
}

/// A block at Notion.
#[derive(Debug)]
pub struct Made {
    pub name: String,
    pub object: Value,
    pub children: Vec<Made>,
}

/// Sends a plan to a Notion that keeps its rules and answers with ids of the first level alone.
pub fn sent(plan: &Plan) -> Made {
    let mut page = Made {
        name: "page".to_owned(),
        object: json!({}),
        children: Vec::new(),
    };
    // What each request's answer names: the way to each block of its first level.
    let mut answers: Vec<Vec<Vec<usize>>> = Vec::new();
    for (number, request) in plan.requests.iter().enumerate() {
        let body = serde_json::to_value(plan.body(number, "parent").unwrap()).unwrap();
        let way = match request.under {
            Under::NewPage | Under::Page => Vec::new(),
            Under::Block { request, index } => answers[request][index].clone(),
        };
        let under = way
            .iter()
            .fold(&mut page, |made, place| &mut made.children[*place]);
        let violations = match request.under {
            Under::NewPage => rules::new_page(&body),
            _ => rules::append(&body, under.name == "table"),
        };
        assert!(violations.is_empty(), "request {number}: {}", violations[0]);
        let first = under.children.len();
        let blocks = body["children"].as_array().unwrap();
        under.children.extend(blocks.iter().map(made));
        let named = (first..under.children.len()).map(|place| [way.clone(), vec![place]].concat());
        // The answer to a new page is the page.
        answers.push(if request.under == Under::NewPage {
            Vec::new()
        } else {
            named.collect()
        });
    }
    page
}

pub fn made(block: &Value) -> Made {
    let name = block["type"].as_str().unwrap();
    let mut object = block[name].clone();
    let children = object
        .as_object_mut()
        .unwrap()
        .remove("children")
        .unwrap_or(json!([]));
    let children = children.as_array().unwrap().iter().map(made).collect();
    Made {
        name: name.to_owned(),
        object,
        children,
    }
}

impl Made {
    /// All text in order: a line for each block or cell.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.add_text(&mut out);
        out
    }

    fn add_text(&self, out: &mut String) {
        for runs in ["rich_text", "caption"] {
            add_runs(&self.object[runs], out);
        }
        for cell in self.object["cells"].as_array().into_iter().flatten() {
            add_runs(cell, out);
        }
        if let Some(latex) = self.object["expression"].as_str() {
            out.push_str(latex);
            out.push('\n');
        }
        self.children.iter().for_each(|child| child.add_text(out));
    }

    /// The names of its blocks, nested: `bulleted_list_item(paragraph)`.
    pub fn outline(&self) -> String {
        let children: Vec<_> = self.children.iter().map(Self::outline).collect();
        match children.as_slice() {
            [] => self.name.clone(),
            children => format!("{}({})", self.name, children.join(" ")),
        }
    }
}

fn add_runs(runs: &Value, out: &mut String) {
    let Some(runs) = runs.as_array() else {
        return;
    };
    for run in runs {
        let text = run["text"]["content"]
            .as_str()
            .or(run["equation"]["expression"].as_str());
        out.push_str(text.unwrap());
    }
    out.push('\n');
}
