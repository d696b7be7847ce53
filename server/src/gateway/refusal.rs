//! What the gateway answers itself: the one place where its errors become statuses.

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{
        ACCESS_CONTROL_EXPOSE_HEADERS, ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER,
        WWW_AUTHENTICATE,
    },
};

use super::{
    batch::{self, Malformed},
    dialect::{Dialect, Ids, graph_error},
    failure::Failure,
    identity::IdentityError,
    misplaced::Place,
    path::PathError,
    request_headers::HeaderError,
    response_headers::disarm,
    retry_after::RetryAfter,
};
use crate::{
    access::{Denied, Full, NoAddress, NotValid, Stopped},
    http::{Problem, REQUEST_ID, RequestId},
    limiter::{Busy, Refused},
};

/// What a client is told whose body was waited for too long ([`crate::http::Credit`]).
const SLOW_UPLOAD: &str = "It was waited for for 60 s altogether, of which each 500 bytes give a second back. Nothing is \
     repeated; the upstream may have seen what there was. Send the call again, faster.";

/// Repeated and logged only up to this length, in bytes: ids of the SDKs are UUIDs.
const ID_BYTES_MAX: usize = 128;

const CLIENT_REQUEST_ID: HeaderName = HeaderName::from_static("client-request-id");
const BLOCKED_BY: HeaderName = HeaderName::from_static("spillway-blocked-by");

/// What a browser's script may read of a refusal.
const EXPOSED: HeaderValue =
    HeaderValue::from_static("Retry-After, Spillway-Blocked-By, request-id, client-request-id");

/// Why it is not known who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    /// Neither a token nor a network.
    #[error(
        "send a Spillway token in the header Spillway-Token; `spillway token create --scope gateway` \
         makes one"
    )]
    Nobody,
    /// From a network perhaps, but that cannot be known.
    #[error("send a Spillway token in the header Spillway-Token: {0}")]
    Address(#[from] NoAddress),
    /// The token lets nobody in.
    #[error("Spillway-Token: {0}")]
    Token(NotValid),
}

