//! A person who looks into their notebooks: opens one, a few sections of it, and pages in tabs.

use std::time::Duration;

use tokio::sync::watch;

use super::{client::Error, dice::Dice, notebooks::Notebooks, pace::Pace};

/// From one look to the next, where no bell rings, in seconds.
const REST_S: (f64, f64) = (1_200.0, 3_600.0);

/// From the bell to the first click: nobody is quicker than a second, nobody slower than two minutes.
const REACTION_S: (f64, f64) = (1.0, 120.0);

/// From one click to the next, in seconds.
const CLICK_S: (f64, f64) = (2.0, 15.0);

/// Sections opened in one look, and pages opened in each.
const SECTIONS_MAX: usize = 3;
const PAGES_MAX: usize = 6;

/// Pages that are opened at once, in tabs.
const TABS: usize = 4;

/// One person.
#[derive(Debug)]
pub(super) struct Scan {
    notebooks: Notebooks,
    pace: Pace,
    dice: Dice,
    bell: watch::Receiver<()>,
}

impl Scan {
    pub(super) fn new(
        notebooks: Notebooks,
        pace: Pace,
        dice: Dice,
        bell: watch::Receiver<()>,
    ) -> Self {
        Self {
            notebooks,
            pace,
            dice,
            bell,
        }
    }

    /// Looks, rests, and looks again.
    pub(super) async fn run(mut self) {
        self.bell.mark_unchanged();
        loop {
            let rest = self.dice.seconds(REST_S.0..=REST_S.1);
            let reaction = self.dice.seconds(REACTION_S.0..=REACTION_S.1);
            tokio::select! {
                () = self.pace.pause(rest) => {}
                rung = self.bell.changed() => match rung {
                    Ok(()) => self.pace.pause(reaction).await,
                    Err(_) => return,
                },
            }
            // What cannot be read today is tried another time.
            let _ = self.look().await;
        }
    }

    async fn look(&mut self) -> Result<(), Error> {
        let notebooks = self.notebooks.all().await?;
        for notebook in self.dice.some(notebooks, 1) {
            self.click().await;
            let sections = self.notebooks.sections_of(&notebook).await?;
            let opened = self.dice.number(1..=SECTIONS_MAX);
            for section in self.dice.some(sections, opened) {
                self.click().await;
                self.look_into(&section).await?;
            }
        }
        Ok(())
    }

    async fn look_into(&mut self, section: &str) -> Result<(), Error> {
        let pages = self.notebooks.pages_of(section).await?;
        self.click().await;
        let opened = self.dice.number(1..=PAGES_MAX);
        let pages = self.dice.some(pages, opened);
        self.notebooks.read(pages, TABS).await;
        Ok(())
    }

    async fn click(&mut self) {
        let thought: Duration = self.dice.seconds(CLICK_S.0..=CLICK_S.1);
        self.pace.pause(thought).await;
    }
}
