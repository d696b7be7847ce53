//! The first sentence: all clear, or what is wrong, who is hit, until when, and what
//! happens next by itself. Derived from the [`State`] alone, so that the page never says
//! more than its gauges show.
//!
//! Only a used-up *rate* is trouble: it passes no call before an instant that may be an
//! hour away. A user with all calls in flight is merely busy; the next ending call makes
//! room. The background lane at its share is the limiter doing its work.

use leptos::either::Either;
use leptos::prelude::*;

use super::wording::{Zone, count, plural, tightest, usage};
use crate::erase::Erase;
use crate::live::{Budget, Dimension, Layer, Scope, State, Workload};
use crate::time::{At, InWords};

/// How much the sentence should stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// There is nothing to show yet.
    Empty,
    /// Nobody is out of quota.
    Clear,
    /// Some users are.
    Some,
    /// A whole app or tenant is.
    All,
}

/// A piece of the explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words.
    Text(String),
    /// An instant, RFC 3339 in UTC.
    At(String),
}

/// The first sentence and what explains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lead {
    /// How much it should stand out.
    pub tone: Tone,
    /// One sentence.
    pub headline: String,
    /// What follows it.
    pub detail: Vec<Part>,
}

/// A budget with a used-up rate, and where it belongs.
struct Out<'a> {
    place: String,
    budget: &'a Budget,
    layer: &'a Layer,
}

/// Says how things are.
#[must_use]
pub fn lead(state: &State, gateway_url: &str) -> Lead {
    let budgets = || all_budgets(state);
    if budgets().next().is_none() {
        return empty(state, gateway_url);
    }
    let (users, shared): (Vec<_>, Vec<_>) = budgets()
        .filter_map(|(place, budget)| out(place, budget))
        .partition(|out| out.budget.scope == Scope::User);
    if let Some(worst) = latest(&shared) {
        return Lead {
            tone: Tone::All,
            headline: shared_headline(worst, shared.len()),
            detail: explain(worst, state),
        };
    }
    match latest(&users) {
        Some(worst) => Lead {
            tone: Tone::Some,
            headline: users_headline(users.len() as u64, near(state).len() as u64),
            detail: explain(worst, state),
        },
        None => clear(state),
    }
}

/// The sentence on the page.
#[component]
pub fn LeadSection(
    /// What it says.
    said: Memo<Lead>,
) -> impl IntoView {
    let class = move || match said.with(|lead| lead.tone) {
        Tone::Empty => "lead empty",
        Tone::Clear => "lead clear",
        Tone::Some => "lead near",
        Tone::All => "lead full",
    };
    let detail = move || {
        said.with(|lead| lead.detail.clone())
            .into_iter()
            .map(|part| match part {
                Part::Text(text) => Either::Left(text),
                Part::At(at) => Either::Right(view! { <At at=Signal::stored(at) style=InWords/> }),
            })
            .collect_view()
    };
    view! {
        <section class=class aria-label="In short">
            <p>
                <b>{move || said.with(|lead| lead.headline.clone())}</b>
                " "
                {detail}
            </p>
        </section>
    }
    .erase()
}

fn all_budgets(state: &State) -> impl Iterator<Item = (String, &Budget)> {
    state.upstreams.iter().flat_map(|upstream| {
        upstream.workloads.iter().flat_map(move |workload| {
            let place = format!("{} / {}", upstream.name, workload.name);
            workload
                .budgets
                .iter()
                .map(move |budget| (place.clone(), budget))
        })
    })
}

fn workloads(state: &State) -> impl Iterator<Item = &Workload> {
    state
        .upstreams
        .iter()
        .flat_map(|upstream| &upstream.workloads)
}

/// The budget's used-up rate that takes longest to free, if it has one.
fn out(place: String, budget: &Budget) -> Option<Out<'_>> {
    let layer = budget
        .layers
        .iter()
        .filter(|layer| layer.dimension == Dimension::Rate && Zone::of(layer) == Zone::Full)
        .max_by(|a, b| (&a.frees_at, a.window_ms).cmp(&(&b.frees_at, b.window_ms)))?;
    Some(Out {
        place,
        budget,
        layer,
    })
}

/// Who waits longest: RFC 3339 in UTC sorts as text.
fn latest<'a, 'b>(outs: &'b [Out<'a>]) -> Option<&'b Out<'a>> {
    outs.iter()
        .max_by(|a, b| a.layer.frees_at.cmp(&b.layer.frees_at))
}

fn shared_headline(worst: &Out<'_>, number: usize) -> String {
    let who = name(worst.budget);
    let more = match number - 1 {
        0 => String::new(),
        more => format!(
            ", and so are {}",
            plural(more as u64, "other shared budget")
        ),
    };
    format!("{who} is out of quota for {}{more}.", worst.place)
}

fn users_headline(out: u64, near: u64) -> String {
    let rest = match near {
        0 => "everyone else is clear".to_owned(),
        1 => "one more is near a limit".to_owned(),
        more => format!("{} more are near a limit", count(more)),
    };
    match out {
        1 => format!("One user is out of quota; {rest}."),
        _ => format!("{} users are out of quota; {rest}.", count(out)),
    }
}

