//! Events as newline-delimited JSON: each line is decided as it comes, and answered by a line.

use std::collections::VecDeque;

use axum::{
    body::Body,
    response::{IntoResponse as _, Response},
};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, stream};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;

use super::events::{ANSWER_BYTES, decided, put};
use crate::{access::Caller, floods::Floods, http::Problem};

const MEDIA_TYPE: &str = "application/x-ndjson";

/// The longest line, in bytes.
const LINE_BYTES_MAX: usize = 16 * 1024;

/// The most lines that are decided before their answers are sent.
const LINES_MAX: usize = 1_000;

/// Whether the headers say that the body is lines.
pub(super) fn are(headers: &HeaderMap) -> bool {
    let value = headers.get(header::CONTENT_TYPE);
    let essence = value.and_then(|value| value.as_bytes().split(|byte| *byte == b';').next());
    essence.is_some_and(|it| it.trim_ascii().eq_ignore_ascii_case(MEDIA_TYPE.as_bytes()))
}

/// Answers each line of the body by a line. It ends with the body, or behind a line that cannot
/// be read to its end.
pub(super) fn answer(floods: Floods, caller: Caller, body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE)),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    let lines = Lines {
        floods,
        caller,
        body,
        rest: BytesMut::new(),
        ready: VecDeque::new(),
        ended: false,
    };
    (headers, Body::from_stream(lines.answers())).into_response()
}

struct Lines {
    floods: Floods,
    caller: Caller,
    body: Body,
    /// What has come behind the last whole line.
    rest: BytesMut,
    /// Whole lines that are not decided.
    ready: VecDeque<Bytes>,
    ended: bool,
}

impl Lines {
    fn answers(self) -> impl Stream<Item = Result<Bytes, std::convert::Infallible>> {
        stream::unfold(self, |mut lines| async move {
            let answers = lines.next().await?;
            Some((Ok(answers), lines))
        })
    }

    /// The answers to the lines that have come; none: there are no more.
    async fn next(&mut self) -> Option<Bytes> {
        let mut broken = None;
        while self.ready.is_empty() && !self.ended {
            broken = self.read().await.err();
        }
        if self.ready.is_empty() && broken.is_none() {
            return None;
        }
        let number = self.ready.len().min(LINES_MAX);
        let decided: Vec<_> = self
            .ready
            .drain(..number)
            .map(|line| decided(&self.floods, &self.caller, &line))
            .collect();
        let mut answers = Vec::with_capacity(number * ANSWER_BYTES);
        for decided in decided.into_iter().chain(broken.map(Err)) {
            put(&mut answers, decided).await;
            answers.push(b'\n');
        }
        Some(answers.into())
    }

    /// Takes in what comes next of the body.
    async fn read(&mut self) -> Result<(), Problem> {
        match self.body.frame().await {
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data() {
                    self.rest.extend_from_slice(&data);
                }
            }
            Some(Err(error)) => {
                self.ended = true;
                return Err(broken(&error.to_string()));
            }
            None => {
                self.ended = true;
                // A last line without its end.
                self.rest.extend_from_slice(b"\n");
            }
        }
        while let Some(end) = memchr::memchr(b'\n', &self.rest) {
            let line = self.rest.split_to(end + 1).freeze();
            // Empty lines keep a connection open.
            if !line.trim_ascii().is_empty() {
                self.ready.push_back(line.slice(..end));
            }
        }
        if self.rest.len() > LINE_BYTES_MAX {
            self.ended = true;
            return Err(too_long());
        }
        Ok(())
    }
}

fn broken(detail: &str) -> Problem {
    let title = "The body cannot be read";
    Problem::new(StatusCode::BAD_REQUEST, "bad_body", title).detail(detail.to_owned())
}

fn too_long() -> Problem {
    let title = "The line is too long";
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", title).detail(format!(
        "at most {LINE_BYTES_MAX} bytes; this line and what follows it was not read"
    ))
}
