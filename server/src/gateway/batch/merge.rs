//! The one answer to a batch, put together from those to its parts.

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderMap, HeaderValue,
    header::{
        CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, ETAG, LAST_MODIFIED,
        LOCATION, RETRY_AFTER,
    },
};

use super::{
    super::{
        links::Links,
        response_headers::{backward, disarm},
    },
    answer::Answer,
    hearing::Whole,
    links,
    memory::Reserved,
    request::Batch,
    run::{Answered, Run},
};

/// Headers that speak of one answer's bytes or fate, not of what it is merged into.
const OF_ONE_ANSWER: [&str; 4] = ["content-digest", "repr-digest", "digest", "content-md5"];

impl Run<'_> {
    /// The answers to all parts, in one.
    pub(super) async fn answer(mut self) -> Response {
        let answers: Vec<_> = self.answers.drain(..).flatten().collect();
        let mut waits = Vec::with_capacity(answers.len());
        for (part, answered) in answers.iter().enumerate() {
            waits.push(self.waits.seconds(&self.job, part, answered).await);
        }
        let links = self.job.upstream.links();
        if let Some(whole) = all_whole(&answers) {
            // Its client repeats it as a whole, when there is room for all of it.
            let wait = waits.into_iter().max().flatten();
            return passed_on(whole, wait, links, self.memory);
        }
        let own = self.job.own;
        let part = |(answered, wait): (_, Option<u64>)| {
            let mut answer = match answered {
                Answered::Part(mut answer) => {
                    links.inspect(|links| links::answer(&mut answer, links));
                    answer
                }
                Answered::Whole(whole) => own.of_whole(&whole),
            };
            if let Some(seconds) = wait {
                answer.set_header("Retry-After", seconds.to_string());
            }
            answer
        };
        let answers = answers.into_iter().zip(waits).map(part).collect();
        merged(self.job.batch, answers, self.head.take(), self.memory)
    }
}

/// The last of them, if all parts were answered with their whole batches, and by what is to
/// be passed on: a success that says nothing of them is not.
fn all_whole(answers: &[Answered]) -> Option<Whole> {
    let wholes = answers.iter().map(|answered| match answered {
        Answered::Whole(whole) if !whole.status.is_success() => Some(Whole::clone(whole)),
        _ => None,
    });
    wholes.reduce(|all, whole| all.and(whole)).flatten()
}

/// The answers to all parts, as they were listed. `head` is that of the first answer from
/// upstream, if there was one.
fn merged(
    batch: &Batch,
    answers: Vec<Answer>,
    head: Option<HeaderMap>,
    memory: Vec<Reserved>,
) -> Response {
    let mut pieces = vec![Bytes::from_static(b"{\"responses\":[")];
    for (n, (part, answer)) in batch.parts.iter().zip(answers).enumerate() {
        if n > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        pieces.push(answer.write(&part.id_json).into());
    }
    pieces.push(Bytes::from_static(b"]}"));
    let length: usize = pieces.iter().map(Bytes::len).sum();
    let mut response = Response::new(kept(pieces, memory));
    *response.headers_mut() = headers(head, length);
    response
}

/// An answer to the batch as a whole, passed on; with when to come back, in seconds.
fn passed_on(
    mut whole: Whole,
    wait: Option<u64>,
    links: Option<&Links>,
    memory: Vec<Reserved>,
) -> Response {
    links.inspect(|links| links::whole(&mut whole, links));
    let mut response = Response::new(kept(vec![whole.body], memory));
    *response.status_mut() = whole.status;
    *response.headers_mut() = whole.headers;
    if let Some(seconds) = wait {
        let seconds = HeaderValue::from(seconds);
        response.headers_mut().insert(RETRY_AFTER, seconds);
    }
    backward(response.headers_mut());
    response
}

/// A body that gives its memory back with its last piece.
fn kept(pieces: Vec<Bytes>, memory: Vec<Reserved>) -> Body {
    let pieces = pieces.into_iter();
    Body::from_stream(stream::unfold(
        (pieces, memory),
        |(mut pieces, memory)| async move {
            let piece = pieces.next()?;
            Some((Ok::<_, std::convert::Infallible>(piece), (pieces, memory)))
        },
    ))
}

fn headers(head: Option<HeaderMap>, length: usize) -> HeaderMap {
    let mut headers = match head {
        Some(mut head) => {
            backward(&mut head);
            head
        }
        None => {
            let mut own = HeaderMap::new();
            own.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            disarm(&mut own);
            own
        }
    };
    for name in [CONTENT_ENCODING, ETAG, LAST_MODIFIED, LOCATION, RETRY_AFTER] {
        headers.remove(name);
    }
    for name in OF_ONE_ANSWER {
        headers.remove(name);
    }
    let json = HeaderValue::from_static("application/json");
    headers.entry(CONTENT_TYPE).or_insert(json);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers
}
