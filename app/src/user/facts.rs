//! A card with a table of facts: one for all, since each kind of table of its own would
//! weigh several kilobytes in the browser.

use leptos::prelude::*;

use crate::erase::Erase;
use crate::overview::pill::{Label, Pill};
use crate::time::{Apart, At};

/// One cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// A state, if the cell has one.
    pub label: Option<Label>,
    /// What it says.
    pub text: String,
    /// What it adds in small print.
    pub more: String,
    /// An instant in small print, RFC 3339 in UTC, or nothing.
    pub at: String,
}

impl Cell {
    /// A cell of words alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Words, and the instant that they speak of.
    pub fn at(text: String, at: &str) -> Self {
        Self {
            at: at.to_owned(),
            ..Self::text(text)
        }
    }

    /// A state as sign and word.
    pub fn label(label: Option<Label>) -> Self {
        Self {
            label,
            ..Self::default()
        }
    }
}

/// The card.
#[component]
pub fn Facts(
    /// Its title.
    title: &'static str,
    /// What stands beside the title.
    #[prop(into)]
    beside: Signal<String>,
    /// The columns' names; the first names the rows.
    columns: &'static [&'static str],
    /// The rows, each as long as `columns`.
    rows: Memo<Vec<Vec<Cell>>>,
    /// What is said where there is none.
    #[prop(optional)]
    nothing: &'static str,
) -> impl IntoView {
    let head = columns.iter().map(|name| {
        view! { <th role="columnheader" scope="col">{*name}</th> }
    });
    let is_empty = Memo::new(move |_| rows.with(Vec::is_empty));
    let body = move || {
        rows.get()
            .into_iter()
            .map(|row| line(row, columns))
            .collect_view()
    };
    view! {
        <section class="card" aria-label=title>
            <div class="head">
                <h2>{title}</h2>
                <small>{move || beside.get()}</small>
            </div>
            <p class="nothing" class:none=move || !is_empty.get()>{nothing}</p>
            <table class="facts" class:none=move || is_empty.get() role="table">
                <thead role="rowgroup">
                    <tr role="row">{head.collect_view()}</tr>
                </thead>
                <tbody role="rowgroup">{body}</tbody>
            </table>
        </section>
    }
    .erase()
}

fn line(row: Vec<Cell>, columns: &'static [&'static str]) -> impl IntoView {
    let mut cells = row.into_iter();
    let first = cells.next().unwrap_or_default();
    let rest = cells.zip(columns.iter().skip(1)).map(|(cell, name)| {
        let is_empty = cell == Cell::default();
        view! { <td role="cell" class:empty=is_empty data-name=*name>{content(cell)}</td> }
    });
    view! {
        <tr role="row">
            <th role="rowheader" scope="row">{content(first)}</th>
            {rest.collect_view()}
        </tr>
    }
    .erase()
}

fn content(cell: Cell) -> impl IntoView {
    let pill = cell
        .label
        .map(|label| view! { <Pill label=Signal::stored(label)/> });
    view! {
        {pill}
        <span><bdi>{cell.text}</bdi></span>
        <small>{cell.more}</small>
        <small><At at=Signal::stored(cell.at) style=Apart/></small>
    }
    .erase()
}
