//! The pages of accounts: all of them, and one of them with what can be done about it.

mod one;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::{Said, notice, password_field};
use crate::overview::name;
use crate::pages::{ACCOUNTS_PATH, Page};
use crate::plain::{Plain, Told, document, instant};
use crate::tokens::option;
use crate::visitor::Visitor;

pub use one::{AccountPage, AccountSession, account};

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// Who looks.
    pub visitor: Visitor,
    /// Those that are there, the oldest first.
    pub accounts: Vec<ListedAccount>,
    /// What is typed for a new one.
    pub form: AccountForm,
    /// What is wrong with that.
    pub wrong: Option<String>,
    /// Why nothing can be changed here; empty: it can.
    pub why_not: String,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedAccount {
    /// Names it.
    pub id: String,
    /// What its owner signs in with.
    pub name: String,
    /// What they may do.
    pub role: String,
    /// How they get in, in words.
    pub way: String,
    /// Whether it lets nobody in for now.
    pub is_disabled: bool,
    /// Whether it is the one that looks.
    pub is_own: bool,
    /// In how many browsers they are signed in.
    pub sessions: usize,
    /// When one of these was last used, RFC 3339; empty: none is there.
    pub seen_at: String,
    /// When it was made, RFC 3339.
    pub made_at: String,
}

/// What is typed for a new account, and what there is to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountForm {
    /// What its owner will sign in with.
    pub name: String,
    /// What they are to do.
    pub role: String,
    /// The roles there are, each with what it may.
    pub roles: Vec<(String, &'static str)>,
}

/// The document as text.
#[must_use]
pub fn accounts(options: &LeptosOptions, page: Accounts) -> String {
    let plain = Plain {
        page: Page::Accounts,
        visitor: page.visitor,
        title: "Accounts".to_owned(),
        beside: "who may sign in, and do what".to_owned(),
        class: "accounts",
        told: page.told,
    };
    document(options, plain, || {
        view! {
            {list(page.accounts)}
            {new(page.form, page.wrong, page.why_not)}
        }
    })
}

fn list(accounts: Vec<ListedAccount>) -> impl IntoView {
    let columns = ["Name", "Role", "Gets in by", "Signed in", "Made"];
    let heads = columns.map(|column| view! { <th scope="col">{column}</th> });
    let body = match accounts.is_empty() {
        true => view! { <p class="nothing">"There is none yet. Make the first with "<code>"spillway user add NAME --role admin"</code>"."</p> }.into_any(),
        false => view! {
            <table class="facts">
                <thead>
                    <tr>{heads.collect_view()}</tr>
                </thead>
                <tbody>{accounts.into_iter().map(row).collect_view()}</tbody>
            </table>
        }
        .into_any(),
    };
    view! {
        <section class="card" aria-labelledby="accounts">
            <div class="head">
                <h2 id="accounts">"Accounts"</h2>
            </div>
            {body}
        </section>
    }
}

fn row(account: ListedAccount) -> impl IntoView {
    let path = [ACCOUNTS_PATH, "/", &account.id].concat();
    let own = account.is_own.then(|| view! { <small>"you"</small> });
    let disabled = account
        .is_disabled
        .then(|| view! { <span class="pill near">"disabled"</span> });
    let seen = (!account.seen_at.is_empty())
        .then(|| view! { <small>"last used " {instant(account.seen_at)}</small> });
    let browsers = match account.sessions {
        0 => "nowhere".to_owned(),
        1 => "in 1 browser".to_owned(),
        count => format!("in {count} browsers"),
    };
    view! {
        <tr>
            <th scope="row">
                <a href=path><bdi>{name::visible(&account.name)}</bdi></a>
                {own}
            </th>
            <td data-name="Role"><span>{account.role}</span></td>
            <td data-name="Gets in by"><span>{account.way}</span> {disabled}</td>
            <td data-name="Signed in"><span>{browsers}</span> {seen}</td>
            <td data-name="Made">{instant(account.made_at)}</td>
        </tr>
    }
}

fn new(form: AccountForm, wrong: Option<String>, why_not: String) -> impl IntoView {
    let disabled = !why_not.is_empty();
    let why_not = disabled.then(|| view! { <p class="means">{why_not}</p> });
    let roles = form.roles.iter().map(|(role, may)| {
        let words = [role, ": ", may].concat();
        option(role, &words, &form.role)
    });
    view! {
        <section class="card" aria-labelledby="new">
            <div class="head">
                <h2 id="new">"A new account"</h2>
            </div>
            {wrong.map(|wrong| notice(Said::Wrong(wrong)))}
            <form method="post" action=[ACCOUNTS_PATH, "/new"].concat() class="fields">
                <div class="pair">
                    <label>
                        "Name that they sign in with"
                        <input type="text" name="name" value=form.name required maxlength="64" autocomplete="off" autocapitalize="none" spellcheck="false" disabled=disabled/>
                    </label>
                    <label>
                        "Role"
                        <select name="role" disabled=disabled>{roles.collect_view()}</select>
                    </label>
                </div>
                {why_not}
                <p class="means">"You get a link for them, good for a day and once, by which they choose a password that nobody else learns."</p>
                <button type="submit" class="primary" disabled=disabled>"Make the account"</button>
            </form>
        </section>
    }
}

/// The form by which somebody chooses a password, and where it is sent.
pub(crate) fn choose_password(key: String) -> impl IntoView {
    view! {
        <form method="post" action="/welcome" class="fields">
            <input type="hidden" name="key" value=key/>
            {password_field("Password", "password", "new-password", true)}
            {password_field("The same again", "again", "new-password", true)}
            <p class="hint">"At least 12 characters. A few words in a row are good."</p>
            <button type="submit" class="primary">"Keep it and sign in"</button>
        </form>
    }
}
