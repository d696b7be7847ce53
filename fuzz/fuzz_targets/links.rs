//! No body, header or query, whatever its bytes and wherever it is cut into pieces, ends the
//! process or changes in anything but the beginnings of its links.
//!
//! An input is two bytes and a text: what the text is (`J`SON, `H`TML, `L`ocation, `Q`uery, or
//! `G`zip, `D`eflate and `B`rotli of JSON), and what the sizes of its pieces begin with.

#![no_main]

use std::{io, sync::LazyLock};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, LOCATION},
};
use libfuzzer_sys::fuzz_target;

use aligned::{Escapes, links_changed};
use links::{Answers, Document, Format, Links, decode, rewrite};

// The server's own files: the whole server would take minutes to build.
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/config/address.rs"]
mod address;
#[path = "../../server/src/gateway/links/tests/aligned.rs"]
mod aligned;
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/gateway/links/mod.rs"]
mod links;
#[allow(dead_code, reason = "the server uses the rest")]
#[path = "../../server/src/gateway/read_ahead.rs"]
mod read_ahead;

/// Where they look for each other.
mod config {
    pub use crate::address::WebAddress;
}

const BASE: &str = "https://up.example";
const HERE: &str = "http://gate.example:3001/up";

/// The most that is read of a text in a coding: a few bytes may say megabytes.
const PLAIN_BYTES_MAX: usize = 1024 * 1024;

static LINKS: LazyLock<Links> = LazyLock::new(|| {
    let address = |text: &str| text.parse().expect("an address");
    Links::new(&address(BASE), &address("http://gate.example:3001"), "up")
});

static OTHERS: LazyLock<Links> = LazyLock::new(|| {
    let address = |text: &str| text.parse().expect("an address");
    Links::new(
        &address("https://elsewhere.example"),
        &address("http://there.example"),
        "up",
    )
});

fuzz_target!(|input: &[u8]| {
    let [kind, seed, text @ ..] = input else {
        return;
    };
    match kind {
        b'J' => document(Format::Json, *seed, text),
        b'H' => document(Format::Html, *seed, text),
        b'L' => location(text),
        b'Q' => query(text),
        b'G' => coded("gzip", *seed, text),
        b'D' => coded("deflate", *seed, text),
        b'B' => coded("br", *seed, text),
        _ => {}
    }
});

fn document(format: Format, seed: u8, text: &[u8]) {
    let (media_type, escapes) = match format {
        Format::Json => ("application/json", Escapes::Json),
        Format::Html => ("text/html", Escapes::Html),
    };
    let whole = rewrite(format, text, LINKS.to_gateway());
    let pieces = in_pieces(begin(media_type, None), seed, text);
    assert_eq!(pieces.expect("it is not coded"), whole, "cut");
    assert!(links_changed(escapes, (BASE, HERE), text, &whole).is_ok());
    let back = rewrite(format, &whole, LINKS.to_upstream());
    assert!(links_changed(escapes, (HERE, BASE), &whole, &back).is_ok());
    if !text.to_ascii_lowercase().windows(9).any(|it| it == b"elsewhere") {
        // Spelt with escapes it could still be there.
        let plain = !text.iter().any(|byte| matches!(byte, b'\\' | b'&'));
        assert!(!plain || rewrite(format, text, OTHERS.to_gateway()) == text);
    }
}

fn begin(media_type: &'static str, coding: Option<&'static str>) -> Document {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    if let Some(coding) = coding {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    }
    let document = Answers::to(&HeaderMap::new(), &LINKS).begin(StatusCode::OK, &mut headers);
    assert!(!headers.contains_key(CONTENT_ENCODING));
    document.expect("it is looked into")
}

/// Sizes that depend on the seed alone.
fn in_pieces(mut document: Document, seed: u8, mut text: &[u8]) -> io::Result<Vec<u8>> {
    let (mut out, mut size) = (Vec::new(), usize::from(seed));
    while !text.is_empty() && out.len() < PLAIN_BYTES_MAX {
        size = (size * 5 + 3) % 61;
        let (piece, rest) = text.split_at(text.len().min(size + 1));
        let mut piece = Bytes::copy_from_slice(piece);
        while let Some(told) = document.next(&mut piece)? {
            out.extend_from_slice(&told);
            if out.len() >= PLAIN_BYTES_MAX {
                return Ok(out);
            }
        }
        text = rest;
    }
    while out.len() < PLAIN_BYTES_MAX
        && let Some(told) = document.finish()?
    {
        out.extend_from_slice(&told);
    }
    Ok(out)
}

fn coded(coding: &'static str, seed: u8, text: &[u8]) {
    let pieces = in_pieces(begin("application/json", Some(coding)), seed, text);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding));
    let mut length = 0;
    let plain = decode(&mut headers, Bytes::copy_from_slice(text), |more| {
        length += more;
        length < PLAIN_BYTES_MAX
    });
    match (plain, pieces) {
        (Ok(plain), Ok(pieces)) => {
            assert!(!headers.contains_key(CONTENT_ENCODING));
            assert_eq!(pieces, rewrite(Format::Json, &plain, LINKS.to_gateway()));
        }
        (Err(links::Unreadable::TooLong), _) => {}
        (plain, pieces) => assert!(plain.is_err() && pieces.is_err()),
    }
}

fn location(text: &[u8]) {
    let Ok(sent) = HeaderValue::from_bytes(text) else {
        return;
    };
    let mut headers = HeaderMap::new();
    headers.insert(LOCATION, sent.clone());
    let document = Answers::to(&HeaderMap::new(), &LINKS).begin(StatusCode::CREATED, &mut headers);
    assert!(document.is_none() && headers.len() == 1);
    let told = headers[LOCATION].as_bytes();
    let tail = told.strip_prefix(HERE.as_bytes());
    assert!(told == text || tail.is_some_and(|tail| text.ends_with(tail)));
}

fn query(text: &[u8]) {
    let Ok(text) = std::str::from_utf8(text) else {
        return;
    };
    let told = LINKS.query(text);
    let (before, after) = (text.split('&'), told.split('&'));
    assert_eq!(before.clone().count(), after.clone().count());
    for (before, after) in before.zip(after) {
        let name = before.split_once('=').map_or(before, |(name, _)| name);
        let mapped = after.strip_prefix(name).and_then(|it| it.strip_prefix('='));
        assert!(before == after || mapped.is_some_and(|it| it.starts_with(BASE)));
    }
}
