//! Random numbers that are the same on every machine: splitmix64 (Steele, Lea and Flood,
//! "Fast splittable pseudorandom number generators", 2014).

/// A stream of numbers, decided by its seed alone.
#[derive(Clone, Debug)]
pub struct Prng(u64);

impl Prng {
    /// The stream of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A stream of its own for each `part`: what one part draws never shifts what others do,
    /// so that a script stays the same when parts of it are dropped.
    pub fn of_part(seed: u64, part: u64) -> Self {
        let mut stream = Self(seed ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03));
        stream.next();
        stream
    }

    /// The next number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    /// The same for 32 bits.
    pub fn small(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.between(u64::from(low), u64::from(high))).unwrap_or(high)
    }

    /// True in so many of a hundred cases.
    pub fn percent(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    /// One of these.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        let n = self.next() % choices.len() as u64;
        choices[usize::try_from(n).unwrap_or(0)]
    }
}

/// Mixes all bits of a number.
pub const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
