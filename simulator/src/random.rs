//! Deterministic scatter: everything the lookalike invents follows from the seed.

/// One round of splitmix64: spreads a number over all 64 bits.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A number that depends on the seed and on every part, and on where one part ends.
pub(crate) fn hash(seed: u64, parts: &[&str]) -> u64 {
    let bytes = parts
        .iter()
        .flat_map(|part| part.bytes().map(u64::from).chain([0x100]));
    bytes.fold(mix(seed), |state, byte| mix(state ^ byte))
}

/// A number from `low` to `high`, both included; `low` where the range is empty.
pub(crate) fn between(random: u64, low: u64, high: u64) -> u64 {
    match high.checked_sub(low).and_then(|span| span.checked_add(1)) {
        Some(span) => low + random % span,
        None => low,
    }
}

/// The item that a random number picks, or `""` from an empty list.
pub(crate) fn pick(random: u64, items: &[&'static str]) -> &'static str {
    let index = random.checked_rem(items.len() as u64).unwrap_or(0);
    items.get(index as usize).copied().unwrap_or("")
}

/// A version 4 GUID.
pub(crate) fn guid(random: u64) -> String {
    let (high, low) = (random, mix(random));
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        0x8000 | (low >> 48) & 0x3fff,
        low & 0xffff_ffff_ffff,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_boundary_counts() {
        assert_ne!(hash(1, &["ab", "c"]), hash(1, &["a", "bc"]));
        assert_ne!(hash(1, &["a"]), hash(2, &["a"]));
        assert_eq!(hash(1, &["a", "b"]), hash(1, &["a", "b"]));
    }

    #[test]
    fn ranges_hold() {
        for n in 0..1000 {
            assert!((3..=9).contains(&between(mix(n), 3, 9)));
        }
        assert_eq!(between(77, 5, 5), 5);
        assert_eq!(between(77, 5, 4), 5);
        assert_eq!(pick(5, &[]), "");
    }

    #[test]
    fn guids_look_like_version_4() {
        for n in 0..100 {
            let guid = guid(mix(n));
            assert_eq!((guid.len(), guid.as_bytes()[14]), (36, b'4'));
            assert!(b"89ab".contains(&guid.as_bytes()[19]), "{guid}");
        }
    }
}
