//! Rich text: developers.notion.com/reference/rich-text.

use serde_json::Value;

use super::Judge;

/// UTF-16 units of a run's content.
const CONTENT_MAX: usize = 2_000;
/// The same of an address.
const URL_MAX: usize = 2_000;
/// The same of a formula.
const EXPRESSION_MAX: usize = 1_000;

const COLOURS: [&str; 10] = [
    "default", "gray", "brown", "orange", "yellow", "green", "blue", "purple", "pink", "red",
];

impl Judge {
    pub(super) fn texts(&mut self, value: &Value, place: &str) {
        for (index, run) in self.array(value, place).iter().enumerate() {
            self.text(run, &format!("{place}[{index}]"));
        }
    }

    fn text(&mut self, run: &Value, place: &str) {
        if self
            .only(run, place, &["type", "text", "equation", "annotations"])
            .is_none()
        {
            return;
        }
        match run["type"].as_str() {
            Some("text") => {
                let place = format!("{place}.text");
                self.only(&run["text"], &place, &["content", "link"]);
                self.string(
                    &run["text"]["content"],
                    &format!("{place}.content"),
                    CONTENT_MAX,
                );
                if !run["text"]["link"].is_null() {
                    self.only(&run["text"]["link"], &format!("{place}.link"), &["url"]);
                    self.url(&run["text"]["link"]["url"], &format!("{place}.link.url"));
                }
            }
            Some("equation") => {
                let place = format!("{place}.equation");
                self.only(&run["equation"], &place, &["expression"]);
                self.expression(
                    &run["equation"]["expression"],
                    &format!("{place}.expression"),
                );
            }
            _ => self.add(&format!("{place}.type"), "should be `text` or `equation`"),
        }
        if !run["annotations"].is_null() {
            self.annotations(&run["annotations"], &format!("{place}.annotations"));
        }
    }

    fn annotations(&mut self, value: &Value, place: &str) {
        let names = [
            "bold",
            "italic",
            "underline",
            "strikethrough",
            "code",
            "color",
        ];
        let Some(map) = self.only(value, place, &names) else {
            return;
        };
        for (name, value) in map {
            let is_right = if name == "color" {
                is_colour(value)
            } else {
                value.is_boolean()
            };
            if !is_right {
                self.add(&format!("{place}.{name}"), format!("is not one: {value}"));
            }
        }
    }

    pub(super) fn colour(&mut self, value: &Value, place: &str) {
        if !value.is_null() && !is_colour(value) {
            self.add(place, format!("is no colour: {value}"));
        }
    }

    pub(super) fn expression(&mut self, value: &Value, place: &str) {
        self.string(value, place, EXPRESSION_MAX);
        if value.as_str().is_some_and(|text| text.trim().is_empty()) {
            self.add(place, "should not be empty");
        }
    }

    pub(super) fn url(&mut self, value: &Value, place: &str) {
        self.string(value, place, URL_MAX);
        let address = value.as_str().unwrap_or("");
        let rest = address
            .strip_prefix("https://")
            .or_else(|| address.strip_prefix("http://"));
        let has_host =
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['));
        if !has_host || address.chars().any(|c| c.is_whitespace() || c.is_control()) {
            self.add(place, "should be an address of http or https");
        }
    }

    pub(super) fn string(&mut self, value: &Value, place: &str, max: usize) {
        let Some(text) = value.as_str() else {
            return self.add(place, "should be a string");
        };
        let length = text.encode_utf16().count();
        if length > max {
            self.add(place, format!("has {length} characters, more than {max}"));
        }
        if text.contains('\0') {
            self.add(place, "should not contain U+0000");
        }
    }
}

fn is_colour(value: &Value) -> bool {
    let name = value.as_str().unwrap_or("");
    let plain = name
        .strip_suffix("_background")
        .filter(|plain| *plain != "default");
    COLOURS.contains(&plain.unwrap_or(name))
}
