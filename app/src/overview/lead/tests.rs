use super::super::fixture::{
    NOW, budget, concurrency, forced, frees, onenote, overview, rate, state, throttled, tripped,
};
use super::*;
use crate::live::{Breaker, BreakerReason, BreakerState};

const UNTIL: &str = "2026-11-30T14:14:06.000Z";

fn said(lead: &Lead) -> String {
    lead.detail
        .iter()
        .map(|part| match part {
            Part::Text(text) => text.as_str(),
            Part::At(at) => crate::instant::time_of_day(at),
            Part::Way(_, words) => words.as_str(),
        })
        .collect()
}

fn of(budgets: Vec<Budget>) -> (Tone, String, String) {
    let lead = lead(&state(budgets), "", NOW);
    let said = said(&lead);
    let calls = said
        .strip_suffix("No call waits; none was refused in the last minute.")
        .map(|it| it.trim_end().to_owned());
    (lead.tone, lead.headline, calls.unwrap_or(said))
}

fn open() -> Breaker {
    throttled(BreakerState::Open, Some(UNTIL))
}

#[test]
fn one_user_out_of_quota_is_named_with_the_end_of_it() {
    let lead = lead(&overview(), "", NOW);
    assert_eq!(lead.tone, Tone::Some);
    assert_eq!(
        lead.headline,
        "One user is out of quota; 2 more are near a limit."
    );
    assert_eq!(
        said(&lead),
        "ana@contoso.example has used 400 of 400 this hour on graph / onenote. \
         The next call fits by itself in 11 min, at 14:14:06. \
         The app note-bridge is close to its hour: 688 of 800. \
         3 foreground calls and 214 of the background wait until there is room; none was refused in the last minute."
    );
}

#[test]
fn a_full_app_is_worse_than_a_full_user() {
    let app = vec![frees(rate(60, 240, 240, 0), "2026-11-30T14:03:40Z")];
    let lead = lead(
        &state(vec![
            budget("", app),
            budget("a@b", onenote((120, 0), (120, 0), (0, 0))),
        ]),
        "",
        NOW,
    );
    assert_eq!(lead.tone, Tone::All);
    assert_eq!(
        lead.headline,
        "The app note-bridge is out of quota for graph / onenote."
    );
    assert!(said(&lead).contains(
        "It has used 240 of 240 this minute. The next call fits by itself in 13 s, at 14:03:40."
    ));
}

#[test]
fn a_busy_user_is_not_out_of_quota() {
    let lead = lead(
        &state(vec![budget("a@b", vec![concurrency(5, 5, 0)])]),
        "",
        NOW,
    );
    assert_eq!(lead.tone, Tone::Clear);
    assert_eq!(lead.headline, "All clear: 1 user, none out of quota.");
    assert!(said(&lead).starts_with("a@b (5 of 5 in flight) is at a limit. No call waits"));
    let idle = of(vec![budget("a@b", vec![concurrency(5, 1, 0)])]);
    assert_eq!(idle.2, "Nobody is close to a limit.");
}

#[test]
fn all_calls_in_flight_count_while_more_want_in() {
    let busy = |user| budget(user, vec![concurrency(5, 5, 0)]);
    let said = |budgets, waiting, refused| {
        let mut state = state(budgets);
        let workload = &mut state.upstreams[0].workloads[0];
        workload.lanes.foreground.waiting = waiting;
        workload.recent = vec![crate::live::Second {
            refused,
            ..Default::default()
        }];
        let lead = lead(&state, "", NOW);
        (lead.tone, lead.headline)
    };
    let one = "a@b has 5 of 5 in flight; the next call fits when one ends.".to_owned();
    assert_eq!(said(vec![busy("a@b")], 1, 0), (Tone::Some, one.clone()));
    assert_eq!(said(vec![busy("a@b")], 0, 1), (Tone::Some, one));
    assert_eq!(
        said(vec![busy("a@b"), busy("c@d")], 1, 0).1,
        "a@b (5 of 5 in flight) and 1 more have all their calls in flight; \
         the next call fits when one ends."
    );
}

#[test]
fn an_app_near_its_limit_is_not_all_clear() {
    let app = |used| budget("", vec![rate(60, 240, 3, 0), rate(3_600, 800, used, 0)]);
    let user = || budget("a@b", onenote((1, 0), (1, 0), (0, 0)));
    let (tone, headline, detail) = of(vec![app(701), user()]);
    assert_eq!(
        (tone, headline.as_str(), detail.as_str()),
        (
            Tone::Some,
            "The app note-bridge is close to its hour: 701 of 800.",
            "Nobody is out of quota."
        )
    );
    assert_eq!(of(vec![app(639), user()]).0, Tone::Clear);
    let mut other = app(650);
    other.app = "scan".to_owned();
    assert_eq!(
        of(vec![app(701), other]).1,
        "The app note-bridge is close to its hour: 701 of 800, and 1 more is close to theirs."
    );
}

