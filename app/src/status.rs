//! The head of every page: its title, how current it is, and the one switch that stops it.

use leptos::either::Either;
use leptos::prelude::*;

use crate::connection::Freshness;
use crate::erase::Erase;
use crate::feed::Feed;
use crate::keys::Keys;
use crate::pages::Page;
use crate::time::{Apart, At, InWords};

/// The head.
#[component]
pub fn Header(
    /// The page's title.
    title: String,
) -> impl IntoView {
    let feed = Feed::expect();
    let as_of = Signal::derive(move || feed.shown.with(|it| it.state.as_of.clone()));
    // What the server alone renders has no keys to steer.
    let runs = matches!(feed.page, Page::Overview | Page::User);
    view! {
        <header>
            <h1><bdi>{title}</bdi></h1>
            <p class="as-of">"As of " <At at=as_of style=Apart/></p>
            <ConnectionState/>
            <PauseButton/>
            {runs.then(|| view! { <Keys/> })}
        </header>
        <Notices/>
    }
    .erase()
}

/// The connection's state: a dot, a word, and an age.
#[component]
fn ConnectionState() -> impl IntoView {
    let feed = Feed::expect();
    let class = move || format!("connection {}", feed.freshness.get().class());
    let detail = Memo::new(move |_| feed.connection.with(|it| it.detail(feed.now_ms.get())));
    view! {
        <p class=class>
            <svg class="dot" viewBox="0 0 8 8" aria-hidden="true">
                <circle cx="4" cy="4" r="4"></circle>
            </svg>
            <b>{move || feed.freshness.get().word()}</b>
            " "
            <small>{move || detail.get()}</small>
        </p>
    }
    .erase()
}

/// Stops what moves, and lets it go on. Without a running page there is nothing to stop.
#[component]
fn PauseButton() -> impl IntoView {
    let feed = Feed::expect();
    let paused = Memo::new(move |_| feed.connection.with(|it| it.paused_ms.is_some()));
    let word = move || {
        if paused.get() {
            "Resume updates"
        } else {
            "Pause updates"
        }
    };
    view! {
        <button
            type="button"
            class="quiet"
            class:absent=move || !feed.mounted.get()
            on:click=move |_| feed.toggle_pause()
        >
            {word}
        </button>
    }
}

/// What must be known about the values below.
#[component]
fn Notices() -> impl IntoView {
    let feed = Feed::expect();
    let as_of = Signal::derive(move || feed.shown.with(|it| it.state.as_of.clone()));
    let started_at = Signal::derive(move || feed.shown.with(|it| it.state.started_at.clone()));
    let scale = Memo::new(move |_| feed.shown.with(|it| it.state.time_scale));
    let old = Memo::new(move |_| feed.freshness.get().is_old());
    let restarted = Memo::new(move |_| {
        feed.connection
            .with(|it| it.restart_is_news(feed.now_ms.get()))
    });
    let trouble = move || match feed.freshness.get() {
        Freshness::Stale => "Spillway has gone quiet.",
        Freshness::SignedOut => "You are signed out.",
        _ => "Spillway cannot be reached.",
    };
    let remedy = move || match feed.freshness.get() {
        // The page's own address: the server leads to the sign-in, and back.
        Freshness::SignedOut => Either::Left(view! { <a href="">"Sign in again"</a> }),
        _ => Either::Right("This page keeps trying and recovers by itself."),
    };
    view! {
        <Show when=move || old.get()>
            <p class="notice full">
                <b>{trouble}</b>
                " What you see was true at "
                <At at=as_of style=InWords/>
                " and may have changed since. "
                {remedy}
            </p>
        </Show>
        <Show when=move || restarted.get() && !old.get()>
            <p class="notice near">
                <b>"Spillway was restarted"</b>
                " at "
                <At at=started_at style=InWords/>
                ", and this page has reconnected by itself. Lane counters began anew."
            </p>
        </Show>
        <Show when=move || { scale.get() > 1 }>
            <p class="notice quiet">
                <b>"Demo time runs " {move || scale.get()} "\u{d7} faster."</b>
                " Windows and limits are shown unscaled, waits and clock times as they pass here."
            </p>
        </Show>
    }
    .erase()
}
