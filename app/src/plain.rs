//! The document around pages that the server alone renders: plain forms and lists, no script,
//! nothing to hydrate. They are served under [`crate::DOOR_POLICY`].

use leptos::config::LeptosOptions;
use leptos::prelude::*;

use crate::door::{Said, head, notice};
use crate::frame::Rail;
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
    pub said: Option<Said>,
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
        said,
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
                    {said.map(notice)}
                    {body}
                </main>
            </body>
        </html>
    }
}