#[test]
fn lost_counters_come_before_no_calls_and_everything_else() {
    let mut state = state(Vec::new());
    state.upstreams[0].workloads[0].full_until = Some("2026-11-30T15:01:20.000Z".to_owned());
    let lost = lead(&state, "", NOW);
    assert_eq!(lost.tone, Tone::All);
    assert_eq!(
        lost.headline,
        "The counters were lost: every budget counts as full until 15:01 UTC, by itself; \
         calls are refused until then."
    );
    assert_eq!(
        said(&lost),
        "On graph / onenote the first calls pass in 58 min, at 15:01:20. \
         No call waits; none was refused in the last minute."
    );
    assert_eq!(lead(&state, "", NOW + 3_600_000).tone, Tone::Empty);
}

#[test]
fn counters_that_cannot_be_written_come_first_of_all() {
    let mut state = overview();
    state.upstreams[0].unwritable = true;
    state.upstreams[0].workloads[0].full_until = Some("2026-11-30T15:01:20.000Z".to_owned());
    let said = |state: &State| lead(state, "", NOW).headline;
    assert_eq!(lead(&state, "", NOW).tone, Tone::All);
    assert_eq!(
        said(&state),
        "Spillway cannot write its counters (is the disk full?): every call is refused until it can."
    );
    state.upstreams.push(crate::live::Upstream::default());
    assert!(said(&state).contains("every call to graph is refused"));
}

#[test]
fn users_of_several_apps_are_counted_per_app() {
    let mut other = budget("a@b", onenote((1, 0), (1, 0), (0, 0)));
    other.app = "scan".to_owned();
    let (_, headline, _) = of(vec![budget("a@b", Vec::new()), other]);
    assert_eq!(headline, "All clear: 2 users (per app), none out of quota.");
}

#[test]
fn no_name_rewrites_the_sentence() {
    let layers = onenote((10, 0), (344, 0), (0, 0));
    let (_, _, detail) = of(vec![budget("a\u{202e}b@x", layers)]);
    assert!(detail.starts_with(r"a\u{202e}b"), "{detail}");
}

#[test]
fn who_is_near_is_named() {
    let lead = lead(
        &state(vec![budget("a@b", onenote((10, 0), (344, 0), (0, 0)))]),
        "",
        NOW,
    );
    assert!(said(&lead).starts_with("a@b (344 of 400 this hour) is close to a limit."));
}

#[test]
fn no_data_says_what_to_do() {
    let lead = lead(&state(Vec::new()), "http://127.0.0.1:3001/", NOW);
    assert_eq!(lead.tone, Tone::Empty);
    assert!(said(&lead).contains("base URL at http://127.0.0.1:3001/graph/ and"));
    assert_eq!(
        super::lead(
            &State {
                as_of: "x".to_owned(),
                ..State::default()
            },
            "",
            NOW
        )
        .headline,
        "No upstream is configured."
    );
}

#[test]
fn a_throttled_user_is_named_with_what_happens_next() {
    let (tone, headline, detail) = of(vec![
        tripped("ana@contoso.example", open()),
        budget("kim@x", onenote((1, 0), (1, 0), (0, 0))),
    ]);
    assert_eq!(tone, Tone::Some);
    assert_eq!(
        headline,
        "Graph throttles ana@contoso.example; everyone else is clear."
    );
    assert_eq!(
        detail,
        "Calls of ana@contoso.example on graph / onenote are kept back here for another 11 min, \
         until 14:14:06; then one is tried."
    );
}

#[test]
fn of_several_users_the_longest_wait_is_told() {
    let (_, headline, detail) = of(vec![
        tripped(
            "a@x",
            throttled(BreakerState::Open, Some("2026-11-30T14:03:39Z")),
        ),
        tripped("b@x", open()),
        budget("c@x", onenote((0, 0), (400, 0), (0, 0))),
    ]);
    assert_eq!(
        headline,
        "Graph throttles 2 users; one more is out of quota."
    );
    assert!(detail.starts_with("Longest, calls of b@x"), "{detail}");
    let soft = throttled(BreakerState::Soft, None);
    let (_, headline, _) = of(vec![tripped("a@x", open()), tripped("b@x", soft)]);
    assert_eq!(headline, "Graph throttles a@x; one more is slowed down.");
    let outage = Breaker {
        reason: Some(BreakerReason::Outage),
        ..open()
    };
    let (_, headline, _) = of(vec![tripped("a@x", open()), tripped("b@x", outage)]);
    assert_eq!(headline, "Breakers stop 2 users; everyone else is clear.");
}

#[test]
fn a_stopped_app_is_worse_than_anything_of_a_user() {
    let (tone, headline, detail) = of(vec![tripped("", open()), tripped("a@x", open())]);
    assert_eq!(tone, Tone::All);
    assert_eq!(
        headline,
        "Graph throttles the app note-bridge; all its users are hit."
    );
    assert_eq!(
        detail,
        "Its calls on graph / onenote are kept back here for another 11 min, until 14:14:06; \
         then one is tried."
    );
}

