//! How fast the users' time passes.

use std::time::Duration;

/// Lengths of the users' time, which runs as much faster than the wall clock as the limits' does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    scale: u32,
}

impl Pace {
    /// `scale` times as fast as the wall clock, at least 1.
    pub(super) fn new(scale: u32) -> Self {
        Self {
            scale: scale.max(1),
        }
    }

    /// Lets `length` of the users' time pass.
    pub(super) async fn pause(self, length: Duration) {
        tokio::time::sleep(length / self.scale).await;
    }
}
