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
mod tests {
    use super::{coded::coded, *};

    /// Each coding by its sender's name for it.
    const CODINGS: [(&str, Coding); 4] = [
        ("gzip", Coding::Gzip),
        ("deflate", Coding::Deflate),
        ("raw", Coding::Deflate),
        ("br", Coding::Brotli),
    ];

    fn decoded(coding: Coding, coded: &[u8], piece: usize) -> io::Result<Vec<u8>> {
        let mut decoder = coding.decoder().unwrap();
        let mut out = Vec::new();
        for mut input in coded.chunks(piece) {
            loop {
                let piece = decoder.next(&mut input)?;
                if piece.is_empty() {
                    break;
                }
                out.extend_from_slice(piece);
            }
        }
        loop {
            let piece = decoder.finish()?;
            if piece.is_empty() {
                return Ok(out);
            }
            out.extend_from_slice(piece);
        }
    }

    fn texts() -> [Vec<u8>; 3] {
        let noise = (0..100_000_u64)
            .map(|n| (n.wrapping_mul(n) >> 3) as u8)
            .collect();
        [b"short".to_vec(), vec![b'a'; 300_000], noise]
    }

    #[test]
    fn each_coding_is_read_in_pieces_of_any_size() {
        for text in texts() {
            for (name, coding) in CODINGS {
                let coded = coded(name, &text);
                for piece in [1, 2, 7, 1_000, coded.len()] {
                    assert!(
                        decoded(coding, &coded, piece).unwrap() == text,
                        "{name} {piece}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_cut_text_is_an_error_and_an_empty_one_is_empty() {
        for (name, coding) in CODINGS {
            let coded = coded(name, &texts()[2]);
            for length in [1, coded.len() / 2, coded.len() - 1] {
                assert!(
                    decoded(coding, &coded[..length], 1_000).is_err(),
                    "{name} {length}"
                );
            }
            assert!(decoded(coding, &[], 1).unwrap().is_empty());
            assert!(decoded(coding, b"\x18 this is in none of them", 3).is_err());
        }
    }

    #[test]
    fn members_of_a_gzip_text_follow_one_another() {
        let members: [&[u8]; 3] = [b"one ", b"", b"two"];
        let coded = members.map(|member| coded("gzip", member)).concat();
        for piece in [1, coded.len()] {
            assert_eq!(decoded(Coding::Gzip, &coded, piece).unwrap(), b"one two");
        }
    }

    #[test]
    fn only_what_can_be_read_is_asked_for() {
        for (asked, narrowed) in [
            (&["gzip, deflate, br, zstd"][..], "gzip, deflate, br"),
            (&["zstd;q=1, gzip;q=0.5", "x-gzip"], "gzip;q=0.5, x-gzip"),
            (&["GZIP , identity;q=0"], "GZIP, identity;q=0"),
            (&["zstd"], "identity"),
            (&["*"], "identity"),
            (&[""], "identity"),
        ] {
            let mut headers = HeaderMap::new();
            for value in asked {
                headers.append(ACCEPT_ENCODING, HeaderValue::from_static(value));
            }
            narrow(&mut headers);
            let left: Vec<_> = headers.get_all(ACCEPT_ENCODING).iter().collect();
            assert_eq!(left, [narrowed]);
        }
        let mut none = HeaderMap::new();
        narrow(&mut none);
        assert!(none.is_empty());
    }
}