/// Why a call was not relayed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// For its path.
    #[error(transparent)]
    Path(#[from] PathError),
    /// For its headers.
    #[error(transparent)]
    Headers(#[from] HeaderError),
    /// Nobody can be charged.
    #[error(transparent)]
    Identity(IdentityError),
    /// It is not known who calls; told in this dialect.
    #[error("{0}")]
    Unauthorized(Unauthorized, Dialect),
    /// Who calls may not do this.
    #[error(transparent)]
    Denied(#[from] Denied),
    /// The upstream answered its bearer 401 a moment ago; told in this dialect.
    #[error(
        "the upstream answered 401 to this bearer less than a minute ago; get a new one, or come back \
         later"
    )]
    Bearer(Dialect),
    /// Whether a token is valid cannot be known.
    #[error("the tokens cannot be read from the database now")]
    Tokens,
    /// A token of Spillway's own where the upstream would get it.
    #[error(
        "{0} goes to the upstream, and holds a Spillway token: send that in the header Spillway-Token, \
         and revoke it if it was sent elsewhere"
    )]
    Misplaced(Place),
    /// The first segment names no upstream.
    #[error("no such upstream; configured: {known}")]
    UnknownUpstream {
        /// The names of those that exist.
        known: String,
    },
    /// It is no batch that could be sent.
    #[error(transparent)]
    Batch(#[from] Malformed),
    /// A batch by another method than `POST`.
    #[error("Batches are sent by POST.")]
    BatchMethod,
    /// A batch that is not plain JSON.
    #[error(
        "The content type of a batch must be application/json, without a content encoding: other batches cannot \
         be charged by their parts, and pass only where the upstream's `split_batches` is off."
    )]
    BatchType,
    /// A batch of too many bytes.
    #[error("The batch is longer than {} bytes.", batch::BYTES_MAX)]
    BatchTooLarge,
    /// No room within the hold.
    #[error("no room within the hold")]
    Busy(Busy, Dialect),
    /// It can never fit, or the limiter cannot take it.
    #[error(transparent)]
    Limiter(Refused),
    /// Too many calls without limits are under way.
    #[error("too many calls are under way")]
    Capacity,
    /// Its caller has its part.
    #[error(transparent)]
    Full(#[from] Full),
    /// The process ends.
    #[error("shutting down")]
    Closing,
    /// The upstream did not answer.
    #[error(transparent)]
    Failed(#[from] Failure),
}

impl From<IdentityError> for Refusal {
    fn from(error: IdentityError) -> Self {
        match error {
            IdentityError::Denied(denied) => Self::Denied(denied),
            error => Self::Identity(error),
        }
    }
}

impl Refusal {
    /// What a limiter's refusal means for a caller who speaks `dialect`.
    pub fn by_limiter(refused: Refused, dialect: Dialect) -> Self {
        match refused {
            Refused::Busy(busy) => Self::Busy(busy, dialect),
            other => Self::Limiter(other),
        }
    }

    /// What it means for a caller who speaks `dialect` that its token is not valid, or no more.
    pub fn by_token(not: NotValid, dialect: Dialect) -> Self {
        match not {
            NotValid::Unreadable => Self::Tokens,
            not => Self::Unauthorized(Unauthorized::Token(not), dialect),
        }
    }

    /// What it means for a caller who speaks `dialect` that it may not wait, or no longer.
    pub fn by_caller(stopped: Stopped, dialect: Dialect) -> Self {
        match stopped {
            Stopped::Ended(not) => Self::by_token(not, dialect),
            Stopped::Full(full) => Self::Full(full),
        }
    }

    /// The answer's status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.kind().0
    }

    /// What stays the same about it, for programs and logs.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind().1
    }

    fn kind(&self) -> (StatusCode, &'static str) {
        match self {
            Self::Path(_) => (StatusCode::BAD_REQUEST, "bad_path"),
            Self::Headers(error) => header_kind(error),
            Self::Identity(_) => (StatusCode::BAD_REQUEST, "no_identity"),
            Self::Unauthorized(..) => (StatusCode::UNAUTHORIZED, "unauthorized"),
            Self::Bearer(_) => (StatusCode::UNAUTHORIZED, "bearer_refused"),
            Self::Denied(denied) => {
                let problem = Problem::from(denied.clone());
                (problem.status(), problem.code())
            }
            Self::Tokens => (StatusCode::SERVICE_UNAVAILABLE, "storage"),
            Self::Misplaced(_) => (StatusCode::BAD_REQUEST, "misplaced_token"),
            Self::UnknownUpstream { .. } => (StatusCode::NOT_FOUND, "unknown_upstream"),
            Self::Batch(malformed) => (StatusCode::BAD_REQUEST, malformed.code()),
            Self::BatchMethod => (StatusCode::METHOD_NOT_ALLOWED, "Request_BadRequest"),
            Self::BatchType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "BadRequest"),
            Self::BatchTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
            Self::Busy(..) | Self::Limiter(Refused::Busy(_)) => {
                (StatusCode::TOO_MANY_REQUESTS, "throttled")
            }
            Self::Limiter(Refused::Impossible { .. }) => (StatusCode::BAD_REQUEST, "impossible"),
            Self::Capacity
            | Self::Full(_)
            | Self::Limiter(Refused::Capacity | Refused::Full(_)) => {
                (StatusCode::SERVICE_UNAVAILABLE, "capacity")
            }
            Self::Limiter(Refused::Storage) => (StatusCode::SERVICE_UNAVAILABLE, "storage"),
            Self::Closing | Self::Limiter(Refused::Closing) => {
                (StatusCode::SERVICE_UNAVAILABLE, "closing")
            }
            Self::Failed(failure) => failure_kind(failure),
        }
    }

    /// The answer to the call that `ids` name.
    pub fn answer(&self, ids: &Ids, retry_after: &RetryAfter) -> Response {
        let mut response = match self {
            Self::Busy(busy, dialect) => throttled(busy, *dialect, ids, retry_after),
            Self::Batch(_) | Self::BatchMethod | Self::BatchType | Self::BatchTooLarge => {
                self.in_graphs_words(ids)
            }
            Self::Unauthorized(why, dialect) => {
                unauthorized(&why.to_string(), "Spillway-Token", *dialect, ids)
            }
            Self::Bearer(dialect) => unauthorized(&self.to_string(), "Bearer", *dialect, ids),
            other => other.problem().into_response(),
        };
        let headers = response.headers_mut();
        for (name, id) in [(REQUEST_ID, &ids.request), (CLIENT_REQUEST_ID, &ids.client)] {
            if let Ok(id) = HeaderValue::from_str(id) {
                headers.insert(name, id);
            }
        }
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        disarm(headers);
        response
    }

    /// Batches are Graph's, or after its model, and their clients look for its errors.
    fn in_graphs_words(&self, ids: &Ids) -> Response {
        let now = jiff::Timestamp::now();
        let body = graph_error(self.code(), &self.to_string(), ids, now);
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = self.status();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if matches!(self, Self::BatchMethod) {
            headers.insert(ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }

    fn problem(&self) -> Problem {
        let (title, detail) = match self {
            Self::Failed(failure) if failure.is_slow_upload() => {
                ("The call's body came too slowly", SLOW_UPLOAD.to_owned())
            }
            Self::Failed(cut @ Failure::UploadCut(_)) => {
                ("The call's body did not come whole", cut.to_string())
            }
            Self::Busy(..)
            | Self::Limiter(_)
            | Self::Capacity
            | Self::Full(_)
            | Self::Closing
            | Self::Failed(Failure::Gone) => ("The call was not let through", self.to_string()),
            Self::Failed(_) => ("The upstream did not answer", self.to_string()),
            _ => ("The call cannot be relayed as it is", self.to_string()),
        };
        Problem::new(self.status(), self.code(), title).detail(detail)
    }
}

impl Ids {
    /// The request's own number; the caller's own id is kept where it can be repeated safely.
    pub(super) fn of(request: RequestId, client: Option<&str>) -> Self {
        let request = request.to_string();
        let client = client.unwrap_or(&request).to_owned();
        Self { request, client }
    }
}

/// The caller's own id of its call.
pub(super) fn client_id(headers: &HeaderMap) -> Option<&str> {
    id(headers, &CLIENT_REQUEST_ID)
}

/// The upstream's own id of a call that it answered.
pub(super) fn upstream_id(headers: &HeaderMap) -> Option<&str> {
    id(headers, &REQUEST_ID)
}

/// An id that can be repeated and logged safely.
fn id<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let id = headers.get(name)?.to_str().ok()?;
    (!id.is_empty() && id.len() <= ID_BYTES_MAX).then_some(id)
}

