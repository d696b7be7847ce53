//! A breaker: forced open, forced closed, reset.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::parts::{by, hidden, lasting, reason, why_not};
use super::{Steer, to_second};
use crate::live::Breaker;
use crate::overview::{breaker, name};
use crate::pages::{OPERATE_PATH, Page};
use crate::plain::{Plain, document, instant};

const LENGTHS: &[(&str, &str)] = &[
    ("10", "10 minutes"),
    ("30", "30 minutes"),
    ("60", "an hour"),
    ("240", "4 hours"),
    ("1440", "a day"),
];

/// Something that can be done to a breaker.
struct Act {
    name: &'static str,
    title: &'static str,
    effect: &'static str,
    button: &'static str,
    lasts: bool,
}

const ACTS: [Act; 3] = [
    Act {
        name: "open",
        title: "Stop all calls",
        effect: "Running calls end as usual. New ones, foreground too, are answered 429 until it ends; those that wait already, and cannot outwait it, are told so at once. Nothing is sent to the upstream meanwhile.",
        button: "Stop them",
        lasts: true,
    },
    Act {
        name: "close",
        title: "Let calls through",
        effect: "Calls go on as far as limits let them, whatever the upstream says. If it still throttles, it may answer 429, and may throttle for longer.",
        button: "Let them through",
        lasts: true,
    },
    Act {
        name: "reset",
        title: "Reset",
        effect: "What was forced ends, and what was learnt from the upstream's answers is forgotten: calls go on as if nothing had been. What it had learnt cannot be brought back.",
        button: "Reset it",
        lasts: false,
    },
];

/// The page for this breaker: how it is, and what can be done.
#[must_use]
pub fn breaker(options: &LeptosOptions, page: Steer<Breaker>) -> String {
    let workload = name::in_words(&page.target.workload);
    let plain = Plain {
        page: Page::Operate,
        visitor: page.visitor.clone(),
        title: "Breaker".to_owned(),
        beside: [page.target.words(), workload].join(", "),
        class: "operate",
        told: page.told.clone(),
    };
    document(options, plain, || {
        view! {
            <p class="way"><a href=OPERATE_PATH>"Pause and force"</a></p>
            {state(&page.now)}
            {ACTS.iter().map(|act| card(&page, act)).collect_view()}
        }
    })
}

fn state(now: &Breaker) -> impl IntoView + use<> {
    let word = breaker::word(now);
    let until = now.until.as_deref().map(to_second);
    let since = now.since.as_deref().map(to_second);
    let next = match now.by {
        Some(_) => " until ",
        None => ", next change at ",
    };
    view! {
        <section class="card" aria-labelledby="now">
            <div class="head">
                <h2 id="now">"Now"</h2>
            </div>
            <p>
                "It is " <b>{word}</b>
                {since.map(|since| view! { " since " {instant(since)} })}
                {until.map(|until| view! { {next} {instant(until)} })} "."
                {now.by.clone().map(by)}
            </p>
        </section>
    }
}

/// Opens below its own line, so that no second click meets the button by chance.
fn card(page: &Steer<Breaker>, act: &'static Act) -> impl IntoView + use<> {
    let disabled = !page.why_not.is_empty();
    let sent = page.sent.by(act.name);
    view! {
        <section class="card">
            <details class="act" open=!sent.act.is_empty()>
                <summary><h2>{act.title}</h2></summary>
                <form method="post" action=[OPERATE_PATH, "/breaker/", act.name].concat() class="fields">
                    {hidden(&page.target)}
                    <p class="means">{act.effect}</p>
                    {act.lasts.then(|| lasting(LENGTHS, &sent, disabled))}
                    {reason(&sent.reason, disabled)}
                    {why_not(&page.why_not)}
                    <button type="submit" class="primary" disabled=disabled>{act.button}</button>
                </form>
            </details>
        </section>
    }
}
