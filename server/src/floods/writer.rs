//! Writes down what must not be forgotten, in the order in which it was decided.
//!
//! One task commits what has come while it committed what was before: many strikes at once cost
//! one transaction. What the database does not take is tried again each second, and nothing
//! behind it goes first; whoever waits is told at once.

use std::{
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
};

use crate::{
    outbox::Outbox,
    store::{FloodAct, Store},
};

/// The most acts that wait. A commit takes some milliseconds.
const WAITING_MAX: usize = 4_096;

/// The most acts of one transaction.
const BATCH_MAX: usize = 512;

const RETRY: Duration = Duration::from_secs(1);

/// How long the end waits for a database that takes nothing.
const END_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Writer {
    sender: mpsc::Sender<Job>,
    end: Arc<Notify>,
    task: tokio::sync::Mutex<Option<JoinHandle<()>>>,
}

/// An act, or (`None`) the wish to know when all before it are written.
#[derive(Debug)]
struct Job {
    act: Option<FloodAct>,
    done: oneshot::Sender<Result<(), NotWritten>>,
}

/// Room for an act.
#[derive(Debug)]
pub(super) struct Place<'a>(mpsc::Permit<'a, Job>);

/// Ends when an act is written down.
#[derive(Debug)]
pub(super) struct Durable(oneshot::Receiver<Result<(), NotWritten>>);

/// It is not written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotWritten;

/// There is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoRoom;

impl Writer {
    /// One that wakes `outbox` when letters are owed.
    pub(super) fn start(store: Store, outbox: Outbox) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let end = Arc::new(Notify::new());
        let task = tokio::spawn(write(store, outbox, receiver, Arc::clone(&end)));
        Self {
            sender,
            end,
            task: tokio::sync::Mutex::new(Some(task)),
        }
    }

    /// Room for one act, or to wait for those before.
    pub(super) fn reserve(&self) -> Result<Place<'_>, NoRoom> {
        let place = self.sender.try_reserve();
        place.map(Place).map_err(|_| NoRoom)
    }

    /// How many acts wait to be written.
    pub(super) fn waiting(&self) -> usize {
        self.sender.max_capacity() - self.sender.capacity()
    }

    /// Takes no more, and ends when all that was taken is written or cannot be.
    pub(super) async fn close(&self) {
        self.end.notify_one();
        if let Some(task) = self.task.lock().await.take()
            && tokio::time::timeout(END_MAX, task).await.is_err()
        {
            tracing::error!("strikes were decided that the database does not take; they are lost");
        }
    }
}

impl Place<'_> {
    /// Has the act written. To be called where acts are decided, while their shard is locked.
    pub(super) fn write(self, act: FloodAct) -> Durable {
        self.send(Some(act))
    }

    /// Waits for all acts that were given before.
    pub(super) fn after_all(self) -> Durable {
        self.send(None)
    }

    fn send(self, act: Option<FloodAct>) -> Durable {
        let (done, durable) = oneshot::channel();
        self.0.send(Job { act, done });
        Durable(durable)
    }
}

impl Future for Durable {
    type Output = Result<(), NotWritten>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let done = Pin::new(&mut self.0).poll(context);
        done.map(|done| done.unwrap_or(Err(NotWritten)))
    }
}

async fn write(store: Store, outbox: Outbox, mut jobs: mpsc::Receiver<Job>, end: Arc<Notify>) {
    let mut batch = Vec::with_capacity(BATCH_MAX);
    loop {
        let received = tokio::select! {
            biased;
            received = jobs.recv_many(&mut batch, BATCH_MAX) => received,
            // What was taken before is still received.
            () = end.notified() => {
                jobs.close();
                continue;
            }
        };
        if received == 0 {
            return;
        }
        let (acts, waiting): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|job| (job.act, job.done)).unzip();
        let acts: Vec<_> = acts.into_iter().flatten().collect();
        let written = store.write_floods(&acts).await;
        if let Err(error) = &written {
            let error = error as &dyn std::error::Error;
            tracing::error!(
                error,
                acts = acts.len(),
                "strikes cannot be written; trying again"
            );
        }
        let told = written.map_err(|_| NotWritten);
        for done in waiting {
            // Who has left needs no answer.
            let _ = done.send(told);
        }
        if told.is_err() {
            again(&store, &acts).await;
        }
        if acts.iter().any(disables) {
            outbox.wake();
        }
    }
}

fn disables(act: &FloodAct) -> bool {
    matches!(act, FloodAct::Strike(strike) if strike.strike.disables)
}

async fn again(store: &Store, acts: &[FloodAct]) {
    loop {
        tokio::time::sleep(RETRY).await;
        if store.write_floods(acts).await.is_ok() {
            tracing::info!(acts = acts.len(), "strikes are written again");
            return;
        }
    }
}
