use super::*;

fn form(fields: &[(&str, &str)]) -> Form {
    let pairs = fields.iter();
    let pairs = pairs.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    read(&pairs.collect())
}

#[test]
fn what_is_typed_comes_back_as_it_was() {
    let form = form(&[
        ("base", "7"),
        ("share", "x%"),
        ("layers.0.scope", "user"),
        ("layers.0.dimension", "rate"),
        ("layers.0.limit", "1e3"),
        ("layers.0.window", ""),
        ("layers.0.unit", "min"),
        ("layers.2.scope", "app"),
        ("reason", "<b>"),
        ("do", "apply"),
        ("tried", "abc"),
    ]);
    assert_eq!((form.draft.base, form.act), (7, Act::Apply));
    // The third is not beside the first.
    assert_eq!(form.draft.layers.len(), 1);
    let layer = &form.draft.layers[0];
    assert_eq!((&*layer.limit.text, &*layer.unit), ("1e3", "min"));
    assert_eq!(form.draft.numbers[0].typed.text, "x%");
    assert_eq!(form.draft.reason.text, "<b>");
}

#[test]
fn a_button_that_nobody_knows_changes_nothing() {
    for text in ["", "apply:1", "remove:x", "delete", "remove"] {
        assert_eq!(act(text), Act::Preview, "{text}");
    }
    assert_eq!(act("remove:3"), Act::Remove(3));
    assert_eq!(act("own-limit-remove:1:2"), Act::OwnLimitRemove(1, 2));
    assert_eq!(act("own-add"), Act::OwnAdd);
}

#[test]
fn a_policy_as_a_form_is_the_same_policy() {
    for preset in spillway::preset::Preset::ALL {
        let policy = preset.policy().unwrap();
        let draft = of(&policy, 1);
        let mut mistakes = Vec::new();
        let document = document(&draft, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        assert_eq!(document.check(crate::policy::Scopes::All), Ok(policy));
    }
}

#[test]
fn what_only_counts_breakers_and_overrides_are_fields_too() {
    let text = r#"{ "background_share_permille": 333, "layers": [
        { "scope": "user", "dimension": "rate", "window_ms": 1500, "limit": 5, "shadow": true }],
        "breakers": { "soft_permille": 705, "cool_down_ms_min": 1250, "outage_users": 3 },
        "overrides": [{ "scope": "user", "app": "a", "user": "<ann>", "limits": [
            { "dimension": "concurrency", "limit": 2 },
            { "dimension": "rate", "window_ms": 60000, "limit": 9 }] }] }"#;
    let policy: Policy = serde_json::from_str(text).unwrap();
    let mut draft = of(&policy, 1);
    let mut mistakes = Vec::new();
    let back = document(&draft, &mut mistakes).check(crate::policy::Scopes::All);
    assert_eq!((back, mistakes.len()), (Ok(policy), 0));

    draft.own[0].app = typed("");
    draft.own[0].limits[1].limit = typed("0");
    draft.numbers[1].typed = typed("nine");
    assert!(reshape(&mut draft, Act::OwnLimitAdd(0), "user"));
    assert!(reshape(&mut draft, Act::OwnLimitRemove(0, 0), "user"));
    assert!(!reshape(&mut draft, Act::Apply, "user"));
    let mut mistakes = Vec::new();
    let document = document(&draft, &mut mistakes);
    mistakes.extend(document.check(crate::policy::Scopes::All).unwrap_err());
    mistakes
        .into_iter()
        .for_each(|mistake| say(&mut draft, mistake));
    let own = &draft.own[0];
    assert!(own.app.wrong.is_some() && own.user.wrong.is_none());
    assert!(own.limits[0].limit.wrong.is_some() && own.limits[1].limit.wrong.is_some());
    let soft = draft.numbers[1].typed.wrong.as_deref().unwrap();
    assert!(soft.contains("from 0.1 to 100"), "{soft}");
    assert!(draft.wrong.is_empty(), "{:?}", draft.wrong);
}

#[test]
fn each_mistake_stands_at_its_field_once() {
    let mut draft = of(&spillway::preset::Preset::ALL[0].policy().unwrap(), 1);
    draft.layers.truncate(1);
    draft.layers.push(new_layer("user"));
    draft.layers[0].limit = typed("many");
    draft.layers[0].window = typed("0");
    draft.numbers[0].typed = typed("0");
    let mut mistakes = Vec::new();
    let document = document(&draft, &mut mistakes);
    mistakes.extend(document.check(crate::policy::Scopes::All).unwrap_err());
    mistakes.reverse();
    mistakes
        .into_iter()
        .for_each(|mistake| say(&mut draft, mistake));
    let layer = &draft.layers[0];
    assert_eq!(layer.limit.wrong.as_deref(), Some("is no whole number"));
    assert!(layer.window.wrong.as_deref().unwrap().contains("outside"));
    assert!(draft.layers[1].limit.wrong.is_some() && draft.layers[1].window.wrong.is_some());
    assert!(draft.numbers[0].typed.wrong.is_some());
}
