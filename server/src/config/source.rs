//! From a file and environment variables to one table, and from a table to typed keys.
//!
//! Variables win over the file, key by key: `SPILLWAY__SERVER__LISTEN` is
//! `server.listen`, `SPILLWAY__UPSTREAMS__GRAPH__BASE_URL` is `upstreams.graph.base_url`.

use std::{
    ffi::OsString,
    fmt::Display,
    ops::RangeInclusive,
    path::{Path, PathBuf},
};

use serde::de::{DeserializeOwned, Deserializer, Error as _};
use toml::{Table, Value};

use super::Error;

/// What the variables' names begin with.
const PREFIX: &str = "SPILLWAY__";

/// What the TOML reader says of numbers beyond its own.
const TOO_LARGE: [&str; 2] = ["expected any valid TOML value", "value was too large"];

/// The whole file as a table.
pub(super) fn read(path: &Path) -> Result<Table, Error> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    parse(path, &text)
}

/// The text of a file at `path` as a table.
pub(super) fn parse(path: &Path, text: &str) -> Result<Table, Error> {
    text.parse::<Table>().map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start);
        Error::Syntax {
            path: PathBuf::from(path),
            line: line_of(text, offset),
            problem: number_problem(text, offset, error.message())
                .unwrap_or_else(|| one_line(error.message())),
        }
    })
}

/// Puts the values of `SPILLWAY__…` variables in the place of the file's.
pub(super) fn override_with(
    table: &mut Table,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<(), Error> {
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) else {
            continue;
        };
        let problem = |problem| Error::Variable {
            variable: name.to_owned(),
            problem,
        };
        let value = value.to_str().ok_or(problem("is not UTF-8"))?;
        let path = name[PREFIX.len()..].to_ascii_lowercase();
        set(table, &path, value_of(value)).map_err(problem)?;
    }
    Ok(())
}

/// Reads typed keys; an error names the key it is about.
pub(super) fn typed<T: DeserializeOwned>(table: Table) -> Result<T, Error> {
    serde_path_to_error::deserialize(Value::Table(table)).map_err(|error| {
        let key = error.path().to_string();
        let message = one_line(error.inner().message());
        if message.starts_with("unknown field") {
            return Error::UnknownKey {
                nearest: nearest(&key, &message),
                key,
            };
        }
        // What a number has to be is said in words, not in those of the program.
        Error::invalid(
            key,
            message.replace("expected i64", "expected a whole number"),
        )
    })
}

/// A number as it was written, which must be one of `range`.
pub(super) fn whole<T>(key: &str, number: i64, range: RangeInclusive<T>) -> Result<T, Error>
where
    T: TryFrom<i64> + PartialOrd + Display,
{
    let number = fitting(key, number, &range)?;
    if range.contains(&number) {
        Ok(number)
    } else {
        Err(outside(key, &range))
    }
}

/// A number as it was written, which must fit its type; who asks checks the range.
pub(super) fn fitting<T>(key: &str, number: i64, range: &RangeInclusive<T>) -> Result<T, Error>
where
    T: TryFrom<i64> + Display,
{
    T::try_from(number).map_err(|_| outside(key, range))
}

fn outside<T: Display>(key: &str, range: &RangeInclusive<T>) -> Error {
    let problem = format!("must be from {} to {}", range.start(), range.end());
    Error::invalid(key, problem)
}

/// A documented key that this version cannot honour: giving it is an error, so that
/// nobody believes in a protection that is not there.
#[derive(Debug)]
pub(super) enum NotYet {}

impl<'de> serde::Deserialize<'de> for NotYet {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("not supported yet"))
    }
}

