//! What other limits would have done to the calls of the last quarter of an hour.

use leptos::prelude::*;

use crate::instant::wait;
use crate::overview::wording::{capital, count};
use crate::plain::instant;

/// What limits do to the same calls, now and changed.
#[derive(Clone, Debug)]
pub struct Trial {
    /// In a sentence.
    pub says: String,
    /// When the first of these calls asked, and the last, RFC 3339; `None`: there were none.
    pub between: Option<(String, String)>,
    /// Each lane, and both together.
    pub lanes: Vec<(&'static str, Lane, Lane)>,
    /// What has to be known beside the numbers.
    pub notes: Vec<String>,
    /// Names the limits that were tried, so that others are not applied unseen.
    pub tried: String,
    /// A picture of the same, as SVG made by the server.
    pub chart: Option<String>,
}

/// What became of a lane's calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lane {
    /// How many asked.
    pub asked: u64,
    /// How many of them may not go.
    pub refused: u64,
    /// How many of those that go have to wait.
    pub waited: u64,
    /// How long the longest of these waits is, in milliseconds.
    pub wait_ms_max: u64,
}

pub(super) fn trial(trial: Trial) -> AnyView {
    let between = trial.between.map(|(from, until)| {
        view! {
            <p class="means">
                "Tried on the calls between "
                {instant(from)}
                " and "
                {instant(until)}
                ". Limits alone: no breaker opens, and who is refused does not come back."
            </p>
        }
    });
    let rows = trial.lanes.into_iter().map(row).collect_view();
    let notes = trial.notes.into_iter();
    let notes = notes
        .map(|note| view! { <p class="means">{note}</p> })
        .collect_view();
    let chart = trial.chart.map(|chart| {
        view! {
            <figure>
                <div inner_html=chart></div>
                <figcaption>
                    <span class="key changed">"Refused with the changed limits"</span>
                    <span class="key now">"Refused as they are now"</span>
                </figcaption>
            </figure>
        }
    });
    view! {
        <section class="card trial" aria-labelledby="preview">
            <div class="head">
                <h2 id="preview">"Preview"</h2>
            </div>
            <p role="status">
                <b>{capital(trial.says)} "."</b>
            </p>
            {between}
            {chart}
            <div class="scroll" tabindex="0" role="region" aria-label="Preview by lane">
                <table class="counters">
                    <thead>
                        <tr>
                            <td></td>
                            <th scope="col">"Asked"</th>
                            <th scope="col">"Refused now"</th>
                            <th scope="col">"Refused changed"</th>
                            <th scope="col">"Waited now"</th>
                            <th scope="col">"Waited changed"</th>
                            <th scope="col">"Longest wait now"</th>
                            <th scope="col">"Longest wait changed"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
            </div>
            {notes}
        </section>
    }
    .into_any()
}

fn row((name, now, changed): (&'static str, Lane, Lane)) -> AnyView {
    let said = |ms: u64| match ms {
        0 => "–".to_owned(),
        ms => wait(ms),
    };
    view! {
        <tr>
            <th scope="row">{name}</th>
            <td>{count(now.asked)}</td>
            <td>{count(now.refused)}</td>
            <td><b>{count(changed.refused)}</b></td>
            <td>{count(now.waited)}</td>
            <td><b>{count(changed.waited)}</b></td>
            <td>{said(now.wait_ms_max)}</td>
            <td><b>{said(changed.wait_ms_max)}</b></td>
        </tr>
    }
    .into_any()
}
