//! The card of one workload: its gauges, its lanes, its flow.

use std::cmp::Reverse;

use leptos::prelude::*;

use super::breaker;
use super::flow::FlowBlock;
use super::gauge::Gauge;
use super::icon::{Icon, Sign};
use super::lanes::{LaneTable, LaneUse, bars, bars_title};
use super::name;
use super::pill::{Label, Pill};
use super::users::{UserTable, ranked};
use super::wording::{Zone, apps_differ, count, plural};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::live::{Breaker, Budget, BudgetKey, Dimension, Lanes, Layer, Scope, Workload};

/// The card of the workload called `name` of `upstream`, and the table of its users.
#[component]
pub fn WorkloadCard(
    /// The upstream's name.
    upstream: String,
    /// The workload's name.
    name: String,
) -> impl IntoView {
    let title = format!("{upstream} / {name}");
    let feed = Feed::expect();
    let as_of = Memo::new(move |_| feed.state.with(|state| state.as_of.clone()));
    let workload = Memo::new(move |_| {
        feed.state.with(|state| {
            state
                .workload(&upstream, &name)
                .cloned()
                .unwrap_or_default()
        })
    });
    let shared = Memo::new(move |_| workload.with(shared_keys));
    let ranked = ranked(workload, as_of);
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
        <Show when=move || has_users.get()>
            <UserTable workload=workload ranked=ranked/>
        </Show>
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

/// A budget's owner and a gauge for each of its layers.
#[component]
fn BudgetRow(
    title: &'static str,
    under: Signal<String>,
    note: Signal<String>,
    budget: Memo<Option<Budget>>,
) -> impl IntoView {
    let layers =
        Memo::new(move |_| budget.with(|it| it.as_ref().map(layer_keys).unwrap_or_default()));
    let owner = Signal::derive(move || under.with(|under| [title, " ", under].concat()));
    let clock_ms = Feed::expect().clock_ms;
    let breaker = Memo::new(move |_| {
        budget.with(|it| it.as_ref().map(|it| it.breaker.clone()).unwrap_or_default())
    });
    let report = Memo::new(move |_| breaker.with(|it| breaker::report(it, clock_ms.get())));
    let report = move || {
        let report = report.get()?;
        Some(view! {
            <small class="report">
                <Sign icon=Signal::stored(Icon::Report)/>
                {report}
            </small>
        })
    };
    let drift = move || {
        let drift = breaker.with(breaker::drift)?;
        Some(view! { <small class="drift">{drift}</small> })
    };
    // A policy's layers stay as they are: no list with keys is needed to follow them.
    let gauges = move || {
        let gauge = |key: LayerKey| {
            view! { <LayerGauge at=key.0 owner=owner budget=budget breaker=breaker/> }
        };
        layers.get().into_iter().map(gauge).collect_view()
    };
    view! {
        <div class="row">
            <div class="owner">
                <b>{title}</b>
                <span><bdi>{move || under.get()}</bdi></span>
                <small>{move || note.get()}</small>
                {report}
                {drift}
            </div>
            <div class="gauges">
                {gauges}
            </div>
        </div>
    }
    .erase()
}

#[component]
fn LayerGauge(
    at: usize,
    owner: Signal<String>,
    budget: Memo<Option<Budget>>,
    breaker: Memo<Breaker>,
) -> impl IntoView {
    let layer = Memo::new(move |before: Option<&Layer>| {
        let found = budget.with(|it| it.as_ref()?.layers.get(at).cloned());
        // Gone from the state an instant before its gauge is gone.
        found.or_else(|| before.cloned()).unwrap_or(NONE)
    });
    view! { <Gauge owner=owner layer=layer breaker=breaker/> }
}

/// What a layer that was never there would be.
const NONE: Layer = Layer {
    dimension: Dimension::Concurrency,
    window_ms: None,
    limit: 1,
    used: 0,
    used_background: 0,
    share_permille: 0,
    frees_at: None,
    lingering: 0,
};

type LayerKey = (usize, Option<u64>);

fn layer_keys(budget: &Budget) -> Vec<LayerKey> {
    let layers = budget.layers.iter().enumerate();
    layers.map(|(at, layer)| (at, layer.window_ms)).collect()
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

/// How the workload's budgets are, in a few words: shared breakers that are not closed,
/// the app's limits, and how many users are in trouble.
fn labels(workload: &Workload, now_ms: i64) -> Vec<Label> {
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
    shared.iter().filter_map(said).take(SHARED_MAX).collect()
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

/// How full the fullest rate is; calls in flight come and go too fast for a word.
fn rate_permille(budget: &Budget) -> u32 {
    let rates = budget
        .layers
        .iter()
        .filter(|it| it.dimension == Dimension::Rate);
    rates.map(Layer::used_permille).max().unwrap_or(0)
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
        assert_eq!(words(&all), ["App c near"]);
        assert_eq!(
            words(&state(vec![app("a", 2), app("b", 1)])),
            ["Apps clear"]
        );
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
