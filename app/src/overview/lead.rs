//! The first sentence: all clear, or what is wrong, who is hit, until when, and what
//! happens next by itself. Derived from the [`State`] and the time alone, so that the page
//! never says more than its gauges show.
//!
//! What stops most comes first: counters that cannot be written or were lost, breakers of
//! apps and tenants, then their limits, then those of users. Only a used-up *rate* is out
//! of quota: it passes no call before an instant that may be an hour away. Who has all
//! calls in flight is merely busy, and worth a word while more calls want in. The
//! background lane at its share is the limiter doing its work.

mod calm;
mod near;
mod one;
mod own;
mod quota;
mod trip;

use leptos::either::EitherOf3;
use leptos::prelude::*;

use super::name;
use super::wording::{count, plural, workload_title};
use crate::erase::Erase;
use crate::live::{Budget, Scope, State, Workload};
use crate::time::{At, InWords};
pub use one::one;

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
    /// The way to a page: its path, and what it is called.
    Way(String, String),
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
    /// The workload itself.
    of: &'a Workload,
    budget: &'a Budget,
}

/// Says how things are at `now_ms`.
#[must_use]
pub fn lead(state: &State, gateway_url: &str, now_ms: i64) -> Lead {
    let (users, shared): (Vec<_>, Vec<_>) =
        all(state).partition(|it| it.budget.scope == Scope::User);
    let own = own::unwritable(state).or_else(|| own::lost(state, now_ms));
    if own.is_none() && users.is_empty() && shared.is_empty() {
        return with_attention(calm::empty(state, gateway_url), state);
    }
    let mut lead = own
        .or_else(|| trip::shared_stopped(&shared, now_ms))
        .or_else(|| quota::shared(&shared, now_ms))
        .or_else(|| trip::slowed(&shared, now_ms))
        .or_else(|| of_users(&users, &shared, now_ms))
        .or_else(|| near::shared(&shared))
        .or_else(|| near::in_flight(&shared))
        .or_else(|| near::in_flight(&users))
        .unwrap_or_else(|| calm::clear(state, &users));
    lead.detail.push(Part::Text(waiting(state)));
    with_attention(lead, state)
}

/// Says what waits for a person, first where nothing else is wrong.
fn with_attention(mut lead: Lead, state: &State) -> Lead {
    for it in state.house.iter().flat_map(|house| &house.attention) {
        let way = Part::Way(it.path.clone(), it.way.clone());
        match lead.tone {
            Tone::Empty | Tone::Clear => {
                let before = std::mem::replace(&mut lead.headline, it.says.clone());
                lead.tone = Tone::Some;
                let before = Part::Text([". ", &before, " "].concat());
                lead.detail.splice(0..0, [way, before]);
            }
            Tone::Some | Tone::All => {
                let says = Part::Text([" ", &it.says, " "].concat());
                lead.detail.extend([says, way, Part::Text(".".to_owned())]);
            }
        }
    }
    lead
}

/// Users in trouble, if any is; and whether their app is close to a limit.
fn of_users(users: &[Placed<'_>], shared: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let mut lead = trip::users_stopped(users, now_ms)
        .or_else(|| quota::users(users, now_ms))
        .or_else(|| trip::slowed(users, now_ms))?;
    if let Some(near) = near::sentence(shared) {
        lead.detail.push(Part::Text(near + " "));
    }
    Some(lead)
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
                Part::Text(text) => EitherOf3::A(text),
                Part::At(at) => EitherOf3::B(view! { <At at=Signal::stored(at) style=InWords/> }),
                Part::Way(path, words) => EitherOf3::C(view! { <a href=path>{words}</a> }),
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
                of: workload,
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
        [self.upstream, " / ", workload_title(self.workload)].concat()
    }

    /// How the budget's owner is called.
    fn who(&self) -> String {
        let budget = self.budget;
        match budget.scope {
            Scope::App => ["the app ", &name::in_words(&budget.app)].concat(),
            Scope::Tenant => [
                &name::in_words(&budget.app),
                " in tenant ",
                &name::in_words(&budget.tenant),
            ]
            .concat(),
            Scope::User => name::in_words(&budget.user),
        }
    }
}

/// Whether a user may be listed once for each of several apps.
fn apps_differ(users: &[Placed<'_>]) -> bool {
    let mut apps = users.iter().map(|it| &it.budget.app);
    let first = apps.next();
    apps.any(|app| Some(app) != first)
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
        (0, jobs) => [&plural(jobs, "call"), " of the background ", verb(jobs)].concat(),
        (people, 0) => [&plural(people, "call"), " ", verb(people)].concat(),
        (people, jobs) => [
            &plural(people, "foreground call"),
            " and ",
            &count(jobs),
            " of the background ",
            verb(2),
        ]
        .concat(),
    };
    let refused = match refused {
        0 => "none was".to_owned(),
        some => plural(some, "call"),
    };
    [&wait, "; ", &refused, " refused in the last minute."].concat()
}

fn verb(number: u64) -> &'static str {
    if number == 1 {
        "waits until there is room"
    } else {
        "wait until there is room"
    }
}

#[cfg(test)]
mod tests;
