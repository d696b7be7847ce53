use proptest::prelude::*;

use super::super::arbitrary::state;
use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, fork: false, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn applying_the_delta_leads_to_the_newer_state(old in state(), new in state()) {
        let delta = old.delta_to(&new);
        let text = serde_json::to_string(&delta).map_err(|e| TestCaseError::fail(e.to_string()))?;
        let sent: Delta = serde_json::from_str(&text).map_err(|e| TestCaseError::fail(e.to_string()))?;
        prop_assert_eq!(&sent, &delta);
        let mut applied = old.clone();
        applied.apply(sent);
        prop_assert_eq!(applied, new);
    }

    #[test]
    fn nothing_changed_says_nothing(state in state()) {
        let mut later = state.clone();
        later.as_of = "2027-01-01T00:00:00.000Z".to_owned();
        let delta = state.delta_to(&later);
        prop_assert!(delta.is_empty());
        prop_assert_eq!(delta.as_of, later.as_of);
    }
}

#[test]
fn a_moving_minute_sends_only_its_end() {
    let second = |at, admitted| Second {
        at,
        admitted,
        ..Second::default()
    };
    let old: Vec<_> = (100..160).map(|at| second(at, 3)).collect();
    let mut new: Vec<_> = (101..161).map(|at| second(at, 3)).collect();
    new[59].admitted = 1;
    let delta = RecentDelta::between(&old, &new);
    assert_eq!(
        delta,
        Some(RecentDelta {
            dropped: 1,
            kept: 59,
            added: vec![second(160, 1)],
        })
    );
    assert_eq!(RecentDelta::between(&old, &old), None);
}
