//! One budget: whose it is, and a gauge for each of its layers.

use leptos::prelude::*;

use super::breaker;
use super::gauge::Gauge;
use super::icon::{Icon, Sign};
use crate::erase::Erase;
use crate::feed::Feed;
use crate::live::{Breaker, Budget, Dimension, Layer};

/// A budget's owner and a gauge for each of its layers.
#[component]
pub fn BudgetRow(
    /// `App`, `Tenant`, `User`.
    title: &'static str,
    /// Its name.
    under: Signal<String>,
    /// What else is to be said of it.
    note: Signal<String>,
    /// The budget.
    budget: Memo<Option<Budget>>,
) -> impl IntoView {
    let layers =
        Memo::new(move |_| budget.with(|it| it.as_ref().map(layer_keys).unwrap_or_default()));
    let owner = Signal::derive(move || under.with(|under| [title, " ", under].concat()));
    let clock_ms = Feed::expect().clock_ms;
    let breaker = Memo::new(move |_| {
        budget.with(|it| it.as_ref().map(|it| it.breaker.clone()).unwrap_or_default())
    });
    let report = Memo::new(move |_| breaker.with(|it| breaker::report(it, clock_ms.get())));
    let report = move || {
        let report = report.get()?;
        Some(view! {
            <small class="report">
                <Sign icon=Signal::stored(Icon::Report)/>
                {report}
            </small>
        })
    };
    let drift = move || {
        let drift = breaker.with(breaker::drift)?;
        Some(view! { <small class="drift">{drift}</small> })
    };
    // A policy's layers stay as they are: no list with keys is needed to follow them.
    let gauges = move || {
        let gauge = |key: LayerKey| {
            view! { <LayerGauge at=key.0 owner=owner budget=budget breaker=breaker/> }
        };
        layers.get().into_iter().map(gauge).collect_view()
    };
    view! {
        <div class="row">
            <div class="owner">
                <b>{title}</b>
                <span><bdi>{move || under.get()}</bdi></span>
                <small>{move || note.get()}</small>
                {report}
                {drift}
            </div>
            <div class="gauges">
                {gauges}
            </div>
        </div>
    }
    .erase()
}

#[component]
fn LayerGauge(
    at: usize,
    owner: Signal<String>,
    budget: Memo<Option<Budget>>,
    breaker: Memo<Breaker>,
) -> impl IntoView {
    let layer = Memo::new(move |before: Option<&Layer>| {
        let found = budget.with(|it| it.as_ref()?.layers.get(at).cloned());
        // Gone from the state an instant before its gauge is gone.
        found.or_else(|| before.cloned()).unwrap_or(NONE)
    });
    view! { <Gauge owner=owner layer=layer breaker=breaker/> }
}

/// What a layer that was never there would be.
const NONE: Layer = Layer {
    dimension: Dimension::Concurrency,
    window_ms: None,
    limit: 1,
    used: 0,
    used_background: 0,
    share_permille: 0,
    frees_at: None,
    lingering: 0,
};

type LayerKey = (usize, Option<u64>);

fn layer_keys(budget: &Budget) -> Vec<LayerKey> {
    let layers = budget.layers.iter().enumerate();
    layers.map(|(at, layer)| (at, layer.window_ms)).collect()
}
