//! No trouble, or nothing yet that could be in trouble.

use super::{Lead, Part, Placed, Tone, quota, workloads};
use crate::live::State;
use crate::overview::wording::{Zone, count, plural, tightest, usage};

/// Nobody is in trouble; `users` are those that the page knows.
pub fn clear(state: &State, users: &[Placed<'_>]) -> Lead {
    let number: u64 = workloads(state).map(|workload| workload.users).sum();
    let near: Vec<_> = users
        .iter()
        .map(|it| it.budget)
        .filter(|it| quota::rate_zone(it) == Some(Zone::Near))
        .collect();
    let who = match (near.first(), near.len() as u64) {
        (None, _) => "Nobody is close to a limit. ".to_owned(),
        (Some(first), number) => {
            let used = tightest(first).map(usage).unwrap_or_default();
            let others = if number == 1 {
                String::new()
            } else {
                format!(" and {} more", count(number - 1))
            };
            let verb = if number == 1 { "is" } else { "are" };
            format!("{} ({used}){others} {verb} close to a limit. ", first.user)
        }
    };
    Lead {
        tone: Tone::Clear,
        headline: format!("All clear: {}, none out of quota.", plural(number, "user")),
        detail: vec![Part::Text(who)],
    }
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
