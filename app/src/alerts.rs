//! The page of trouble: what goes on, what was, and what became of each message that told of it.
//!
//! The server alone renders it: it shows what is written down, which changes every few minutes at
//! most.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::overview::Icon;
use crate::overview::name;
use crate::overview::pill::{Label, Pill};
use crate::overview::wording::Zone;
use crate::pages::Page;
use crate::plain::{Plain, document, instant};
use crate::visitor::Visitor;

/// What the page shows.
#[derive(Clone, Debug)]
pub struct Alerts {
    /// Who looks.
    pub visitor: Visitor,
    /// When this was so, RFC 3339.
    pub as_of: String,
    /// Who is told, in words: `mail to ops@example.org`.
    pub told: Vec<String>,
    /// What goes on, the newest first.
    pub going_on: Vec<ShownIncident>,
    /// What is over, the newest first.
    pub over: Vec<ShownIncident>,
    /// What somebody was told or is owed, the newest first.
    pub messages: Vec<ShownMessage>,
}

/// An incident in words.
#[derive(Clone, Debug)]
pub struct ShownIncident {
    /// In a few words.
    pub title: String,
    /// When it began, RFC 3339.
    pub began_at: String,
    /// When it was over, RFC 3339.
    pub ended_at: Option<String>,
    /// When somebody was told, RFC 3339.
    pub told_at: Option<String>,
    /// Why nobody was, where nobody was.
    pub untold: &'static str,
    /// Whether it is bad enough to be told.
    pub is_due: bool,
    /// What it means, in sentences.
    pub sentences: Vec<String>,
}

/// A message and what became of it.
#[derive(Clone, Debug)]
pub struct ShownMessage {
    /// Its subject.
    pub subject: String,
    /// To whom, in words.
    pub to: String,
    /// What it says.
    pub text: String,
    /// What became of it.
    pub fate: Fate,
    /// When it came to be owed, RFC 3339.
    pub created_at: String,
    /// When it was sent or given up, or is tried next, RFC 3339.
    pub at: String,
    /// How often it was tried.
    pub attempts: i64,
    /// What went wrong last; empty: nothing.
    pub error: String,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is tried soon.
    Waiting,
    /// It was tried, and is tried again.
    Delayed,
    /// It is on its way.
    Sending,
    /// It has arrived where it was sent.
    Sent,
    /// It was given up.
    Failed,
    /// A later one says what it would have said.
    Merged,
}

impl Fate {
    fn label(self) -> Label {
        let (class, icon, word) = match self {
            Self::Waiting => ("quiet", Icon::Trying, "Waiting"),
            Self::Delayed => ("near", Icon::Near, "Delayed"),
            Self::Sending => ("quiet", Icon::Rising, "Being sent"),
            Self::Sent => ("clear", Icon::Clear, "Sent"),
            Self::Failed => ("full", Icon::Full, "Given up"),
            Self::Merged => ("quiet", Icon::Held, "Merged"),
        };
        Label {
            class,
            icon,
            word: word.to_owned(),
            more: String::new(),
        }
    }

    /// What its second instant is.
    fn then(self) -> &'static str {
        match self {
            Self::Waiting | Self::Delayed => "next try ",
            Self::Sending => "since ",
            Self::Sent => "taken ",
            Self::Failed => "given up ",
            Self::Merged => "made part of a later one ",
        }
    }
}

/// The document as text.
#[must_use]
pub fn alerts(options: &LeptosOptions, alerts: Alerts) -> String {
    let Alerts {
        visitor,
        as_of,
        told,
        going_on,
        over,
        messages,
    } = alerts;
    let plain = Plain {
        page: Page::Alerts,
        visitor,
        title: "Alerts".to_owned(),
        beside: ["As of ", &words(&as_of)].concat(),
        class: "alerts",
        told: None,
    };
    document(options, plain, || {
        (
            lead(going_on.is_empty(), told),
            incidents("going-on", "What goes on", going_on),
            letters(messages),
            incidents("over", "What is over", over),
        )
    })
}

