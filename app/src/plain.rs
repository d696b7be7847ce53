//! The document around pages that the server alone renders: plain forms and lists, nothing to
//! hydrate. Their one script writes local times beside those in UTC; all else works without it.

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::{Said, head, notice};
use crate::frame::Rail;
use crate::overview::name;
use crate::pages::Page;
use crate::visitor::Visitor;

/// What such a page says of itself.
#[derive(Clone, Debug)]
pub struct Plain {
    /// Which page it is.
    pub page: Page,
    /// Who looks.
    pub visitor: Visitor,
    /// Its heading.
    pub title: String,
    /// What stands small beside the heading; empty: nothing.
    pub beside: String,
    /// Names it to the style sheet.
    pub class: &'static str,
    /// What became of the last form.
    pub told: Option<Told>,
}

/// The policy that these pages are served under: scripts of the server's own files alone.
pub const PLAIN_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The same for pages that ask for what moves on them.
pub const LIVE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What became of a form: the words, and what goes with them.
#[derive(Clone, Debug)]
pub struct Told {
    /// The words.
    pub said: Said,
    /// What is shown this once.
    pub one_time: Option<OneTime>,
    /// How to take it back.
    pub undo: Option<Undo>,
}

/// What is shown once, and never again.
#[derive(Clone)]
pub struct OneTime {
    /// What it is.
    pub label: &'static str,
    /// As it is used.
    pub value: String,
    /// What to do with it.
    pub hint: String,
}

/// A form that takes something back.
#[derive(Clone, Debug)]
pub struct Undo {
    /// Where it is sent.
    pub action: String,
    /// What it holds.
    pub fields: Vec<(&'static str, String)>,
    /// What its button says.
    pub word: String,
}

/// The document as text, around a body that is made while it is rendered.
pub fn document<V: IntoView>(
    options: &LeptosOptions,
    plain: Plain,
    body: impl FnOnce() -> V,
) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| around(options, plain, Frame::default(), body().into_any()).to_html());
    owner.cleanup();
    page
}

/// The same around a body with parts that move: elements with `data-live`, which the page's script
/// asks for by `part=live`. `plain.beside` is when it was so, RFC 3339; `again` are the ways to a newer
/// page where no script runs: here, the other way of refreshing (empty: none), and whether it refreshes.
pub fn live_document<V: IntoView>(
    options: &LeptosOptions,
    plain: Plain,
    again: (String, String, bool),
    body: impl FnOnce() -> V,
) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| {
        let at = plain.beside.clone();
        let plain = Plain {
            beside: String::new(),
            ..plain
        };
        let frame = Frame {
            beside: Some((as_of(at), connection()).into_any()),
            above: Some(snapshot(again).into_any()),
            script: Some(view! { <script src="/live-parts.js" defer></script> }.into_any()),
        };
        around(options, plain, frame, body().into_any()).to_html()
    });
    owner.cleanup();
    page
}

/// When what the page shows was so.
pub fn as_of(at: String) -> impl IntoView {
    view! { <p class="as-of" data-live="as-of">"As of " {instant(at)}</p> }
}

/// How current it is; the script says, and shows it.
fn connection() -> impl IntoView {
    view! {
        <p class="connection" data-connection="" hidden>
            <svg class="dot" viewBox="0 0 8 8" aria-hidden="true">
                <circle cx="4" cy="4" r="4"></circle>
            </svg>
            <b></b>
            " "
            <small></small>
        </p>
        <button type="button" class="quiet" data-pause="" hidden>"Pause updates"</button>
    }
}

/// That it is a snapshot without scripts, and what the script says to those who listen, or when
/// what is shown is old.
fn snapshot((here, other, refreshes): (String, String, bool)) -> impl IntoView {
    let other = (!other.is_empty()).then(|| {
        let words = if refreshes {
            "Stop that"
        } else {
            "Keep asking"
        };
        view! { " " <a href=other>{words}</a> }
    });
    let text = match refreshes {
        true => "This page asks again every 10 s.",
        false => "JavaScript is off: this page is a snapshot.",
    };
    view! {
        <noscript>
            <p class="again">{text} " " <a href=here.clone()>"Ask again now"</a> {other}</p>
        </noscript>
        <p class="unseen" role="status" data-announce=""></p>
        <p class="notice full" data-old="" hidden>
            <b></b>
            " What you see may have changed since. "
            <a href=here>"Load the page again"</a>
        </p>
    }
}

/// An instant of RFC 3339 in words: `2026-12-01 06:00:00 UTC`.
pub fn instant(at: String) -> impl IntoView {
    let words = at.replace('T', " ").replace('Z', " UTC");
    view! { <time datetime=at>{words}</time> }
}

/// What pages that move have beside others.
#[derive(Default)]
struct Frame {
    /// Beside the heading.
    beside: Option<AnyView>,
    /// Above all else.
    above: Option<AnyView>,
    /// Another script.
    script: Option<AnyView>,
}

fn around(
    options: &LeptosOptions,
    plain: Plain,
    frame: Frame,
    body: AnyView,
) -> impl IntoView + use<> {
    let Plain {
        page,
        visitor,
        title,
        beside,
        class,
        told,
    } = plain;
    let beside = (!beside.is_empty()).then(|| {
        view! {
            <p class="as-of">
                <bdi>{beside}</bdi>
            </p>
        }
    });
    view! {
        <!DOCTYPE html>
        <html lang="en">
            {head(options, &title)}
            <body>
                <a class="skip" href="#content">"Skip to the content"</a>
                <Rail page=page visitor=visitor/>
                <main id="content" class=class>
                    <header>
                        <h1>{title}</h1>
                        {beside}
                        {frame.beside}
                    </header>
                    {frame.above}
                    {told.map(tell)}
                    {body}
                </main>
                <script src="/local-time.js" defer></script>
                {frame.script}
            </body>
        </html>
    }
}

/// What became of a form, above what the page shows.
pub fn tell(told: Told) -> impl IntoView {
    let Told {
        said,
        one_time,
        undo,
    } = told;
    let one_time = one_time.map(|it| {
        view! {
            <section class="card one-time" aria-label=it.label>
                <label>
                    <b>{it.label}</b>
                    <input type="text" readonly value=it.value autocomplete="off" spellcheck="false"/>
                </label>
                <p class="means">{it.hint}</p>
            </section>
        }
    });
    let undo = undo.map(|undo| {
        let fields = undo.fields.into_iter().map(|(name, value)| {
            view! { <input type="hidden" name=name value=value/> }
        });
        view! {
            <form method="post" action=undo.action class="undo">
                {fields.collect_view()}
                <button type="submit">{name::visible(&undo.word)}</button>
            </form>
        }
    });
    view! {
        {notice(said)}
        {undo}
        {one_time}
    }
}

impl Told {
    /// Something is done.
    #[must_use]
    pub fn done(text: String) -> Self {
        Self::from(Said::Done(text))
    }

    /// Something is wrong.
    #[must_use]
    pub fn wrong(text: String) -> Self {
        Self::from(Said::Wrong(text))
    }
}

impl From<Said> for Told {
    fn from(said: Said) -> Self {
        Self {
            said,
            one_time: None,
            undo: None,
        }
    }
}

impl std::fmt::Debug for OneTime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.label)
    }
}
