use super::*;

fn rights(role: Role, scopes: &[Scope]) -> Rights {
    Rights {
        role,
        scopes: scopes.iter().copied().collect(),
        upstreams: BTreeSet::new(),
        apps: BTreeSet::new(),
        sites: BTreeSet::new(),
        lane: None,
        act_for_users: false,
    }
}

fn one(name: &str) -> BTreeSet<String> {
    BTreeSet::from([name.to_owned()])
}

#[test]
fn a_scope_needs_its_role() {
    use {Role::*, Scope::*};
    for (scope, needed) in [
        (Gateway, Member),
        (Permits, Member),
        (Events, Member),
        (Jobs, Member),
        (Metrics, Viewer),
        (Read, Viewer),
        (Write, Operator),
    ] {
        for role in [Member, Viewer, Operator, Admin] {
            let checked = rights(role, &[scope]).check();
            assert_eq!(checked.is_ok(), role >= needed, "{role} {scope}");
        }
    }
    assert_eq!(
        rights(Member, &[Gateway, Read])
            .check()
            .unwrap_err()
            .to_string(),
        "the role member may not have the scope read: it needs the role viewer"
    );
    assert_eq!(rights(Admin, &[]).check(), Err(Impossible::NoScope));
}

#[test]
fn what_a_scope_cannot_be_kept_to_is_refused() {
    use {Role::Admin, Scope::*};
    for scope in [Read, Metrics] {
        let bound = Rights {
            apps: one("a"),
            ..rights(Admin, &[scope, Gateway])
        };
        assert!(
            matches!(bound.check(), Err(Impossible::Bound { .. })),
            "{scope}"
        );
    }
    let bound = Rights {
        upstreams: one("u"),
        ..rights(Admin, &[Metrics, Gateway])
    };
    assert!(matches!(bound.check(), Err(Impossible::Bound { .. })));
    let bound = Rights {
        upstreams: one("u"),
        ..rights(Admin, &[Read])
    };
    assert_eq!(bound.check(), Ok(()));
}

#[test]
fn what_says_nothing_is_refused() {
    use {Role::Admin, Scope::*};
    let events = rights(Admin, &[Events]);
    let pointless = [
        Rights {
            apps: one("a"),
            ..events.clone()
        },
        Rights {
            upstreams: one("u"),
            ..events.clone()
        },
        Rights {
            lane: Some(Lane::Background),
            ..events.clone()
        },
        Rights {
            act_for_users: true,
            ..events.clone()
        },
        Rights {
            act_for_users: true,
            ..rights(Admin, &[Permits])
        },
        Rights {
            sites: one("s"),
            ..rights(Admin, &[Gateway])
        },
    ];
    for rights in pointless {
        let checked = rights.check();
        assert!(
            matches!(checked, Err(Impossible::Pointless { .. })),
            "{rights:?}"
        );
    }
    let sensible = Rights {
        upstreams: one("u"),
        apps: one("a"),
        sites: one("s"),
        lane: Some(Lane::Background),
        act_for_users: true,
        ..rights(Role::Member, &[Gateway, Events])
    };
    assert_eq!(sensible.check(), Ok(()));
}
