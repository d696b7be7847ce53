//! What an act changed, member by member, for people.

use serde_json::Value;

/// A member that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it is: `layers[0].limit`; empty: all of it.
    pub path: String,
    /// How it was; `None`: it was not there.
    pub was: Option<String>,
    /// How it is since; `None`: it is gone.
    pub became: Option<String>,
}

/// The members of two JSON texts that differ: first those there are now, in their order, then
/// those that are gone. What is no JSON counts as a text.
#[must_use]
pub fn changes(was: Option<&str>, became: Option<&str>) -> Vec<Change> {
    let (mut was, became) = (leaves(was), leaves(became));
    let mut changes = Vec::new();
    for (path, now) in became {
        let before = was.iter().position(|(other, _)| *other == path);
        let before = before.map(|at| was.swap_remove(at).1);
        if before.as_ref() != Some(&now) {
            changes.push(Change {
                path,
                was: before.as_ref().map(shown),
                became: Some(shown(&now)),
            });
        }
    }
    was.sort_by(|(a, _), (b, _)| a.cmp(b));
    changes.extend(was.into_iter().map(|(path, value)| Change {
        path,
        was: Some(shown(&value)),
        became: None,
    }));
    changes
}

/// Whatever has no members, and where it is. An entry holds at most 64 KiB of them.
fn leaves(text: Option<&str>) -> Vec<(String, Value)> {
    let Some(text) = text else {
        return Vec::new();
    };
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::from(text));
    let mut leaves = Vec::new();
    // Depth is bounded by the parser, at 128.
    gather(String::new(), value, &mut leaves);
    leaves
}

fn gather(path: String, value: Value, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(members) if !members.is_empty() => {
            for (name, value) in members {
                let dot = if path.is_empty() { "" } else { "." };
                gather(format!("{path}{dot}{name}"), value, leaves);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (n, value) in items.into_iter().enumerate() {
                gather(format!("{path}[{n}]"), value, leaves);
            }
        }
        Value::Null => {}
        leaf => leaves.push((path, leaf)),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(was: Option<&str>, became: Option<&str>) -> Vec<String> {
        let side = |side: Option<String>| side.unwrap_or_else(|| "nothing".to_owned());
        let changes = changes(was, became).into_iter();
        changes
            .map(|it| format!("{}: {} -> {}", it.path, side(it.was), side(it.became)))
            .collect()
    }

    #[test]
    fn only_what_differs_is_told_and_where_it_is() {
        let was = r#"{"share":300,"layers":[{"limit":10},{"limit":20}],"gone":{"a":[]}}"#;
        let became = r#"{"share":300,"layers":[{"limit":10},{"limit":25},{"limit":5}]}"#;
        assert_eq!(
            told(Some(was), Some(became)),
            [
                "layers[1].limit: 20 -> 25",
                "layers[2].limit: nothing -> 5",
                "gone.a: [] -> nothing",
            ]
        );
        assert!(told(Some(was), Some(was)).is_empty());
    }

    #[test]
    fn what_comes_and_goes_is_told_member_by_member() {
        let token = r#"{"name":"b","rights":{"role":"viewer"},"expires_at_ms":null}"#;
        assert_eq!(
            told(None, Some(token)),
            ["name: nothing -> b", "rights.role: nothing -> viewer"]
        );
        assert_eq!(told(Some("true"), None), [": true -> nothing"]);
        assert!(told(None, None).is_empty());
    }

    #[test]
    fn what_is_no_json_is_a_text() {
        assert_eq!(told(Some("{"), Some("\"{\"")), Vec::<String>::new());
        assert_eq!(told(Some("{"), Some("1")), [": { -> 1"]);
    }
}
