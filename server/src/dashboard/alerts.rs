//! The page of trouble: what goes on and what became of each message, as it is written down.

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
    routing::get,
};
use http::StatusCode;
use jiff::Timestamp;
use spillway_app::{Alerts, Fate, ShownIncident, ShownMessage, visible};

use super::{Pages, plain};
use crate::{
    alerts::{Recipient, incident::Incident, sentences, title},
    floods::without_link,
    http::Problem,
    store::{self, Kind, MessageState, Store, StoredMessage},
};

/// How many incidents and messages the page shows.
const SHOWN_MAX: u32 = 100;

pub(super) fn routes() -> Router<Pages> {
    Router::new().route("/alerts", get(show))
}

async fn show(State(pages): State<Pages>, request: Request) -> Response {
    let visitor = pages.visitor(&request);
    let now = Timestamp::now();
    let store = &pages.entrance.trail.store;
    let is_anybody_told = !pages.entrance.told.is_empty();
    let read = async {
        Ok::<_, store::Error>((
            incidents(store, is_anybody_told).await?,
            messages(store, now).await?,
        ))
    };
    let (incidents, messages) = match read.await {
        Ok(read) => read,
        Err(error) => {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "the page of alerts"
            );
            let title = "What is wrong cannot be read now";
            return Problem::new(StatusCode::SERVICE_UNAVAILABLE, "storage", title).into_response();
        }
    };
    let (over, going_on) = incidents.into_iter().partition(|it| it.ended_at.is_some());
    let alerts = Alerts {
        visitor,
        as_of: format!("{now:.0}"),
        told: pages.entrance.told.iter().map(to_whom).collect(),
        going_on,
        over,
        messages,
    };
    plain(StatusCode::OK, spillway_app::alerts(&pages.options, alerts))
}

async fn incidents(
    store: &Store,
    is_anybody_told: bool,
) -> Result<Vec<ShownIncident>, store::Error> {
    let stored = store.incidents(SHOWN_MAX).await?;
    let incidents = stored
        .iter()
        .filter_map(|it| serde_json::from_str::<Incident>(&it.facts).ok());
    Ok(incidents
        .map(|incident| shown(&incident, is_anybody_told))
        .collect())
}

fn shown(incident: &Incident, is_anybody_told: bool) -> ShownIncident {
    ShownIncident {
        title: title(incident),
        began_at: instant(incident.began_at_ms),
        ended_at: incident.ended_at_ms.map(instant),
        told_at: incident.told_at_ms.filter(|_| is_anybody_told).map(instant),
        untold: untold(incident, is_anybody_told),
        is_due: incident.due_at_ms.is_some(),
        sentences: sentences(incident),
    }
}

fn untold(incident: &Incident, is_anybody_told: bool) -> &'static str {
    match (incident.due_at_ms, incident.ended_at_ms) {
        (None, None) => "Nobody was told: it has not lasted long enough.",
        (None, Some(_)) => "Nobody was told: it was short.",
        (Some(_), _) if !is_anybody_told => "Nobody was told: nobody is configured.",
        (Some(_), _) => "It is told soon: within this hour as much was told as may be.",
    }
}

async fn messages(store: &Store, now: Timestamp) -> Result<Vec<ShownMessage>, store::Error> {
    let messages = store.messages(SHOWN_MAX).await?;
    let shown = messages
        .into_iter()
        .map(|message| shown_message(message, now));
    Ok(shown.collect())
}

fn shown_message(message: StoredMessage, now: Timestamp) -> ShownMessage {
    let fate = fate(message.state, message.attempts);
    // What is due is tried as soon as whoever takes it is asked again.
    let next_ms = message.not_before_ms.max(now.as_millisecond());
    let at_ms = match fate {
        Fate::Waiting | Fate::Delayed => next_ms,
        _ => message.settled_at_ms.unwrap_or(message.not_before_ms),
    };
    ShownMessage {
        to: to_whom(&Recipient {
            kind: message.kind,
            name: message.recipient,
        }),
        subject: message.subject,
        text: text(message.kind, message.body),
        fate,
        created_at: instant(message.created_at_ms),
        at: instant(at_ms),
        attempts: message.attempts,
        error: message.error.unwrap_or_default(),
    }
}

/// What became of a message that was tried so often.
pub(super) fn fate(state: MessageState, attempts: i64) -> Fate {
    match state {
        MessageState::Waiting if attempts > 0 => Fate::Delayed,
        MessageState::Waiting => Fate::Waiting,
        MessageState::Sending => Fate::Sending,
        MessageState::Sent => Fate::Sent,
        MessageState::Failed => Fate::Failed,
        MessageState::Merged => Fate::Merged,
    }
}

/// What people read of it: a webhook's JSON holds that, too. A letter's link is its reader's alone.
fn text(kind: Kind, body: String) -> String {
    let hook = match kind {
        Kind::Mail => None,
        Kind::Webhook => serde_json::from_str::<serde_json::Value>(&body).ok(),
    };
    let text = hook.and_then(|hook| hook["text"].as_str().map(str::to_owned));
    without_link(&text.unwrap_or(body))
}

fn to_whom(recipient: &Recipient) -> String {
    let name = visible(&recipient.name);
    match recipient.kind {
        Kind::Mail => format!("mail to {name}"),
        Kind::Webhook => format!("webhook {name}"),
    }
}

fn instant(at_ms: i64) -> String {
    format!(
        "{:.0}",
        Timestamp::from_millisecond(at_ms).unwrap_or_default()
    )
}
