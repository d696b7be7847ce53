//! Background calls, paused and resumed.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::parts::{by, hidden, lasting, reason, why_not};
use super::{Steer, to_second};
use crate::live::Pause;
use crate::pages::{OPERATE_PATH, Page};
use crate::plain::{Plain, document, instant};

const LENGTHS: &[(&str, &str)] = &[
    ("60", "an hour"),
    ("15", "15 minutes"),
    ("240", "4 hours"),
    ("720", "12 hours"),
    ("1440", "a day"),
    ("10080", "a week"),
];

/// The page for these: what is in force, and its end, or what a pause does.
#[must_use]
pub fn background(options: &LeptosOptions, page: Steer<Option<Pause>>) -> String {
    let plain = Plain {
        page: Page::Operate,
        visitor: page.visitor.clone(),
        title: "Background calls".to_owned(),
        beside: page.target.words(),
        class: "operate",
        told: page.told.clone(),
    };
    document(options, plain, || {
        let paused = page.now.is_some();
        view! {
            <p class="way"><a href=OPERATE_PATH>"Pause and force"</a></p>
            {page.now.clone().map(|pause| resume(&page, pause))}
            {pause(&page, paused)}
        }
    })
}

fn resume(page: &Steer<Option<Pause>>, pause: Pause) -> impl IntoView + use<> {
    let disabled = !page.why_not.is_empty();
    view! {
        <section class="card" aria-labelledby="resume">
            <div class="head">
                <h2 id="resume">"Paused"</h2>
            </div>
            <p>
                "Until " {instant(to_second(&pause.until))} {pause.by.map(by)}
            </p>
            <form method="post" action=format!("{OPERATE_PATH}/background/resume") class="fields">
                {hidden(&page.target)}
                <p class="means">"Background calls go on at once, as far as limits, breakers and pauses of others let them. Nothing that was refused comes back by itself."</p>
                {reason(&page.sent.by("resume").reason, disabled)}
                {why_not(&page.why_not)}
                <button type="submit" class="primary" disabled=disabled>"Let them go on"</button>
            </form>
        </section>
    }
}

fn pause(page: &Steer<Option<Pause>>, paused: bool) -> impl IntoView + use<> {
    let disabled = !page.why_not.is_empty();
    let sent = page.sent.by("pause");
    let (title, word) = match paused {
        true => ("Pause for another time", "Pause until then"),
        false => ("Pause them", "Pause"),
    };
    view! {
        <section class="card" aria-labelledby="pause">
            <div class="head">
                <h2 id="pause">{title}</h2>
            </div>
            <form method="post" action=format!("{OPERATE_PATH}/background/pause") class="fields">
                {hidden(&page.target)}
                <p class="means">"Running calls end as usual, and foreground calls go on. New background calls are answered 429 until the pause ends; those that wait already, and cannot outwait it, are told so at once. It ends by itself, and can be ended early here."</p>
                {lasting(LENGTHS, &sent, disabled)}
                {reason(&sent.reason, disabled)}
                {why_not(&page.why_not)}
                <button type="submit" class="primary" disabled=disabled>{word}</button>
            </form>
        </section>
    }
}
