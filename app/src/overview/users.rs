//! The users closest to a limit.

use leptos::prelude::*;

use super::breaker;
use super::name;
use super::pill::{Label, Pill};
use super::wording::{Zone, apps_differ, background_cap, count, period, plural, tightest, usage};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{Breaker, BreakerState, Budget, BudgetKey, Dimension, Layer, Scope, Workload};
use crate::time::{Apart, At};

/// How many users the overview lists.
pub const SHOWN: usize = 10;

/// The list is put in order so often: more, and rows would dance under the eye.
const ORDER_EVERY_MS: i64 = 1_000;

/// The users closest to a limit, closest first, at most [`SHOWN`]. `budgets` come
/// [in order](crate::live::State::sort).
#[must_use]
pub fn closest(budgets: &[Budget]) -> Vec<BudgetKey> {
    let users = budgets.iter().filter(|it| it.scope == Scope::User);
    users.take(SHOWN).map(Budget::key).collect()
}

/// The users closest to a limit, put in order anew every [`ORDER_EVERY_MS`] and whenever
/// one comes or goes.
pub fn ranked(workload: Memo<Workload>, as_of: Memo<String>) -> Memo<Vec<BudgetKey>> {
    let beat =
        Memo::new(move |_| as_of.with(|at| instant::unix_ms(at).map(|ms| ms / ORDER_EVERY_MS)));
    let number = Memo::new(move |_| workload.with(|it| it.budgets.len()));
    Memo::new(move |_| {
        // Read, not only tracked: a memo that nobody reads follows nothing.
        let _ = (beat.get(), number.get());
        workload.with_untracked(|it| closest(&it.budgets))
    })
}

/// Stands where nothing is to be waited for.
const NOTHING: &str = "\u{2013}";

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The user's key.
    pub user: String,
    /// Its tenant, or where there is none or there are several its app.
    pub under: String,
    /// How full the tightest layer is, per mille, at most 1000.
    pub permille: u32,
    /// `400 of 400 this hour`: what the bar shows.
    pub usage: String,
    /// What holds the background back, why the breaker is not closed, and what else is to
    /// be known of it.
    pub note: String,
    /// The state.
    pub label: Label,
    /// The class that colours the bar.
    pub class: &'static str,
    /// When one more foreground call fits, RFC 3339; empty if one fits now or only an
    /// ending call makes room.
    pub frees_at: String,
    /// `in 11 min`, or why there is no instant.
    pub frees: String,
}

/// Works out the row of `budget` at `now_ms`; `apps_differ` where its app must be named.
#[must_use]
pub fn row(budget: &Budget, apps_differ: bool, now_ms: i64) -> Row {
    let tight = tightest(budget);
    let permille = tight.map_or(0, Layer::used_permille);
    let zone = Zone::at(permille);
    // A background lane at its share is no trouble, but worth a word where there is none.
    let held = (zone == Zone::Clear)
        .then(|| held_background(budget))
        .flatten();
    let frees_at = frees_at(budget);
    Row {
        user: name::visible(&budget.user),
        under: under(budget, apps_differ),
        permille: permille.min(1000),
        usage: tight.map(usage).unwrap_or_default(),
        note: note(&budget.breaker)
            .or_else(|| held.clone())
            .unwrap_or_default(),
        frees: match frees_at.map(|at| instant::ms_until(now_ms, at)) {
            Some(Some(ms)) => ["in ", &instant::wait(ms), &may_still_run(budget)].concat(),
            Some(None) => String::new(),
            None if held.is_some() => "foreground now".to_owned(),
            None => no_instant(budget),
        },
        // A used-up limit holds more calls than a breaker that lets some through.
        label: breaker::label(&budget.breaker)
            .filter(|_| breaker::stops(&budget.breaker) || zone != Zone::Full)
            .unwrap_or_else(|| match held {
                Some(_) => Label::held("At its share"),
                None => Label::zone(zone, zone.word()),
            }),
        class: zone.class(),
        frees_at: frees_at.cloned().unwrap_or_default(),
    }
}

