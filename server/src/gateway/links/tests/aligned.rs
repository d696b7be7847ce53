//! Whether a text differs from what became of it in nothing but the beginnings of its links.
//! Shares no code with what it checks.

/// How a text writes the characters of an address.
#[derive(Clone, Copy, Debug)]
pub enum Escapes {
    Json,
    Html,
}

/// Walks through both texts: wherever `after` has `here` and `before` has not, `before` has
/// `base` in some spelling; all else is equal. How many links were changed.
///
/// # Errors
/// Where in `before` something else has changed.
pub fn links_changed(
    escapes: Escapes,
    (base, here): (&str, &str),
    before: &[u8],
    after: &[u8],
) -> Result<usize, usize> {
    let (mut old, mut new, mut changed) = (before, after, 0);
    loop {
        let place = before.len() - old.len();
        if new.starts_with(here.as_bytes()) && !old.starts_with(here.as_bytes()) {
            old = &old[spelt(escapes, base, old).ok_or(place)?..];
            new = &new[here.len()..];
            changed += 1;
            continue;
        }
        match (old.split_first(), new.split_first()) {
            (Some((one, rest)), Some((other, others))) if one == other => {
                (old, new) = (rest, others);
            }
            (None, None) => return Ok(changed),
            _ => return Err(place),
        }
    }
}

/// How many bytes at the beginning of `text` are `base`, with its scheme's port or without.
fn spelt(escapes: Escapes, base: &str, text: &[u8]) -> Option<usize> {
    let (mut meant, mut taken, mut longest) = (String::new(), 0, None);
    while meant.len() < base.len() + ":00443".len() && taken < text.len() {
        let (byte, length) = unit(escapes, &text[taken..]);
        meant.push(char::from(byte));
        taken += length;
        let lower = meant.to_ascii_lowercase();
        let rest = lower.strip_prefix(base);
        let is_own_port = |port: &str| port.is_empty() || port.parse() == Ok(443_u16);
        if rest.is_some_and(|it| it.is_empty() || it.strip_prefix(':').is_some_and(is_own_port)) {
            longest = Some(taken);
        }
    }
    longest
}

/// One character, and how many bytes it takes.
fn unit(escapes: Escapes, text: &[u8]) -> (u8, usize) {
    let code = |digits: &[u8], radix| {
        let digits = std::str::from_utf8(digits).ok()?;
        u32::from_str_radix(digits, radix)
            .ok()
            .and_then(|code| u8::try_from(code).ok())
    };
    let escaped = match (escapes, text) {
        (Escapes::Json, [b'\\', b'u', a, b, c, d, ..]) => {
            code(&[*a, *b, *c, *d], 16).map(|byte| (byte, 6))
        }
        (Escapes::Json, [b'\\', byte, ..]) => Some((*byte, 2)),
        (Escapes::Html, [b'&', rest @ ..]) => {
            rest.iter().position(|it| *it == b';').and_then(|at| {
                let byte = match &rest[..at] {
                    [b'#', b'x' | b'X', digits @ ..] => code(digits, 16),
                    [b'#', digits @ ..] => code(digits, 10),
                    b"colon" => Some(b':'),
                    b"sol" => Some(b'/'),
                    b"period" => Some(b'.'),
                    _ => None,
                };
                byte.map(|byte| (byte, at + 2))
            })
        }
        _ => None,
    };
    escaped.unwrap_or((text[0], 1))
}
