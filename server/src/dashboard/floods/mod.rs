//! The pages of the flood guard: what they show is asked of [`Floods`], what they do is what the
//! API does.

mod asked;
mod enable;
mod history;
mod list;
mod looks;
mod one;
mod pause;

use axum::{
    Router,
    response::{Html, IntoResponse as _, Response},
    routing::{get, post},
};
use http::{StatusCode, header};
use jiff::Timestamp;
use spillway_app::{FloodComponent, LIVE_POLICY};

use super::{Pages, document};
use crate::{
    floods::{ComponentState, Floods},
    http::Problem,
    store,
};

pub(super) use looks::Looks;

const FOR_OPERATORS: &str = "Takes the role operator.";

pub(super) fn routes() -> Router<Pages> {
    Router::new()
        .route("/floods", get(list::show))
        .route("/floods/list", get(one::show_asked))
        .route("/floods/disabled", get(enable::show))
        .route("/floods/enable", post(enable::enable))
        .route("/floods/pause", get(pause::show))
        .route("/floods/begin-pause", post(pause::pause))
        .route("/floods/resume", post(pause::resume))
        .route("/floods/{site}/{list}", get(one::show))
}

impl Pages {
    fn floods(&self) -> &Floods {
        self.entrance.api.floods()
    }
}

/// A page with parts that move.
fn live(page: String) -> Response {
    document(StatusCode::OK, LIVE_POLICY, page)
}

/// These parts alone.
fn parts(parts: String) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Html(parts)).into_response()
}

fn why_not(may: bool) -> String {
    match may {
        true => String::new(),
        false => FOR_OPERATORS.to_owned(),
    }
}

fn unreadable(error: &store::Error) -> Response {
    let logged = error as &dyn std::error::Error;
    tracing::error!(error = logged, "a page of floods");
    let title = "What happened to lists cannot be read now";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title)
        .detail("the database does not answer; events are counted all the same")
        .into_response()
}

/// RFC 3339 to the second.
fn second(at: Timestamp) -> String {
    format!("{at:.0}")
}

fn component(it: &ComponentState) -> FloodComponent {
    FloodComponent {
        name: it.component.name(),
        count: it.count,
        per_minute: it.policy.per_minute(),
        strikes: it.strikes,
        strikes_per_day: it.policy.strikes_per_day(),
        grace: it.policy.grace(),
        stopping: it.stopping,
        disabled_since: it.disabled_since.map(second),
    }
}
