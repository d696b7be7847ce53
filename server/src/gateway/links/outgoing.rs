//! A call's body on its way up, with links of the gateway's said as the upstream's.
//!
//! Only JSON and HTML without a content coding are looked into. A short body of a known
//! length is rewritten whole, so that its length stays known: many servers take no other.
//! A longer one streams, and is sent in chunks.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::Body;
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_ENCODING, CONTENT_LENGTH},
};
use http_body::{Body as _, Frame};
use tokio::time::{Instant, timeout_at};

use super::{
    super::read_ahead::ReadAhead,
    Links,
    document::{Format, Text, drop_length_and_digests},
    rewrite,
};

/// The longest body that is rewritten whole, in bytes: as much as is kept of one anyway.
const WHOLE_BYTES_MAX: u64 = 64 * 1024;

/// How long such a body may take. A slower one streams.
const WHOLE_MAX: Duration = Duration::from_secs(5);

impl Links {
    /// A call's body, and its headers, as its upstream gets them.
    ///
    /// # Errors
    /// The body was cut.
    pub async fn outgoing(&self, headers: &mut HeaderMap, body: Body) -> Result<Body, axum::Error> {
        self.narrow_codings(headers);
        let format = format(headers).filter(|_| !body.is_end_stream());
        match format {
            None => Ok(body),
            // On the heap: calls without a body need not carry its size.
            Some(format) => Box::pin(self.body(format, headers, body)).await,
        }
    }

    async fn body(
        &self,
        format: Format,
        headers: &mut HeaderMap,
        body: Body,
    ) -> Result<Body, axum::Error> {
        let length = body.size_hint().exact();
        let mut body = ReadAhead::of(body);
        if length.is_some_and(|length| length <= WHOLE_BYTES_MAX) {
            read(&mut body).await?;
            if body.is_whole() {
                return Ok(self.whole(format, headers, body.into_ahead()));
            }
        }
        drop_length_and_digests(headers);
        Ok(Body::new(Rewritten {
            body,
            text: Some(Text::new(format, self.to_upstream.clone())),
        }))
    }

    fn whole(&self, format: Format, headers: &mut HeaderMap, text: Vec<u8>) -> Body {
        let rewritten = rewrite(format, &text, &self.to_upstream);
        if rewritten != text {
            drop_length_and_digests(headers);
            headers.insert(CONTENT_LENGTH, HeaderValue::from(rewritten.len()));
        }
        Body::from(rewritten)
    }
}

fn format(headers: &HeaderMap) -> Option<Format> {
    Format::of(headers).filter(|_| !headers.contains_key(CONTENT_ENCODING))
}

/// Reads to the end, or until it takes too long.
async fn read(body: &mut ReadAhead) -> Result<(), axum::Error> {
    let until = Instant::now() + WHOLE_MAX;
    while !body.is_whole()
        && let Ok(read) = timeout_at(until, body.read()).await
        && read?.is_some()
    {}
    Ok(())
}

/// A body that is rewritten as it is read.
struct Rewritten {
    body: ReadAhead,
    /// `None` once it has ended.
    text: Option<Text>,
}

impl Rewritten {
    fn poll_data(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, axum::Error>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| frame.map(|it| it.into_data().unwrap_or_default())))
    }
}

impl http_body::Body for Rewritten {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut out = Vec::new();
        while out.is_empty() && self.text.is_some() {
            let data = ready!(self.poll_data(context)).transpose()?;
            match (data, &mut self.text) {
                (Some(data), Some(text)) => text.push(&data, &mut out),
                (_, text) => {
                    if let Some(mut text) = text.take() {
                        text.end(&mut out);
                    }
                }
            }
        }
        Poll::Ready((!out.is_empty()).then(|| Ok(Frame::data(out.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.text.is_none()
    }
}
