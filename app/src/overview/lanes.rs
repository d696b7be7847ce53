//! What the lanes use of the app's limits against the background's share, and what
//! became of their calls.

use leptos::prelude::*;

use super::name;
use super::wording::{apps_differ, background_cap, count, layer_name, permille};
use crate::erase::Erase;
use crate::instant;
use crate::live::{Budget, Lane, Lanes, Layer, Scope};

/// The bar of one layer, in per mille of its width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// `Hour`.
    pub name: String,
    /// How wide the background's part is.
    pub background: u32,
    /// How wide the foreground's part is.
    pub foreground: u32,
    /// Where the background's share ends.
    pub share: u32,
    /// `Background 301 of its 400`.
    pub background_text: String,
    /// `Foreground 387`.
    pub foreground_text: String,
    /// `Free 112`.
    pub free_text: String,
}

/// What the bars show: a bar for each layer of the app that is closest to a limit.
#[must_use]
pub fn bars(budgets: &[Budget]) -> Vec<Bar> {
    app(budgets)
        .map(|app| app.layers.iter().map(bar).collect())
        .unwrap_or_default()
}

/// What they are of.
#[must_use]
pub fn bars_title(budgets: &[Budget]) -> String {
    match app(budgets) {
        Some(app) if apps_differ(budgets) => {
            ["Lanes, of the limits of app ", &name::in_words(&app.app)].concat()
        }
        _ => "Lanes, of the app's limits".to_owned(),
    }
}

fn app(budgets: &[Budget]) -> Option<&Budget> {
    budgets.iter().find(|budget| budget.scope == Scope::App)
}

fn bar(layer: &Layer) -> Bar {
    let background = layer.used_background.min(layer.used);
    let width = permille(background, layer.limit);
    let cap = background_cap(layer);
    Bar {
        name: layer_name(layer),
        background: width,
        foreground: permille(layer.used, layer.limit) - width,
        share: u32::from(layer.share_permille),
        background_text: ["Background ", &count(background), " of its ", &count(cap)].concat(),
        foreground_text: ["Foreground ", &count(layer.used - background)].concat(),
        free_text: ["Free ", &count(layer.limit.saturating_sub(layer.used))].concat(),
    }
}

/// The stacked bars with their ticks and keys.
#[component]
pub fn LaneUse(
    /// The bars.
    #[prop(into)]
    bars: Signal<Vec<Bar>>,
    /// What they are of.
    #[prop(into)]
    title: Signal<String>,
) -> impl IntoView {
    let bars = Memo::new(move |_| bars.get());
    let places = Memo::new(move |_| bars.with(Vec::len));
    let lane_bars = move || {
        let bar = |at| {
            let bar = move |bars: &Vec<Bar>| bars.get(at).cloned().unwrap_or_default();
            view! { <LaneBar bar=Memo::new(move |_| bars.with(bar))/> }
        };
        (0..places.get()).map(bar).collect_view()
    };
    view! {
        <div class="use">
            <h3>{move || title.get()}</h3>
            {lane_bars}
        </div>
    }
    .erase()
}

#[component]
fn LaneBar(bar: Memo<Bar>) -> impl IntoView {
    let width = move |field: fn(&Bar) -> u32| move || bar.with(field).to_string();
    let text = move |field: fn(&Bar) -> &String| move || bar.with(|bar| field(bar).clone());
    view! {
        <ul class="key">
            <li class="name">{text(|bar| &bar.name)}</li>
            <li class="back">{text(|bar| &bar.background_text)}</li>
            <li class="fore">{text(|bar| &bar.foreground_text)}</li>
            <li class="free">{text(|bar| &bar.free_text)}</li>
        </ul>
        <svg class="bar lane" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
            <rect class="track" width="1000" height="14"></rect>
            <rect class="back" width=width(|bar| bar.background) height="14"></rect>
            <rect
                class="fore"
                x=width(|bar| bar.background)
                width=width(|bar| bar.foreground)
                height="14"
            ></rect>
            <line class="share" x1=width(|bar| bar.share) x2=width(|bar| bar.share) y1="-2" y2="16"></line>
        </svg>
    }
    .erase()
}

/// The lanes' counters: what waits now, and what became of the calls since the start.
#[component]
pub fn LaneTable(
    /// The counters.
    #[prop(into)]
    lanes: Signal<Lanes>,
) -> impl IntoView {
    let row = move |name: &'static str, say: fn(&Lane) -> String| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td>{move || lanes.with(|all| say(&all.foreground))}</td>
                <td>{move || lanes.with(|all| say(&all.background))}</td>
            </tr>
        }
        .erase()
    };
    view! {
        <table class="counters">
            <caption class="unseen">"The lanes' calls, now and since the start"</caption>
            <thead>
                <tr>
                    <th scope="col">"Calls"</th>
                    <th scope="col">"Foreground"</th>
                    <th scope="col">"Background"</th>
                </tr>
            </thead>
            <tbody>
                {row("Waiting now", |lane| count(lane.waiting))}
                {row("Longest wait", longest)}
                {row("Mean hold", |lane| instant::fine(lane.hold_ms_mean))}
                {row("Admitted", |lane| count(lane.admitted))}
                {row("Held first", |lane| count(lane.held))}
                {row("Refused", |lane| count(lane.refused))}
            </tbody>
        </table>
    }
    .erase()
}

fn longest(lane: &Lane) -> String {
    match lane.waiting {
        0 => "\u{2013}".to_owned(),
        _ => instant::duration(lane.waiting_ms_max),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{budget, overview, rate};
    use super::*;

    #[test]
    fn each_layer_of_the_app_has_a_bar() {
        let state = overview();
        let bars = bars(&state.upstreams[0].workloads[0].budgets);
        let names: Vec<_> = bars.iter().map(|bar| bar.name.as_str()).collect();
        assert_eq!(names, ["Minute", "Hour", "In flight"]);
        let hour = Bar {
            name: "Hour".to_owned(),
            background: 376,
            foreground: 484,
            share: 500,
            background_text: "Background 301 of its 400".to_owned(),
            foreground_text: "Foreground 387".to_owned(),
            free_text: "Free 112".to_owned(),
        };
        assert_eq!(bars[1], hour);
    }

    #[test]
    fn of_several_apps_the_bars_name_theirs() {
        let mut other = budget("", vec![rate(60, 5, 1, 0)]);
        other.app = "scan".to_owned();
        let one = vec![budget("", vec![rate(60, 5, 2, 0)])];
        assert_eq!(bars_title(&one), "Lanes, of the app's limits");
        let both = [one, vec![other]].concat();
        assert_eq!(bars_title(&both), "Lanes, of the limits of app note-bridge");
    }

    #[test]
    fn without_an_app_there_is_no_bar() {
        assert!(bars(&[budget("a@b", vec![rate(60, 5, 1, 0)])]).is_empty());
    }

    #[test]
    fn more_than_the_limit_fills_the_bar() {
        let bar = bar(&rate(60, 100, 150, 120));
        assert_eq!((bar.background, bar.foreground), (1000, 0));
        assert_eq!(bar.free_text, "Free 0");
    }

    #[test]
    fn nobody_waiting_has_no_longest_wait() {
        assert_eq!(longest(&Lane::default()), "\u{2013}");
        let lane = Lane {
            waiting: 2,
            waiting_ms_max: 440,
            ..Lane::default()
        };
        assert_eq!(longest(&lane), "0.4 s");
    }
}
