//! What surrounds every page: the name, and the ways to the pages that exist.

use leptos::either::EitherOf3;
use leptos::prelude::*;

use crate::erase::Erase;
use crate::feed::Feed;
use crate::nav::Ways;
use crate::overview::Overview;
use crate::pages::{OVERVIEW_PATH, Page};
use crate::user::User;
use crate::visitor::{Menu, Visitor};

/// The dashboard. Expects a [`crate::SharedBackend`] and what was [`crate::Asked`] for in
/// the context while it is rendered on the server.
#[component]
pub fn App() -> impl IntoView {
    let feed = Feed::provide();
    feed.start();
    let page = match feed.page {
        Page::Overview => EitherOf3::A(view! { <Overview/> }),
        Page::User => EitherOf3::B(view! { <User/> }),
        // The server renders the others without this.
        _ => EitherOf3::C(view! { <NoPage/> }),
    };
    view! {
        <a class="skip" href="#content">"Skip to the values"</a>
        <Rail page=feed.page visitor=feed.visitor.get_value()/>
        <main id="content">{page}</main>
    }
    .erase()
}

#[component]
pub(crate) fn Rail(page: Page, visitor: Visitor) -> impl IntoView {
    view! {
        <aside>
            <a class="brand" href=OVERVIEW_PATH>
                <svg viewBox="0 0 32 32" aria-hidden="true">
                    <path d="M4 6h24M4 6v20M28 6v20M4 15c4-4 8 4 12 0s8 4 12 0M4 22c4-4 8 4 12 0s8 4 12 0"></path>
                </svg>
                "Spillway"
            </a>
            <Ways page=page visitor=visitor.clone()/>
            <Menu visitor=visitor/>
            <footer>{concat!("Spillway ", env!("CARGO_PKG_VERSION"))}</footer>
        </aside>
    }
    .erase()
}

#[component]
fn NoPage() -> impl IntoView {
    view! {
        <header>
            <h1>"There is no such page"</h1>
        </header>
        <p>"Perhaps you want the " <a href="/">"overview"</a> "."</p>
    }
    .erase()
}
