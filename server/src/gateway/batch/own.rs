//! The answers to parts that the gateway gives itself: explicit failures, in Graph's words.

use http::StatusCode;

use super::{
    super::{
        dialect::{Ids, graph_error},
        failure::Failure,
        refusal::{Refusal, failure_kind},
    },
    answer::Answer,
    hearing::Whole,
    plan::FAILED_DEPENDENCY,
};
use crate::http::retry_after_s;

/// "Bad gateway": what parts are answered whose batch was answered by something that says
/// nothing of them.
pub(super) const UNINTELLIGIBLE: u16 = 502;

/// Makes the answers to the parts of one batch.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    /// What names the batch in support.
    pub(super) ids: &'a Ids,
}

impl Own<'_> {
    /// It was not let through.
    pub(super) fn refused(&self, refusal: &Refusal) -> Answer {
        if let Refusal::Unauthorized(why, dialect) = refusal {
            let now = jiff::Timestamp::now();
            let (media_type, body) = dialect.unauthorized(&why.to_string(), self.ids, now);
            return Answer::own(refusal.status().as_u16(), media_type, &body);
        }
        let Refusal::Busy(busy, dialect) = refusal else {
            let status = refusal.status().as_u16();
            return self.error(status, refusal.code(), &refusal.to_string());
        };
        let (media_type, body) = dialect.throttled(busy, self.ids, jiff::Timestamp::now());
        let status = StatusCode::TOO_MANY_REQUESTS.as_u16();
        let mut answer = Answer::own(status, media_type, &body);
        answer.set_header("Spillway-Blocked-By", busy.blocked_by.to_string());
        answer
    }

    /// A part that it depends on failed.
    pub(super) fn failed_dependency(&self) -> Answer {
        let message = "A request that this one depends on has failed; it was not sent.";
        self.error(FAILED_DEPENDENCY, "FailedDependency", message)
    }

    /// Its batch was sent and there was no answer.
    pub(super) fn lost(&self, failure: &Failure) -> Answer {
        let (status, code) = failure_kind(failure);
        self.error(status.as_u16(), code, &failure.to_string())
    }

    /// The answer to its batch left it out.
    pub(super) fn left_out(&self) -> Answer {
        let message = "The upstream's answer to the batch left this request out.";
        self.error(StatusCode::BAD_GATEWAY.as_u16(), "upstream_broken", message)
    }

    /// What went before it was answered by something that makes no sense, so that it did not go.
    pub(super) fn not_sent(&self) -> Answer {
        let message = "The upstream answered other requests of the batch with what is no answer to a batch; this one \
                       was not sent.";
        self.error(UNINTELLIGIBLE, "upstream_broken", message)
    }

    /// The answer to its batch was more than is kept.
    pub(super) fn too_large(&self) -> Answer {
        let message =
            "The upstream's answer to the batch is too large; send the request by itself.";
        self.error(
            StatusCode::BAD_GATEWAY.as_u16(),
            "answer_too_large",
            message,
        )
    }

    /// It was sent as often as a batch may be.
    pub(super) fn exhausted(&self) -> Answer {
        let message = "The batch had to be split too often; send this request again.";
        self.error(
            StatusCode::SERVICE_UNAVAILABLE.as_u16(),
            "capacity",
            message,
        )
    }

    /// Its batch was answered as a whole, by what is not passed on.
    pub(super) fn of_whole(&self, whole: &Whole) -> Answer {
        let told = whole.status;
        if told.is_client_error() || told.is_server_error() {
            let message = format!("The upstream answered the batch as a whole, with {told}.");
            return self.error(told.as_u16(), "UnknownError", &message);
        }
        let message = format!(
            "The upstream answered the batch with {told}, but {}; whether the request was carried out is not known.",
            whole.why
        );
        self.error(UNINTELLIGIBLE, "upstream_broken", &message)
    }

    fn error(&self, status: u16, code: &str, message: &str) -> Answer {
        let body = graph_error(code, message, self.ids, jiff::Timestamp::now());
        let mut answer = Answer::own(status, "application/json", &body);
        let status = StatusCode::from_u16(status).unwrap_or_default();
        if let Some(seconds) = retry_after_s(status, code) {
            answer.set_header("Retry-After", seconds.to_string());
        }
        answer
    }
}
