//! Limits as a file for people: TOML, as the configuration writes them.

use std::fmt::Write as _;

use super::{Document, WrittenLayer, WrittenOverride, WrittenOwnLimit};

/// One workload of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exported {
    pub(super) upstream: String,
    pub(super) workload: String,
    /// The version that the file was made of.
    pub(super) version: i64,
    pub(super) document: Document,
}

/// A file of these.
pub(super) fn text(all: &[Exported]) -> String {
    let mut text = String::from(
        "# Limits of Spillway. Change them here, look at `spillway policy diff FILE`, and put them in\n\
         # force by `spillway policy apply FILE --reason …`. Leave each version as it is: it tells\n\
         # whether somebody else was first.\n",
    );
    for it in all {
        // Text takes everything.
        let _ = write!(
            text,
            "\n[{}.{}]\nversion = {}\nbackground_share_permille = {}\nlayers = [\n",
            key(&it.upstream),
            key(&it.workload),
            it.version,
            it.document.background_share_permille,
        );
        it.document
            .layers
            .iter()
            .for_each(|layer| text.push_str(&line(layer)));
        text.push_str("]\n");
        breakers(&mut text, &it.document);
        overrides(&mut text, &it.document.overrides);
    }
    text
}

/// The rules for breakers, where they are not those of the design.
fn breakers(text: &mut String, document: &Document) {
    // Numbers, whose names are bare keys.
    let all = serde_json::to_value(document).unwrap_or_default();
    let Some(rules) = all.get("breakers").and_then(serde_json::Value::as_object) else {
        return;
    };
    let rules: Vec<_> = rules
        .iter()
        .map(|(name, it)| format!("{name} = {it}"))
        .collect();
    let _ = writeln!(text, "breakers = {{ {} }}", rules.join(", "));
}

fn overrides(text: &mut String, overrides: &[WrittenOverride]) {
    if overrides.is_empty() {
        return;
    }
    text.push_str("overrides = [\n");
    for own in overrides {
        let names = [("tenant", &own.tenant), ("user", &own.user)].into_iter();
        let names = names.filter(|(_, name)| !name.is_empty());
        let names = names.map(|(what, name)| format!(", {what} = {}", quoted(name)));
        let limits: Vec<_> = own.limits.iter().map(own_limit).collect();
        let _ = writeln!(
            text,
            "  {{ scope = {}, app = {}{}, limits = [{}] }},",
            serde_json::json!(own.scope),
            quoted(&own.app),
            names.collect::<String>(),
            limits.join(", "),
        );
    }
    text.push_str("]\n");
}

fn own_limit(own: &WrittenOwnLimit) -> String {
    let dimension = serde_json::json!(own.dimension);
    let window = own.window_ms.map(|ms| format!(", window_ms = {ms}"));
    let limit = own.limit;
    format!(
        "{{ dimension = {dimension}{}, limit = {limit} }}",
        window.unwrap_or_default()
    )
}

/// As JSON quotes it, which TOML reads alike.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Names of upstreams and workloads are bare keys; one that is none is quoted as JSON is, which
/// TOML reads alike.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(is_bare) {
        return name.to_owned();
    }
    quoted(name)
}

fn line(layer: &WrittenLayer) -> String {
    let scope = serde_json::json!(layer.scope);
    let dimension = serde_json::json!(layer.dimension);
    let window = layer.window_ms.map(|ms| format!(", window_ms = {ms}"));
    let shadow = if layer.shadow { ", shadow = true" } else { "" };
    format!(
        "  {{ scope = {scope}, dimension = {dimension}{}, limit = {}{shadow} }},\n",
        window.unwrap_or_default(),
        layer.limit
    )
}
