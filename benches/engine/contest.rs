//! Several contenders, timed round by round in turn.

use std::time::Instant;

/// Each figure is the median of so many rounds; one before them fills tables and caches.
const ROUNDS: usize = 9;

/// What one contender does in a round.
pub struct Entry {
    calls: usize,
    round: Box<dyn FnMut() -> u128>,
}

impl Entry {
    /// A round of so many calls.
    pub fn of(calls: usize, mut round: impl FnMut() + 'static) -> Self {
        Self::prepared(calls, (), || (), move |()| round())
    }

    /// The same on something that is made anew for each round, untimed.
    pub fn prepared<T: 'static>(
        calls: usize,
        first: T,
        mut prepare: impl FnMut() -> T + 'static,
        mut round: impl FnMut(&mut T) + 'static,
    ) -> Self {
        let mut next = first;
        let timed = move || {
            let begun = Instant::now();
            round(&mut next);
            let took = begun.elapsed().as_nanos();
            next = prepare();
            took
        };
        Self {
            calls,
            round: Box::new(timed),
        }
    }
}

/// The first to enter is what the others are compared with.
pub struct Contest {
    title: &'static str,
    entries: Vec<(&'static str, Entry)>,
}

impl Contest {
    pub const fn new(title: &'static str) -> Self {
        Self {
            title,
            entries: Vec::new(),
        }
    }

    pub fn enter(&mut self, name: &'static str, entry: Entry) {
        self.entries.push((name, entry));
    }

    pub fn print(mut self) {
        let mut rounds = vec![Vec::new(); self.entries.len()];
        for round in 0..=ROUNDS {
            for (figures, (_, entry)) in rounds.iter_mut().zip(&mut self.entries) {
                let ns = (entry.round)() as f64 / entry.calls as f64;
                if round > 0 {
                    figures.push(ns);
                }
            }
        }
        println!("| {} | ns a call | ratio |", self.title);
        println!("|---|---|---|");
        let peer = rounds[0].clone();
        for (figures, (name, _)) in rounds.iter_mut().zip(&self.entries) {
            // Each round against the peer's of the same round.
            let mut ratios: Vec<_> = figures
                .iter()
                .zip(&peer)
                .map(|(ns, peer)| ns / peer)
                .collect();
            println!(
                "| {name} | {:.0} | {:.2} |",
                median(figures),
                median(&mut ratios)
            );
        }
        println!();
    }
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
