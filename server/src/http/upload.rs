//! A call's body, as long as its client goes on sending it.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep};

use super::{Credit, credit::TooSlow};

/// A body that ends in an error when its client is too slow. Only the time counts in which
/// somebody waits for it: a call that is held, or an upstream that reads slowly, is not the
/// client's doing.
pub(super) struct Upload<B> {
    body: B,
    credit: Credit,
    waiting: Option<(Instant, Pin<Box<Sleep>>)>,
}

impl<B> Upload<B> {
    pub(super) fn new(body: B) -> Self {
        Self {
            body,
            credit: Credit::default(),
            waiting: None,
        }
    }

    /// Whether the credit lasted until now, where nothing has come.
    fn wait(&mut self, context: &mut Context<'_>) -> Poll<TooSlow> {
        let left = self.credit.left();
        let (_, end) = self
            .waiting
            .get_or_insert_with(|| (Instant::now(), Box::pin(sleep(left))));
        end.as_mut().poll(context).map(|()| TooSlow)
    }
}

impl<B> Body for Upload<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<axum::BoxError>,
{
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) else {
            return self.wait(context).map(|error| Some(Err(error.into())));
        };
        if let Some((begun, _)) = self.waiting.take() {
            self.credit.spend(begun.elapsed());
        }
        if let Some(Ok(frame)) = &frame {
            self.credit.earn(frame.data_ref().map_or(0, Bytes::len));
        }
        Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http_body_util::BodyExt as _;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_body_that_stops_is_an_error_and_one_that_nobody_reads_is_not() {
        let (client, mut pieces) = mpsc::channel::<Bytes>(1);
        let stream = futures_util::stream::poll_fn(move |context| {
            pieces
                .poll_recv(context)
                .map(|piece| piece.map(Ok::<_, axum::Error>))
        });
        let mut body = Upload::new(axum::body::Body::from_stream(stream));
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        client.send(Bytes::from_static(b"a")).await.unwrap();
        assert_eq!(
            body.frame().await.unwrap().unwrap().into_data().unwrap(),
            "a"
        );

        let begun = Instant::now();
        let error = body.frame().await.unwrap().unwrap_err();
        assert!(error.is::<TooSlow>(), "{error}");
        assert_eq!(begun.elapsed(), Duration::from_secs(60));
    }
}
