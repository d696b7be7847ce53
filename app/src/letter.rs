//! Mails of trouble as mail programs show them: one plain document, whose styles stand at its
//! elements, as most of these programs read no others. Names that somebody else chose are text.

use leptos::prelude::*;

/// What a mail says.
#[derive(Clone, Debug)]
pub struct Letter {
    /// In a few words.
    pub title: String,
    /// What is or was wrong, one after the other.
    pub parts: Vec<LetterPart>,
    /// What is left out.
    pub more: Option<String>,
    /// Where all of it is shown.
    pub link: String,
}

/// One thing that is or was wrong.
#[derive(Clone, Debug)]
pub struct LetterPart {
    /// Whether it is right again.
    pub is_over: bool,
    /// In a few words.
    pub title: String,
    /// In sentences: what that means, why, and what happens next.
    pub sentences: Vec<String>,
}

const PAGE: &str = "margin:0;padding:24px 12px;background:#f4f6f8;color:#15202b;\
    font:15px/1.5 -apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
const SHEET: &str = "max-width:600px;margin:0 auto;padding:20px 24px;background:#ffffff;\
    border:1px solid #dfe4ea;border-radius:12px";
const TITLE: &str = "margin:0 0 16px;font-size:19px;line-height:1.3";
const OPEN: &str = "margin:0 0 14px;padding:2px 0 2px 14px;border-left:4px solid #bf3326";
const OVER: &str = "margin:0 0 14px;padding:2px 0 2px 14px;border-left:4px solid #087553";
const PART: &str = "margin:0 0 4px;font-size:15px";
const LINE: &str = "margin:0 0 4px";
const SOFT: &str = "margin:16px 0 0;color:#566370;font-size:13px";

/// The document as text.
#[must_use]
pub fn letter(letter: Letter) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| document(letter).to_html());
    owner.cleanup();
    page
}

fn document(letter: Letter) -> impl IntoView + use<> {
    let Letter {
        title,
        parts,
        more,
        link,
    } = letter;
    // Of one alone the heading says it.
    let titled = parts.len() > 1;
    let parts = parts.into_iter().map(|it| part(it, titled)).collect_view();
    let page = link.clone();
    view! {
        <!DOCTYPE html>
        <html lang="en">
            <head>
                <meta charset="utf-8"/>
                <meta name="viewport" content="width=device-width, initial-scale=1"/>
                <title>{title.clone()}</title>
            </head>
            <body style=PAGE>
                <div style=SHEET>
                    <h1 style=TITLE>{title}</h1>
                    {parts}
                    {more.map(|more| view! { <p style=LINE>{more}</p> })}
                    <p style=SOFT>
                        <a href=page style="color:#0b66ab">{link}</a>
                        " shows all of it. Times are UTC. Spillway wrote this; nobody reads answers to it."
                    </p>
                </div>
            </body>
        </html>
    }
}

fn part(part: LetterPart, titled: bool) -> impl IntoView {
    let style = if part.is_over { OVER } else { OPEN };
    let lines = part.sentences.into_iter();
    let lines = lines
        .map(|line| view! { <p style=LINE>{line}</p> })
        .collect_view();
    view! {
        <div style=style>
            {titled.then(|| view! { <h2 style=PART>{part.title}</h2> })}
            {lines}
        </div>
    }
}
