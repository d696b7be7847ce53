//! What HTML is made of, as far as links are concerned.

/// Attributes whose value is the address of what is shown in their place.
pub(super) const LINKS: [&[u8]; 4] = [b"src", b"data", b"data-fullres-src", b"data-render-src"];

/// Elements whose content is no markup (HTML, 13.1.2).
pub(super) const RAW: [&[u8]; 8] = [
    b"script",
    b"style",
    b"textarea",
    b"title",
    b"xmp",
    b"iframe",
    b"noembed",
    b"noframes",
];

/// The longest name that is kept, in bytes; no known one is as long.
const NAME_BYTES_MAX: usize = 20;

/// What ends an attribute's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    Quote(u8),
    Blank,
}

impl Until {
    /// Whether `byte` ends it.
    pub(super) const fn ends(self, byte: u8) -> bool {
        match self {
            Self::Quote(quote) => byte == quote,
            Self::Blank => is_blank(byte) || byte == b'>',
        }
    }
}

/// A name in lower case, as far as it fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Name(Vec<u8>);

impl Name {
    /// Begins with `byte`.
    pub(super) fn begin(&mut self, byte: u8) {
        self.0.clear();
        self.push(byte);
    }

    /// Goes on with `byte`.
    pub(super) fn push(&mut self, byte: u8) {
        if self.0.len() <= NAME_BYTES_MAX {
            self.0.push(byte.to_ascii_lowercase());
        }
    }

    /// The byte at `at`.
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.0.get(at).copied()
    }

    /// Whether it is one of `names`, which are shorter than what is kept.
    pub(super) fn is_one_of(&self, names: &[&[u8]]) -> bool {
        names.contains(&self.0.as_slice())
    }
}

pub(super) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}
