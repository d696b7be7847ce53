//! Bodies in each coding, whole, in pieces, cut and too long.

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
fn a_whole_body_is_had_plain_as_far_as_there_is_room() {
    let of = |name: &'static str, body: &[u8], room: usize| {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static(name));
        let mut left = room;
        plain(&headers, body, |length| {
            left.checked_sub(length).inspect(|it| left = *it).is_some()
        })
    };
    for text in texts() {
        for (name, _) in CODINGS {
            let header = if name == "raw" { "deflate" } else { name };
            let body = coded(name, &text);
            let read = of(header, &body, text.len()).unwrap();
            assert!(read.unwrap() == text, "{name}");
            let short = of(header, &body, text.len() - 1);
            assert!(matches!(short, Err(Unreadable::TooLong)), "{name}");
            let cut = of(header, &body[..body.len() - 1], text.len());
            assert!(matches!(cut, Err(Unreadable::Broken(_))), "{name}");
        }
    }
    assert!(matches!(of("identity", b"{}", 9), Ok(None)));
    assert!(matches!(of("gzip", b"", 9), Ok(Some(plain)) if plain.is_empty()));
    for unknown in ["zstd", "gzip, br"] {
        let read = of(unknown, b"{}", 9);
        assert!(matches!(read, Err(Unreadable::Unknown)), "{unknown}");
    }
    assert!(matches!(
        plain(&HeaderMap::new(), b"{}", |_| true),
        Ok(None)
    ));
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
