//! No trouble, or nothing yet that could be in trouble.

use super::{Lead, Part, Placed, Tone, apps_differ, workloads};
use crate::live::{Budget, State};
use crate::overview::name;
use crate::overview::wording::{Zone, count, plural, tightest, usage};

/// Nobody is out of quota; `users` are those that the page knows. Calls in flight count
/// here: whoever has none left is at a limit, if only until one ends.
pub fn clear(state: &State, users: &[Placed<'_>]) -> Lead {
    let number: u64 = workloads(state).map(|workload| workload.users).sum();
    let near = || {
        let budgets = users.iter().map(|it| it.budget);
        budgets.filter(|it| zone(it) != Zone::Clear)
    };
    let who = match near().max_by_key(|it| it.closeness_permille()) {
        None => "Nobody is close to a limit. ".to_owned(),
        Some(first) => {
            let used = tightest(first).map(usage).unwrap_or_default();
            let (others, verb) = match near().count() as u64 {
                1 => (String::new(), " is "),
                more => ([" and ", &count(more - 1), " more"].concat(), " are "),
            };
            let how = match zone(first) {
                Zone::Full => "at a limit. ",
                _ => "close to a limit. ",
            };
            [
                &name::in_words(&first.user),
                " (",
                &used,
                ")",
                &others,
                verb,
                how,
            ]
            .concat()
        }
    };
    let per_app = if apps_differ(users) { " (per app)" } else { "" };
    Lead {
        tone: Tone::Clear,
        headline: [
            "All clear: ",
            &plural(number, "user"),
            per_app,
            ", none out of quota.",
        ]
        .concat(),
        detail: vec![Part::Text(who)],
    }
}

fn zone(budget: &Budget) -> Zone {
    Zone::at(budget.closeness_permille())
}

/// Nothing has been counted yet: what to do about it.
pub fn empty(state: &State, gateway_url: &str) -> Lead {
    let base = gateway_url.trim_end_matches('/');
    let (headline, detail) = match state.upstreams.first() {
        None if state.as_of.is_empty() => (
            "No data yet.",
            "The first values are on their way.".to_owned(),
        ),
        None => (
            "No upstream is configured.",
            "Add one to spillway.toml, as [upstreams.NAME] with a base_url, and start again."
                .to_owned(),
        ),
        Some(upstream) => (
            "No calls yet.",
            format!(
                "Point a client's base URL at {base}/{}/ and change nothing else; its limits appear here with the first call.",
                upstream.name
            ),
        ),
    };
    Lead {
        tone: Tone::Empty,
        headline: headline.to_owned(),
        detail: vec![Part::Text(detail)],
    }
}