/// `contoso.example`, `contoso.example, app scan`, `app scan`.
fn under(budget: &Budget, apps_differ: bool) -> String {
    let app = name::visible(&budget.app);
    match (budget.tenant.is_empty(), apps_differ) {
        (true, _) => ["app ", &app].concat(),
        (false, false) => name::visible(&budget.tenant),
        (false, true) => [&name::visible(&budget.tenant), ", app ", &app].concat(),
    }
}

/// `, 3 may still run`: calls whose connection broke.
fn may_still_run(budget: &Budget) -> String {
    match budget.layers.iter().map(|it| it.lingering).max() {
        None | Some(0) => String::new(),
        Some(calls) => [", ", &count(calls), " may still run"].concat(),
    }
}

/// When both every layer and the breaker let a foreground call through, if only time is
/// needed. RFC 3339 in UTC sorts as text.
fn frees_at(budget: &Budget) -> Option<&String> {
    let opens = budget.breaker.until.as_ref();
    let opens = opens.filter(|_| budget.breaker.state == BreakerState::Open);
    let layers = budget.layers.iter().filter_map(|it| it.frees_at.as_ref());
    layers.chain(opens).max()
}

/// What makes room where no instant does.
fn no_instant(budget: &Budget) -> String {
    let tight = tightest(budget).filter(|it| Zone::of(it) == Zone::Full);
    match budget.breaker.state {
        BreakerState::HalfOpen => "when a probe passes".to_owned(),
        BreakerState::Recovering => breaker::at_once(&budget.breaker),
        _ if tight.is_some_and(|it| it.dimension == Dimension::Concurrency) => {
            "when a call ends".to_owned()
        }
        _ => NOTHING.to_owned(),
    }
}

/// `upstream throttles; throttled though room was left: …`
fn note(breaker: &Breaker) -> Option<String> {
    let reason = || breaker::label(breaker).map(|_| breaker::reason(breaker));
    // That it throttles is said by how it does.
    breaker::drift(breaker)
        .or_else(reason)
        .map(ToOwned::to_owned)
}

/// `background 200 of its 200 this hour`, where that is what holds the user's jobs back while
/// people still pass.
fn held_background(budget: &Budget) -> Option<String> {
    let rates = budget
        .layers
        .iter()
        .filter(|it| it.dimension == Dimension::Rate);
    let layer = rates
        .filter(|it| it.used_background >= background_cap(it))
        .max_by_key(|it| it.window_ms)?;
    let (used, cap) = (count(layer.used_background), count(background_cap(layer)));
    Some(["background ", &used, " of its ", &cap, " ", &period(layer)].concat())
}

/// The table.
#[component]
pub fn UserTable(
    /// The workload whose users are listed.
    workload: Memo<Workload>,
    /// Which of them, in which order.
    ranked: Memo<Vec<BudgetKey>>,
) -> impl IntoView {
    let (pointed, point) = signal(false);
    let (focused, focus) = signal(false);
    let order = Memo::new(move |before: Option<&Vec<BudgetKey>>| match before {
        Some(before) if pointed.get() || focused.get() => {
            ranked.with(|now| keep_order(before, now))
        }
        _ => ranked.get(),
    });
    let apps_differ = Memo::new(move |_| workload.with(|it| apps_differ(&it.budgets)));
    let more = move || {
        let (shown, users) = (order.with(Vec::len) as u64, workload.with(|it| it.users));
        let users = match users {
            users if users > shown => [&count(shown), " of ", &plural(users, "user")].concat(),
            _ => plural(shown, "user"),
        };
        users + if apps_differ.get() { " (per app)" } else { "" }
    };
    view! {
        <section class="card" aria-label="Closest to a limit">
            <div class="head">
                <h2>"Closest to a limit"</h2>
                <small>{more}</small>
            </div>
            <table
                class="users"
                role="table"
                on:pointerenter=move |_| point.set(true)
                on:pointerleave=move |_| point.set(false)
                on:focusin=move |_| focus.set(true)
                on:focusout=move |_| focus.set(false)
            >
                <thead role="rowgroup">
                    <tr role="row">
                        <th role="columnheader" scope="col">"User"</th>
                        <th role="columnheader" scope="col">"Used"</th>
                        <th role="columnheader" scope="col">"Tightest limit"</th>
                        <th role="columnheader" scope="col">"State"</th>
                        <th role="columnheader" scope="col">"Room again"</th>
                    </tr>
                </thead>
                <tbody role="rowgroup">
                    <For each=move || order.get() key=BudgetKey::clone let(key)>
                        <UserRow key=key workload=workload apps_differ=apps_differ/>
                    </For>
                </tbody>
            </table>
        </section>
    }
    .erase()
}

