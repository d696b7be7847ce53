//! Work beside other work, in one task.
//!
//! What is polled together is woken together: a connection is polled several times for each call,
//! and with it all that could end it, which takes locks and timers each time and never has anything
//! to say. So what seldom has something to say is polled when it was woken itself.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// Work that is polled only after it was woken, however often its task is.
pub(super) struct Aside<F> {
    work: Pin<Box<F>>,
    signal: Arc<Signal>,
    /// Raises the signal.
    waker: Waker,
}

/// Whether the work has something to do, and whom that concerns.
#[derive(Debug)]
struct Signal {
    raised: AtomicBool,
    task: AtomicWaker,
}

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.raised.store(true, Ordering::Release);
        self.task.wake();
    }
}

impl<F: Future> Aside<F> {
    pub(super) fn new(work: F) -> Self {
        let signal = Arc::new(Signal {
            raised: AtomicBool::new(true),
            task: AtomicWaker::new(),
        });
        Self {
            work: Box::pin(work),
            waker: Arc::clone(&signal).into(),
            signal,
        }
    }
}

impl<F: Future> Future for Aside<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let Self {
            work,
            signal,
            waker,
        } = &mut *self;
        // Before the look: who raises it afterwards wakes the task.
        signal.task.register(context.waker());
        if !signal.raised.swap(false, Ordering::AcqRel) {
            return Poll::Pending;
        }
        work.as_mut().poll(&mut Context::from_waker(waker))
    }
}

#[cfg(test)]
mod tests {
    use std::{future::poll_fn, sync::atomic::AtomicUsize};

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn it_is_polled_when_it_was_woken_and_not_with_its_task() {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&polls);
        let (done, mut end) = oneshot::channel();
        let work = poll_fn(move |context| {
            counted.fetch_add(1, Ordering::Relaxed);
            Pin::new(&mut end).poll(context)
        });
        let mut aside = Aside::new(work);
        for _ in 0..3 {
            assert!(futures_util::poll!(&mut aside).is_pending());
        }
        assert_eq!(polls.load(Ordering::Relaxed), 1);
        let ended = tokio::spawn(aside);
        done.send(7).unwrap();
        assert_eq!(ended.await.unwrap(), Ok(7));
        assert_eq!(polls.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn whoever_polls_it_last_is_woken() {
        let (done, end) = oneshot::channel();
        let mut aside = Aside::new(end);
        assert!(futures_util::poll!(&mut aside).is_pending());
        let moved = tokio::spawn(async move {
            tokio::task::yield_now().await;
            aside.await
        });
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        done.send(()).unwrap();
        assert!(moved.await.unwrap().is_ok());
    }
}
