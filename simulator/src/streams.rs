//! Bodies: whole, made while sent, or broken on purpose.

use std::io;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;

use crate::faults::Cut;
use crate::simulator::Slot;

/// A body.
#[derive(Debug)]
pub(crate) enum Payload {
    /// All of it.
    Bytes(Bytes),
    /// So many bytes, made while they are sent.
    Large(u64),
}

impl Payload {
    /// Its length in bytes.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Large(length) => *length,
        }
    }
}

const CHUNK: usize = 64 * 1024;
static FILLER: [u8; CHUNK] = [b'~'; CHUNK];

/// A body for a call that holds no slot.
pub(crate) fn unmetered(payload: Payload) -> Body {
    match payload {
        Payload::Bytes(bytes) => Body::from(bytes),
        Payload::Large(length) => made(length, None, false),
    }
}

/// The whole payload.
fn whole(payload: Payload, slot: Option<Slot>) -> Body {
    match payload {
        Payload::Bytes(bytes) => {
            drop(slot);
            Body::from(bytes)
        }
        Payload::Large(length) => made(length, slot, false),
    }
}

/// The payload, cut where a fault says so; the slot, if the call holds one, is free before the last byte leaves.
pub(crate) fn cut(payload: Payload, cut: Option<Cut>, slot: Option<Slot>) -> Body {
    match cut {
        Some(Cut::BeforeHeaders) => {
            drop(slot);
            broken()
        }
        Some(Cut::MidBody) => half(payload, slot),
        None => whole(payload, slot),
    }
}

/// Half of the payload, and then the connection breaks.
fn half(payload: Payload, slot: Option<Slot>) -> Body {
    match payload {
        Payload::Bytes(bytes) => {
            drop(slot);
            half_of(&bytes)
        }
        Payload::Large(length) => made(length / 2, slot, true),
    }
}

fn half_of(bytes: &Bytes) -> Body {
    let half = bytes.slice(..bytes.len() / 2);
    Body::from_stream(stream::unfold(Some(half), |half| async move {
        match half {
            Some(half) => Some((Ok(half), None)),
            None => Some((broken_pipe().await, None)),
        }
    }))
}

/// Nothing at all: the connection breaks before the head of the answer is written, since the
/// server flushes a head only together with the first of its body.
fn broken() -> Body {
    Body::from_stream(stream::iter([Err::<Bytes, _>(io::Error::from(
        io::ErrorKind::BrokenPipe,
    ))]))
}

/// `length` bytes, made as they are asked for. The slot ends with the chunk that is the last, or
/// when the client hangs up.
fn made(length: u64, slot: Option<Slot>, then_break: bool) -> Body {
    let chunks = stream::unfold((length, slot), move |(left, mut slot)| async move {
        if left == 0 {
            drop(slot.take());
            return match then_break {
                true => Some((broken_pipe().await, (0, None))),
                false => None,
            };
        }
        let size = left.min(CHUNK as u64);
        let left = left - size;
        if left == 0 {
            drop(slot.take());
        }
        let chunk = Bytes::from_static(&FILLER).slice(..size as usize);
        Some((Ok(chunk), (left, slot)))
    });
    Body::from_stream(chunks)
}

/// An error that comes once what went before it has been written out.
async fn broken_pipe() -> io::Result<Bytes> {
    tokio::task::yield_now().await;
    Err(io::Error::from(io::ErrorKind::BrokenPipe))
}
