//! The users closest to a limit.

use leptos::prelude::*;

use super::pill::{Label, Pill};
use super::wording::{Zone, background_cap, count, period, plural, tightest, usage};
use crate::erase::Erase;
use crate::instant;
use crate::live::{Budget, BudgetKey, Dimension, Scope, Workload};
use crate::time::{Apart, At};

/// How many users the overview lists.
pub const SHOWN: usize = 10;

/// The list is put in order so often: more, and rows would dance under the eye.
const ORDER_EVERY_MS: i64 = 2_000;

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

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The user's key.
    pub user: String,
    /// Its tenant, or where there is none its app.
    pub under: String,
    /// How full the tightest layer is, per mille, at most 1000.
    pub permille: u32,
    /// `400 of 400 this hour`.
    pub usage: String,
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

/// Works out the row of `budget` at `as_of`.
#[must_use]
pub fn row(budget: &Budget, as_of: &str) -> Row {
    let tight = tightest(budget);
    let permille = tight.map_or(0, crate::live::Layer::used_permille);
    let zone = Zone::at(permille);
    // A background lane at its share is no trouble, but worth a word where there is none.
    let held = (zone == Zone::Clear)
        .then(|| held_background(budget))
        .flatten();
    let frees_at = budget
        .layers
        .iter()
        .filter_map(|it| it.frees_at.as_ref())
        .max();
    let full_in_flight =
        tight.is_some_and(|it| it.dimension == Dimension::Concurrency) && zone == Zone::Full;
    Row {
        user: budget.user.clone(),
        under: if budget.tenant.is_empty() {
            &budget.app
        } else {
            &budget.tenant
        }
        .clone(),
        permille: permille.min(1000),
        usage: held
            .clone()
            .or_else(|| tight.map(usage))
            .unwrap_or_default(),
        label: match held {
            Some(_) => Label::held("At its share"),
            None => Label::zone(zone, zone.word()),
        },
        class: zone.class(),
        frees: match frees_at.map(|at| instant::ms_between(as_of, at)) {
            Some(Some(ms)) => format!("in {}", instant::wait(ms)),
            Some(None) => String::new(),
            None if full_in_flight => "when a call ends".to_owned(),
            None => "\u{2013}".to_owned(),
        },
        frees_at: frees_at.cloned().unwrap_or_default(),
    }
}

/// `200 of 200 background this hour`, where that is what holds the user's jobs back while
/// people still pass.
fn held_background(budget: &Budget) -> Option<String> {
    let rates = budget
        .layers
        .iter()
        .filter(|it| it.dimension == Dimension::Rate);
    let layer = rates
        .filter(|it| it.used_background >= background_cap(it))
        .max_by_key(|it| it.window_ms)?;
    Some(format!(
        "{} of {} background {}",
        count(layer.used_background),
        count(background_cap(layer)),
        period(layer),
    ))
}

/// The table.
#[component]
pub fn UserTable(
    /// The workload whose users are listed.
    workload: Memo<Workload>,
    /// Which of them, in which order.
    ranked: Memo<Vec<BudgetKey>>,
    /// When that was true.
    as_of: Memo<String>,
) -> impl IntoView {
    let (held, hold) = signal(false);
    let order = Memo::new(move |before: Option<&Vec<BudgetKey>>| match before {
        Some(before) if held.get() => ranked.with(|now| keep_order(before, now)),
        _ => ranked.get(),
    });
    let more = move || {
        let (shown, users) = (order.with(Vec::len) as u64, workload.with(|it| it.users));
        match users {
            users if users > shown => format!("{} of {}", count(shown), plural(users, "user")),
            _ => plural(shown, "user"),
        }
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
                on:pointerenter=move |_| hold.set(true)
                on:pointerleave=move |_| hold.set(false)
                on:focusin=move |_| hold.set(true)
                on:focusout=move |_| hold.set(false)
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
                        <UserRow key=key workload=workload as_of=as_of/>
                    </For>
                </tbody>
            </table>
        </section>
    }
    .erase()
}

#[component]
fn UserRow(key: BudgetKey, workload: Memo<Workload>, as_of: Memo<String>) -> impl IntoView {
    let shown = Memo::new(move |before: Option<&Option<Row>>| {
        let found = workload.with(|it| {
            let budget = it.budgets.iter().find(|budget| budget.key() == key)?;
            Some(as_of.with(|as_of| row(budget, as_of)))
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
    view! {
        <tr role="row">
            <th role="rowheader" scope="row" class="who">
                {get(|row| row.user.clone())}
                <small>{get(|row| row.under.clone())}</small>
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
                <span class="percent">{get(|row| format!("{} %", row.permille / 10))}</span>
            </td>
            <td role="cell" class="usage">{get(|row| row.usage.clone())}</td>
            <td role="cell" class="state"><Pill label=label/></td>
            <td role="cell" class="frees">
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
    use super::super::fixture::{AS_OF, budget, concurrency, onenote, overview};
    use super::*;

    fn rows() -> Vec<Row> {
        let state = overview();
        let budgets = &state.upstreams[0].workloads[0].budgets;
        let users = budgets.iter().filter(|it| it.scope == Scope::User);
        users.map(|it| row(it, AS_OF)).collect()
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
        let crawl = crawl.map(|row| (row.usage, row.label));
        assert_eq!(
            crawl,
            Some((
                "200 of 200 background this hour".to_owned(),
                Label::held("At its share")
            ))
        );
    }

    #[test]
    fn calls_in_flight_free_when_one_ends() {
        let row = row(&budget("a@x", vec![concurrency(5, 5, 0)]), AS_OF);
        assert_eq!(
            (row.frees.as_str(), row.usage.as_str()),
            ("when a call ends", "5 of 5 in flight")
        );
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
