//! The first sentence about one user: whether its calls pass, and if not what stops them,
//! until when, and what happens next by itself.

use super::{Lead, Part, Placed, Tone, near, quota, trip};
use crate::live::{Lane, Lanes, Scope, UserState, Workload};
use crate::overview::name;
use crate::overview::users::held_background;
use crate::overview::wording::{ALL_WORKLOADS, plural, tightest, usage};

/// Says how things are with `user` at `now_ms`.
#[must_use]
pub fn one(user: &UserState, gateway_url: &str, now_ms: i64) -> Lead {
    let of = pressure(user);
    let placed = |budget, workload| Placed {
        upstream: &user.upstream,
        workload,
        of: &of,
        budget,
    };
    let (own, mut shared): (Vec<_>, Vec<_>) = user
        .budgets
        .iter()
        .map(|budget| placed(budget, user.workload.as_str()))
        .partition(|it| it.budget.scope == Scope::User);
    shared.extend(user.global.iter().map(|it| placed(it, ALL_WORKLOADS)));
    let all = [own.as_slice(), &shared].concat();
    let mut lead = unwritable(user)
        .or_else(|| trip::shared_stopped(&shared, now_ms))
        .or_else(|| trip::one_stopped(&own, now_ms))
        .or_else(|| quota::shared(&shared, now_ms))
        .or_else(|| quota::one(&own, now_ms))
        .or_else(|| trip::slowed(&all, now_ms))
        .or_else(|| near::in_flight(&own).map(bare))
        .or_else(|| {
            near::shared(&own)
                .or_else(|| near::shared(&shared))
                .map(bare)
        })
        .unwrap_or_else(|| calm(user, gateway_url));
    lead.detail.push(Part::Text(on_the_way(user)));
    lead
}

/// The user's waiting calls as if they were all there are: what it waits for is its own.
fn pressure(user: &UserState) -> Workload {
    let lane = |waiting| Lane {
        waiting,
        ..Lane::default()
    };
    Workload {
        lanes: Lanes {
            foreground: lane(user.foreground.waiting),
            background: lane(user.background.waiting),
        },
        ..Workload::default()
    }
}

/// Without what it says of others.
fn bare(lead: Lead) -> Lead {
    let detail = Vec::new();
    Lead { detail, ..lead }
}

fn unwritable(user: &UserState) -> Option<Lead> {
    user.unwritable.then(|| Lead {
        tone: Tone::All,
        headline: "Spillway cannot write its counters (is the disk full?): every call is refused until it can.".to_owned(),
        detail: Vec::new(),
    })
}

fn calm(user: &UserState, gateway_url: &str) -> Lead {
    let who = name::in_words(&user.user);
    if is_idle(user) {
        let base = gateway_url.trim_end_matches('/');
        return Lead {
            tone: Tone::Empty,
            headline: ["Nothing of ", &who, " is counted now."].concat(),
            detail: vec![Part::Text(
                [
                    "A call through ",
                    base,
                    "/",
                    &user.upstream,
                    "/ or a permit counts here at once, and for one window after its end. If you expected some, look at how user, tenant and app are written: each spelling is another user. ",
                ]
                .concat(),
            )],
        };
    }
    let own = user.budgets.iter().find(|it| it.scope == Scope::User);
    let used = own.and_then(tightest).map(usage);
    let used = used.map(|used| ["Closest to a limit: ", &used, ". "].concat());
    let held = own.and_then(held_background);
    let held = held.map(|held| ["Its jobs wait, a person's calls pass: ", &held, ". "].concat());
    Lead {
        tone: Tone::Clear,
        headline: ["Calls of ", &who, " pass."].concat(),
        detail: held.or(used).into_iter().map(Part::Text).collect(),
    }
}

/// Whether nothing of the user's own is counted, runs or waits.
fn is_idle(user: &UserState) -> bool {
    let own = user.budgets.iter().filter(|it| it.scope == Scope::User);
    let used = own.flat_map(|it| &it.layers).any(|layer| layer.used > 0);
    !used && user.leases_total == 0 && user.foreground.waiting + user.background.waiting == 0
}

