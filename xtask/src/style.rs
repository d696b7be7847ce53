//! One style sheet out of many.
//!
//! `style/main.css` names the others by lines of the form `@import "gauge.css";` at its top. Each is put where its
//! line stands, so the order of those lines is the order of the cascade; what main.css says itself comes last. An
//! imported sheet may import others by the same rule. A sheet named twice is an error: one place decides its rank.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The text of a sheet with its imports put in place.
///
/// # Errors
/// When a sheet cannot be read, is named twice, or imports something that is not a file beside it.
pub fn bundle(main: &Path) -> Result<String> {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    append(main, &mut seen, &mut text)?;
    Ok(text)
}

fn append(sheet: &Path, seen: &mut BTreeSet<PathBuf>, text: &mut String) -> Result<()> {
    if !seen.insert(sheet.to_owned()) {
        return Err(problem(sheet, "imported twice"));
    }
    let content = std::fs::read_to_string(sheet).map_err(Error::file(sheet))?;
    for line in content.lines() {
        match import(line) {
            Some(name) => append(&beside(sheet, name)?, seen, text)?,
            None => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
    Ok(())
}

/// The sheet that a line imports.
fn import(line: &str) -> Option<&str> {
    line.trim()
        .strip_prefix("@import")?
        .trim()
        .strip_suffix(';')
        .map(|name| name.trim().trim_matches(['"', '\'']))
}

/// A sheet in the same folder. Anything else would be fetched from the site by the browser, or from another host.
fn beside(sheet: &Path, name: &str) -> Result<PathBuf> {
    let plain = name.ends_with(".css") && !name.contains(['/', '(', ' ']);
    if plain {
        Ok(sheet.with_file_name(name))
    } else {
        Err(problem(sheet, &format!("cannot import {name}")))
    }
}

fn problem(sheet: &Path, problem: &str) -> Error {
    Error::Style {
        sheet: sheet.to_owned(),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes sheets into a folder of their own and bundles `main.css`.
    fn bundled(test: &str, sheets: &[(&str, &str)]) -> Result<String> {
        let folder =
            std::env::temp_dir().join(format!("spillway-style-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        for (name, text) in sheets {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let result = bundle(&folder.join("main.css"));
        std::fs::remove_dir_all(&folder).unwrap();
        result
    }

    #[test]
    fn imports_come_in_the_order_of_their_lines() {
        let sheets = [
            (
                "main.css",
                "@import \"base.css\";\n@import 'gauge.css';\nmain {}\n",
            ),
            ("base.css", "base {}"),
            ("gauge.css", "@import \"bar.css\";\ngauge {}\n"),
            ("bar.css", "bar {}\n"),
        ];
        assert_eq!(
            bundled("order", &sheets).unwrap(),
            "base {}\nbar {}\ngauge {}\nmain {}\n"
        );
    }

    #[test]
    fn a_sheet_named_twice_is_an_error() {
        let twice = bundled(
            "twice",
            &[
                ("main.css", "@import \"a.css\";\n@import \"a.css\";\n"),
                ("a.css", ""),
            ],
        );
        assert!(twice.unwrap_err().to_string().contains("twice"));
        let circle = bundled(
            "circle",
            &[
                ("main.css", "@import \"a.css\";\n"),
                ("a.css", "@import \"main.css\";\n"),
            ],
        );
        assert!(circle.unwrap_err().to_string().contains("twice"));
    }

    #[test]
    fn other_hosts_and_folders_are_refused() {
        for name in [
            "https://example.org/a.css",
            "../a.css",
            "url(a.css)",
            "a.css print",
            "a",
        ] {
            let main = format!("@import \"{name}\";\n");
            assert!(
                bundled("foreign", &[("main.css", &main)]).is_err(),
                "{name}"
            );
        }
    }
}
