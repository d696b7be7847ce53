//! A number that changes when what the site is made of changes.

use std::hash::{DefaultHasher, Hash, Hasher};

/// The fingerprint of some inputs, as text for a stamp file.
///
/// The hash may differ between compiler releases, which at worst builds the site once more.
pub fn of(inputs: &[&[u8]]) -> String {
    let mut hasher = DefaultHasher::new();
    inputs.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_depends_on_content_and_on_where_inputs_end() {
        assert_eq!(of(&[b"ab", b"c"]), of(&[b"ab", b"c"]));
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"ab", b"d"]));
        assert_ne!(of(&[b"ab", b"c"]), of(&[b"a", b"bc"]));
    }
}
