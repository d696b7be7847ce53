//! All workloads with their limits, and who changed them last.

use leptos::prelude::*;

use super::history::{Made, made};
use crate::overview::{name, wording::workload_title};
use crate::pages::limits_path;
use crate::visitor::Visitor;

/// What the list shows.
#[derive(Clone, Debug)]
pub struct LimitsList {
    /// Who looks.
    pub visitor: Visitor,
    /// Why nobody may change them here; `None`: an admin may.
    pub shut: Option<String>,
    /// In the configuration's order.
    pub limited: Vec<Limited>,
}

/// A workload that has limits.
#[derive(Clone, Debug)]
pub struct Limited {
    /// Of which upstream.
    pub upstream: String,
    /// Its name; `_global`: what limits all calls of an app together.
    pub workload: String,
    /// Each layer in words.
    pub layers: Vec<String>,
    /// What background may use, in words.
    pub share: String,
    /// The newest version; `None`: it cannot be read now.
    pub newest: Option<Made>,
}

pub(super) fn page(list: LimitsList) -> impl IntoView {
    let rows = list.limited.into_iter().map(row).collect_view();
    view! {
        {list.shut.map(|why| view! { <p class="notice quiet">{why}</p> })}
        <section class="card" aria-label="Limits by workload">
            <table class="facts">
                <thead>
                    <tr>
                        <th scope="col">"Workload"</th>
                        <th scope="col">"Limits"</th>
                        <th scope="col">"Background may use"</th>
                        <th scope="col">"Last change"</th>
                    </tr>
                </thead>
                <tbody>{rows}</tbody>
            </table>
        </section>
    }
}

fn row(limited: Limited) -> AnyView {
    let href = limits_path(&limited.upstream, &limited.workload);
    let title = name::visible(workload_title(&limited.workload));
    let layers = limited.layers.into_iter();
    let layers = layers
        .map(|layer| view! { <li>{layer}</li> })
        .collect_view();
    let newest = match limited.newest {
        Some(it) => made(it).into_any(),
        None => view! { <p>"cannot be read now"</p> }.into_any(),
    };
    view! {
        <tr>
            <th scope="row">
                <a href=href>
                    <bdi>{name::visible(&limited.upstream)}</bdi>
                    " · "
                    <bdi>{title}</bdi>
                </a>
            </th>
            <td data-name="Limits"><ul class="plain">{layers}</ul></td>
            <td data-name="Background may use">{limited.share}</td>
            <td data-name="Last change">{newest}</td>
        </tr>
    }
    .into_any()
}
