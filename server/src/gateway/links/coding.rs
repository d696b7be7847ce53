//! Content codings: what is asked for, and how what comes is read.

use std::io;

use async_compression::{
    codecs::{BrotliDecoder, DecodeV2, DeflateDecoder, GzipDecoder, ZlibDecoder},
    core::util::{PartialBuffer, WriteBuffer},
};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING},
};

/// Room for what one step decodes, in bytes.
const BUFFER_BYTES: usize = 16 * 1024;

/// A coding that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
}

impl Coding {
    /// That of a body with these headers. `None`: it cannot be read.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(CONTENT_ENCODING).iter();
        let coding = match (values.next(), values.next()) {
            (None, _) => return Some(Self::Identity),
            (Some(value), None) => value.to_str().ok()?,
            _ => return None,
        };
        Self::named(coding.trim())
    }

    fn named(name: &str) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match () {
            () if is("identity") || name.is_empty() => Some(Self::Identity),
            () if is("gzip") || is("x-gzip") => Some(Self::Gzip),
            () if is("deflate") => Some(Self::Deflate),
            () if is("br") => Some(Self::Brotli),
            () => None,
        }
    }

    /// What reads it; `None`: there is nothing to decode.
    pub(super) fn decoder(self) -> Option<Decoder> {
        (self != Self::Identity).then(|| Decoder {
            coding: self,
            codec: None,
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            ended: false,
        })
    }
}

/// Asks for no coding that could not be read: what of `Accept-Encoding` is left goes to the
/// upstream. Where nothing is asked for, any coding may come, so none stays none.
pub(super) fn narrow(headers: &mut HeaderMap) {
    if !headers.contains_key(ACCEPT_ENCODING) {
        return;
    }
    let values = headers.get_all(ACCEPT_ENCODING).iter();
    let values: Vec<_> = values.filter_map(|value| value.to_str().ok()).collect();
    let asked = values.iter().flat_map(|value| value.split(','));
    let known: Vec<_> = asked.map(str::trim).filter(|it| is_known(it)).collect();
    let narrowed = if known.is_empty() {
        "identity".to_owned()
    } else {
        known.join(", ")
    };
    if let Ok(narrowed) = HeaderValue::from_str(&narrowed) {
        headers.insert(ACCEPT_ENCODING, narrowed);
    }
}

fn is_known(asked: &str) -> bool {
    let name = asked.split(';').next().unwrap_or_default().trim();
    !name.is_empty() && Coding::named(name).is_some()
}

/// Reads a coded body piece by piece.
pub(super) struct Decoder {
    coding: Coding,
    /// There once a byte has come.
    codec: Option<Box<dyn DecodeV2 + Send>>,
    buffer: Box<[u8]>,
    /// Whether the coded text has ended.
    ended: bool,
}

impl Decoder {
    /// Decodes the beginning of `input` and takes it away. Empty: all of it is taken, and
    /// more is needed.
    ///
    /// # Errors
    /// It is not in this coding.
    pub(super) fn next(&mut self, input: &mut &[u8]) -> io::Result<&[u8]> {
        let mut written = 0;
        while written == 0
            && let Some(first) = input.first()
        {
            let codec = self.codec.get_or_insert_with(|| codec(self.coding, *first));
            if std::mem::take(&mut self.ended) {
                begin_next_member(self.coding, codec.as_mut())?;
            }
            let mut from = PartialBuffer::new(*input);
            let mut to = WriteBuffer::new_initialized(&mut self.buffer);
            self.ended = codec.decode(&mut from, &mut to)?;
            written = to.written_len();
            let used = from.written_len();
            if written == 0 && used == 0 && !self.ended {
                return Err(io::ErrorKind::InvalidData.into());
            }
            *input = input.get(used..).unwrap_or_default();
        }
        Ok(self.buffer.get(..written).unwrap_or_default())
    }

    /// What is left when there is no more input; empty: nothing.
    ///
    /// # Errors
    /// The coded text was cut.
    pub(super) fn finish(&mut self) -> io::Result<&[u8]> {
        let mut written = 0;
        if let Some(codec) = self.codec.as_mut().filter(|_| !self.ended) {
            let mut to = WriteBuffer::new_initialized(&mut self.buffer);
            self.ended = codec.finish(&mut to)?;
            written = to.written_len();
            if written == 0 && !self.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.get(..written).unwrap_or_default())
    }
}

/// Why a body that is coded cannot be had plain.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// Its coding is not known here, or there are several.
    #[error("its content coding is not known")]
    Unknown,
    /// It is not coded as it says, or was cut.
    #[error("it is not coded as it says")]
    Broken(#[from] io::Error),
    /// It is more than there is room for.
    #[error("it is too long")]
    TooLong,
}

/// A whole body without its coding; `None`: it has none. `has_room` is told of each piece's
/// length, at most 16 KiB, and may end the matter.
pub(super) fn plain(
    headers: &HeaderMap,
    mut coded: &[u8],
    mut has_room: impl FnMut(usize) -> bool,
) -> Result<Option<Vec<u8>>, Unreadable> {
    let coding = Coding::of(headers).ok_or(Unreadable::Unknown)?;
    let Some(mut decoder) = coding.decoder() else {
        return Ok(None);
    };
    let mut plain = Vec::new();
    let mut keep = |piece: &[u8]| {
        plain.extend_from_slice(piece);
        has_room(piece.len())
            .then_some(piece.len())
            .ok_or(Unreadable::TooLong)
    };
    while !coded.is_empty() {
        keep(decoder.next(&mut coded)?)?;
    }
    while keep(decoder.finish()?)? > 0 {}
    Ok(Some(plain))
}

/// What reads a text in `coding` that begins with `first`.
fn codec(coding: Coding, first: u8) -> Box<dyn DecodeV2 + Send> {
    match coding {
        Coding::Brotli => Box::new(BrotliDecoder::new()),
        // With or without zlib's frame: servers disagree. RFC 1950, 2.2: method 8, a
        // window of at most 32 KiB.
        Coding::Deflate if first & 0x0f == 8 && first >> 4 <= 7 => Box::new(ZlibDecoder::new()),
        Coding::Deflate => Box::new(DeflateDecoder::new()),
        Coding::Gzip | Coding::Identity => Box::new(GzipDecoder::new()),
    }
}

/// A gzip text may have several members (RFC 1952, 2.2); nothing follows the others.
fn begin_next_member(coding: Coding, codec: &mut dyn DecodeV2) -> io::Result<()> {
    match coding {
        Coding::Gzip => codec.reinit(),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

// One encoder for these tests and those at the boundary.
#[cfg(test)]
#[path = "../../../tests/support/coded.rs"]
mod coded;

#[cfg(test)]
mod tests;
