//! An answer's body on its way from the upstream to its caller, rewritten where it has to be.

use std::io;

use bytes::Bytes;

use super::{answer::Feed, links::Document};

/// Where an answer's body goes.
pub(super) struct Passage {
    feed: Feed,
    document: Option<Document>,
    /// Why the caller gets no more of it.
    cut: Option<io::Error>,
}

impl Passage {
    /// To `feed`, through `document`.
    pub(super) fn new(feed: Feed, document: Option<Document>) -> Self {
        Self {
            feed,
            document,
            cut: None,
        }
    }

    /// More of it has come. Waits while the caller is slower.
    pub(super) async fn push(&mut self, mut data: Bytes) {
        let Some(document) = &mut self.document else {
            if !data.is_empty() {
                self.feed.push(data).await;
            }
            return;
        };
        loop {
            match document.next(&mut data) {
                Ok(Some(piece)) => self.feed.push(piece).await,
                Ok(None) => return,
                Err(error) => return self.break_off(error),
            }
        }
    }

    /// All of it has come. Whether its caller got all of it; the error says why it could not.
    pub(super) async fn end(mut self) -> Result<bool, io::Error> {
        while let Some(document) = &mut self.document {
            match document.finish() {
                Ok(Some(piece)) => self.feed.push(piece).await,
                Ok(None) => break,
                Err(error) => self.break_off(error),
            }
        }
        match self.cut {
            Some(error) => Err(error),
            None => Ok(self.feed.end().await),
        }
    }

    /// What follows is read for the permit's sake alone.
    fn break_off(&mut self, error: io::Error) {
        self.feed = Feed::nowhere();
        self.document = None;
        self.cut = Some(error);
    }
}