fn words(at: &str) -> String {
    at.replace('T', " ").replace('Z', " UTC")
}

fn lead(all_clear: bool, told: Vec<String>) -> impl IntoView {
    let told = match told.is_empty() {
        true => "Nobody is told: the configuration has neither mail.to nor alerts.webhooks. \
                 Trouble is written down here all the same."
            .to_owned(),
        false => ["Who is told: ", &told.join(", "), "."].concat(),
    };
    let clear = all_clear.then(|| {
        view! {
            <p class="calm">
                <Pill label=Signal::stored(Label::zone(Zone::Clear, "All clear"))/>
                " Nothing is wrong that somebody would have to know of."
            </p>
        }
    });
    view! {
        {clear}
        <p class="means">{told}</p>
    }
}

fn incidents(id: &'static str, title: &'static str, all: Vec<ShownIncident>) -> impl IntoView {
    if all.is_empty() && id == "going-on" {
        return None;
    }
    let rows = match all.is_empty() {
        true => view! { <p class="nothing">"Nothing in the last thirty days."</p> }.into_any(),
        false => {
            let rows = all.into_iter().map(incident).collect_view();
            view! { <ul class="rows">{rows}</ul> }.into_any()
        }
    };
    Some(view! {
        <section class="card" aria-labelledby=id>
            <div class="head">
                <h2 id=id>{title}</h2>
            </div>
            {rows}
        </section>
    })
}

fn incident(incident: ShownIncident) -> impl IntoView {
    let ShownIncident {
        title,
        began_at,
        ended_at,
        told_at,
        untold,
        is_due,
        sentences,
    } = incident;
    let label = match (&ended_at, is_due) {
        (Some(_), _) => Label::zone(Zone::Clear, "Over"),
        (None, true) => Label::zone(Zone::Full, "Going on"),
        (None, false) => Label::zone(Zone::Near, "Being watched"),
    };
    let when = match ended_at {
        Some(end) => view! { "From " {instant(began_at)} " to " {instant(end)} "." }.into_any(),
        None => view! { "Since " {instant(began_at)} "." }.into_any(),
    };
    let told = match told_at {
        Some(at) => view! { " Told at " {instant(at)} "." }.into_any(),
        None => view! { " " {untold} }.into_any(),
    };
    view! {
        <li>
            <p>
                <b>{title}</b>
                <small>{when}{told}</small>
                <small>{sentences.join(" ")}</small>
            </p>
            <Pill label=Signal::stored(label)/>
        </li>
    }
}

fn letters(messages: Vec<ShownMessage>) -> impl IntoView {
    let rows = match messages.is_empty() {
        true => view! { <p class="nothing">"No message yet."</p> }.into_any(),
        false => {
            let rows = messages.into_iter().map(letter).collect_view();
            view! { <ul class="rows">{rows}</ul> }.into_any()
        }
    };
    view! {
        <section class="card" aria-labelledby="messages">
            <div class="head">
                <h2 id="messages">"Messages"</h2>
            </div>
            {rows}
        </section>
    }
}

/// A message in a list of them.
pub(crate) fn letter(message: ShownMessage) -> impl IntoView {
    let ShownMessage {
        subject,
        to,
        text,
        fate,
        created_at,
        at,
        attempts,
        error,
    } = message;
    let tried = match attempts {
        0 => String::new(),
        1 => " · tried once".to_owned(),
        times => [" · tried ", &times.to_string(), " times"].concat(),
    };
    let error = (!error.is_empty()).then(|| {
        let error = ["Last answer: ", &name::in_words(&error)].concat();
        view! { <small class="wrong">{error}</small> }
    });
    view! {
        <li>
            <div class="what">
                <details>
                    <summary>{subject}</summary>
                    <pre>{text}</pre>
                </details>
                <small>
                    {to} " · owed " {instant(created_at)} " · " {fate.then()} {instant(at)} {tried}
                </small>
                {error}
            </div>
            <Pill label=Signal::stored(fate.label())/>
        </li>
    }
}
