use proptest::prelude::*;
use serde::Serialize;
use serde_json::Value;

use super::super::arbitrary::{state, user};
use super::*;

impl Json for Value {
    fn member(&self, name: &str) -> Option<Self> {
        self.get(name).filter(|value| !value.is_null()).cloned()
    }

    fn items(&self) -> Option<Vec<Self>> {
        self.as_array().cloned()
    }

    fn text(&self) -> Option<String> {
        self.as_str().map(ToOwned::to_owned)
    }

    fn number(&self) -> Option<f64> {
        self.as_f64()
    }

    fn truth(&self) -> Option<bool> {
        self.as_bool()
    }
}

/// What a browser makes of it.
fn sent<T: Serialize + Read>(value: &T) -> Result<Option<T>, TestCaseError> {
    let json = serde_json::to_value(value).map_err(|e| TestCaseError::fail(e.to_string()))?;
    Ok(T::read(&json))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, fork: false, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_browser_reads_what_the_server_writes(old in state(), new in state(), user in user()) {
        let delta = old.delta_to(&new);
        prop_assert_eq!(sent(&old)?, Some(old));
        prop_assert_eq!(sent(&delta)?, Some(delta));
        prop_assert_eq!(sent(&user)?, Some(user));
    }
}

#[test]
fn what_is_something_else_is_not_read() {
    let read = |text: &str| State::read(&serde_json::from_str::<Value>(text).unwrap());
    assert_eq!(
        read("[]"),
        Some(State::default()),
        "nothing is missing that must be there"
    );
    for text in [
        r#"{"upstreams": {}}"#,
        r#"{"as_of": 5}"#,
        r#"{"upstreams": [{"workloads": [{}]}]}"#,
        r#"{"upstreams": [{"workloads": [{"lanes": {"foreground": {}, "background": {}}, "budgets": [{"scope": "moon", "breaker": {"state": "open"}}]}]}]}"#,
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}
