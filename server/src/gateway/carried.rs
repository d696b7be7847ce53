//! Work that its caller does as long as he waits for it, and that goes on without him.
//!
//! Most calls are over when their answer's head has come, its body with it. A task of its own
//! for each would cost more than most of them: so a call is carried by its client's connection
//! until there is an answer, and what is left of it then, or when its client leaves, becomes a
//! task.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use tokio::runtime::Handle;

/// Work that is never dropped before it is done; only the runtime's end ends it.
pub(super) struct Carried(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Carried {
    pub(super) fn new(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl Future for Carried {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let Some(work) = &mut self.0 else {
            return Poll::Ready(());
        };
        let polled = work.as_mut().poll(context);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        // What panicked is over.
        if std::thread::panicking() {
            return;
        }
        if let Some(work) = self.0.take()
            && let Ok(runtime) = Handle::try_current()
        {
            runtime.spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn work_is_done_by_its_caller_or_without_him() {
        let (begin, begun) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let mut carried = Carried::new(async {
            begun.await.unwrap();
            end.send(7).unwrap();
        });
        assert!(futures_util::poll!(&mut carried).is_pending());
        drop(carried);
        begin.send(()).unwrap();
        assert_eq!(ended.await.unwrap(), 7, "in a task of its own");

        let (end, mut ended) = oneshot::channel();
        let mut carried = Carried::new(async { end.send(7).unwrap() });
        (&mut carried).await;
        assert_eq!(ended.try_recv(), Ok(7));
        carried.await;
    }
}