fn throttled(busy: &Busy, dialect: Dialect, ids: &Ids, retry_after: &RetryAfter) -> Response {
    let seconds = retry_after.seconds(busy.wait, dialect.retry_after_s_max());
    let (media_type, body) = dialect.throttled(busy, ids, jiff::Timestamp::now());
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    if let Ok(blocked_by) = HeaderValue::from_str(&busy.blocked_by.to_string()) {
        headers.insert(BLOCKED_BY, blocked_by);
    }
    response
}

/// A 401 names the scheme that is asked for (RFC 9110, 11.6.1); the gateway's own header counts
/// as one.
fn unauthorized(why: &str, scheme: &'static str, dialect: Dialect, ids: &Ids) -> Response {
    let (media_type, body) = dialect.unauthorized(why, ids, jiff::Timestamp::now());
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
    response
}

fn header_kind(error: &HeaderError) -> (StatusCode, &'static str) {
    match error {
        HeaderError::Navigation => (StatusCode::FORBIDDEN, "navigation"),
        HeaderError::Origin => (StatusCode::FORBIDDEN, "origin_not_allowed"),
        HeaderError::Upgrade => (StatusCode::NOT_IMPLEMENTED, "upgrade_unsupported"),
        HeaderError::Expectation => (StatusCode::EXPECTATION_FAILED, "expectation"),
        HeaderError::Duplicate(_) | HeaderError::Hidden(_) | HeaderError::Malformed(..) => {
            (StatusCode::BAD_REQUEST, "bad_header")
        }
    }
}

/// The status and the code of an exchange that failed.
pub(super) fn failure_kind(failure: &Failure) -> (StatusCode, &'static str) {
    match failure {
        Failure::Unreachable(_) => (StatusCode::BAD_GATEWAY, "upstream_unreachable"),
        Failure::ConnectTimeout => (StatusCode::GATEWAY_TIMEOUT, "upstream_unreachable"),
        Failure::Broken(_) | Failure::Unreadable(_) | Failure::Switched => {
            (StatusCode::BAD_GATEWAY, "upstream_broken")
        }
        failure if failure.is_slow_upload() => (StatusCode::REQUEST_TIMEOUT, "upload_too_slow"),
        Failure::UploadCut(_) => (StatusCode::BAD_REQUEST, "upload_cut"),
        Failure::Ended(_) => (StatusCode::UNAUTHORIZED, "unauthorized"),
        Failure::TooLong => (StatusCode::GATEWAY_TIMEOUT, "upstream_too_slow"),
        Failure::Gone => (StatusCode::SERVICE_UNAVAILABLE, "closing"),
    }
}
