//! Pauses of a list or a site: what is in force and its end, or what a pause does.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use super::{FLOODS_PATH, FloodPauseShown, flood_list_path};
use crate::operate::{
    Sent,
    parts::{lasting, reason, why_not},
};
use crate::overview::name;
use crate::pages::Page;
use crate::plain::{Plain, Told, document, instant};
use crate::visitor::Visitor;

/// Whose events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FloodWhose {
    /// The site's key.
    pub site: String,
    /// What people call it; empty: by its key.
    pub title: String,
    /// The list's key; empty: all of the site's.
    pub list: String,
}

/// The page.
#[derive(Clone, Debug)]
pub struct FloodPausing {
    /// Who looks.
    pub visitor: Visitor,
    /// Whose events.
    pub whose: FloodWhose,
    /// The pause of exactly these that is in force.
    pub now: Option<FloodPauseShown>,
    /// What was sent and not taken.
    pub sent: Sent,
    /// Why nothing can be changed; empty: it can.
    pub why_not: String,
    /// What became of the last form.
    pub told: Option<Told>,
}

const LENGTHS: &[(&str, &str)] = &[
    ("60", "an hour"),
    ("15", "15 minutes"),
    ("240", "4 hours"),
    ("720", "12 hours"),
    ("1440", "a day"),
    ("10080", "a week"),
];

impl FloodWhose {
    /// `List orders of site Shop`, `Site Shop`.
    #[must_use]
    pub fn words(&self) -> String {
        let site = name::in_words(if self.title.is_empty() {
            &self.site
        } else {
            &self.title
        });
        match self.list.as_str() {
            "" => ["Site ", &site, ", all its lists"].concat(),
            list => ["List ", &name::in_words(list), " of site ", &site].concat(),
        }
    }
}

/// The document as text.
#[must_use]
pub fn flood_pause(options: &LeptosOptions, page: FloodPausing) -> String {
    let title = match page.whose.list.as_str() {
        "" => "Pause a site",
        _ => "Pause a list",
    };
    let plain = Plain {
        page: Page::Floods,
        visitor: page.visitor.clone(),
        title: title.to_owned(),
        beside: page.whose.words(),
        class: "operate",
        told: page.told.clone(),
    };
    document(options, plain, || {
        let back = (!page.whose.list.is_empty()).then(|| {
            let href = flood_list_path(&page.whose.site, &page.whose.list);
            view! { " / " <a href=href><bdi>{name::visible(&page.whose.list)}</bdi></a> }
        });
        view! {
            <p class="way"><a href=FLOODS_PATH>"Floods"</a> {back}</p>
            {page.now.clone().map(|pause| resume(&page, pause))}
            {pause(&page)}
        }
    })
}

fn hidden(whose: &FloodWhose) -> impl IntoView + use<> {
    view! {
        <input type="hidden" name="site" value=whose.site.clone()/>
        <input type="hidden" name="list" value=whose.list.clone()/>
    }
}

fn resume(page: &FloodPausing, pause: FloodPauseShown) -> impl IntoView + use<> {
    let disabled = !page.why_not.is_empty();
    let others = match page.whose.list.as_str() {
        "" => "Lists that are paused by themselves stay so.",
        _ => "A pause of its site goes on.",
    };
    view! {
        <section class="card" aria-labelledby="resume">
            <div class="head">
                <h2 id="resume">"Paused"</h2>
            </div>
            <p>
                "Until " {instant(pause.until)} " by " <bdi>{name::visible(&pause.who)}</bdi>
                " since " {instant(pause.since)} ": " <q><bdi>{name::visible(&pause.reason)}</bdi></q>
            </p>
            <form method="post" action="/floods/resume" class="fields">
                {hidden(&page.whose)}
                <p class="means">
                    "Events are handled and counted again from the next one on. Those that came meanwhile were not, and do not come back by themselves. "
                    {others}
                </p>
                {reason(&page.sent.by("resume").reason, disabled)}
                {why_not(&page.why_not)}
                <button type="submit" class="primary" disabled=disabled>"End the pause"</button>
            </form>
        </section>
    }
}

fn pause(page: &FloodPausing) -> impl IntoView + use<> {
    let disabled = !page.why_not.is_empty();
    let sent = page.sent.by("begin-pause");
    let (title, word) = match page.now.is_some() {
        true => ("Pause for another time", "Pause until then"),
        false => ("Pause for bulk work", "Pause"),
    };
    let whose = match page.whose.list.as_str() {
        "" => "Every list of the site, those that are not known yet included: their events",
        _ => "The list's events",
    };
    view! {
        <section class="card" aria-labelledby="pause">
            <div class="head">
                <h2 id="pause">{title}</h2>
            </div>
            <form method="post" action="/floods/begin-pause" class="fields">
                {hidden(&page.whose)}
                <p class="means">
                    {whose}
                    " are answered \u{201c}paused\u{201d}: neither handled nor counted, so that a bulk import brings no strike. What people and timers ask for is handled all the same. The pause ends by itself, and can be ended early here."
                </p>
                {lasting(LENGTHS, &sent, disabled)}
                {reason(&sent.reason, disabled)}
                {why_not(&page.why_not)}
                <button type="submit" class="primary" disabled=disabled>{word}</button>
            </form>
        </section>
    }
}
