//! How a workload's budgets are, in the few words of its card's head.

use super::breaker;
use super::name;
use super::pill::Label;
use super::wording::{Zone, apps_differ, plural, rate_permille};
use crate::live::{Breaker, Budget, Scope, Workload};

/// The most shared budgets whose breakers are named.
const NAMED_MAX: usize = 3;

/// How the workload's budgets are, in a few words: shared breakers that are not closed,
/// the app's limits, and how many users are in trouble.
#[must_use]
pub fn labels(workload: &Workload, now_ms: i64) -> Vec<Label> {
    let (users, shared): (Vec<_>, Vec<_>) = workload
        .budgets
        .iter()
        .partition(|it| it.scope == Scope::User);
    let zone = |it: &&Budget| Zone::at(rate_permille(it));
    let apps_differ = apps_differ(&workload.budgets);
    let mut labels = shared_breakers(&shared, apps_differ, now_ms);
    match shared.iter().max_by_key(|it| rate_permille(it)) {
        // "Clear" beside "open" would be one word too many.
        Some(worst) if zone(worst) == Zone::Clear && !labels.is_empty() => {}
        Some(worst) => {
            let who = match zone(worst) {
                Zone::Clear if apps_differ => "Apps ".to_owned(),
                Zone::Clear => "App ".to_owned(),
                _ => owner(worst, apps_differ),
            };
            labels.push(Label::zone(zone(worst), who + zone(worst).small_word()));
        }
        None => {}
    }
    labels.extend(user_breakers(&users));
    for level in [Zone::Full, Zone::Near] {
        let number = users.iter().filter(|it| zone(it) == level).count() as u64;
        if number > 0 {
            let word = [&plural(number, "user"), " ", level.small_word()].concat();
            labels.push(Label::zone(level, word));
        }
    }
    labels
}

/// `App open: upstream throttles, next try in 12 s`; with a name where there are several.
fn shared_breakers(shared: &[&Budget], apps_differ: bool, now_ms: i64) -> Vec<Label> {
    let said = |budget: &&Budget| {
        Some(Label {
            word: owner(budget, apps_differ) + breaker::word(&budget.breaker),
            more: breaker::explanation(&budget.breaker, now_ms),
            ..breaker::label(&budget.breaker)?
        })
    };
    shared.iter().filter_map(said).take(NAMED_MAX).collect()
}

/// `App `, with its name where there are several; `Tenant contoso `.
fn owner(budget: &Budget, apps_differ: bool) -> String {
    match budget.scope {
        Scope::App if !apps_differ => "App ".to_owned(),
        Scope::App => ["App ", &name::in_words(&budget.app), " "].concat(),
        _ => ["Tenant ", &name::in_words(&budget.tenant), " "].concat(),
    }
}

/// `Open: 2 users`, for each state that there is, the worst first.
fn user_breakers(users: &[&Budget]) -> Vec<Label> {
    let said = |state| {
        let number = users.iter().filter(|it| it.breaker.state == state).count() as u64;
        let breaker = Breaker {
            state,
            ..Breaker::default()
        };
        Some(Label {
            more: [": ", &plural(number, "user")].concat(),
            ..breaker::label(&breaker).filter(|_| number > 0)?
        })
    };
    breaker::WORST_FIRST.into_iter().filter_map(said).collect()
}

#[cfg(test)]
mod tests {
    use crate::live::BreakerState;

    use super::super::fixture::{
        NOW, budget, concurrency, forced, onenote, overview, state, throttled, tripped,
    };
    use super::*;

    fn words(state: &crate::live::State) -> Vec<String> {
        labels(&state.upstreams[0].workloads[0], NOW)
            .into_iter()
            .map(|it| it.word + &it.more)
            .collect()
    }

    #[test]
    fn the_head_says_how_app_and_users_are() {
        assert_eq!(
            words(&overview()),
            ["App near", "1 user full", "2 users near"]
        );
        assert!(words(&state(Vec::new())).is_empty());
    }

    #[test]
    fn calls_in_flight_raise_no_alarm() {
        let busy = state(vec![
            budget("", vec![concurrency(20, 20, 0)]),
            budget("a@b", vec![concurrency(5, 5, 0)]),
        ]);
        assert_eq!(words(&busy), ["App clear"]);
    }

    #[test]
    fn breakers_are_said_and_users_counted_the_worst_first() {
        let open = || throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"));
        let soft = throttled(BreakerState::Soft, None);
        let state = state(vec![
            tripped("", open()),
            tripped("a@b", soft),
            tripped("c@b", open()),
            tripped("d@b", open()),
            tripped("e@b", Breaker::default()),
        ]);
        assert_eq!(
            words(&state),
            [
                "App open: upstream throttles, next try in 12 s",
                "Open: 2 users",
                "Soft: 1 user"
            ]
        );
    }

    #[test]
    fn of_several_apps_the_fullest_is_named_or_all_are_clear() {
        let app = |name: &str, used| Budget {
            app: name.to_owned(),
            ..budget("", onenote((used, 0), (0, 0), (0, 0)))
        };
        let near = state(vec![app("a", 2), app("c", 119)]);
        assert_eq!(words(&near), ["App c near"]);
        let clear = state(vec![app("a", 2), app("b", 1)]);
        assert_eq!(words(&clear), ["Apps clear"]);
    }

    #[test]
    fn of_several_apps_each_has_its_name() {
        let until = "2026-11-30T14:30:00Z";
        let mut other = tripped("", forced(BreakerState::Closed, until));
        other.app = "scan".to_owned();
        let state = state(vec![tripped("", forced(BreakerState::Open, until)), other]);
        assert_eq!(
            words(&state),
            [
                "App note-bridge forced open until 14:30:00 UTC",
                "App scan forced closed until 14:30:00 UTC"
            ]
        );
    }
}