#[test]
fn each_reason_has_its_words() {
    let headline = |reason| {
        let breaker = Breaker { reason, ..open() };
        of(vec![tripped("", breaker)]).1
    };
    let said = [
        Some(BreakerReason::Percentage),
        Some(BreakerReason::Outage),
        Some(BreakerReason::Forced),
        None,
    ]
    .map(headline);
    let hit = "the app note-bridge; all its users are hit.";
    assert_eq!(
        said,
        [
            "Graph reports the limit of the app note-bridge as used up; all its users are hit."
                .to_owned(),
            format!("Graph does not work for {hit}"),
            format!("An operator has stopped {hit}"),
            format!("The breaker stops {hit}"),
        ]
    );
}

#[test]
fn what_an_operator_did_is_no_alarm_and_ends_by_itself() {
    let (tone, _, detail) = of(vec![tripped("", forced(BreakerState::Open, UNTIL))]);
    assert_eq!(tone, Tone::Some);
    assert!(
        detail.ends_with("until 14:14:06; then they pass again by themselves."),
        "{detail}"
    );
}

#[test]
fn a_probe_finds_out() {
    let half_open = |probing| Breaker {
        probing,
        ..throttled(BreakerState::HalfOpen, None)
    };
    let (_, headline, detail) = of(vec![tripped("", half_open(true))]);
    assert_eq!(
        headline,
        "Graph throttled the app note-bridge; one call is finding out whether it still does."
    );
    assert_eq!(
        detail,
        "Its calls on graph / onenote are kept back here; if the one that is tried passes, \
         more follow by themselves."
    );
    let (_, headline, _) = of(vec![tripped("", half_open(false))]);
    assert!(headline.contains("the next call finds out"), "{headline}");
}

#[test]
fn a_recovery_needs_nobody() {
    let ramp = Breaker {
        ramp_calls: Some(4),
        ..throttled(BreakerState::Recovering, None)
    };
    let (tone, headline, detail) = of(vec![tripped("", ramp)]);
    assert_eq!(tone, Tone::Some);
    assert_eq!(
        headline,
        "Graph throttled the app note-bridge, and lets calls through again."
    );
    assert_eq!(
        detail,
        "For now 4 calls at once, twice as many after each round that passes, by itself."
    );
}

#[test]
fn a_soft_breaker_holds_jobs_only() {
    let soft = Breaker {
        state: BreakerState::Soft,
        until: Some("2026-11-30T14:04:23Z".to_owned()),
        reason: Some(BreakerReason::Percentage),
        reported_permille: Some(850),
        reported_at: Some("2026-11-30T14:03:23Z".to_owned()),
        ..Breaker::default()
    };
    let (tone, headline, detail) = of(vec![tripped("a@x", soft)]);
    assert_eq!(tone, Tone::Some);
    assert_eq!(
        headline,
        "Graph reports the limit of a@x as nearly used up."
    );
    assert_eq!(
        detail,
        "Background calls on graph / onenote are kept back here for another 56 s, until 14:04:23, \
         unless it says so again; a person's calls pass. Upstream says 85 %, 4 s ago."
    );
}

#[test]
fn throttling_that_nothing_here_explains_is_explained() {
    let drifting = Breaker { drift: 2, ..open() };
    let (_, _, detail) = of(vec![tripped("a@x", drifting)]);
    assert!(
        detail.ends_with(
            "It was throttled though room was left: someone else uses the quota, or the limit is lower."
        ),
        "{detail}"
    );
}

#[test]
fn what_waits_for_a_person_is_said_first_where_nothing_else_is_wrong() {
    let house = crate::live::House {
        attention: vec![crate::live::Attention {
            says: "2 components are disabled by floods.".to_owned(),
            path: "/floods/disabled".to_owned(),
            way: "Re-enable them".to_owned(),
        }],
        ..crate::live::House::default()
    };
    let mut calm = state(vec![budget("a@b", onenote((1, 0), (1, 0), (0, 0)))]);
    calm.house = Some(house.clone());
    let calm = lead(&calm, "", NOW);
    assert_eq!(calm.tone, Tone::Some);
    assert_eq!(calm.headline, "2 components are disabled by floods.");
    let words = said(&calm);
    assert!(
        words.starts_with("Re-enable them. All clear: 1 user"),
        "{words}"
    );
    let mut busy = overview();
    busy.house = Some(house);
    let busy = lead(&busy, "", NOW);
    assert!(
        busy.headline.starts_with("One user is out of quota"),
        "{busy:?}"
    );
    let words = said(&busy);
    assert!(
        words.ends_with(" 2 components are disabled by floods. Re-enable them."),
        "{words}"
    );
}
