//! Reads a file of limits: strictly, and bounded.

use std::{collections::BTreeMap, fs::File, io::Read as _, path::Path};

use serde::Deserialize;

use super::{Document, WrittenBreakers, WrittenLayer, WrittenOverride, export::Exported};

/// The longest file, in bytes.
const FILE_BYTES_MAX: usize = 64 * 1024;

/// Why a file is none of limits.
#[derive(Debug, thiserror::Error)]
pub enum BadFile {
    /// It cannot be read.
    #[error("cannot be read")]
    Io(#[from] std::io::Error),
    /// It is longer than any is.
    #[error("has more than {FILE_BYTES_MAX} bytes")]
    TooLong,
    /// It is no TOML, or of another shape.
    #[error("{0}")]
    Shape(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    version: i64,
    background_share_permille: i64,
    layers: Vec<WrittenLayer>,
    #[serde(default)]
    breakers: WrittenBreakers,
    #[serde(default)]
    overrides: Vec<WrittenOverride>,
}

pub(super) fn read(path: &Path) -> Result<Vec<Exported>, BadFile> {
    let mut text = String::new();
    let most = FILE_BYTES_MAX as u64 + 1;
    File::open(path)?.take(most).read_to_string(&mut text)?;
    if text.len() > FILE_BYTES_MAX {
        return Err(BadFile::TooLong);
    }
    parse(&text)
}

fn parse(text: &str) -> Result<Vec<Exported>, BadFile> {
    type Upstreams = BTreeMap<String, BTreeMap<String, Written>>;
    let upstreams: Upstreams = toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = error.span().map(|span| {
            let before = text.get(..span.start).unwrap_or_default();
            format!("line {}: ", before.matches('\n').count() + 1)
        });
        BadFile::Shape(format!("{}{}", line.unwrap_or_default(), error.message()))
    })?;
    let all = upstreams.into_iter().flat_map(|(upstream, workloads)| {
        workloads
            .into_iter()
            .map(move |(workload, written)| Exported {
                upstream: upstream.clone(),
                workload,
                version: written.version,
                document: Document {
                    background_share_permille: written.background_share_permille,
                    layers: written.layers,
                    breakers: written.breakers,
                    overrides: written.overrides,
                },
            })
    });
    Ok(all.collect())
}

#[cfg(test)]
mod tests {
    use spillway::preset::Preset;

    use super::super::export;
    use super::*;

    #[test]
    fn what_is_exported_is_read_as_it_was() {
        let mut exported = Preset::ALL.map(|preset| Exported {
            upstream: "a b\"]\n\u{202e}".to_owned(),
            workload: preset.name().to_owned(),
            version: 7,
            document: Document::from(&preset.policy().unwrap()),
        });
        let own = r#"{ "scope": "user", "app": "a\"'\\ \u202e", "tenant": "[t]", "user": "é",
            "limits": [{ "dimension": "rate", "window_ms": 1000, "limit": 5 },
                { "dimension": "concurrency", "limit": 2 }] }"#;
        let document = &mut exported[0].document;
        document.overrides = vec![serde_json::from_str(own).unwrap()];
        document.layers[0].shadow = true;
        document.breakers.outage_ms = 7;
        let text = export::text(&exported);
        let mut read = parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        read.sort_by_key(|it| exported.iter().position(|other| other == it));
        assert_eq!(read, exported, "{text}");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, says) in [
            ("[graph.onenote", "line 1: "),
            (
                "[graph.onenote]\nversion = 1\nbackground_share_permille = 5\nlayers = []\nmore = 1",
                "unknown field `more`",
            ),
            (
                "[graph.onenote]\nversion = 1\nlayers = []",
                "background_share_permille",
            ),
            ("graph = 1", "line 1: "),
            (
                "[graph.onenote]\nversion = 1\nbackground_share_permille = 5\nlayers = [{ scope = 'all' }]",
                "line 4: unknown variant `all`",
            ),
        ] {
            let said = parse(text).unwrap_err().to_string();
            assert!(said.contains(says), "{text}: {said}");
        }
        assert_eq!(parse("").unwrap(), []);
    }

    #[test]
    fn a_file_has_a_bound() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("limits.toml");
        std::fs::write(&path, "#".repeat(FILE_BYTES_MAX + 1)).unwrap();
        assert!(matches!(read(&path), Err(BadFile::TooLong)));
        std::fs::write(&path, "#".repeat(FILE_BYTES_MAX)).unwrap();
        assert_eq!(read(&path).unwrap(), []);
        assert!(matches!(
            read(&dir.path().join("none")),
            Err(BadFile::Io(_))
        ));
    }
}
