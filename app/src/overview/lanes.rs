//! What the lanes use of the app's widest window against the background's share, and what
//! became of their calls.

use leptos::prelude::*;

use super::wording::{background_cap, count, period};
use crate::instant;
use crate::live::{Budget, Dimension, Lane, Lanes, Layer, Scope};

/// The bar of one layer, in per mille of its width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bar {
    /// `of the app's hour`.
    pub of: String,
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
    /// `Headroom 112`.
    pub free_text: String,
}

/// What the bar shows of the app that is closest to a limit; `None` without a rate.
#[must_use]
pub fn bar(budgets: &[Budget]) -> Option<Bar> {
    let app = budgets.iter().find(|budget| budget.scope == Scope::App)?;
    let rates = app.layers.iter();
    let layer = rates
        .filter(|layer| layer.dimension == Dimension::Rate)
        .max_by_key(|layer| layer.window_ms)?;
    Some(bar_of(layer))
}

fn bar_of(layer: &Layer) -> Bar {
    let limit = layer.limit.max(1);
    let background = layer.used_background.min(layer.used);
    let foreground = layer.used - background;
    let permille = |part: u32| {
        u32::try_from(u64::from(part.min(limit)) * 1000 / u64::from(limit)).unwrap_or(1000)
    };
    let background_width = permille(background);
    Bar {
        of: format!("of the app's {}", period(layer).trim_start_matches("this ")),
        background: background_width,
        foreground: permille(layer.used) - background_width,
        share: u32::from(layer.share_permille),
        background_text: format!(
            "Background {} of its {}",
            count(background),
            count(background_cap(layer))
        ),
        foreground_text: format!("Foreground {}", count(foreground)),
        free_text: format!("Headroom {}", count(layer.limit.saturating_sub(layer.used))),
    }
}

/// The stacked bar with its tick and its key.
#[component]
pub fn LaneUse(
    /// The bar; nothing is drawn without one.
    #[prop(into)]
    bar: Signal<Option<Bar>>,
) -> impl IntoView {
    let bar = Memo::new(move |_| bar.get().unwrap_or_default());
    let width = move |field: fn(&Bar) -> u32| move || bar.with(field).to_string();
    let text = move |field: fn(&Bar) -> &String| move || bar.with(|bar| field(bar).clone());
    view! {
        <div class="use">
            <h3>"Lanes " <small>{text(|bar| &bar.of)}</small></h3>
            <svg class="bar lane" viewBox="0 0 1000 18" preserveAspectRatio="none" aria-hidden="true">
                <rect class="track" width="1000" height="18"></rect>
                <rect class="back" width=width(|bar| bar.background) height="18"></rect>
                <rect
                    class="fore"
                    x=width(|bar| bar.background)
                    width=width(|bar| bar.foreground)
                    height="18"
                ></rect>
                <line
                    class="share"
                    x1=width(|bar| bar.share)
                    x2=width(|bar| bar.share)
                    y1="-3"
                    y2="21"
                ></line>
            </svg>
            <ul class="key">
                <li class="back">{text(|bar| &bar.background_text)}</li>
                <li class="fore">{text(|bar| &bar.foreground_text)}</li>
                <li class="free">{text(|bar| &bar.free_text)}</li>
            </ul>
        </div>
    }
    .into_any()
}

/// The lanes' counters: what waits now, and what became of the calls since the start.
#[component]
pub fn LaneTable(
    /// The counters.
    #[prop(into)]
    lanes: Signal<Lanes>,
) -> impl IntoView {
    let cell = move |lane: fn(&Lanes) -> &Lane, say: fn(&Lane) -> String| {
        move || lanes.with(|all| say(lane(all)))
    };
    let row = move |name: &'static str, lane: fn(&Lanes) -> &Lane| {
        view! {
            <tr>
                <th scope="row">{name}</th>
                <td class="now">{cell(lane, |it| count(it.waiting))}</td>
                <td>{cell(lane, longest)}</td>
                <td>{cell(lane, |it| instant::fine(it.hold_ms_mean))}</td>
                <td>{cell(lane, |it| count(it.admitted))}</td>
                <td>{cell(lane, |it| count(it.held))}</td>
                <td>{cell(lane, |it| count(it.refused))}</td>
            </tr>
        }
    };
    view! {
        <div class="scroll" role="region" aria-label="Lane counters" tabindex="0">
            <table class="counters">
                <caption>"Waiting now, and since the start"</caption>
                <thead>
                    <tr>
                        <th scope="col">"Lane"</th>
                        <th scope="col">"Waiting"</th>
                        <th scope="col">"Longest"</th>
                        <th scope="col">"Mean hold"</th>
                        <th scope="col">"Admitted"</th>
                        <th scope="col">"Held first"</th>
                        <th scope="col">"Refused"</th>
                    </tr>
                </thead>
                <tbody>
                    {row("Foreground", |all| &all.foreground)}
                    {row("Background", |all| &all.background)}
                </tbody>
            </table>
        </div>
    }
    .into_any()
}

fn longest(lane: &Lane) -> String {
    match lane.waiting {
        0 => "\u{2013}".to_owned(),
        _ => instant::duration(lane.waiting_ms_max),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{budget, concurrency, overview, rate};
    use super::*;

    #[test]
    fn the_bar_shows_the_apps_widest_window() {
        let state = overview();
        let bar = bar(&state.upstreams[0].workloads[0].budgets);
        assert_eq!(
            bar,
            Some(Bar {
                of: "of the app's hour".to_owned(),
                background: 376,
                foreground: 484,
                share: 500,
                background_text: "Background 301 of its 400".to_owned(),
                foreground_text: "Foreground 387".to_owned(),
                free_text: "Headroom 112".to_owned(),
            })
        );
    }

    #[test]
    fn without_a_rate_there_is_no_bar() {
        assert_eq!(bar(&[budget("", vec![concurrency(5, 1, 0)])]), None);
        assert_eq!(bar(&[budget("a@b", vec![rate(60, 5, 1, 0)])]), None);
    }

    #[test]
    fn more_than_the_limit_fills_the_bar() {
        let bar = bar_of(&rate(60, 100, 150, 120));
        assert_eq!((bar.background, bar.foreground), (1000, 0));
        assert_eq!(bar.free_text, "Headroom 0");
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
