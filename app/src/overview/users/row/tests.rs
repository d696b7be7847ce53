use super::super::super::fixture::{
    NOW, budget, concurrency, forced, frees, onenote, overview, rate, throttled, tripped,
};
use super::*;

fn rows() -> Vec<Row> {
    let state = overview();
    let budgets = &state.upstreams[0].workloads[0].budgets;
    let users = budgets.iter().filter(|it| it.scope == Scope::User);
    users.map(|it| row(it, None, false, NOW)).collect()
}

#[test]
fn a_full_user_says_what_is_full_and_until_when() {
    let row = &rows()[0];
    assert_eq!(
        (row.usage.as_str(), row.label.word.as_str()),
        ("400 of 400 this hour", "Full")
    );
    assert_eq!(
        (row.frees.as_str(), row.frees_at.as_str()),
        ("in 11 min", "2026-11-30T14:14:06.000Z")
    );
}

#[test]
fn jobs_at_their_share_are_no_trouble() {
    let crawl = rows().into_iter().find(|row| row.user.starts_with("crawl"));
    let crawl = crawl.map(|row| ([row.usage, row.note, row.frees].join(", "), row.label));
    assert_eq!(
        crawl,
        Some((
            "200 of 400 this hour, background 200 of its 200 this hour, foreground now".to_owned(),
            Label::held("At its share")
        ))
    );
}

#[test]
fn calls_that_may_still_run_are_said_with_the_first_end() {
    let layer = frees(concurrency(5, 5, 0), "2026-11-30T14:04:51.250Z");
    let lingering = Layer {
        lingering: 3,
        ..layer
    };
    let row = row(&budget("a@x", vec![lingering]), None, false, NOW);
    assert_eq!(row.frees, "in 84 s, 3 may still run");
}

#[test]
fn names_hide_nothing_and_apps_are_told_apart() {
    let named = budget("a\u{200b}@x", onenote((1, 0), (1, 0), (0, 0)));
    assert_eq!(row(&named, None, false, NOW).user, r"a\u{200b}@x");
    assert_eq!(row(&named, None, false, NOW).under, "x");
    assert_eq!(row(&named, None, true, NOW).under, "x, app note-bridge");
}

#[test]
fn calls_in_flight_free_when_one_ends() {
    let row = row(&budget("a@x", vec![concurrency(5, 5, 0)]), None, false, NOW);
    assert_eq!(
        (row.frees.as_str(), row.usage.as_str()),
        ("when a call ends", "5 of 5 in flight")
    );
}

#[test]
fn a_breaker_is_the_state_and_its_end_may_be_the_later_one() {
    let open = throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"));
    let shown = row(&tripped("a@x", open.clone()), None, false, NOW);
    assert_eq!(
        (
            shown.label.word.as_str(),
            shown.frees.as_str(),
            shown.note.as_str()
        ),
        ("Open", "in 12 s", "upstream throttles")
    );
    let full = frees(rate(60, 120, 120, 0), "2026-11-30T14:03:57.250Z");
    let both = Budget {
        breaker: open,
        ..budget("a@x", vec![full])
    };
    let shown = row(&both, None, false, NOW);
    assert_eq!(
        (shown.label.word.as_str(), shown.frees.as_str()),
        ("Open", "in 30 s")
    );
}

#[test]
fn the_way_back_has_no_instant() {
    let ramp = Breaker {
        ramp_calls: Some(4),
        ..throttled(BreakerState::Recovering, None)
    };
    let trying = throttled(BreakerState::HalfOpen, None);
    let said = [trying, ramp].map(|it| row(&tripped("a@x", it), None, false, NOW).frees);
    assert_eq!(said, ["when a probe passes", "4 calls at once"]);
    let soft = throttled(BreakerState::Soft, Some("2026-11-30T14:03:39Z"));
    assert_eq!(
        row(&tripped("a@x", soft), None, false, NOW).frees,
        "\u{2013}"
    );
}

#[test]
fn what_it_means_is_mentioned() {
    let drifting = Breaker {
        drift: 1,
        ..throttled(BreakerState::Open, None)
    };
    let closed = forced(BreakerState::Closed, "2026-11-30T14:13:00Z");
    let rows = [drifting, closed].map(|it| row(&tripped("a@x", it), None, false, NOW));
    let said = rows.map(|row| (row.label.word, row.note));
    let expected = [
        (
            "Open",
            "throttled though room was left: someone else uses the quota, or the limit is lower",
        ),
        ("Forced closed", "an operator said so"),
    ];
    assert_eq!(said, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
}

#[test]
fn what_stops_the_app_stops_its_users() {
    let open = throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"));
    let app = tripped("", open);
    let clear = budget("a@x", onenote((1, 0), (1, 0), (0, 0)));
    let shown = row(&clear, Some(&app), false, NOW);
    assert_eq!(
        (
            shown.label.word.as_str(),
            shown.note.as_str(),
            shown.frees.as_str()
        ),
        ("App open", "upstream throttles", "in 12 s")
    );
    let tenant = Budget {
        scope: Scope::Tenant,
        layers: vec![frees(rate(60, 9, 9, 0), "2026-11-30T14:03:57.250Z")],
        ..budget("", Vec::new())
    };
    let shown = row(&clear, Some(&tenant), false, NOW);
    assert_eq!(
        (
            shown.label.word.as_str(),
            shown.note.as_str(),
            shown.frees.as_str()
        ),
        ("Tenant full", "tenant: 9 of 9 this minute", "in 30 s")
    );
    let trying = tripped("", throttled(BreakerState::HalfOpen, None));
    assert_eq!(
        row(&clear, Some(&trying), false, NOW).frees,
        "when a probe passes"
    );
    // One's own open breaker says more than the app's slow way back.
    let own = tripped("a@x", throttled(BreakerState::Open, None));
    let rising = tripped("", throttled(BreakerState::Recovering, None));
    assert_eq!(row(&own, Some(&rising), false, NOW).label.word, "Open");
}

#[test]
fn only_ones_own_app_and_tenant_stop_one() {
    let user = budget("a@x", Vec::new());
    let open = || throttled(BreakerState::Open, None);
    let app = |name: &str, breaker| Budget {
        app: name.to_owned(),
        ..tripped("", breaker)
    };
    let tenant = |name: &str, breaker| Budget {
        scope: Scope::Tenant,
        tenant: name.to_owned(),
        ..tripped("", breaker)
    };
    let others = [
        app("scan", open()),
        tenant("y", open()),
        tripped("b@x", open()),
    ];
    assert_eq!(stopping(&others, &user), None);
    let soft = throttled(BreakerState::Soft, None);
    let both = [app("note-bridge", soft), tenant("x", open())];
    assert_eq!(
        stopping(&both, &user).map(|it| it.scope),
        Some(Scope::Tenant)
    );
    assert_eq!(
        stopping(&[app("note-bridge", Breaker::default())], &user),
        None
    );
}
