//! What surrounds every page: the name, and the ways to the pages that exist.

use leptos::either::Either;
use leptos::prelude::*;

use crate::erase::Erase;
use crate::feed::Feed;
use crate::overview::{Icon, Overview, Sign};
use crate::pages::{self, Page};

/// The dashboard. Expects a [`crate::SharedBackend`] in the context while it is rendered
/// on the server, and shows nothing live without one.
#[component]
pub fn App() -> impl IntoView {
    pages::register();
    Feed::provide().start();
    let asked = Page::asked();
    let page = match asked {
        Some(Page::Overview) => Either::Left(view! { <Overview/> }),
        None => Either::Right(view! { <NoPage/> }),
    };
    view! {
        <a class="skip" href="#content">"Skip to the values"</a>
        <Rail asked=asked/>
        <main id="content">{page}</main>
    }
    .erase()
}

#[component]
fn Rail(asked: Option<Page>) -> impl IntoView {
    let link = |page: Page| {
        let icon = match page {
            Page::Overview => Icon::Home,
        };
        view! {
            <a href=page.path() aria-current=(asked == Some(page)).then_some("page")>
                <Sign icon=Signal::stored(icon)/>
                {page.title()}
            </a>
        }
    };
    view! {
        <aside>
            <a class="brand" href="/">
                <svg viewBox="0 0 32 32" aria-hidden="true">
                    <path d="M4 6h24M4 6v20M28 6v20M4 15c4-4 8 4 12 0s8 4 12 0M4 22c4-4 8 4 12 0s8 4 12 0"></path>
                </svg>
                "Spillway"
            </a>
            <nav aria-label="Pages">{Page::ALL.map(link).collect_view()}</nav>
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
