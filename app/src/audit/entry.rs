//! An act, as the list shows it.

use leptos::prelude::*;

use super::{AuditChange, AuditEntry};
use crate::overview::name;
use crate::pages::{AUDIT_PATH, query};
use crate::plain::instant;

/// The entries that are like that.
fn of(filters: &[(&str, &str)]) -> String {
    AUDIT_PATH.to_owned() + &query(filters)
}

pub(super) fn view(entry: AuditEntry) -> impl IntoView {
    let who = match entry.name.as_str() {
        "" => entry.kind.replace('_', " "),
        name => name::visible(name),
    };
    let kind = (!entry.name.is_empty()).then(|| entry.kind.replace('_', " "));
    let client = (!entry.client.is_empty()).then(|| ["from ", &entry.client].concat());
    let beside: Vec<_> = kind.into_iter().chain(client).collect();
    let beside = (!beside.is_empty()).then(|| view! { <small>{beside.join(" ")}</small> });
    let key = match entry.id.as_str() {
        "" => entry.name.clone(),
        id => id.to_owned(),
    };
    let by = of(&[("actor_kind", &entry.kind), ("actor", &key)]);
    let on = of(&[("subject", &entry.subject)]);
    let subject = name::visible(&entry.subject);
    // The kind and the name, and behind them the id, which alone tells one from all others.
    let (subject, id) = match (entry.called.as_str(), entry.subject.split_once(':')) {
        ("", _) | (_, None) => (subject, None),
        (called, Some((kind, _))) => {
            let called = [kind, " ", &name::in_words(called)].concat();
            (called, Some(view! { " " <small>{subject}</small> }))
        }
    };
    let did = of(&[("action", &entry.action)]);
    let reason = (!entry.reason.is_empty())
        .then(|| view! { <q><bdi>{name::visible(&entry.reason)}</bdi></q> });
    view! {
        <li id=format!("entry-{}", entry.seq)>
            <p class="when">
                {instant(entry.at)}
                <small>"entry " {entry.seq}</small>
            </p>
            <div class="what">
                <p>
                    <a class="who" href=by><bdi>{who}</bdi></a>
                    {beside}
                    " " <a href=did><code>{entry.action}</code></a>
                    " " <a href=on><bdi>{subject}</bdi></a>
                    {id}
                </p>
                {reason.map(|reason| view! { <p class="reason">{reason}</p> })}
                {changes(entry.seq, entry.changes, entry.more)}
            </div>
        </li>
    }
}

fn changes(seq: i64, changes: Vec<AuditChange>, more: usize) -> impl IntoView {
    let count = changes.len() + more;
    (count > 0).then(|| {
        let summary = match count {
            1 => "1 change".to_owned(),
            count => format!("{count} changes"),
        };
        let label = format!("{summary} by entry {seq}");
        let more = (more > 0).then(|| {
            view! { <p class="means">"and " {more} " more: the export has all of them"</p> }
        });
        view! {
            <details>
                <summary aria-label=label>{summary}</summary>
                <table class="facts changes">
                    <thead>
                        <tr>
                            <th scope="col">"What"</th>
                            <th scope="col">"Before"</th>
                            <th scope="col">"After"</th>
                        </tr>
                    </thead>
                    <tbody>{changes.into_iter().map(change).collect_view()}</tbody>
                </table>
                {more}
            </details>
        }
    })
}

fn change(change: AuditChange) -> impl IntoView {
    let path = match change.path.as_str() {
        "" => "all".to_owned(),
        path => name::visible(path),
    };
    view! {
        <tr>
            <th scope="row"><code>{path}</code></th>
            {side("Before", change.was).into_any()}
            {side("After", change.became).into_any()}
        </tr>
    }
}

/// `<del>` and `<ins>` tell those who do not see the columns which is which.
fn side(which: &'static str, value: Option<String>) -> impl IntoView {
    let class = if value.is_none() { "empty" } else { "" };
    let value = value.map(|value| {
        let value = view! { <bdi>{name::visible(&value)}</bdi> };
        match which {
            "Before" => view! { <del>{value}</del> }.into_any(),
            _ => view! { <ins>{value}</ins> }.into_any(),
        }
    });
    view! { <td data-name=which class=class>{value}</td> }
}
