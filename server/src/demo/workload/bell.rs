//! What brings everybody to their notebooks at once: a meeting, the start of a lesson.

use tokio::sync::watch;

use super::{dice::Dice, pace::Pace};

/// The first time comes soon, so that whoever opens the dashboard sees it: five minutes.
const FIRST_S: f64 = 300.0;

/// From one time to the next: so long that the app's hour drains by a part that can be seen.
const BETWEEN_S: (f64, f64) = (2_400.0, 4_200.0);

/// Rings for all who listen.
#[derive(Debug)]
pub(super) struct Bell {
    listeners: watch::Sender<()>,
    pace: Pace,
    dice: Dice,
}

impl Bell {
    pub(super) fn new(listeners: watch::Sender<()>, pace: Pace, dice: Dice) -> Self {
        Self {
            listeners,
            pace,
            dice,
        }
    }

    /// Rings now and then while anybody listens.
    pub(super) async fn run(mut self) {
        let mut silence = self.dice.seconds(FIRST_S..=FIRST_S);
        loop {
            self.pace.pause(silence).await;
            if self.listeners.send(()).is_err() {
                return;
            }
            silence = self.dice.seconds(BETWEEN_S.0..=BETWEEN_S.1);
        }
    }
}
