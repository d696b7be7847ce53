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
