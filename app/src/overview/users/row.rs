//! What a row of the users' table shows.

use super::super::breaker;
use super::super::name;
use super::super::pill::Label;
use super::super::wording::{Zone, background_cap, count, period, rate_permille, tightest, usage};
use crate::instant;
use crate::live::{Breaker, BreakerState, Budget, Dimension, Layer, Scope};

/// Stands where nothing is to be waited for.
pub const NOTHING: &str = "\u{2013}";

/// What a row shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The user's key.
    pub user: String,
    /// Its tenant, or where there is none or there are several its app.
    pub under: String,
    /// How full the tightest layer is, per mille, at most 1000.
    pub permille: u32,
    /// `400 of 400 this hour`: what the bar shows.
    pub usage: String,
    /// What holds the background back, why the breaker is not closed, and what else is to
    /// be known of it.
    pub note: String,
    /// The state.
    pub label: Label,
    /// The class that colours the bar.
    pub class: &'static str,
    /// When one more foreground call fits, RFC 3339; empty if one fits now or only an
    /// ending call makes room.
    pub frees_at: String,
    /// `in 11 min`, or why there is no instant.
    pub frees: String,
}

/// Works out the row of `budget` at `now_ms`; `wider` is the app's or the tenant's budget
/// that stops it, if one does (see [`stopping`]), `apps_differ` where its app must be named.
#[must_use]
pub fn row(budget: &Budget, wider: Option<&Budget>, apps_differ: bool, now_ms: i64) -> Row {
    let tight = tightest(budget);
    let permille = tight.map_or(0, Layer::used_permille);
    let zone = Zone::at(permille);
    // A background lane at its share is no trouble, but worth a word where there is none.
    let held = (zone == Zone::Clear && wider.is_none())
        .then(|| held_background(budget))
        .flatten();
    let frees_at = frees_at(budget).max(wider.and_then(frees_at));
    // What stops most is what is said.
    let said = wider.filter(|wider| severity(wider) < severity(budget));
    Row {
        user: name::visible(&budget.user),
        under: under(budget, apps_differ),
        permille: permille.min(1000),
        usage: tight.map(usage).unwrap_or_default(),
        note: said
            .map(note_of_wider)
            .or_else(|| note(&budget.breaker))
            .or_else(|| held.clone())
            .unwrap_or_default(),
        frees: match frees_at.map(|at| instant::ms_until(now_ms, at)) {
            Some(Some(ms)) => ["in ", &instant::wait(ms), &may_still_run(budget)].concat(),
            Some(None) => String::new(),
            None if held.is_some() => "foreground now".to_owned(),
            None => no_instant(said.unwrap_or(budget)),
        },
        label: match (said, held) {
            (Some(wider), _) => label_of_wider(wider),
            (None, held) => label(budget, zone, held.is_some()),
        },
        class: zone.class(),
        frees_at: frees_at.cloned().unwrap_or_default(),
    }
}

/// Of the app and the tenant of `user` the budget that stops its calls most, if one does.
#[must_use]
pub fn stopping<'a>(budgets: &'a [Budget], user: &Budget) -> Option<&'a Budget> {
    let wider = budgets.iter().filter(|it| match it.scope {
        Scope::App => it.app == user.app,
        Scope::Tenant => it.app == user.app && it.tenant == user.tenant,
        Scope::User => false,
    });
    let stopping = wider.filter(|it| severity(it) < PASSING);
    stopping.min_by_key(|it| severity(it))
}

/// The [`severity`] of a budget that lets calls through.
const PASSING: u8 = 5;

/// How much the budget stops: the less, the more.
fn severity(budget: &Budget) -> u8 {
    match budget.breaker.state {
        BreakerState::Open => 0,
        BreakerState::HalfOpen => 1,
        _ if Zone::at(rate_permille(budget)) == Zone::Full => 2,
        BreakerState::Recovering => 3,
        BreakerState::Soft => 4,
        BreakerState::Closed => PASSING,
    }
}

