//! The first sentence: all clear, or what is wrong, who is hit, until when, and what
//! happens next by itself. Derived from the [`State`] and the time alone, so that the page
//! never says more than its gauges show.
//!
//! What stops most comes first: breakers of apps and tenants, then their limits, then
//! those of users. Only a used-up *rate* is trouble: it passes no call before an instant
//! that may be an hour away. A user with all calls in flight is merely busy; the next
//! ending call makes room. The background lane at its share is the limiter doing its work.

mod calm;
mod quota;
mod trip;

use leptos::either::Either;
use leptos::prelude::*;

use super::wording::{count, plural};
use crate::erase::Erase;
use crate::live::{Budget, Scope, State, Workload};
use crate::time::{At, InWords};

/// How much the sentence should stand out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// There is nothing to show yet.
    Empty,
    /// Nobody is out of quota.
    Clear,
    /// Some users are, or calls pass more slowly than they might.
    Some,
    /// A whole app or tenant is, or its breaker is open.
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

/// A budget and where it belongs.
#[derive(Clone, Copy)]
struct Placed<'a> {
    upstream: &'a str,
    workload: &'a str,
    budget: &'a Budget,
}

/// Says how things are at `now_ms`.
#[must_use]
pub fn lead(state: &State, gateway_url: &str, now_ms: i64) -> Lead {
    let (users, shared): (Vec<_>, Vec<_>) =
        all(state).partition(|it| it.budget.scope == Scope::User);
    if users.is_empty() && shared.is_empty() {
        return calm::empty(state, gateway_url);
    }
    let mut lead = trip::shared_stopped(&shared, now_ms)
        .or_else(|| quota::shared(&shared, now_ms))
        .or_else(|| trip::slowed(&shared, now_ms))
        .or_else(|| trip::users_stopped(&users, now_ms))
        .or_else(|| quota::users(&users, now_ms))
        .or_else(|| trip::slowed(&users, now_ms))
        .unwrap_or_else(|| calm::clear(state, &users));
    lead.detail.push(Part::Text(waiting(state)));
    lead
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

fn all(state: &State) -> impl Iterator<Item = Placed<'_>> {
    state.upstreams.iter().flat_map(|upstream| {
        upstream.workloads.iter().flat_map(move |workload| {
            workload.budgets.iter().map(move |budget| Placed {
                upstream: &upstream.name,
                workload: &workload.name,
                budget,
            })
        })
    })
}

fn workloads(state: &State) -> impl Iterator<Item = &Workload> {
    state
        .upstreams
        .iter()
        .flat_map(|upstream| &upstream.workloads)
}

impl Placed<'_> {
    /// `graph / onenote`.
    fn place(&self) -> String {
        [self.upstream, " / ", self.workload].concat()
    }

    /// How the budget's owner is called.
    fn who(&self) -> String {
        let budget = self.budget;
        match budget.scope {
            Scope::App => ["the app ", &budget.app].concat(),
            Scope::Tenant => [&budget.app, " in tenant ", &budget.tenant].concat(),
            Scope::User => budget.user.clone(),
        }
    }
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

#[cfg(test)]
mod tests;
