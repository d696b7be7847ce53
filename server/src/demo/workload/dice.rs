//! Chance, drawn from the demo's seed: each user has dice of their own, so that what one
//! draws does not depend on when another does.

use std::{ops::RangeInclusive, time::Duration};

use rand::{Rng, SeedableRng, rngs::StdRng, seq::SliceRandom};

#[derive(Debug)]
pub(in crate::demo) struct Dice(StdRng);

impl Dice {
    pub(in crate::demo) fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Dice of their own for somebody else.
    pub(in crate::demo) fn fork(&mut self) -> Self {
        Self::new(self.0.random())
    }

    /// A number of `range`, each as likely.
    pub(in crate::demo) fn number(&mut self, range: RangeInclusive<usize>) -> usize {
        self.0.random_range(range)
    }

    /// A length of `range_s`, in seconds, each as likely.
    pub(in crate::demo) fn seconds(&mut self, range_s: RangeInclusive<f64>) -> Duration {
        Duration::from_secs_f64(self.0.random_range(range_s))
    }

    /// At most `count` of `all`, in any order.
    pub(in crate::demo) fn some<T>(&mut self, mut all: Vec<T>, count: usize) -> Vec<T> {
        all.shuffle(&mut self.0);
        all.truncate(count);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = |seed| {
            let mut dice = Dice::new(seed);
            let mut other = dice.fork();
            (
                other.some((0..50).collect(), 5),
                dice.number(1..=1_000_000),
                dice.seconds(1.0..=9.0),
            )
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn no_more_is_drawn_than_there_is() {
        assert_eq!(Dice::new(1).some(vec!['a'], 3), ['a']);
        assert!(Dice::new(1).some(Vec::<char>::new(), 3).is_empty());
    }
}
