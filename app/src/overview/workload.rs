//! The card of one workload: its gauges, its lanes, its flow.

use std::cmp::Reverse;

use leptos::prelude::*;

use super::breaker;
use super::budget_row::BudgetRow;
use super::flow::FlowBlock;
use super::labels::labels;
use super::lanes::{LaneTable, LaneUse, bars, bars_title};
use super::name;
use super::pill::Pill;
use super::users::{UserTable, ranked};
use super::wording::{apps_differ, count, rate_permille, workload_title};
use crate::erase::Erase;
use crate::feed::{Feed, Shown};
use crate::live::{Budget, BudgetKey, Lanes, Scope, Workload};
use crate::pages::{workload_page_path, workload_path};

/// The card of the workload called `name` of `upstream`, and the table of its users.
#[component]
pub fn WorkloadCard(
    /// The upstream's name.
    upstream: String,
    /// The workload's name.
    name: String,
) -> impl IntoView {
    let title = [&upstream, " / ", workload_title(&name)].concat();
    let path = workload_path(&upstream, &name);
    let more = workload_page_path(&upstream, &name, []);
    let feed = Feed::expect();
    let as_of = Memo::new(move |_| feed.shown.with(|it| it.state.as_of.clone()));
    let workload = of_feed(feed, upstream, name);
    let ranked = ranked(workload, as_of);
    let has_users = Memo::new(move |_| ranked.with(|ranked| !ranked.is_empty()));
    view! {
        <Values title=title more=Some(more) workload=workload ranked=ranked/>
        <Show when=move || has_users.get()>
            <UserTable path=path.clone() workload=workload ranked=ranked/>
        </Show>
    }
    .erase()
}

/// The card alone, as it stands on the workload's own page.
#[cfg(feature = "ssr")]
#[component]
pub fn WorkloadValues(
    /// The upstream's name.
    upstream: String,
    /// The workload's name.
    name: String,
) -> impl IntoView {
    let title = [&upstream, " / ", workload_title(&name)].concat();
    let feed = Feed::expect();
    let as_of = Memo::new(move |_| feed.shown.with(|it| it.state.as_of.clone()));
    let workload = of_feed(feed, upstream, name);
    let ranked = ranked(workload, as_of);
    view! { <Values title=title more=None workload=workload ranked=ranked/> }
}

fn of_feed(feed: Feed, upstream: String, name: String) -> Memo<Workload> {
    Memo::new(move |_| {
        let found = |it: &Shown| it.state.workload(&upstream, &name).cloned();
        feed.shown.with(found).unwrap_or_default()
    })
}

/// The card: gauges, lanes, flow; `more` is where the workload's own page is.
#[component]
fn Values(
    title: String,
    more: Option<String>,
    workload: Memo<Workload>,
    ranked: Memo<Vec<BudgetKey>>,
) -> impl IntoView {
    let feed = Feed::expect();
    let shared = Memo::new(move |_| workload.with(shared_keys));
    let nearest = Memo::new(move |_| {
        let first = ranked.with(|ranked| ranked.first().cloned())?;
        workload.with(|it| it.budgets.iter().find(|it| it.key() == first).cloned())
    });
    let labels = Memo::new(move |_| workload.with(|it| labels(it, feed.clock_ms.get())));
    let is_used = Memo::new(move |_| {
        workload.with(|it| !it.budgets.is_empty() || it.lanes != Lanes::default())
    });
    let apps_differ = Memo::new(move |_| workload.with(|it| apps_differ(&it.budgets)));
    let left_out = Memo::new(move |_| workload.with(left_out));
    let left_out = move || {
        let text = left_out.get()?;
        Some(view! { <p class="left-out">{text}</p> })
    };
    let has_users = Memo::new(move |_| nearest.with(Option::is_some));
    let pills = move || {
        let pill = |label| view! { <Pill label=Signal::stored(label)/> };
        labels.get().into_iter().map(pill).collect_view()
    };
    view! {
        <section class="card workload" aria-label=title>
            <div class="head">
                <h2>{title.clone()}</h2>
                {pills}
                {more.map(|more| view! { <a class="more" href=more>"All users and charts"</a> })}
            </div>
            <Show when=move || is_used.get() fallback=|| view! { <p class="nothing">"No call has used these limits yet."</p> }>
                <div class="matrix">
                    <For each=move || shared.get() key=BudgetKey::clone let(key)>
                        <SharedRow key=key workload=workload/>
                    </For>
                    {left_out}
                    <Show when=move || has_users.get()>
                        <BudgetRow
                            title="User"
                            under=Signal::derive(move || nearest.with(|it| it.as_ref().map(|it| name::visible(&it.user)).unwrap_or_default()))
                            note=Signal::derive(move || nearest.with(|it| closest_note(it.as_ref(), apps_differ.get())))
                            budget=nearest
                        />
                    </Show>
                </div>
                <div class="lanes">
                    <LaneUse
                        bars=Signal::derive(move || workload.with(|it| bars(&it.budgets)))
                        title=Memo::new(move |_| workload.with(|it| bars_title(&it.budgets)))
                    />
                    <LaneTable lanes=Signal::derive(move || workload.with(|it| it.lanes.clone()))/>
                    <FlowBlock recent=Signal::derive(move || workload.with(|it| it.recent.clone()))/>
                </div>
            </Show>
        </section>
    }
    .erase()
}

