//! Limits as a file for people: TOML, as the configuration writes them.

use std::fmt::Write as _;

use super::{Document, WrittenLayer};

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
    }
    text
}

/// Names of upstreams and workloads are bare keys; one that is none is quoted as JSON is, which
/// TOML reads alike.
fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !name.is_empty() && name.bytes().all(is_bare) {
        return name.to_owned();
    }
    serde_json::Value::from(name).to_string()
}

fn line(layer: &WrittenLayer) -> String {
    let scope = serde_json::json!(layer.scope);
    let dimension = serde_json::json!(layer.dimension);
    let window = layer.window_ms.map(|ms| format!(", window_ms = {ms}"));
    format!(
        "  {{ scope = {scope}, dimension = {dimension}{}, limit = {} }},\n",
        window.unwrap_or_default(),
        layer.limit
    )
}
