//! The gauges of every budget that limits the user, its own first.

use leptos::prelude::*;

use crate::erase::Erase;
use crate::live::{Scope, UserState};
use crate::overview::budget_row::BudgetRow;
use crate::overview::name;

/// A row for each budget: the user's own, the tenant's, the app's.
#[component]
pub fn Limits(
    /// The user.
    user: Memo<UserState>,
) -> impl IntoView {
    let row = move |scope: Option<Scope>, title, note: &'static str| {
        let budget = Memo::new(move |_| {
            user.with(|user| match scope {
                Some(scope) => user.budgets.iter().find(|it| it.scope == scope).cloned(),
                None => user.global.clone(),
            })
        });
        let under = user.with_untracked(|user| match scope.unwrap_or(Scope::App) {
            Scope::App => name::visible(&user.app),
            Scope::Tenant if user.tenant.is_empty() => "none".to_owned(),
            Scope::Tenant => name::visible(&user.tenant),
            Scope::User => name::visible(&user.user),
        });
        let has_limits = Memo::new(move |_| {
            budget.with(|it| it.as_ref().is_some_and(|it| !it.layers.is_empty()))
        });
        view! {
            <Show when=move || has_limits.get()>
                <BudgetRow
                    title=title
                    under=Signal::stored(under.clone())
                    note=Signal::stored(note.to_owned())
                    budget=budget
                />
            </Show>
        }
        .erase()
    };
    view! {
        <section class="card" aria-label="Limits">
            <div class="head">
                <h2>"Limits"</h2>
                <small>"a call must fit into all of them"</small>
            </div>
            <div class="matrix">
                {row(Some(Scope::User), "User", "its own")}
                {row(Some(Scope::Tenant), "Tenant", "all its users")}
                {row(Some(Scope::App), "App", "all users")}
                {row(None, "App", "all workloads of the upstream")}
            </div>
        </section>
    }
    .erase()
}