/// The gauges of an app's or a tenant's budget.
#[component]
fn SharedRow(key: BudgetKey, workload: Memo<Workload>) -> impl IntoView {
    let (title, under, note) = match key.scope {
        Scope::Tenant => ("Tenant", name::visible(&key.tenant), "all its users"),
        _ => ("App", name::visible(&key.app), "all users"),
    };
    let budget = Memo::new(move |_| {
        workload.with(|it| it.budgets.iter().find(|it| it.key() == key).cloned())
    });
    view! { <BudgetRow title=title under=Signal::stored(under) note=Signal::stored(note.to_owned()) budget=budget/> }
}

/// How many apps, and how many tenants, have gauges on the overview: those closest to a limit.
const SHARED_MAX: usize = 3;

/// Apps, then tenants, trouble first; those about as full by key, which keeps them calm.
fn shared_keys(workload: &Workload) -> Vec<BudgetKey> {
    let shared = workload.budgets.iter().filter(|it| it.scope != Scope::User);
    let mut ranked = Vec::new();
    // Some fifty at the most; sorting them would take four times the code.
    for it in shared {
        let rank = (it.scope, Reverse(trouble(it)), it.key());
        ranked.insert(ranked.partition_point(|other| *other < rank), rank);
    }
    let of = |scope| {
        ranked
            .iter()
            .filter(move |it| it.0 == scope)
            .take(SHARED_MAX)
    };
    let keys = of(Scope::App).chain(of(Scope::Tenant));
    keys.map(|(_, _, key)| key.clone()).collect()
}

/// How full its fullest rate is, in tenths; more than any if its breaker stops it.
fn trouble(budget: &Budget) -> u32 {
    match breaker::stops(&budget.breaker) {
        true => u32::MAX,
        false => rate_permille(budget) / 100,
    }
}

/// `3 of 7 apps shown`, where some are not.
fn left_out(workload: &Workload) -> Option<String> {
    let shown = shared_keys(workload).len() as u64;
    let tenants = workload.budgets.iter().any(|it| it.scope == Scope::Tenant);
    let what = if tenants { "apps and tenants" } else { "apps" };
    let all = count(workload.shared);
    (workload.shared > shown).then(|| {
        [
            &count(shown),
            " of ",
            &all,
            " ",
            what,
            " shown, trouble first",
        ]
        .concat()
    })
}

/// `closest to a limit`, and of which app where there are several.
fn closest_note(user: Option<&Budget>, apps_differ: bool) -> String {
    match user.filter(|_| apps_differ) {
        Some(user) => [
            "of app ",
            &name::in_words(&user.app),
            ", closest to a limit",
        ]
        .concat(),
        None => "closest to a limit".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{budget, onenote, state};
    use super::*;

    #[test]
    fn the_fullest_of_several_apps_come_first_and_the_rest_are_counted() {
        let app = |name: &str, used| Budget {
            app: name.to_owned(),
            ..budget("", onenote((used, 0), (0, 0), (0, 0)))
        };
        let mut all = state(vec![app("a", 2), app("b", 1), app("c", 119), app("d", 60)]);
        let workload = &mut all.upstreams[0].workloads[0];
        workload.shared = 7;
        let apps: Vec<_> = shared_keys(workload).into_iter().map(|it| it.app).collect();
        assert_eq!(apps, ["c", "d", "a"]);
        assert_eq!(
            left_out(workload).as_deref(),
            Some("3 of 7 apps shown, trouble first")
        );
        workload.shared = 3;
        assert_eq!(left_out(workload), None);
    }
}
