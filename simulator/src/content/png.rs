//! A small real image: 16 by 16 pixels of one colour, as PNG.

/// The bytes of an image whose colour the seed decides.
pub(crate) fn image(seed: u64) -> Vec<u8> {
    let [red, green, blue, ..] = seed.to_le_bytes();
    let row: Vec<u8> = std::iter::once(0)
        .chain([red, green, blue].repeat(SIDE))
        .collect();
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    // 8 bits a channel, colour type 2 (RGB), no interlacing.
    chunk(
        &mut png,
        b"IHDR",
        &[0, 0, 0, SIDE as u8, 0, 0, 0, SIDE as u8, 8, 2, 0, 0, 0],
    );
    chunk(&mut png, b"IDAT", &stored(&row.repeat(SIDE)));
    chunk(&mut png, b"IEND", &[]);
    png
}

const SIDE: usize = 16;

/// A zlib stream of one uncompressed block; `data` is shorter than 64 KiB.
fn stored(data: &[u8]) -> Vec<u8> {
    let length = data.len() as u16;
    let mut stream = vec![0x78, 0x01, 0x01];
    stream.extend(length.to_le_bytes());
    stream.extend((!length).to_le_bytes());
    stream.extend(data);
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let checked: Vec<u8> = kind.iter().chain(data).copied().collect();
    png.extend(&checked);
    png.extend(crc32(&checked).to_be_bytes());
}

fn adler32(data: &[u8]) -> u32 {
    let sums = data.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    (sums.1 << 16) | sums.0
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32| (crc >> 1) ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| step(crc));
    !data.iter().fold(u32::MAX, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_equal_published_ones() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn an_image_is_small_and_depends_on_its_seed() {
        let png = image(0x00aa_bbcc);
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.len() < 1000);
        assert!(png.ends_with(b"IEND\xae\x42\x60\x82"));
        assert_ne!(png, image(1));
        assert_eq!(png, image(0x00aa_bbcc));
    }
}
