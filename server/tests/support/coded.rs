//! Bodies in content codings.

use async_compression::{
    Level,
    codecs::{
        BrotliEncoder, DeflateEncoder, EncodeV2, GzipEncoder, ZlibEncoder, brotli,
        flate::params::FlateEncoderParams,
    },
    core::util::{PartialBuffer, WriteBuffer},
};

fn encoded(mut codec: impl EncodeV2, text: &[u8]) -> Vec<u8> {
    let mut buffer = vec![0; 2 * text.len() + 1_000];
    let mut to = WriteBuffer::new_initialized(&mut buffer);
    codec
        .encode(&mut PartialBuffer::new(text), &mut to)
        .unwrap();
    assert!(codec.finish(&mut to).unwrap());
    let length = to.written_len();
    buffer.truncate(length);
    buffer
}

/// `text` in a content coding; `raw` is `deflate` without zlib's frame.
pub fn coded(coding: &str, text: &[u8]) -> Vec<u8> {
    let level = || FlateEncoderParams::from(Level::Default);
    match coding {
        "gzip" => encoded(GzipEncoder::new(level()), text),
        "deflate" => encoded(ZlibEncoder::new(level()), text),
        "raw" => encoded(DeflateEncoder::new(level()), text),
        _ => {
            let quality = brotli::params::EncoderParams::default().quality(Level::Fastest);
            encoded(BrotliEncoder::new(quality), text)
        }
    }
}
