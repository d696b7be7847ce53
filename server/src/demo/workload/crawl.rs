//! Reading everything, over and over: lists each section's pages and reads them all.

use std::time::Duration;

use super::{client::Error, dice::Dice, notebooks::Notebooks, pace::Pace};

/// How many pages a background crawl asks for at once: more than the two that its share of
/// a user's concurrency lets through.
const BACKGROUND_AT_ONCE: usize = 4;

/// For how long a background crawl works on a section's pages before it asks for the next,
/// in seconds. Without limits it would read twice what its share of an hour allows: it
/// uses that up in half an hour, waits for the rest, and so always has more to ask.
const DIGEST_S: (f64, f64) = (240.0, 480.0);

/// How much later than the one before it each background crawl begins, in seconds: one
/// reads while the other waits.
const STAGGER_S: f64 = 1_800.0;

/// Where nothing could be read at all, in seconds.
const RECOVER_S: f64 = 60.0;

/// A reader that never stops.
#[derive(Debug)]
pub(super) struct Crawl {
    notebooks: Notebooks,
    pace: Pace,
    dice: Dice,
    at_once: usize,
    digest_s: (f64, f64),
    start: Duration,
    /// How many sections are left out the first time, so that not all read the same.
    skipped: usize,
}

impl Crawl {
    /// The `n`th crawl of the background.
    pub(super) fn background(notebooks: Notebooks, pace: Pace, dice: Dice, n: u32) -> Self {
        Self {
            notebooks,
            pace,
            dice,
            at_once: BACKGROUND_AT_ONCE,
            digest_s: DIGEST_S,
            start: Duration::from_secs_f64(STAGGER_S) * n,
            skipped: 0,
        }
    }

    /// The `n`th of several callers who never pause, one page at a time.
    pub(super) fn saturating(notebooks: Notebooks, pace: Pace, dice: Dice, n: usize) -> Self {
        let digest_s = (0.0, 0.0);
        Self {
            notebooks,
            pace,
            dice,
            at_once: 1,
            digest_s,
            start: Duration::ZERO,
            skipped: n,
        }
    }

    /// Reads on and on.
    pub(super) async fn run(mut self) {
        self.pace.pause(self.start).await;
        loop {
            if self.everything().await.is_err() {
                self.pace.pause(Duration::from_secs_f64(RECOVER_S)).await;
            }
            self.skipped = 0;
        }
    }

    async fn everything(&mut self) -> Result<(), Error> {
        let sections = self.notebooks.sections().await?;
        for section in sections.into_iter().skip(self.skipped) {
            let pages = self.notebooks.pages_of(&section).await?;
            self.notebooks.read(pages, self.at_once).await;
            let digest = self.dice.seconds(self.digest_s.0..=self.digest_s.1);
            self.pace.pause(digest).await;
        }
        Ok(())
    }
}