/// A variable's text as a value: numbers, booleans, arrays and quoted strings as in
/// TOML, anything else as text.
fn value_of(text: &str) -> Value {
    let typed = text == "true"
        || text == "false"
        || text.starts_with(['[', '"', '\''])
        || text.trim_start_matches(['-', '+']).parse::<u64>().is_ok();
    let value = if typed {
        text.parse::<Value>().ok()
    } else {
        None
    };
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

fn set(table: &mut Table, path: &str, value: Value) -> Result<(), &'static str> {
    match path.split_once("__") {
        Some(("", _)) => Err("names no key"),
        None if path.is_empty() => Err("names no key"),
        None => {
            table.insert(path.to_owned(), value);
            Ok(())
        }
        Some((section, rest)) => {
            let section = table
                .entry(section)
                .or_insert_with(|| Value::Table(Table::new()));
            let section = section.as_table_mut().ok_or("its section is a value")?;
            set(section, rest, value)
        }
    }
}

/// The key, among those that a message lists, that is at most a third away from `key`.
fn nearest(key: &str, message: &str) -> Option<String> {
    let name = key.rsplit('.').next()?;
    let known = message.split('`').skip(3).step_by(2);
    let (distance, best) = known
        .map(|known| (strsim::damerau_levenshtein(name, known), known))
        .min()?;
    (distance * 3 <= name.len().max(best.len())).then(|| best.to_owned())
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// In plain words: a number at `offset` that no TOML reader takes, under its key where that
/// is right before it.
fn number_problem(text: &str, offset: usize, message: &str) -> Option<String> {
    if !TOO_LARGE
        .iter()
        .any(|too_large| message.contains(too_large))
    {
        return None;
    }
    let before = text.get(..offset)?.trim_end();
    let key = before.strip_suffix('=').and_then(|before| {
        let in_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        before.trim_end().rsplit(|c| !in_key(c)).next()
    });
    let key = key.filter(|key| !key.is_empty());
    let key = key.map(|key| format!("{key}: ")).unwrap_or_default();
    Some(format!("{key}no number may be beyond {}", i64::MAX))
}

fn one_line(message: &str) -> String {
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overridden(variables: &[(&str, &str)]) -> Result<Table, Error> {
        let mut table: Table = "[server]\nlisten = 'a'\nstate_dir = 'kept'"
            .parse()
            .unwrap();
        let variables = variables.iter().map(|(k, v)| ((*k).into(), (*v).into()));
        override_with(&mut table, variables)?;
        Ok(table)
    }

    #[test]
    fn variables_win_key_by_key() {
        let table = overridden(&[
            ("SPILLWAY__SERVER__LISTEN", "127.0.0.1:1"),
            ("SPILLWAY__UPSTREAMS__GRAPH__HOLD_MAX_MS", "5"),
            ("SPILLWAY__UPSTREAMS__GRAPH__PRESETS", "[\"onenote\"]"),
            ("UNRELATED", "x"),
        ])
        .unwrap();
        assert_eq!(table["server"]["listen"].as_str(), Some("127.0.0.1:1"));
        assert_eq!(table["server"]["state_dir"].as_str(), Some("kept"));
        let graph = &table["upstreams"]["graph"];
        assert_eq!(graph["hold_max_ms"].as_integer(), Some(5));
        assert_eq!(graph["presets"][0].as_str(), Some("onenote"));
    }

    #[test]
    fn a_quoted_number_stays_text() {
        let table = overridden(&[("SPILLWAY__SERVER__LISTEN", "'7'")]).unwrap();
        assert_eq!(table["server"]["listen"].as_str(), Some("7"));
    }

    #[test]
    fn a_variable_that_names_no_key_is_an_error() {
        for name in ["SPILLWAY__", "SPILLWAY____X", "SPILLWAY__SERVER__LISTEN__X"] {
            let error = overridden(&[(name, "1")]).unwrap_err();
            assert!(error.to_string().starts_with(name), "{error}");
        }
    }

    #[test]
    fn the_nearest_key_is_only_named_when_it_is_near() {
        let message = "unknown field `lisen`, expected one of `listen`, `gateway_listen`";
        assert_eq!(nearest("server.lisen", message).as_deref(), Some("listen"));
        assert_eq!(nearest("server.colour", message), None);
    }
}
