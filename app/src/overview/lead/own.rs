//! What is wrong with Spillway itself: counters that it cannot write, or has lost.

use super::{Lead, Part, Tone};
use crate::instant;
use crate::live::{State, Upstream};

/// How many workloads are named with the end of the loss.
const NAMED_MAX: usize = 3;

/// Upstreams whose counters cannot be written, if there is one.
pub fn unwritable(state: &State) -> Option<Lead> {
    let mut such = state.upstreams.iter().filter(|it| it.unwritable);
    let first = such.next()?;
    let of = match (such.next(), state.upstreams.len()) {
        (None, 2..) => [" to ", &first.name].concat(),
        _ => String::new(),
    };
    Some(Lead {
        tone: Tone::All,
        headline: [
            "Spillway cannot write its counters (is the disk full?): every call",
            &of,
            " is refused until it can.",
        ]
        .concat(),
        detail: Vec::new(),
    })
}

/// Workloads whose counters were lost, until what they may have held is over.
pub fn lost(state: &State, now_ms: i64) -> Option<Lead> {
    let such: Vec<_> = state
        .upstreams
        .iter()
        .flat_map(|upstream| full_until(upstream, now_ms))
        .collect();
    // RFC 3339 in UTC sorts as text.
    let until = such.iter().map(|(_, until, _)| *until).max()?;
    let time = instant::time_of_day(until);
    let mut detail = Vec::new();
    for (place, until, wait) in such.iter().take(NAMED_MAX) {
        let text = ["On ", place, " the first calls pass in ", wait, ", at "].concat();
        detail.push(Part::Text(text));
        detail.push(Part::At((*until).to_owned()));
        detail.push(Part::Text(". ".to_owned()));
    }
    Some(Lead {
        tone: Tone::All,
        headline: [
            "The counters were lost: every budget counts as full until ",
            time.get(..5).unwrap_or(time),
            " UTC, by itself; calls are refused until then.",
        ]
        .concat(),
        detail,
    })
}

/// Place, end and wait of each of the upstream's workloads whose counters were lost.
fn full_until(upstream: &Upstream, now_ms: i64) -> impl Iterator<Item = (String, &String, String)> {
    upstream.workloads.iter().filter_map(move |workload| {
        let until = workload.full_until.as_ref()?;
        let ms = instant::ms_until(now_ms, until).filter(|ms| *ms > 0)?;
        let place = [&upstream.name, " / ", &workload.name].concat();
        Some((place, until, instant::wait(ms)))
    })
}
