//! One account, and what can be done about it.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::ListedAccount;
use crate::overview::name;
use crate::pages::{ACCOUNTS_PATH, Page};
use crate::plain::{Plain, Told, document, instant};
use crate::tokens::option;
use crate::visitor::Visitor;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct AccountPage {
    /// Who looks.
    pub visitor: Visitor,
    /// The account.
    pub account: ListedAccount,
    /// Where its owner is signed in, the last used first.
    pub sessions: Vec<AccountSession>,
    /// The roles there are, each with what it may.
    pub roles: Vec<(String, &'static str)>,
    /// Why nothing can be changed here; empty: it can.
    pub why_not: String,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// A browser in which the owner is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountSession {
    /// Names it.
    pub handle: String,
    /// When they signed in, RFC 3339.
    pub signed_in_at: String,
    /// When it was last used, RFC 3339.
    pub seen_at: String,
}

/// The document as text.
#[must_use]
pub fn account(options: &LeptosOptions, page: AccountPage) -> String {
    let plain = Plain {
        page: Page::Accounts,
        visitor: page.visitor,
        title: name::in_words(&page.account.name),
        beside: [page.account.role.as_str(), page.account.way.as_str()].join(", "),
        class: "accounts",
        told: page.told,
    };
    let (account, may) = (page.account, page.why_not.is_empty());
    let why_not = (!may).then(|| view! { <p class="means">{page.why_not}</p> });
    document(options, plain, || {
        view! {
            <p class="way"><a href=ACCOUNTS_PATH>"Accounts"</a></p>
            {why_not}
            {sessions(&account, page.sessions, may)}
            {role(&account, &page.roles, may)}
            {link(&account, may)}
            {access(&account, may)}
        }
    })
}

fn action(account: &ListedAccount, what: &str) -> String {
    [ACCOUNTS_PATH, "/", &account.id, "/", what].concat()
}

fn sessions(
    account: &ListedAccount,
    sessions: Vec<AccountSession>,
    may: bool,
) -> impl IntoView + use<> {
    let end = action(account, "sessions/end");
    let rows = sessions.into_iter().map(|session| {
        let label = ["End: the session since ", &session.signed_in_at].concat();
        view! {
            <li>
                <p>"Since " {instant(session.signed_in_at)} ", last used " {instant(session.seen_at)}</p>
                <form method="post" action=end.clone()>
                    <input type="hidden" name="handle" value=session.handle/>
                    <button type="submit" aria-label=label disabled=!may>"End"</button>
                </form>
            </li>
        }
    });
    let rows = rows.collect_view();
    let body = match rows.is_empty() {
        true => view! { <p class="nothing">"Nowhere."</p> }.into_any(),
        false => view! { <ul class="rows">{rows}</ul> }.into_any(),
    };
    view! {
        <section class="card" aria-labelledby="sessions">
            <div class="head">
                <h2 id="sessions">"Signed in"</h2>
            </div>
            {body}
        </section>
    }
}

fn role(
    account: &ListedAccount,
    roles: &[(String, &'static str)],
    may: bool,
) -> impl IntoView + use<> {
    let roles = roles.iter().map(|(role, what)| {
        let words = [role, ": ", what].concat();
        option(role, &words, &account.role)
    });
    view! {
        <section class="card" aria-labelledby="role">
            <div class="head">
                <h2 id="role">"Role"</h2>
            </div>
            <form method="post" action=action(account, "role") class="fields">
                <label>
                    "What they may do"
                    <select name="role" disabled=!may>{roles.collect_view()}</select>
                </label>
                <p class="means">"A change ends their sessions: they sign in again."</p>
                <button type="submit" class="primary" disabled=!may>"Change the role"</button>
            </form>
        </section>
    }
}

fn link(account: &ListedAccount, may: bool) -> impl IntoView + use<> {
    view! {
        <section class="card" aria-labelledby="link">
            <div class="head">
                <h2 id="link">"A link to choose a password"</h2>
            </div>
            <form method="post" action=action(account, "invite") class="fields">
                <p class="means">"For who has none yet, or forgot it. It is shown once, good for a day and once, and voids the one before. The password until now stays until another is chosen."</p>
                <button type="submit" disabled=!may>"Make a link"</button>
            </form>
        </section>
    }
}

/// What takes it away opens below its own line, so that no second click meets it by chance.
fn access(account: &ListedAccount, may: bool) -> impl IntoView + use<> {
    let (title, what, word, effect) = match account.is_disabled {
        true => (
            "Enable…",
            "enable",
            "Enable it",
            "Its owner may sign in again, as before.",
        ),
        false => (
            "Disable…",
            "disable",
            "Disable it",
            "Its sessions end at once, and nobody can sign in with it until it is enabled again. Tokens stay: they are nobody's account.",
        ),
    };
    view! {
        <section class="card" aria-labelledby="access">
            <div class="head">
                <h2 id="access">"Take it away"</h2>
            </div>
            {ask(title, action(account, what), word, effect, may)}
            {ask(
                "Remove…",
                action(account, "remove"),
                "Remove it for good",
                "Its sessions end at once. It cannot be brought back; the audit log keeps its name, which somebody else may then have.",
                may,
            )}
        </section>
    }
}

fn ask(
    title: &'static str,
    action: String,
    word: &'static str,
    effect: &'static str,
    may: bool,
) -> impl IntoView {
    view! {
        <details class="ask">
            <summary>{title}</summary>
            <form method="post" action=action>
                <p class="means">{effect}</p>
                <button type="submit" class="grave" disabled=!may>{word}</button>
            </form>
        </details>
    }
}
