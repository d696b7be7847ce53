//! A random order that is the same each time.

/// `length` draws from all numbers below `count`, each before any comes again.
pub fn order(count: usize, length: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..length).map(|n| n % count).collect();
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for n in (1..order.len()).rev() {
        // Xorshift (Marsaglia 2003): good enough to defeat caches and prefetchers.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        order.swap(n, (state % (n as u64 + 1)) as usize);
    }
    order
}
