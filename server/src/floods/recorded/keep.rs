//! Writes down what is recorded, in batches, once a minute.

use std::sync::{MutexGuard, PoisonError};

use spillway::{
    Instant,
    flood::{Component, MINUTE_MS},
};

use super::{
    super::{Floods, Stored},
    DAYS, MINUTES, MINUTES_MAX, PEAKS_MAX, Recorder,
};
use crate::store::{FloodMinute, LeftOut, Recording};

/// The most days' busiest minutes that are written at a time: at midnight all lists have one.
const PEAKS_AT_ONCE: usize = 20_000;

impl Floods {
    pub(in crate::floods) fn recorder(&self) -> MutexGuard<'_, Recorder> {
        let recorder = self.inner.recorder.lock();
        recorder.unwrap_or_else(PoisonError::into_inner)
    }

    /// Fills the last hour from the database.
    pub(in crate::floods) async fn restore_recorded(&self, now: Instant) -> Stored<()> {
        let since = Instant(now.0.saturating_sub(MINUTES as u64 * MINUTE_MS));
        let minutes = self.inner.store.flood_minutes(since).await?;
        let mut recorder = self.recorder();
        minutes.iter().for_each(|it| recorder.restore(it));
        Ok(())
    }

    /// Writes down what was recorded, if that was not yet done in this minute.
    pub(in crate::floods) async fn record_each_minute(&self) {
        let minute = self.now().0 / MINUTE_MS;
        if minute != self.recorder().written.0 / MINUTE_MS {
            self.record().await;
        }
    }

    /// Writes down what was recorded.
    pub(in crate::floods) async fn record(&self) {
        let now = self.now();
        self.recorder().written = now;
        for (what, most) in [
            (Recording::Minutes, usize::MAX),
            (Recording::Peaks, PEAKS_AT_ONCE),
        ] {
            if let Err(error) = self.record_some(what, most, now).await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "counts of lists are recorded a minute later");
            }
        }
    }

    async fn record_some(&self, what: Recording, most: usize, now: Instant) -> Stored<()> {
        let (taken, left) = {
            let mut recorder = self.recorder();
            let due = recorder.due(what);
            (due.take(most), due.take_left_out())
        };
        let (numbers, minutes): (Vec<i64>, Vec<FloodMinute>) = taken.into_iter().unzip();
        let written = self.write_recorded(what, &minutes, &left, now).await;
        if written.is_err() {
            // To be written again: the database keeps the higher count.
            let mut recorder = self.recorder();
            let due = recorder.due(what);
            let taken = numbers.into_iter().zip(minutes);
            taken.for_each(|(number, minute)| due.add(number, minute));
            left.into_iter()
                .for_each(|(component, count)| due.put_left_out(component, count));
        }
        written
    }

    async fn write_recorded(
        &self,
        what: Recording,
        minutes: &[FloodMinute],
        left: &[(Component, u32)],
        at: Instant,
    ) -> Stored<()> {
        let store = &self.inner.store;
        store.record_floods(what, minutes).await?;
        for &(component, count) in left {
            let left = LeftOut {
                component,
                what,
                at,
                count,
            };
            store.leave_out(left).await?;
        }
        Ok(())
    }

    /// Forgets what is too old or too much. To be called each hour.
    pub(in crate::floods) async fn trim_recorded(&self) -> Stored<()> {
        let now = self.now();
        self.recorder().forget(now);
        let before = Instant(now.0.saturating_sub(DAYS * 86_400_000));
        let rows_max = |what| match what {
            Recording::Minutes => MINUTES_MAX,
            Recording::Peaks => PEAKS_MAX,
        };
        let store = &self.inner.store;
        store.trim_recorded_floods(before, now, rows_max).await
    }
}

impl Recorder {
    fn due(&mut self, what: Recording) -> &mut super::Due {
        match what {
            Recording::Minutes => &mut self.minutes,
            Recording::Peaks => &mut self.peaks,
        }
    }
}
