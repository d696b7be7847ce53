//! `Idempotency-Key` (draft-ietf-httpapi-idempotency-key-header): a request that is sent
//! again, because its answer got lost, is not a second request.
//!
//! Whoever comes with a key that is known and the same body shares the first one's wait and
//! its answer. What was granted is remembered for [`KEPT`]. What was refused is forgotten at
//! once: nothing was done, and the same key may try again when it is time. Keys do not outlive
//! the process: a permit whose answer got lost with it expires by itself.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared, WeakShared},
};
use http::{HeaderMap, StatusCode};
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::take::Outcome;
use crate::{
    access::{Caller, Stopped},
    http::Problem,
    limiter::Owner,
};

/// How long a request is remembered that was granted something: as long as a permit can be
/// renewed.
const KEPT: Duration = Duration::from_secs(15 * 60);

/// The most calls whose outcomes are remembered or waited for under a key: as many as may
/// hold permits.
const CALLS_MAX: usize = 100_000;

/// The longest key, in bytes.
const KEY_BYTES_MAX: usize = 255;

type Digest = [u8; 32];
type Outcomes = Arc<[Outcome]>;
type Work = BoxFuture<'static, Outcomes>;

/// Requests with keys. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeated(Arc<Mutex<Book>>);

/// A request with a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Of the key and its owner: keys of different owners are different.
    key: Digest,
    body: Digest,
    calls: usize,
}

#[derive(Debug, Default)]
struct Book {
    known: HashMap<Digest, Entry>,
    /// Those that are decided, by the instant at which they are forgotten.
    ends: BTreeSet<(Instant, Digest)>,
    calls: usize,
    next_number: u64,
}

#[derive(Debug)]
struct Entry {
    /// Tells it from others of the same key.
    number: u64,
    request: Request,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Lives for as long as somebody waits for it.
    Waiting(WeakShared<Work>),
    Decided(Outcomes),
}

/// What is known under a key.
struct Found {
    /// Whether the request is the same.
    same: bool,
    came: Came,
}

enum Came {
    Already(Outcomes),
    Later(Shared<Work>),
}

impl Found {
    async fn outcomes(self) -> Outcomes {
        match self.came {
            Came::Already(outcomes) => outcomes,
            Came::Later(waiting) => waiting.await,
        }
    }
}

impl Request {
    /// `key`, with `body`, asking for so many `calls`.
    pub(super) fn new(owner: &Owner, key: &str, body: &[u8], calls: usize) -> Self {
        let mut named = Sha256::new();
        named.update((owner.name().len() as u64).to_le_bytes());
        named.update(owner.name());
        named.update(key);
        Self {
            key: named.finalize().into(),
            body: Sha256::digest(body).into(),
            calls,
        }
    }
}

impl Repeated {
    /// Does `work`, unless the request is known: then what came of it, or comes while `caller`
    /// may wait. True: it was known.
    ///
    /// # Errors
    /// The key is another request's, or as many are remembered, or wait for `caller`, as may.
    pub(super) async fn once(
        &self,
        caller: &Caller,
        request: &Request,
        work: impl Future<Output = Outcomes> + Send + 'static,
    ) -> Result<(Outcomes, bool), Problem> {
        let found = {
            let mut book = self.lock();
            book.advance(Instant::now());
            match book.find(request) {
                Some(found) => Ok(found),
                None => Err(self.begin(&mut book, *request, work)?),
            }
        };
        // The lock is released: the last one who waits may be dropped here.
        match found {
            Ok(found) if !found.same => Err(reused()),
            Ok(found) => match caller.wait(found.outcomes()).await {
                Ok(outcomes) => Ok((outcomes, true)),
                Err(Stopped::Ended(not)) => Ok(([Outcome::Ended(not)].into(), true)),
                Err(Stopped::Full(full)) => Err(full.into()),
            },
            Err(begun) => Ok((begun.await, false)),
        }
    }

