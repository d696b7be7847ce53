//! The users closest to a limit.

mod row;

use leptos::prelude::*;

use super::pill::{Label, Pill};
use super::wording::{apps_differ, count, plural};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::instant;
use crate::live::{Budget, BudgetKey, Scope, Workload};
use crate::pages::user_query;
use crate::time::{Apart, At};
pub use row::held_background;
use row::{NOTHING, Row, row, stopping};

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

/// The table.
#[component]
pub fn UserTable(
    /// Where the pages of its users are.
    path: String,
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
                <UserHead/>
                <tbody role="rowgroup">
                    <For each=move || order.get() key=BudgetKey::clone let(key)>
                        <UserRow href=path.clone() + &user_query(&key) key=key workload=workload apps_differ=apps_differ/>
                    </For>
                </tbody>
            </table>
        </section>
    }
    .erase()
}

#[component]
fn UserRow(
    href: String,
    key: BudgetKey,
    workload: Memo<Workload>,
    apps_differ: Memo<bool>,
) -> impl IntoView {
    let clock_ms = Feed::expect().clock_ms;
    let shown = Memo::new(move |before: Option<&Option<Row>>| {
        let found = workload.with(|it| {
            let budget = it.budgets.iter().find(|budget| budget.key() == key)?;
            let wider = stopping(&it.budgets, budget);
            Some(row(budget, wider, apps_differ.get(), clock_ms.get()))
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
                <a href=href><bdi>{get(|row| row.user.clone())}</bdi></a>
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

/// The rows of `users` alone, as they stand on a page that does not move; `shared` are the
/// budgets of their apps and tenants, which may stop them.
#[cfg(feature = "ssr")]
#[component]
pub fn Rows(
    /// Where the pages of the workload's users are.
    path: String,
    /// Whose rows, the first on top.
    users: Vec<Budget>,
    /// What may stop them.
    shared: Vec<Budget>,
) -> impl IntoView {
    let keys: Vec<_> = users.iter().map(Budget::key).collect();
    let budgets = [shared, users].concat();
    let workload = Memo::new(move |_| Workload {
        budgets: budgets.clone(),
        ..Workload::default()
    });
    let apps_differ = Memo::new(move |_| workload.with(|it| apps_differ(&it.budgets)));
    let row = |key: BudgetKey| {
        let href = path.clone() + &user_query(&key);
        view! { <UserRow href=href key=key workload=workload apps_differ=apps_differ/> }
    };
    view! {
        <table class="users" role="table">
            <UserHead/>
            <tbody role="rowgroup">{keys.into_iter().map(row).collect_view()}</tbody>
        </table>
    }
}

/// What the columns are.
#[component]
fn UserHead() -> impl IntoView {
    view! {
        <thead role="rowgroup">
            <tr role="row">
                <th role="columnheader" scope="col">"User"</th>
                <th role="columnheader" scope="col">"Used"</th>
                <th role="columnheader" scope="col">"Tightest limit"</th>
                <th role="columnheader" scope="col">"State"</th>
                <th role="columnheader" scope="col">"Room again"</th>
            </tr>
        </thead>
    }
}

/// `before` without those that are gone, then the new ones: nothing moves under the pointer.
fn keep_order(before: &[BudgetKey], now: &[BudgetKey]) -> Vec<BudgetKey> {
    let stayed = before.iter().filter(|key| now.contains(key));
    let came = now.iter().filter(|key| !before.contains(key));
    stayed.chain(came).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{budget, onenote, overview};
    use super::*;

    #[test]
    fn the_closest_come_first_and_only_so_many() {
        let state = overview();
        let users = closest(&state.upstreams[0].workloads[0].budgets);
        let users: Vec<_> = users.iter().map(|key| key.user.as_str()).collect();
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
    fn rows_stay_where_they_are_while_somebody_points_at_them() {
        let key = |user: &str| budget(user, Vec::new()).key();
        let kept = keep_order(
            &[key("a@x"), key("b@x"), key("c@x")],
            &[key("d@x"), key("c@x"), key("a@x")],
        );
        assert_eq!(kept, [key("a@x"), key("c@x"), key("d@x")]);
    }
}
