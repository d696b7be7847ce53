//! `GET /api/v1/live`: server-sent events, a snapshot and then what changes.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Extension,
    extract::State,
    response::{IntoResponse, Response, Sse, sse},
};
use futures_util::{Stream, stream};
use http::{HeaderValue, StatusCode, header};
use tokio::sync::{OwnedSemaphorePermit, broadcast};

use super::Api;
use crate::{
    access::{Caller, Taken},
    http::{Problem, Shutdown},
    live::{Event, Publisher},
};

/// The most streams at once, a browser each.
pub const STREAMS_MAX: usize = 1_000;

/// Follow the state as it changes
///
/// Server-sent events with increasing ids: a `snapshot` of everything first, then a `delta` for
/// what changed, at most four a second, or a `heartbeat`. Who falls behind gets a snapshot again.
#[utoipa::path(
    get,
    path = "/api/v1/live",
    tag = "state",
    operation_id = "followState",
    responses(
        (
            status = 200, description = "The stream", body = String,
            content_type = "text/event-stream"
        ),
        (status = 503, description = "`capacity`: 1,000 streams are open, or as many of this token's as may be"),
    )
)]
pub(super) async fn get(State(api): State<Api>, Extension(caller): Extension<Caller>) -> Response {
    if let Err(denied) = caller.may_see_all() {
        return Problem::from(denied).into_response();
    }
    let own = match caller.stream() {
        Ok(own) => own,
        Err(full) => return Problem::from(full).into_response(),
    };
    let Ok(place) = Arc::clone(&api.streams).try_acquire_owned() else {
        let problem = Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "capacity",
            "As many streams as may be open are",
        );
        return problem
            .detail(format!(
                "at most {STREAMS_MAX}; try again when another page was closed"
            ))
            .into_response();
    };
    let reader = Reader {
        publisher: api.publisher,
        shutdown: api.shutdown,
        caller,
        events: None,
        _place: place,
        _own: own,
    };
    let mut response = Sse::new(events(reader)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // Proxies must not collect events before they pass them on.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Reader {
    publisher: Arc<Publisher>,
    shutdown: Shutdown,
    /// Its stream ends with what let it in.
    caller: Caller,
    /// None before the first snapshot, and after this reader fell behind.
    events: Option<broadcast::Receiver<Event>>,
    _place: OwnedSemaphorePermit,
    /// Its caller's.
    _own: Option<Taken>,
}

fn events(reader: Reader) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    stream::unfold(reader, |mut reader| async move {
        let event = reader.next().await?;
        let event = sse::Event::default()
            .id(event.id.to_string())
            .event(event.name)
            .data(&*event.data);
        Some((Ok(event), reader))
    })
}

impl Reader {
    /// The next event; none once the server shuts down, or the reader's token ends.
    async fn next(&mut self) -> Option<Event> {
        let caller = self.caller.clone();
        tokio::select! {
            biased;
            _ = caller.ended() => None,
            event = self.event() => event,
        }
    }

    async fn event(&mut self) -> Option<Event> {
        let Some(events) = &mut self.events else {
            return self.snapshot();
        };
        let received = tokio::select! {
            () = self.shutdown.begun() => return None,
            received = events.recv() => received,
        };
        match received {
            Ok(event) => Some(event),
            Err(broadcast::error::RecvError::Lagged(_)) => self.snapshot(),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }

    fn snapshot(&mut self) -> Option<Event> {
        if self.shutdown.has_begun() {
            return None;
        }
        let (snapshot, events) = self.publisher.subscribe();
        self.events = Some(events);
        Some(snapshot)
    }
}
