//! What surrounds every page: the name, the ways to the pages that exist, the routes.

use leptos::prelude::*;
use leptos_meta::{Title, provide_meta_context};
use leptos_router::components::{Route, Router, Routes};
use leptos_router::path;

use crate::feed::Feed;
use crate::overview::{Icon, Overview, Sign};

/// The dashboard. Expects a [`crate::SharedBackend`] in the context while it is rendered
/// on the server, and shows nothing live without one.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    Feed::provide().start();
    view! {
        <Router>
            <a class="skip" href="#content">"Skip to the values"</a>
            <Rail/>
            <main id="content">
                <Routes fallback=NotFound>
                    <Route path=path!("/") view=Overview/>
                </Routes>
            </main>
        </Router>
    }
    .into_any()
}

#[component]
fn Rail() -> impl IntoView {
    view! {
        <aside>
            <a class="brand" href="/">
                <svg viewBox="0 0 32 32" aria-hidden="true">
                    <path d="M4 6h24M4 6v20M28 6v20M4 15c4-4 8 4 12 0s8 4 12 0M4 22c4-4 8 4 12 0s8 4 12 0"></path>
                </svg>
                "Spillway"
            </a>
            <nav aria-label="Pages">
                <a href="/" aria-current="page">
                    <Sign icon=Signal::stored(Icon::Home)/>
                    "Overview"
                </a>
            </nav>
            <footer>{concat!("Spillway ", env!("CARGO_PKG_VERSION"))}</footer>
        </aside>
    }
    .into_any()
}

#[component]
fn NotFound() -> impl IntoView {
    view! {
        <Title text="No such page · Spillway"/>
        <header>
            <h1>"There is no such page"</h1>
        </header>
        <p>"Perhaps you want the " <a href="/">"overview"</a> "."</p>
    }
}