    fn begin(
        &self,
        book: &mut Book,
        request: Request,
        work: impl Future<Output = Outcomes> + Send + 'static,
    ) -> Result<Shared<Work>, Problem> {
        if book.calls.saturating_add(request.calls) > CALLS_MAX {
            return Err(full());
        }
        let pending = Pending {
            repeated: self.clone(),
            key: request.key,
            number: book.next_number,
        };
        let decided = async move {
            let outcomes = work.await;
            pending.decided(&outcomes);
            outcomes
        };
        let shared = decided.boxed().shared();
        if let Some(waiting) = shared.downgrade() {
            book.insert(request, waiting);
        }
        Ok(shared)
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    /// What is known under the request's key; nothing where those who waited have just gone.
    fn find(&self, request: &Request) -> Option<Found> {
        let entry = self.known.get(&request.key)?;
        let came = match &entry.state {
            State::Decided(outcomes) => Came::Already(Arc::clone(outcomes)),
            State::Waiting(waiting) => Came::Later(waiting.upgrade()?),
        };
        Some(Found {
            same: entry.request.body == request.body,
            came,
        })
    }

    fn insert(&mut self, request: Request, waiting: WeakShared<Work>) {
        self.remove(request.key);
        let entry = Entry {
            number: self.next_number,
            request,
            state: State::Waiting(waiting),
        };
        self.next_number += 1;
        self.calls += request.calls;
        self.known.insert(request.key, entry);
    }

    fn remove(&mut self, key: Digest) {
        if let Some(entry) = self.known.remove(&key) {
            self.calls -= entry.request.calls;
        }
    }

    fn advance(&mut self, now: Instant) {
        while let Some(&(at, key)) = self.ends.first()
            && at <= now
        {
            self.ends.remove(&(at, key));
            self.remove(key);
        }
    }
}

/// A request that is not decided. Dropped, it is forgotten: its callers have gone.
struct Pending {
    repeated: Repeated,
    key: Digest,
    number: u64,
}

impl Pending {
    fn decided(&self, outcomes: &Outcomes) {
        let granted = |outcome: &Outcome| matches!(outcome, Outcome::Taken { .. });
        if !outcomes.iter().any(granted) {
            return;
        }
        let mut book = self.repeated.lock();
        if let Some(entry) = book.known.get_mut(&self.key) {
            entry.state = State::Decided(Arc::clone(outcomes));
            book.ends.insert((Instant::now() + KEPT, self.key));
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut book = self.repeated.lock();
        let own = book.known.get(&self.key);
        let undecided = own.is_some_and(|entry| {
            entry.number == self.number && matches!(entry.state, State::Waiting(_))
        });
        if undecided {
            book.remove(self.key);
        }
    }
}

/// The request's key, in quotes as a structured field or not.
///
/// # Errors
/// What it names cannot be a key.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let mut keys = headers.get_all("idempotency-key").iter();
    let Some(key) = keys.next() else {
        return Ok(None);
    };
    let key = key.to_str().map_err(|_| bad_key())?.trim();
    let bare = key
        .strip_prefix('"')
        .and_then(|key| key.strip_suffix('"'))
        .unwrap_or(key);
    let visible = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    let sound = (1..=KEY_BYTES_MAX).contains(&bare.len()) && bare.bytes().all(visible);
    if sound && keys.next().is_none() {
        Ok(Some(bare))
    } else {
        Err(bad_key())
    }
}

fn bad_key() -> Problem {
    let title = "The Idempotency-Key cannot be used";
    Problem::new(StatusCode::BAD_REQUEST, "bad_idempotency_key", title).detail(format!(
        "give one key of 1 to {KEY_BYTES_MAX} visible ASCII characters other than quotes and backslashes"
    ))
}

fn reused() -> Problem {
    let title = "The Idempotency-Key is another request's";
    Problem::new(
        StatusCode::UNPROCESSABLE_ENTITY,
        "idempotency_key_reused",
        title,
    )
    .detail("it came with another body; take a new key for each request")
}

fn full() -> Problem {
    let title = "As many requests are remembered as may be";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "capacity", title)
        .detail("try again later, or without an Idempotency-Key")
}

#[cfg(test)]
mod tests;