#[component]
fn UserRow(key: BudgetKey, workload: Memo<Workload>, apps_differ: Memo<bool>) -> impl IntoView {
    let clock_ms = Feed::expect().clock_ms;
    let shown = Memo::new(move |before: Option<&Option<Row>>| {
        let found = workload.with(|it| {
            let budget = it.budgets.iter().find(|budget| budget.key() == key)?;
            Some(row(budget, apps_differ.get(), clock_ms.get()))
        });
        // Gone from the state an instant before it is gone from the list.
        found.or_else(|| before.cloned().flatten())
    });
    let get = move |field: fn(&Row) -> String| {
        move || shown.with(|row| row.as_ref().map(field).unwrap_or_default())
    };
    let label = Signal::derive(move || {
        shown.with(|row| {
            row.as_ref()
                .map_or_else(|| Label::held(""), |row| row.label.clone())
        })
    });
    let frees_nothing =
        Memo::new(move |_| shown.with(|row| row.as_ref().is_none_or(|row| row.frees == NOTHING)));
    view! {
        <tr role="row">
            <th role="rowheader" scope="row" class="who">
                <bdi>{get(|row| row.user.clone())}</bdi>
                <small><bdi>{get(|row| row.under.clone())}</bdi></small>
            </th>
            <td role="cell" class="level">
                <svg class="bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="track" width="1000" height="8"></rect>
                    <rect
                        class=get(|row| row.class.to_owned())
                        width=get(|row| row.permille.to_string())
                        height="8"
                    ></rect>
                </svg>
                <span class="percent">{get(|row| count(row.permille / 10) + " %")}</span>
            </td>
            <td role="cell" class="usage">
                {get(|row| row.usage.clone())}
                <small>{get(|row| row.note.clone())}</small>
            </td>
            <td role="cell" class="state"><Pill label=label/></td>
            <td role="cell" class="frees" class:none=move || frees_nothing.get()>
                <span>{get(|row| row.frees.clone())}</span>
                <small><At at=Signal::derive(get(|row| row.frees_at.clone())) style=Apart/></small>
            </td>
        </tr>
    }
    .erase()
}

