use super::*;
use crate::access::{
    Rights,
    tokens::{self, tests::token},
};

fn bound(upstreams: &[&str], apps: &[&str]) -> Caller {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Caller::Token(token(Rights {
        role: Role::Operator,
        scopes: [Scope::Gateway, Scope::Write].into(),
        upstreams: names(upstreams),
        apps: names(apps),
        sites: [].into(),
        lane: Some(Lane::Background),
        act_for_users: false,
    }))
}

fn network(app: Option<&str>) -> Caller {
    let of = Arc::new(ClientNetwork {
        name: "10.0.0.0/8".to_owned(),
        cidr: "10.0.0.0/8".parse().unwrap(),
        app: app.map(str::to_owned),
        lane: None,
    });
    let account = Account::new(tokens::tests::BOUNDS);
    Caller::Network(Arc::new(Network::new(of, account)))
}

#[test]
fn one_app_of_its_own_is_a_caller_s_app_whatever_it_claims() {
    for caller in [bound(&[], &["a"]), network(Some("a"))] {
        assert_eq!(caller.app(None, "victim", "house").as_deref(), Ok("a"));
        assert_eq!(caller.app(Some("a"), "victim", "house").as_deref(), Ok("a"));
        let other = caller.app(Some("victim"), "", "house");
        assert!(matches!(other, Err(Denied::App { .. })));
        assert!(caller.may_steer(Some("a")).is_ok() && caller.may_steer(None).is_err());
    }
}

#[test]
fn of_several_apps_one_must_be_meant() {
    let caller = bound(&[], &["a", "b"]);
    assert_eq!(caller.app(None, "b", "house").as_deref(), Ok("b"));
    assert_eq!(caller.app(None, "victim", "a").as_deref(), Ok("a"));
    assert!(matches!(
        caller.app(None, "victim", "house"),
        Err(Denied::AppMissing(_))
    ));
}

#[test]
fn who_is_bound_to_no_app_may_name_any_but_a_network_none() {
    for caller in [Caller::Anyone, bound(&[], &[])] {
        assert_eq!(caller.app(Some("x"), "c", "house").as_deref(), Ok("x"));
        assert_eq!(caller.app(None, "c", "house").as_deref(), Ok("c"));
        assert_eq!(caller.app(None, "", "house").as_deref(), Ok("house"));
        assert!(caller.may_steer(None).is_ok());
    }
    assert!(network(None).app(Some("x"), "c", "house").is_err());
    assert_eq!(network(None).app(None, "c", "house").as_deref(), Ok("c"));
}

#[test]
fn a_token_is_kept_to_its_scopes_role_and_upstreams() {
    let caller = bound(&["graph"], &[]);
    assert!(caller.may_use("graph").is_ok() && caller.may_use("notion").is_err());
    assert!(caller.may_see_all().is_err() && bound(&[], &[]).may_see_all().is_ok());
    assert!(caller.is_for(Scope::Gateway).is_ok());
    assert_eq!(
        caller.is_for(Scope::Permits),
        Err(Denied::Scope(Scope::Permits))
    );
    assert!(caller.is_at_least(Role::Operator).is_ok());
    assert!(caller.is_at_least(Role::Admin).is_err());
    assert_eq!(caller.may_name_users(), Err(Denied::User));
    assert_eq!(caller.lane(), Lane::Background);
}

#[test]
fn a_bound_token_reaches_its_own_sites_and_no_other() {
    let of_sites = |names: &[&str]| {
        Caller::Token(token(Rights {
            role: Role::Admin,
            scopes: [Scope::Write].into(),
            upstreams: [].into(),
            apps: [].into(),
            sites: names.iter().map(|name| (*name).to_owned()).collect(),
            lane: None,
            act_for_users: false,
        }))
    };
    let caller = of_sites(&["s1"]);
    assert!(caller.may_steer_site("s1").is_ok());
    assert_eq!(caller.may_steer_site("s2"), Err(Denied::Site("s2".into())));
    assert_eq!(caller.may_steer_all_sites(), Err(Denied::AllSites));
    assert_eq!(caller.may_steer(None), Err(Denied::OnlySites));
    assert_eq!(caller.may_steer(Some("a")), Err(Denied::OnlySites));
    for other in [bound(&[], &["a"]), bound(&["graph"], &[])] {
        assert_eq!(other.may_steer_site("s1"), Err(Denied::NoSite));
        assert_eq!(other.may_steer_all_sites(), Err(Denied::AllSites));
    }
    for free in [of_sites(&[]), Caller::Anyone] {
        assert!(free.may_steer_site("s1").is_ok() && free.may_steer_all_sites().is_ok());
        assert!(free.may_steer(None).is_ok());
    }
}