/// `2 calls run, 1 waits.`
fn on_the_way(user: &UserState) -> String {
    let waiting = user.foreground.waiting + user.background.waiting;
    let run = match user.leases_total {
        0 => "No call runs".to_owned(),
        1 => "1 call runs".to_owned(),
        more => plural(more, "call") + " run",
    };
    let wait = match waiting {
        0 => "none waits".to_owned(),
        1 => "1 waits".to_owned(),
        more => [&super::count(more), " wait"].concat(),
    };
    [&run, ", ", &wait, "."].concat()
}

#[cfg(test)]
mod tests {
    use super::super::super::fixture::{NOW, onenote, throttled, tripped, user};
    use super::*;
    use crate::live::{BreakerState, Budget};

    fn said(user: &UserState) -> String {
        let lead = one(user, "http://127.0.0.1:3001/", NOW);
        let mut text = lead.headline;
        for part in lead.detail {
            text += " ";
            match part {
                Part::Text(part) | Part::At(part) | Part::Way(_, part) => text += part.trim(),
            }
        }
        text
    }

    fn open() -> crate::live::Breaker {
        throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"))
    }

    #[test]
    fn who_passes_is_told_what_is_closest() {
        let state = user(onenote((12, 0), (48, 0), (1, 0)));
        assert_eq!(
            said(&state),
            "Calls of ana@x pass. Closest to a limit: 1 of 5 in flight. 1 call runs, none waits."
        );
    }

    #[test]
    fn nothing_counted_says_what_to_do() {
        let mut state = user(onenote((0, 0), (0, 0), (0, 0)));
        state.leases.clear();
        state.leases_total = 0;
        let said = said(&state);
        assert!(said.starts_with("Nothing of ana@x is counted now. A call through http://127.0.0.1:3001/graph/ or a permit"), "{said}");
        assert!(said.ends_with("No call runs, none waits."), "{said}");
    }

    #[test]
    fn what_stops_the_app_is_said_of_its_user() {
        let mut state = user(onenote((1, 0), (1, 0), (0, 0)));
        state.budgets.insert(0, tripped("", open()));
        let said = said(&state);
        assert!(
            said.starts_with("Graph throttles the app note-bridge; all its users are hit."),
            "{said}"
        );
    }

    #[test]
    fn an_open_breaker_of_its_own_speaks_of_nobody_else() {
        let mut state = user(Vec::new());
        state.budgets = vec![tripped("ana@x", open())];
        let said = said(&state);
        assert!(said.starts_with("Graph throttles ana@x. Its calls on graph / onenote are kept back here for another 12 s, until"), "{said}");
        assert!(!said.contains("everyone"), "{said}");
    }

    #[test]
    fn out_of_quota_tells_the_wait() {
        let mut layers = onenote((61, 0), (400, 0), (0, 0));
        layers[1].frees_at = Some("2026-11-30T14:14:06.000Z".to_owned());
        let said = said(&user(layers));
        assert!(said.starts_with("ana@x is out of quota. ana@x has used 400 of 400 this hour on graph / onenote. The next call fits by itself in 11 min, at"), "{said}");
    }

    #[test]
    fn busy_and_near_are_said_without_others() {
        let mut busy = user(onenote((1, 0), (1, 0), (5, 0)));
        busy.foreground.waiting = 2;
        assert_eq!(
            said(&busy),
            "ana@x has 5 of 5 in flight; the next call fits when one ends. 1 call runs, 2 wait."
        );
        let near = user(onenote((1, 0), (350, 0), (0, 0)));
        assert!(said(&near).starts_with("ana@x is close to its hour: 350 of 400. 1 call"));
        let share = user(onenote((1, 0), (200, 200), (0, 0)));
        assert!(said(&share).contains(
            "Its jobs wait, a person's calls pass: background 200 of its 200 this hour."
        ));
    }

    #[test]
    fn counters_that_cannot_be_written_come_first() {
        let mut state = user(Vec::new());
        state.budgets = vec![Budget {
            ..tripped("ana@x", open())
        }];
        state.unwritable = true;
        assert!(said(&state).starts_with("Spillway cannot write its counters"));
    }
}
