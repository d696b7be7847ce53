//! A gateway without a network, for tests whose clock is not the machine's.

use std::{fmt, sync::Arc};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::Empty;

use super::Gateway;

type Answering = dyn Fn(Request<Empty<Bytes>>) -> BoxFuture<'static, (StatusCode, HeaderMap, Bytes)>
    + Send
    + Sync;

/// What answers requests.
pub(super) struct Direct(Arc<Answering>);

impl Direct {
    pub(super) async fn answer(
        &self,
        request: Request<Empty<Bytes>>,
    ) -> (StatusCode, HeaderMap, Bytes) {
        (self.0)(request).await
    }
}

impl fmt::Debug for Direct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Direct")
    }
}

impl Gateway {
    /// One whose requests are answered by `answering`.
    pub(crate) fn direct(answering: Arc<Answering>) -> Self {
        let mut gateway = Self::new(None).unwrap();
        gateway.direct = Some(Direct(answering));
        gateway
    }
}
