//! The page of what lets programs in: tokens, and the networks that need none.

mod form;
mod networks;

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::overview::name;
use crate::pages::{Page, TOKENS_PATH};
use crate::plain::{Plain, Told, document, instant};
use crate::visitor::Visitor;

pub use form::TokenForm;
pub(crate) use form::option;
pub use networks::ClientNetwork;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Tokens {
    /// Who looks.
    pub visitor: Visitor,
    /// Those that are not revoked, the oldest first.
    pub tokens: Vec<ListedToken>,
    /// What is typed for a new one.
    pub form: TokenForm,
    /// What is wrong with that.
    pub wrong: Option<String>,
    /// Who is let in without a token.
    pub networks: Vec<ClientNetwork>,
    /// Why nothing can be changed here; empty: it can.
    pub why_not: String,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedToken {
    /// Names it.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Whose part it has.
    pub role: String,
    /// What it is good for.
    pub scopes: String,
    /// What it is bound to, and what else it may; empty: nothing in particular.
    pub bound: Vec<String>,
    /// When it ends, RFC 3339; empty: never.
    pub expires_at: String,
    /// Whether that is over.
    pub is_expired: bool,
    /// When it was last used, RFC 3339; empty: never yet.
    pub used_at: String,
}

/// The document as text.
#[must_use]
pub fn tokens(options: &LeptosOptions, page: Tokens) -> String {
    let plain = Plain {
        page: Page::Tokens,
        visitor: page.visitor,
        title: "Tokens".to_owned(),
        beside: "what lets programs in".to_owned(),
        class: "tokens",
        told: page.told,
    };
    document(options, plain, || {
        view! {
            {list(page.tokens, &page.why_not)}
            {form::card(page.form, page.wrong, page.why_not)}
            {networks::card(page.networks)}
        }
    })
}

fn list(tokens: Vec<ListedToken>, why_not: &str) -> impl IntoView + use<> {
    let body = match tokens.is_empty() {
        true => view! {
            <p class="nothing">
                "There is no token yet. A program needs one to call the gateway or the API: make it below."
            </p>
        }
        .into_any(),
        false => table(tokens, why_not).into_any(),
    };
    view! {
        <section class="card" aria-labelledby="tokens">
            <div class="head">
                <h2 id="tokens">"Tokens"</h2>
            </div>
            {body}
        </section>
    }
}

fn table(tokens: Vec<ListedToken>, why_not: &str) -> impl IntoView + use<> {
    let may = why_not.is_empty();
    let columns = ["Name", "May", "Bound to", "Ends", "Last used", "Revoke"];
    let heads = columns.map(|column| view! { <th scope="col">{column}</th> });
    view! {
        <table class="facts">
            <thead>
                <tr>{heads.collect_view()}</tr>
            </thead>
            <tbody>{tokens.into_iter().map(|token| row(token, may)).collect_view()}</tbody>
        </table>
    }
}

fn row(token: ListedToken, may: bool) -> impl IntoView {
    let called = name::visible(&token.name);
    let bound = token.bound.iter().map(|it| {
        view! { <small><bdi>{name::visible(it)}</bdi></small> }
    });
    let ends = match (token.expires_at.as_str(), token.is_expired) {
        ("", _) => view! { <span>"never"</span> }.into_any(),
        (_, false) => instant(token.expires_at).into_any(),
        (_, true) => view! {
            <span class="pill near">"expired"</span>
            <small>{instant(token.expires_at)}</small>
        }
        .into_any(),
    };
    let used = match token.used_at.as_str() {
        "" => view! { <span>"never"</span> }.into_any(),
        _ => instant(token.used_at).into_any(),
    };
    view! {
        <tr>
            <th scope="row">
                <bdi>{called.clone()}</bdi>
                <small>{token.id.clone()}</small>
            </th>
            <td data-name="May">
                <span>{token.scopes}</span>
                <small>"as " {token.role}</small>
            </td>
            <td data-name="Bound to" class=if token.bound.is_empty() { "empty" } else { "" }>{bound.collect_view()}</td>
            <td data-name="Ends">{ends}</td>
            <td data-name="Last used">{used}</td>
            <td data-name="Revoke">{revoke(token.id, &called, may)}</td>
        </tr>
    }
}

/// Opens below its own line, so that no second click meets the button by chance.
fn revoke(id: String, called: &str, may: bool) -> impl IntoView + use<> {
    if !may {
        return view! { <button type="button" disabled>"Revoke"</button> }.into_any();
    }
    let label = ["Revoke ", called].concat();
    view! {
        <details class="ask">
            <summary aria-label=label.clone()>"Revoke"</summary>
            <form method="post" action=format!("{TOKENS_PATH}/revoke")>
                <p class="means">"Its holder is refused at once, and what waits in its name ends. This cannot be undone."</p>
                <input type="hidden" name="id" value=id/>
                <button type="submit" class="grave" aria-label=["Revoke for good: ", called].concat()>"Revoke for good"</button>
            </form>
        </details>
    }
    .into_any()
}
