//! Limits that are used up.

use super::trip;
use super::{Lead, Part, Placed, Tone};
use crate::instant;
use crate::live::{Budget, Dimension, Layer, Scope};
use crate::overview::wording::{Zone, capital, count, plural, usage};

/// A budget with a used-up rate.
struct Out<'a> {
    placed: Placed<'a>,
    layer: &'a Layer,
}

/// Apps and tenants that are out of quota, if any is.
pub fn shared(shared: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let (worst, number) = latest(shared)?;
    let more = match number - 1 {
        0 => String::new(),
        more => [", and so are ", &plural(more, "other shared budget")].concat(),
    };
    Some(Lead {
        tone: Tone::All,
        headline: [
            &capital(worst.placed.who()),
            " is out of quota for ",
            &worst.placed.place(),
            &more,
            ".",
        ]
        .concat(),
        detail: explain(&worst, now_ms),
    })
}

/// Users who are out of quota, if any is.
pub fn users(users: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let (worst, number) = latest(users)?;
    let who = match number {
        1 => "One user is".to_owned(),
        more => [&count(more), " users are"].concat(),
    };
    Some(Lead {
        tone: Tone::Some,
        headline: [&who, " out of quota; ", &others(users, false), "."].concat(),
        detail: explain(&worst, now_ms),
    })
}

/// The one user of a page, if it is out of quota.
pub fn one(own: &[Placed<'_>], now_ms: i64) -> Option<Lead> {
    let (out, _) = latest(own)?;
    Some(Lead {
        tone: Tone::All,
        headline: out.placed.who() + " is out of quota.",
        detail: explain(&out, now_ms),
    })
}

/// How those users are whose breakers let them through and who are not out of quota, or
/// first of all how many are, if that is still to be said.
pub fn others(users: &[Placed<'_>], say_out: bool) -> String {
    let number = |zone| {
        let passing = users.iter().filter(|it| !trip::is_stopped(it));
        passing
            .filter(|it| rate_zone(it.budget) == Some(zone))
            .count() as u64
    };
    let slowed = users.iter().filter(|it| trip::is_slowed(it)).count() as u64;
    let (number, how) = match (number(Zone::Full), number(Zone::Near)) {
        (out, _) if say_out && out > 0 => (out, "out of quota"),
        (_, 0) if slowed > 0 => (slowed, "slowed down"),
        (_, 0) => return "everyone else is clear".to_owned(),
        (_, near) => (near, "near a limit"),
    };
    match number {
        1 => ["one more is ", how].concat(),
        more => [&count(more), " more are ", how].concat(),
    }
}

/// How full the fullest rate is.
pub fn rate_zone(budget: &Budget) -> Option<Zone> {
    rates(budget).map(Zone::of).max()
}

/// Who waits longest, and how many wait.
fn latest<'a>(all: &[Placed<'a>]) -> Option<(Out<'a>, u64)> {
    let outs = || all.iter().filter_map(out);
    // RFC 3339 in UTC sorts as text.
    let worst = outs().max_by(|a, b| a.layer.frees_at.cmp(&b.layer.frees_at))?;
    Some((worst, outs().count() as u64))
}

/// The budget's used-up rate that takes longest to free, if it has one.
fn out<'a>(placed: &Placed<'a>) -> Option<Out<'a>> {
    let layer = rates(placed.budget)
        .filter(|layer| Zone::of(layer) == Zone::Full)
        .max_by(|a, b| (&a.frees_at, a.window_ms).cmp(&(&b.frees_at, b.window_ms)))?;
    Some(Out {
        placed: *placed,
        layer,
    })
}

fn rates(budget: &Budget) -> impl Iterator<Item = &Layer> {
    let layers = budget.layers.iter();
    layers.filter(|layer| layer.dimension == Dimension::Rate)
}

fn explain(worst: &Out<'_>, now_ms: i64) -> Vec<Part> {
    let used = usage(worst.layer);
    let used = match worst.placed.budget.scope {
        Scope::User => [
            &worst.placed.who(),
            " has used ",
            &used,
            " on ",
            &worst.placed.place(),
            ". ",
        ]
        .concat(),
        _ => ["It has used ", &used, ". "].concat(),
    };
    let mut parts = vec![Part::Text(used)];
    if let Some(frees_at) = &worst.layer.frees_at {
        let wait = instant::ms_until(now_ms, frees_at)
            .map(|ms| [" in ", &instant::wait(ms), ","].concat())
            .unwrap_or_default();
        parts.push(Part::Text(
            ["The next call fits by itself", &wait, " at "].concat(),
        ));
        parts.push(Part::At(frees_at.clone()));
        parts.push(Part::Text(". ".to_owned()));
    }
    parts
}
