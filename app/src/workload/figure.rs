//! A chart with its key, and the same as a table.

use leptos::prelude::*;

/// A chart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// What it shows.
    pub title: String,
    /// The drawing: SVG whose texts are escaped.
    pub svg: String,
    /// What its colours are.
    pub legend: Vec<Legend>,
    /// The table's head: what its columns are, the first an instant.
    pub head: Vec<String>,
    /// Its rows: an instant, RFC 3339, and as many values as there are columns behind it.
    pub rows: Vec<(String, Vec<String>)>,
}

/// What a colour is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Legend {
    /// The colour by its class: `fore`, `back`, `clear`, `near`, `full`, `soft`.
    pub class: &'static str,
    /// What it is.
    pub words: String,
}

/// Draws it.
pub fn figure(figure: Figure) -> impl IntoView {
    let Figure {
        title,
        svg,
        legend,
        head,
        rows,
    } = figure;
    let legend = legend.into_iter().map(|it| {
        view! {
            <li class=it.class>{it.words}</li>
        }
    });
    let legend = legend.collect_view();
    let caption = title.clone();
    view! {
        <figure>
            <figcaption>
                <h3>{title}</h3>
                <ul class="legend">{legend}</ul>
            </figcaption>
            <div inner_html=svg></div>
            <details>
                <summary>"As a table"</summary>
                {table(caption, head, rows)}
            </details>
        </figure>
    }
    .into_any()
}

fn table(caption: String, head: Vec<String>, rows: Vec<(String, Vec<String>)>) -> impl IntoView {
    let label = caption.clone();
    let head = head
        .into_iter()
        .map(|words| view! { <th scope="col">{words}</th> });
    let row = |(at, values): (String, Vec<String>)| {
        let words = words(&at);
        let values = values.into_iter().map(|value| view! { <td>{value}</td> });
        view! {
            <tr>
                <th scope="row"><time datetime=at>{words}</time></th>
                {values.collect_view()}
            </tr>
        }
    };
    // A region that scrolls is reached by keys.
    view! {
        <div class="scroll" role="region" tabindex="0" aria-label=label>
            <table class="counters">
                <caption class="unseen">{caption}</caption>
                <thead>
                    <tr>{head.collect_view()}</tr>
                </thead>
                <tbody>{rows.into_iter().map(row).collect_view()}</tbody>
            </table>
        </div>
    }
}

/// `2026-12-01 06:00 UTC`, of RFC 3339.
fn words(at: &str) -> String {
    let minute = at.get(..16).unwrap_or(at);
    minute.replace('T', " ") + " UTC"
}
