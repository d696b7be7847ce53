//! The compressed forms that lie beside a served file, so that the server need not make them for each visitor.

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

/// What the server looks for beside `name.js`: `name.js.br`, `name.js.gz`.
pub const SUFFIXES: [&str; 2] = [".br", ".gz"];

/// Brotli's best quality and largest standard window (4 MiB): done once, served often.
const BROTLI_QUALITY: u32 = 11;
const BROTLI_WINDOW_LOG2: u32 = 22;

/// File types that compression shrinks; pictures and fonts are compressed in themselves.
const TYPES: [&str; 8] = [
    "wasm",
    "js",
    "css",
    "html",
    "json",
    "svg",
    "txt",
    "webmanifest",
];

/// Is a file of this name worth compressing?
pub fn pays(path: &Path) -> bool {
    path.extension()
        .and_then(|extension| extension.to_str())
        .is_some_and(|extension| TYPES.contains(&extension))
}

/// The compressed forms of some bytes, in the order of [`SUFFIXES`].
pub fn forms(bytes: &[u8]) -> std::io::Result<[Vec<u8>; 2]> {
    Ok([brotli(bytes)?, gzip(bytes)?])
}

fn brotli(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut compressed = Vec::new();
    let buffer_bytes = 64 * 1024;
    let mut writer = brotli::CompressorWriter::new(
        &mut compressed,
        buffer_bytes,
        BROTLI_QUALITY,
        BROTLI_WINDOW_LOG2,
    );
    writer.write_all(bytes)?;
    drop(writer);
    Ok(compressed)
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut writer = GzEncoder::new(Vec::new(), Compression::best());
    writer.write_all(bytes)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn both_forms_read_back() {
        let bytes = b"gauge ".repeat(1000);
        let [br, gz] = forms(&bytes).unwrap();
        let (mut from_br, mut from_gz) = (Vec::new(), Vec::new());
        brotli::Decompressor::new(br.as_slice(), 4096)
            .read_to_end(&mut from_br)
            .unwrap();
        flate2::read::GzDecoder::new(gz.as_slice())
            .read_to_end(&mut from_gz)
            .unwrap();
        assert_eq!((from_br, from_gz), (bytes.clone(), bytes));
    }

    #[test]
    fn pictures_stay_as_they_are() {
        assert!(pays(Path::new("pkg/spillway_bg.wasm")));
        assert!(!pays(Path::new("favicon.png")));
        assert!(!pays(Path::new("LICENSE")));
    }
}