fn explain(worst: &Out<'_>, state: &State) -> Vec<Part> {
    let used = usage(worst.layer);
    let used = match worst.budget.scope {
        Scope::User => format!(
            "{} has used {used} on {}. ",
            name(worst.budget),
            worst.place
        ),
        _ => format!("It has used {used}. "),
    };
    let mut parts = vec![Part::Text(used)];
    if let Some(frees_at) = &worst.layer.frees_at {
        let wait = crate::instant::ms_between(&state.as_of, frees_at)
            .map(|ms| format!(" in {},", crate::instant::wait(ms)))
            .unwrap_or_default();
        parts.push(Part::Text(format!(
            "The next call fits by itself{wait} at "
        )));
        parts.push(Part::At(frees_at.clone()));
        parts.push(Part::Text(". ".to_owned()));
    }
    parts.push(Part::Text(waiting(state)));
    parts
}

fn waiting(state: &State) -> String {
    let sum =
        |lane: fn(&Workload) -> u32| workloads(state).map(|it| u64::from(lane(it))).sum::<u64>();
    let foreground = sum(|it| it.lanes.foreground.waiting);
    let background = sum(|it| it.lanes.background.waiting);
    let refused = workloads(state)
        .flat_map(|it| &it.recent)
        .map(|second| u64::from(second.refused))
        .sum::<u64>();
    let wait = match (foreground, background) {
        (0, 0) => "No call waits".to_owned(),
        (0, jobs) => format!(
            "{} of the background {} until there is room",
            plural(jobs, "call"),
            verb(jobs)
        ),
        (people, 0) => format!(
            "{} {} until there is room",
            plural(people, "call"),
            verb(people)
        ),
        (people, jobs) => format!(
            "{} and {} of the background wait until there is room",
            plural(people, "foreground call"),
            count(jobs)
        ),
    };
    match refused {
        0 => format!("{wait}; none was refused in the last minute."),
        some => format!(
            "{wait}; {} refused in the last minute.",
            plural(some, "call")
        ),
    }
}

fn verb(number: u64) -> &'static str {
    if number == 1 { "waits" } else { "wait" }
}

/// Users close to a rate's limit, but not at it.
fn near(state: &State) -> Vec<&Budget> {
    all_budgets(state)
        .map(|(_, budget)| budget)
        .filter(|budget| budget.scope == Scope::User)
        .filter(|budget| rate_zone(budget) == Some(Zone::Near))
        .collect()
}

fn rate_zone(budget: &Budget) -> Option<Zone> {
    let rates = budget.layers.iter();
    rates
        .filter(|layer| layer.dimension == Dimension::Rate)
        .map(Zone::of)
        .max()
}

fn clear(state: &State) -> Lead {
    let users: u64 = workloads(state).map(|workload| workload.users).sum();
    let near = near(state);
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
        headline: format!("All clear: {}, none out of quota.", plural(users, "user")),
        detail: vec![Part::Text(who), Part::Text(waiting(state))],
    }
}

fn empty(state: &State, gateway_url: &str) -> Lead {
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

/// How a budget's owner is called.
fn name(budget: &Budget) -> String {
    match budget.scope {
        Scope::App => format!("The app {}", budget.app),
        Scope::Tenant => format!("{} in tenant {}", budget.app, budget.tenant),
        Scope::User => budget.user.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{budget, concurrency, frees, onenote, overview, rate, state};
    use super::*;

    fn said(lead: &Lead) -> String {
        lead.detail
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::At(at) => crate::instant::time_of_day(at),
            })
            .collect()
    }

    #[test]
    fn one_user_out_of_quota_is_named_with_the_end_of_it() {
        let lead = lead(&overview(), "");
        assert_eq!(lead.tone, Tone::Some);
        assert_eq!(
            lead.headline,
            "One user is out of quota; 2 more are near a limit."
        );
        assert_eq!(
            said(&lead),
            "ana@contoso.example has used 400 of 400 this hour on graph / onenote. \
             The next call fits by itself in 11 min, at 14:14:06. \
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
        let lead = lead(&state(vec![budget("a@b", vec![concurrency(5, 5, 0)])]), "");
        assert_eq!(lead.tone, Tone::Clear);
        assert_eq!(lead.headline, "All clear: 1 user, none out of quota.");
        assert!(said(&lead).starts_with("Nobody is close to a limit. No call waits"));
    }

    #[test]
    fn who_is_near_is_named() {
        let lead = lead(
            &state(vec![budget("a@b", onenote((10, 0), (344, 0), (0, 0)))]),
            "",
        );
        assert!(said(&lead).starts_with("a@b (344 of 400 this hour) is close to a limit."));
    }

    #[test]
    fn no_data_says_what_to_do() {
        let lead = lead(&state(Vec::new()), "http://127.0.0.1:3001/");
        assert_eq!(lead.tone, Tone::Empty);
        assert!(said(&lead).contains("base URL at http://127.0.0.1:3001/graph/ and"));
        assert_eq!(
            super::lead(
                &State {
                    as_of: "x".to_owned(),
                    ..State::default()
                },
                ""
            )
            .headline,
            "No upstream is configured."
        );
    }
}
