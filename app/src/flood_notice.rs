//! The letter to a site's admins that a component is disabled on a list, as mail programs show it:
//! see [`crate::letter`].

use leptos::prelude::*;

/// What the letter says.
#[derive(Clone, Debug)]
pub struct FloodNotice {
    /// In a few words.
    pub title: String,
    /// What happened and what that means, in sentences.
    pub lead: Vec<String>,
    /// The figures.
    pub facts: Vec<FloodFact>,
    /// What to do, and what happens then, in sentences.
    pub next: Vec<String>,
    /// What the link is for.
    pub act: String,
    /// The reader's own link.
    pub link: String,
}

/// A figure.
#[derive(Clone, Debug)]
pub struct FloodFact {
    /// What it is.
    pub label: &'static str,
    /// In words.
    pub value: String,
    /// Where it leads: http or https.
    pub href: Option<String>,
}

const PAGE: &str = "margin:0;padding:24px 12px;background:#f4f6f8;color:#15202b;\
    font:15px/1.5 -apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif";
const SHEET: &str = "max-width:600px;margin:0 auto;padding:20px 24px;background:#ffffff;\
    border:1px solid #dfe4ea;border-radius:12px;overflow-wrap:anywhere";
const TITLE: &str = "margin:0 0 14px;font-size:19px;line-height:1.3";
const TROUBLE: &str = "margin:0 0 16px;padding:2px 0 2px 14px;border-left:4px solid #bf3326";
const LINE: &str = "margin:0 0 8px";
const FACTS: &str = "margin:0 0 18px;border-collapse:collapse;font-size:14px";
const LABEL: &str = "padding:4px 18px 4px 0;color:#566370;font-weight:400;text-align:left;\
    vertical-align:top;white-space:nowrap";
const VALUE: &str = "padding:4px 0;vertical-align:top";
const BUTTON: &str = "display:inline-block;margin:0 0 16px;padding:9px 16px;border-radius:8px;\
    background:#0b66ab;color:#ffffff;font-weight:600;text-decoration:none";
const SOFT: &str = "margin:14px 0 0;color:#566370;font-size:13px";

/// The document as text.
#[must_use]
pub fn flood_notice(notice: FloodNotice) -> String {
    let owner = Owner::new_root(None);
    let page = owner.with(|| document(notice).to_html());
    owner.cleanup();
    page
}

fn document(notice: FloodNotice) -> impl IntoView + use<> {
    let FloodNotice {
        title,
        lead,
        facts,
        next,
        act,
        link,
    } = notice;
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
                    <div style=TROUBLE>{lines(lead)}</div>
                    <table style=FACTS>
                        <tbody>{facts.into_iter().map(fact).collect_view()}</tbody>
                    </table>
                    <a href=link style=BUTTON>{act}</a>
                    {lines(next)}
                    <p style=SOFT>"Spillway wrote this; nobody reads answers to it."</p>
                </div>
            </body>
        </html>
    }
}

fn lines(sentences: Vec<String>) -> impl IntoView {
    let sentences = sentences.into_iter();
    sentences
        .map(|sentence| view! { <p style=LINE>{sentence}</p> })
        .collect_view()
}

fn fact(fact: FloodFact) -> impl IntoView {
    let value = match fact.href {
        Some(href) => view! { <a href=href style="color:#0b66ab">{fact.value}</a> }.into_any(),
        None => fact.value.into_any(),
    };
    view! {
        <tr>
            <th scope="row" style=LABEL>{fact.label}</th>
            <td style=VALUE>{value}</td>
        </tr>
    }
}
