//! The users of a workload, most trouble first: looked for, filtered, a page at a time.

use leptos::prelude::*;

use super::WorkloadPage;
use crate::live::{Budget, Scope};
use crate::overview::{Rows, wording::count, wording::plural};
use crate::pages::{workload_page_path, workload_path};

/// Which of the users are listed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UserList {
    /// They, most trouble first.
    pub budgets: Vec<Budget>,
    /// What their keys have in them; empty: anything.
    pub text: String,
    /// In which trouble they are.
    pub show: Show,
    /// Where the page before ended; `None`: it is the first.
    pub after: Option<String>,
    /// Where the next page begins; `None`: it is the last.
    pub next: Option<String>,
    /// How many there are on all pages.
    pub matched: u64,
    /// How many users the workload has.
    pub total: u64,
    /// Why they are not those that were asked for.
    pub wrong: Option<String>,
}

/// In which trouble users are that are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    /// All.
    #[default]
    All,
    /// Close to a limit, out of it, or with a breaker that is not closed.
    Near,
    /// Out of a limit, or stopped by a breaker.
    Stopped,
    /// With a breaker that is not closed.
    Tripped,
}

impl Show {
    /// All, as they are offered.
    pub const ALL: [Self; 4] = [Self::All, Self::Near, Self::Stopped, Self::Tripped];

    /// As it is in the address.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Near => "near",
            Self::Stopped => "stopped",
            Self::Tripped => "breaker",
        }
    }

    /// What has this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    const fn words(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::Near => "Near a limit or worse",
            Self::Stopped => "Out of quota or stopped",
            Self::Tripped => "Breaker not closed",
        }
    }
}

/// The card with the search, the filters, the table and the ways to further pages.
pub fn users(page: &WorkloadPage) -> impl IntoView + use<> {
    let (list, path) = (&page.users, workload_path(&page.upstream, &page.workload));
    // What of apps and tenants stops a user is said in its row.
    let shared = page.state.workload(&page.upstream, &page.workload);
    let shared = shared.map(|it| it.budgets.clone()).unwrap_or_default();
    let shared = shared.into_iter().filter(|it| it.scope != Scope::User);
    let shows = Show::ALL.map(|show| {
        let current = (show == list.show).then_some("true");
        let link = page.link(&[("show", show.name()), ("after", "")]) + "#users";
        view! { <a href=link aria-current=current>{show.words()}</a> }
    });
    let wrong = list.wrong.clone().map(|wrong| {
        view! { <p class="notice near" role="status">{wrong}</p> }
    });
    view! {
        <section class="card" aria-labelledby="users">
            <div class="head">
                <h2 id="users">"Users, most trouble first"</h2>
                <small>{numbers(list)}</small>
            </div>
            {search(page)}
            <nav class="choices" aria-label="In which trouble">{shows.collect_view()}</nav>
            {wrong}
            {table(path, shared.collect(), list)}
            {pager(page)}
        </section>
    }
    .into_any()
}

/// `12 of 100,000 users`.
fn numbers(list: &UserList) -> String {
    match list.matched == list.total {
        true => plural(list.total, "user"),
        false => [&count(list.matched), " of ", &plural(list.total, "user")].concat(),
    }
}

/// A form that asks for the page anew, and keeps what else it was asked for.
fn search(page: &WorkloadPage) -> impl IntoView + use<> {
    let list = &page.users;
    let action = workload_page_path(&page.upstream, &page.workload, []) + "#users";
    let kept = [
        ("show", list.show.name()),
        ("range", page.range),
        ("refresh", if page.refreshes { "on" } else { "" }),
    ];
    let kept = kept
        .into_iter()
        .filter(|(name, value)| !super::is_default(name, value));
    let kept = kept.map(|(name, value)| view! { <input type="hidden" name=name value=value/> });
    let all = (!list.text.is_empty()).then(|| {
        let link = page.link(&[("find", ""), ("after", "")]) + "#users";
        view! { <a href=link>"Show all"</a> }
    });
    view! {
        <form class="search" role="search" action=action>
            {kept.collect_view()}
            <label class="unseen" for="find">"User, tenant or app"</label>
            <input
                type="search"
                id="find"
                name="find"
                maxlength="256"
                value=list.text.clone()
                placeholder="User, tenant or app"
                autocomplete="off"
                spellcheck="false"
            />
            <button type="submit">"Find"</button>
            {all}
        </form>
    }
}

fn table(path: String, shared: Vec<Budget>, list: &UserList) -> AnyView {
    let nothing = match (list.total, list.after.is_some()) {
        (0, _) => "No user has called yet. Users appear here with their first call.",
        (_, true) => "There are no more.",
        (_, false) => "Nobody is like that now.",
    };
    match list.budgets.is_empty() {
        true => view! { <p class="nothing">{nothing}</p> }.into_any(),
        false => view! { <Rows path=path users=list.budgets.clone() shared=shared/> }.into_any(),
    }
}

fn pager(page: &WorkloadPage) -> impl IntoView + use<> {
    let list = &page.users;
    let first = list.after.is_some().then(|| {
        let link = page.link(&[("after", "")]) + "#users";
        view! { <a href=link>"First page"</a> }
    });
    let next = list.next.as_ref().map(|next| {
        let link = page.link(&[("after", next)]) + "#users";
        view! { <a href=link rel="next">"Next page"</a> }
    });
    (first.is_some() || next.is_some())
        .then(|| view! { <nav class="choices" aria-label="Pages of users">{first} {next}</nav> })
}
