//! Not out of quota, but close to it: apps and tenants near a limit, and whoever has all
//! calls in flight while more want in.

use super::{Lead, Part, Placed, Tone};
use crate::live::{Budget, Dimension, Layer, Scope, Workload};
use crate::overview::wording::{Zone, capital, count, layer_name, usage};

/// Apps and tenants near the limit of a rate, if any is.
pub fn shared(shared: &[Placed<'_>]) -> Option<Lead> {
    Some(Lead {
        tone: Tone::Some,
        headline: sentence(shared)?,
        detail: vec![Part::Text("Nobody is out of quota. ".to_owned())],
    })
}

/// `The app note-bridge is close to its hour: 701 of 800.`
pub fn sentence(shared: &[Placed<'_>]) -> Option<String> {
    let near = || shared.iter().filter_map(near);
    let (worst, layer) = near().max_by_key(|(_, layer)| layer.used_permille())?;
    let more = match near().count() {
        1 => String::new(),
        2 => ", and 1 more is close to theirs".to_owned(),
        more => [
            ", and ",
            &count(more as u64 - 1),
            " more are close to theirs",
        ]
        .concat(),
    };
    let used = [&count(layer.used), " of ", &count(layer.limit)].concat();
    // Its own words: the rules for all of Unicode would weigh 3 kB.
    let its = layer_name(layer).to_ascii_lowercase();
    let who = subject(worst);
    Some([&who, " is close to its ", &its, ": ", &used, &more, "."].concat())
}

/// The rate that is fullest, if it is near its limit.
fn near<'a, 'b>(placed: &'b Placed<'a>) -> Option<(&'b Placed<'a>, &'a Layer)> {
    let layers = placed.budget.layers.iter();
    let rates = layers.filter(|it| it.dimension == Dimension::Rate);
    let fullest = rates.max_by_key(|it| it.used_permille())?;
    (Zone::of(fullest) == Zone::Near).then_some((placed, fullest))
}

/// Budgets with all their calls in flight in workloads where more wait or are refused.
pub fn in_flight(all: &[Placed<'_>]) -> Option<Lead> {
    let busy = || all.iter().filter(|it| is_pressed(it.of)).filter_map(busy);
    let (first, layer) = busy().next()?;
    let who = match busy().count() as u64 {
        1 => [&subject(first), " has ", &usage(layer)].concat(),
        more => [
            &subject(first),
            " (",
            &usage(layer),
            ") and ",
            &count(more - 1),
            " more have all their calls in flight",
        ]
        .concat(),
    };
    Some(Lead {
        tone: Tone::Some,
        headline: [&who, "; the next call fits when one ends."].concat(),
        detail: vec![Part::Text("Nobody is out of quota. ".to_owned())],
    })
}

/// Who it is, at the beginning of a sentence: names are not changed.
fn subject(placed: &Placed<'_>) -> String {
    match placed.budget.scope {
        Scope::App => capital(placed.who()),
        _ => placed.who(),
    }
}

fn busy<'a, 'b>(placed: &'b Placed<'a>) -> Option<(&'b Placed<'a>, &'a Layer)> {
    Some((placed, full_in_flight(placed.budget)?))
}

fn full_in_flight(budget: &Budget) -> Option<&Layer> {
    let mut layers = budget.layers.iter();
    layers.find(|it| it.dimension == Dimension::Concurrency && Zone::of(it) == Zone::Full)
}

/// Whether calls wait, or were refused in the last minute.
fn is_pressed(workload: &Workload) -> bool {
    let lanes = &workload.lanes;
    lanes.foreground.waiting > 0
        || lanes.background.waiting > 0
        || workload.recent.iter().any(|second| second.refused > 0)
}
