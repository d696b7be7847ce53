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
    let page = owner.with(|| around(options, plain, body().into_any()).to_html());
    owner.cleanup();
    page
}

/// An instant of RFC 3339 in words: `2026-12-01 06:00:00 UTC`.
pub fn instant(at: String) -> impl IntoView {
    let words = at.replace('T', " ").replace('Z', " UTC");
    view! { <time datetime=at>{words}</time> }
}

fn around(options: &LeptosOptions, plain: Plain, body: AnyView) -> impl IntoView + use<> {
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
                    </header>
                    {told.map(tell)}
                    {body}
                </main>
                <script src="/local-time.js" defer></script>
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
