//! Calls a second over the last minute: admitted, held first, refused.

use leptos::prelude::*;

use crate::erase::Erase;
use crate::live::{RECENT_SECONDS, Second};

/// The numbers are means over this many whole seconds: one alone jumps about, and more
/// would hide that something just began.
const MEAN_OVER_SECONDS: usize = 10;

/// One sparkline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Calls a second over the last [`MEAN_OVER_SECONDS`] whole seconds, one decimal.
    pub mean: String,
    /// Points of the line within 160 by 36.
    pub line: String,
    /// Points of the area under it.
    pub area: String,
    /// The line in words.
    pub text: String,
}

/// All that the block shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flow {
    /// Let through.
    pub admitted: Series,
    /// Those of them that waited first.
    pub held: Series,
    /// Answered 429.
    pub refused: Series,
    /// Whether anything was refused in the last minute.
    pub any_refused: bool,
    /// The minute as a table: seconds ago, then the sums of admitted, held and refused.
    pub table: Vec<(String, [u32; 3])>,
}

/// Works out what is shown of the last minute.
#[must_use]
pub fn flow(recent: &[Second]) -> Flow {
    Flow {
        admitted: series("admitted", recent, |second| second.admitted),
        held: series("held first", recent, |second| second.held),
        refused: series("refused", recent, |second| second.refused),
        any_refused: recent.iter().any(|second| second.refused > 0),
        table: table(recent),
    }
}

fn series(name: &str, recent: &[Second], of: fn(&Second) -> u32) -> Series {
    let values: Vec<u32> = recent.iter().map(of).collect();
    let last = &values[values.len().saturating_sub(MEAN_OVER_SECONDS)..];
    let sum = last.iter().map(|value| u64::from(*value)).sum::<u64>();
    let mean = tenths(sum * 10 / last.len().max(1) as u64);
    let most = values.iter().max().copied().unwrap_or(0);
    let line = points(&values, most);
    let start = line.split(',').next().unwrap_or("0");
    Series {
        text: format!("{name}: {mean} a second now, at most {most} in a second of the last minute"),
        area: if line.is_empty() {
            String::new()
        } else {
            format!("{start},36 {line} 160,36")
        },
        mean,
        line,
    }
}

/// The newest value at the right edge, a minute across, the most at the top.
fn points(values: &[u32], most: u32) -> String {
    let seconds = RECENT_SECONDS - 1;
    let most = u64::from(most.max(1));
    let points = values.iter().rev().take(RECENT_SECONDS).enumerate();
    let points = points.map(|(ago, value)| {
        let x = 1600 * (seconds - ago) / seconds;
        format!(
            "{},{}",
            tenths(x as u64),
            tenths(350 - 320 * u64::from(*value) / most)
        )
    });
    let mut points: Vec<_> = points.collect();
    points.reverse();
    points.join(" ")
}

/// `97` as `9.7`.
fn tenths(number: u64) -> String {
    format!("{}.{}", number / 10, number % 10)
}

fn table(recent: &[Second]) -> Vec<(String, [u32; 3])> {
    recent
        .rchunks(MEAN_OVER_SECONDS)
        .enumerate()
        .map(|(at, seconds)| {
            let from = at * MEAN_OVER_SECONDS;
            let sum = |of: fn(&Second) -> u32| seconds.iter().map(of).sum::<u32>();
            let name = format!("{from} to {} s ago", from + seconds.len());
            (
                name,
                [
                    sum(|it| it.admitted),
                    sum(|it| it.held),
                    sum(|it| it.refused),
                ],
            )
        })
        .collect()
}

/// The three sparklines, and the table behind them.
#[component]
pub fn FlowBlock(
    /// The last minute.
    #[prop(into)]
    recent: Signal<Vec<Second>>,
) -> impl IntoView {
    let shown = Memo::new(move |_| recent.with(|recent| flow(recent)));
    let refused = move || {
        if shown.with(|flow| flow.any_refused) {
            "near"
        } else {
            "none"
        }
    };
    let rows = move || {
        shown
            .with(|flow| flow.table.clone())
            .into_iter()
            .map(|(name, sums)| {
                view! {
                    <tr>
                        <th scope="row">{name}</th>
                        {sums.map(|sum| view! { <td>{sum}</td> }).collect_view()}
                    </tr>
                }
            })
            .collect_view()
    };
    view! {
        <div class="flow">
            <h3>"Calls a second"</h3>
            <Spark name="admitted" class=Signal::stored("fore") series=Signal::derive(move || shown.with(|it| it.admitted.clone()))/>
            <Spark name="held first" class=Signal::stored("back") series=Signal::derive(move || shown.with(|it| it.held.clone()))/>
            <Spark name="refused" class=Signal::derive(refused) series=Signal::derive(move || shown.with(|it| it.refused.clone()))/>
        </div>
        <details class="minute">
                <summary>"Calls in the last minute, as a table"</summary>
                <table class="counters">
                    <caption class="unseen">"Calls in the last minute"</caption>
                    <thead>
                        <tr>
                            <th scope="col">"When"</th>
                            <th scope="col">"Admitted"</th>
                            <th scope="col">"Held first"</th>
                            <th scope="col">"Refused"</th>
                        </tr>
                    </thead>
                    <tbody>{rows}</tbody>
                </table>
        </details>
    }
    .erase()
}

#[component]
fn Spark(name: &'static str, class: Signal<&'static str>, series: Signal<Series>) -> impl IntoView {
    let series = Memo::new(move |_| series.get());
    view! {
        <div class="spark">
            <span>{name} " " <b>{move || series.with(|it| it.mean.clone())}</b></span>
            <svg
                class=class
                viewBox="0 0 160 36"
                preserveAspectRatio="none"
                role="img"
                aria-label=move || series.with(|it| it.text.clone())
            >
                <polygon points=move || series.with(|it| it.area.clone())></polygon>
                <polyline points=move || series.with(|it| it.line.clone())></polyline>
            </svg>
        </div>
    }
    .erase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(admitted: &[u32]) -> Vec<Second> {
        (0..)
            .zip(admitted)
            .map(|(at, admitted)| Second {
                at,
                admitted: *admitted,
                ..Second::default()
            })
            .collect()
    }

    #[test]
    fn the_mean_is_over_what_there_is_up_to_ten_seconds() {
        let flow = flow(&seconds(&[0, 10, 20]));
        assert_eq!(flow.admitted.mean, "10.0");
        assert_eq!(
            flow.admitted.text,
            "admitted: 10.0 a second now, at most 20 in a second of the last minute"
        );
        assert_eq!(flow.table, [("0 to 3 s ago".to_owned(), [30, 0, 0])]);
        assert!(!flow.any_refused);
    }

    #[test]
    fn a_whole_minute_spans_the_chart() {
        let flow = flow(&seconds(&[4; RECENT_SECONDS]));
        assert!(flow.admitted.line.starts_with("0.0,3.0 "));
        assert!(flow.admitted.line.ends_with(" 160.0,3.0"));
        assert!(flow.admitted.area.starts_with("0.0,36 0.0,3.0"));
        assert_eq!(flow.table.len(), 6);
        assert_eq!(flow.table[0], ("0 to 10 s ago".to_owned(), [40, 0, 0]));
        assert_eq!(flow.table[5], ("50 to 60 s ago".to_owned(), [40, 0, 0]));
    }

    #[test]
    fn no_history_is_no_line() {
        let flow = flow(&[]);
        assert_eq!(
            (flow.admitted.mean.as_str(), flow.admitted.line.as_str()),
            ("0.0", "")
        );
        assert!(flow.table.is_empty());
    }
}
