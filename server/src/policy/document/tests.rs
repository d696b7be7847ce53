use spillway::preset::Preset;

use super::*;

fn read(text: &str) -> Document {
    serde_json::from_str(text).unwrap()
}

fn fields(text: &str, scopes: Scopes) -> Vec<String> {
    let mistakes = read(text).check(scopes).unwrap_err();
    mistakes.into_iter().map(|it| it.field).collect()
}

#[test]
fn every_preset_comes_back_as_it_was_and_as_the_engine_writes_it() {
    for preset in Preset::ALL {
        let policy = preset.policy().unwrap();
        let document = Document::from(&policy);
        assert_eq!(document.check(Scopes::All).as_ref(), Ok(&policy));
        let text = serde_json::to_string(&policy).unwrap();
        assert_eq!(read(&text), document, "{text}");
    }
}

#[test]
fn all_mistakes_are_said_at_once_each_with_its_place() {
    let text = r#"{ "background_share_permille": 0, "layers": [
        { "scope": "user", "dimension": "rate", "window_ms": 99, "limit": 0 },
        { "scope": "user", "dimension": "rate", "limit": 1 },
        { "scope": "app", "dimension": "concurrency", "window_ms": 1000, "limit": 1000000001 },
        { "scope": "tenant", "dimension": "concurrency", "limit": -1 },
        { "scope": "app", "dimension": "rate", "window_ms": 1000, "limit": 5 },
        { "scope": "app", "dimension": "rate", "window_ms": 1000, "limit": 6 }
    ] }"#;
    let expected = [
        "background_share_permille",
        "layers[0].window_ms",
        "layers[0].limit",
        "layers[1].window_ms",
        "layers[2].window_ms",
        "layers[2].limit",
        "layers[3].limit",
        "layers[5]",
    ];
    assert_eq!(fields(text, Scopes::All), expected);
    let none = r#"{ "background_share_permille": 70000, "layers": [] }"#;
    assert_eq!(
        fields(none, Scopes::All),
        ["background_share_permille", "layers"]
    );
    let layer = r#"{ "scope": "user", "dimension": "concurrency", "limit": 1 },"#;
    let many = format!(
        r#"{{ "background_share_permille": 500, "layers": [{}] }}"#,
        layer.repeat(17).trim_end_matches(',')
    );
    assert!(fields(&many, Scopes::All).contains(&"layers".to_owned()));
}

#[test]
fn what_limits_all_calls_of_an_app_is_the_app_s_alone() {
    let text = r#"{ "background_share_permille": 500, "layers": [
        { "scope": "user", "dimension": "concurrency", "limit": 1 }] }"#;
    assert!(read(text).check(Scopes::All).is_ok());
    assert_eq!(fields(text, Scopes::App), ["layers[0].scope"]);
}

#[test]
fn what_is_unknown_is_refused() {
    for text in [
        r#"{ "background_share_permille": 500, "layers": [], "more": 1 }"#,
        r#"{ "background_share_permille": 500, "layers": [{ "scope": "user",
            "dimension": "concurrency", "limit": 1, "more": 1 }] }"#,
        r#"{ "background_share_permille": 500, "layers": [{ "scope": "everyone",
            "dimension": "concurrency", "limit": 1 }] }"#,
        r#"{ "background_share_permille": 0.5, "layers": [] }"#,
    ] {
        assert!(serde_json::from_str::<Document>(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_new_is_read_and_written_and_left_out_where_it_is_as_ever() {
    let text = r#"{ "background_share_permille": 500, "layers": [
        { "scope": "user", "dimension": "rate", "window_ms": 1000, "limit": 5, "shadow": true }],
        "breakers": { "soft_permille": 700, "outage_users": 3 },
        "overrides": [{ "scope": "user", "app": "a", "user": "ann", "limits": [
            { "dimension": "concurrency", "limit": 2 }] }] }"#;
    let policy = read(text).check(Scopes::All).unwrap();
    assert!(policy.layers()[0].is_shadow());
    assert_eq!(policy.breakers().soft_permille, 700);
    assert_eq!(policy.breakers().outage_failures, 5);
    assert_eq!(policy.overrides()[0].names(), ["a", "", "ann"]);
    let document = Document::from(&policy);
    assert_eq!(document.check(Scopes::All).as_ref(), Ok(&policy));
    let engine = serde_json::to_string(&policy).unwrap();
    assert_eq!(read(&engine), document, "{engine}");
    let plain = Preset::OneNote.policy().unwrap();
    for text in [
        serde_json::to_string(&plain).unwrap(),
        serde_json::to_string(&Document::from(&plain)).unwrap(),
    ] {
        for new in ["shadow", "breakers", "overrides"] {
            assert!(!text.contains(new), "{text}");
        }
    }
}

#[test]
fn mistakes_in_what_is_new_have_their_places_too() {
    let text = r#"{ "background_share_permille": 500, "layers": [
        { "scope": "app", "dimension": "rate", "window_ms": 1000, "limit": 5 }],
        "breakers": { "soft_permille": 0, "cool_down_ms_min": 5000, "cool_down_ms_max": 4000,
            "outage_failures": -1, "outage_ms": 600001, "outage_users": 17 },
        "overrides": [
            { "scope": "user", "app": "a", "limits": [
                { "dimension": "rate", "limit": 0 }] },
            { "scope": "app", "app": "", "user": "u", "limits": [] },
            { "scope": "app", "app": "a\u0000", "limits": [
                { "dimension": "concurrency", "limit": 2 }] },
            { "scope": "app", "app": "b", "limits": [
                { "dimension": "concurrency", "limit": 2 }] },
            { "scope": "app", "app": "b", "limits": [
                { "dimension": "concurrency", "limit": 3 }] }] }"#;
    let expected = [
        "breakers.soft_permille",
        "breakers.cool_down_ms_max",
        "breakers.outage_failures",
        "breakers.outage_ms",
        "breakers.outage_users",
        "overrides[0].user",
        "overrides[0].limits[0].window_ms",
        "overrides[0].limits[0].limit",
        "overrides[1].app",
        "overrides[1].user",
        "overrides[1].limits",
        "overrides[2].app",
        "overrides[4]",
    ];
    assert_eq!(fields(text, Scopes::All), expected);
    assert!(fields(text, Scopes::App).contains(&"overrides[0].scope".to_owned()));
}