/// `before` without those that are gone, then the new ones: nothing moves under the pointer.
fn keep_order(before: &[BudgetKey], now: &[BudgetKey]) -> Vec<BudgetKey> {
    let stayed = before.iter().filter(|key| now.contains(key));
    let came = now.iter().filter(|key| !before.contains(key));
    stayed.chain(came).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{
        NOW, budget, concurrency, forced, frees, onenote, overview, rate, throttled, tripped,
    };
    use super::*;

    fn rows() -> Vec<Row> {
        let state = overview();
        let budgets = &state.upstreams[0].workloads[0].budgets;
        let users = budgets.iter().filter(|it| it.scope == Scope::User);
        users.map(|it| row(it, false, NOW)).collect()
    }

    #[test]
    fn the_closest_come_first_and_only_so_many() {
        let users: Vec<_> = rows().into_iter().map(|row| row.user).collect();
        assert_eq!(
            users[..3],
            [
                "ana@contoso.example",
                "sam@contoso.example",
                "li.wei@fabrikam.example"
            ]
        );
        let crowd = (0..30).map(|n| budget(&format!("u{n}@x"), onenote((n, 0), (0, 0), (0, 0))));
        let crowd = super::super::fixture::state(crowd.collect());
        assert_eq!(
            closest(&crowd.upstreams[0].workloads[0].budgets).len(),
            SHOWN
        );
    }

    #[test]
    fn a_full_user_says_what_is_full_and_until_when() {
        let row = &rows()[0];
        assert_eq!(
            (row.usage.as_str(), row.label.word.as_str()),
            ("400 of 400 this hour", "Full")
        );
        assert_eq!(
            (row.frees.as_str(), row.frees_at.as_str()),
            ("in 11 min", "2026-11-30T14:14:06.000Z")
        );
    }

    #[test]
    fn jobs_at_their_share_are_no_trouble() {
        let crawl = rows().into_iter().find(|row| row.user.starts_with("crawl"));
        let crawl = crawl.map(|row| ([row.usage, row.note, row.frees].join(", "), row.label));
        assert_eq!(
            crawl,
            Some((
                "200 of 400 this hour, background 200 of its 200 this hour, foreground now"
                    .to_owned(),
                Label::held("At its share")
            ))
        );
    }

    #[test]
    fn calls_that_may_still_run_are_said_with_the_first_end() {
        let layer = frees(concurrency(5, 5, 0), "2026-11-30T14:04:51.250Z");
        let lingering = Layer {
            lingering: 3,
            ..layer
        };
        let row = row(&budget("a@x", vec![lingering]), false, NOW);
        assert_eq!(row.frees, "in 84 s, 3 may still run");
    }

    #[test]
    fn names_hide_nothing_and_apps_are_told_apart() {
        let named = budget("a\u{200b}@x", onenote((1, 0), (1, 0), (0, 0)));
        assert_eq!(row(&named, false, NOW).user, r"a\u{200b}@x");
        assert_eq!(row(&named, false, NOW).under, "x");
        assert_eq!(row(&named, true, NOW).under, "x, app note-bridge");
    }

    #[test]
    fn calls_in_flight_free_when_one_ends() {
        let row = row(&budget("a@x", vec![concurrency(5, 5, 0)]), false, NOW);
        assert_eq!(
            (row.frees.as_str(), row.usage.as_str()),
            ("when a call ends", "5 of 5 in flight")
        );
    }

    #[test]
    fn a_breaker_is_the_state_and_its_end_may_be_the_later_one() {
        let open = throttled(BreakerState::Open, Some("2026-11-30T14:03:39.250Z"));
        let shown = row(&tripped("a@x", open.clone()), false, NOW);
        assert_eq!(
            (
                shown.label.word.as_str(),
                shown.frees.as_str(),
                shown.note.as_str()
            ),
            ("Open", "in 12 s", "upstream throttles")
        );
        let full = frees(rate(60, 120, 120, 0), "2026-11-30T14:03:57.250Z");
        let both = Budget {
            breaker: open,
            ..budget("a@x", vec![full])
        };
        let shown = row(&both, false, NOW);
        assert_eq!(
            (shown.label.word.as_str(), shown.frees.as_str()),
            ("Open", "in 30 s")
        );
    }

    #[test]
    fn the_way_back_has_no_instant() {
        let ramp = Breaker {
            ramp_calls: Some(4),
            ..throttled(BreakerState::Recovering, None)
        };
        let trying = throttled(BreakerState::HalfOpen, None);
        let said = [trying, ramp].map(|it| row(&tripped("a@x", it), false, NOW).frees);
        assert_eq!(said, ["when a probe passes", "4 calls at once"]);
        let soft = throttled(BreakerState::Soft, Some("2026-11-30T14:03:39Z"));
        assert_eq!(row(&tripped("a@x", soft), false, NOW).frees, "\u{2013}");
    }

    #[test]
    fn what_it_means_is_mentioned() {
        let drifting = Breaker {
            drift: 1,
            ..throttled(BreakerState::Open, None)
        };
        let closed = forced(BreakerState::Closed, "2026-11-30T14:13:00Z");
        let rows = [drifting, closed].map(|it| row(&tripped("a@x", it), false, NOW));
        let said = rows.map(|row| (row.label.word, row.note));
        let expected = [
            (
                "Open",
                "throttled though room was left: someone else uses the quota, or the limit is lower",
            ),
            ("Forced closed", "an operator said so"),
        ];
        assert_eq!(said, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn rows_stay_where_they_are_while_somebody_points_at_them() {
        let key = |user: &str| budget(user, Vec::new()).key();
        let kept = keep_order(
            &[key("a@x"), key("b@x"), key("c@x")],
            &[key("d@x"), key("c@x"), key("a@x")],
        );
        assert_eq!(kept, [key("a@x"), key("c@x"), key("d@x")]);
    }
}