fn label(budget: &Budget, zone: Zone, held: bool) -> Label {
    // A used-up limit holds more calls than a breaker that lets some through.
    let broken = breaker::label(&budget.breaker)
        .filter(|_| breaker::stops(&budget.breaker) || zone != Zone::Full);
    match broken {
        Some(label) => label,
        None if held => Label::held("At its share"),
        None => Label::zone(zone, zone.word()),
    }
}

/// `App open`, `Tenant full`.
fn label_of_wider(wider: &Budget) -> Label {
    let zone = Zone::at(rate_permille(wider));
    let mut label = label(wider, zone, false);
    if let Some(first) = label.word.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    label.word = [scope(wider), " ", &label.word].concat();
    label
}

/// `upstream throttles`, `app: 800 of 800 this hour`.
fn note_of_wider(wider: &Budget) -> String {
    match severity(wider) {
        2 => {
            let rates = wider
                .layers
                .iter()
                .filter(|it| it.dimension == Dimension::Rate);
            let full = rates.max_by_key(|it| (it.used_permille(), it.window_ms));
            [
                &scope(wider).to_ascii_lowercase(),
                ": ",
                &full.map(usage).unwrap_or_default(),
            ]
            .concat()
        }
        _ => breaker::reason(&wider.breaker).to_owned(),
    }
}

fn scope(wider: &Budget) -> &'static str {
    match wider.scope {
        Scope::Tenant => "Tenant",
        _ => "App",
    }
}

/// `contoso.example`, `contoso.example, app scan`, `app scan`.
fn under(budget: &Budget, apps_differ: bool) -> String {
    let app = name::visible(&budget.app);
    match (budget.tenant.is_empty(), apps_differ) {
        (true, _) => ["app ", &app].concat(),
        (false, false) => name::visible(&budget.tenant),
        (false, true) => [&name::visible(&budget.tenant), ", app ", &app].concat(),
    }
}

/// `, 3 may still run`: calls whose connection broke.
fn may_still_run(budget: &Budget) -> String {
    match budget.layers.iter().map(|it| it.lingering).max() {
        None | Some(0) => String::new(),
        Some(calls) => [", ", &count(calls), " may still run"].concat(),
    }
}

/// When both every layer and the breaker let a foreground call through, if only time is
/// needed. RFC 3339 in UTC sorts as text.
fn frees_at(budget: &Budget) -> Option<&String> {
    let opens = budget.breaker.until.as_ref();
    let opens = opens.filter(|_| budget.breaker.state == BreakerState::Open);
    let layers = budget.layers.iter().filter_map(|it| it.frees_at.as_ref());
    layers.chain(opens).max()
}

/// What makes room where no instant does.
fn no_instant(budget: &Budget) -> String {
    let tight = tightest(budget).filter(|it| Zone::of(it) == Zone::Full);
    match budget.breaker.state {
        BreakerState::HalfOpen => "when a probe passes".to_owned(),
        BreakerState::Recovering => breaker::at_once(&budget.breaker),
        _ if tight.is_some_and(|it| it.dimension == Dimension::Concurrency) => {
            "when a call ends".to_owned()
        }
        _ => NOTHING.to_owned(),
    }
}

/// `upstream throttles; throttled though room was left: …`
fn note(breaker: &Breaker) -> Option<String> {
    let reason = || breaker::label(breaker).map(|_| breaker::reason(breaker));
    // That it throttles is said by how it does.
    breaker::drift(breaker)
        .or_else(reason)
        .map(ToOwned::to_owned)
}

/// `background 200 of its 200 this hour`, where that is what holds the user's jobs back while
/// people still pass.
#[must_use]
pub fn held_background(budget: &Budget) -> Option<String> {
    let rates = budget
        .layers
        .iter()
        .filter(|it| it.dimension == Dimension::Rate);
    let layer = rates
        .filter(|it| it.used_background >= background_cap(it))
        .max_by_key(|it| it.window_ms)?;
    let (used, cap) = (count(layer.used_background), count(background_cap(layer)));
    Some(["background ", &used, " of its ", &cap, " ", &period(layer)].concat())
}

#[cfg(test)]
mod tests;
