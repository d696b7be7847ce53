//! A policy tried on what was recorded.

use std::{collections::HashMap, fmt};

use jiff::Timestamp;
use spillway::{
    Instant,
    flood::{self, Component, ListKey, Peaks, Preview, Recorded, Stopped},
};

use super::{
    super::{
        Floods,
        policies::{Checked, FloodDocument},
    },
    DAYS, RECORDED_FROM,
};
use crate::store::{self, LeftOut, Recording};

/// The most lists that are named.
const NAMED_MAX: usize = 100;

/// What another policy would have done in the last [`DAYS`] days, beside the one in force. What
/// came while a list was disabled or paused was not counted, and nobody re-enables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// When the first recorded minute began; none: nothing is recorded.
    pub from: Option<Timestamp>,
    /// Until when it is recorded.
    pub until: Timestamp,
    /// How many lists had events.
    pub lists: usize,
    /// Thresholds from here on are tried on all minutes that reach them. A lower one is tried on
    /// fewer: too few strikes.
    pub complete_from: u32,
    /// When quiet lists were last left out of `lists` and `peaks` for want of room, if they were.
    pub left_out_at: Option<Timestamp>,
    /// How high the lists' busiest minutes went.
    pub peaks: Peaks,
    /// The threshold in force, and the one tried, of lists without a policy of their own.
    pub per_minute: [u32; 2],
    /// What the policy in force would have done.
    pub now: Outcome,
    /// What the other would have.
    pub then: Outcome,
    /// On how many lists they differ.
    pub differ: usize,
    /// Of these the [`NAMED_MAX`] with the most events between them.
    pub differing: Vec<Trial>,
}

/// What a policy does to all lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Lists with a strike.
    pub lists_struck: usize,
    /// Lists that are disabled at the end.
    pub lists_disabled: usize,
    /// Strikes of all.
    pub strikes: u64,
    /// Events that are not handled.
    pub events_stopped: u64,
}

/// What two policies do to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// The list.
    pub key: ListKey,
    /// The events of its busiest minute.
    pub peak: u32,
    /// Under the policy in force.
    pub now: Fate,
    /// Under the other.
    pub then: Fate,
}

/// What a policy does to one list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// Its strikes, over all days.
    pub strikes: u32,
    /// Its events that are not handled.
    pub events_stopped: u64,
    /// When it is disabled, if it is.
    pub disabled_at: Option<Timestamp>,
}

/// Why a policy is not tried.
#[derive(Debug, thiserror::Error)]
pub enum NotTried {
    /// It takes memory.
    #[error("one policy is tried at a time: try again when the other is done")]
    Busy,
    /// What is recorded cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The policy in force cannot be read, which a start would have refused.
    #[error("the policy in force cannot be read: {0}")]
    Policy(String),
}

impl Floods {
    /// Tries a component's policy.
    ///
    /// # Errors
    /// See [`NotTried`].
    pub async fn try_policy(
        &self,
        component: Component,
        policy: Checked,
    ) -> Result<Tried, NotTried> {
        let trying = self.inner.trying.try_acquire();
        let _one = trying.map_err(|_| NotTried::Busy)?;
        // Up to now.
        self.write_down().await;
        self.record().await;
        let now = self.now();
        let since = Instant(now.0.saturating_sub(DAYS * 86_400_000));
        let store = &self.inner.store;
        let left_out = store.floods_left_out(component).await?;
        let recorded = store.recorded_floods(component, since).await?;
        let in_force = self.in_force(component).await?;
        let floods = self.clone();
        let tried = tokio::task::spawn_blocking(move || {
            floods.tried(now, &recorded, &left_out, [&in_force, &policy])
        });
        // It is ended by nobody; a panic in it is the only way not to come back.
        tried
            .await
            .map_err(|error| NotTried::Policy(error.to_string()))
    }

    async fn in_force(&self, component: Component) -> Result<Checked, NotTried> {
        let stored = self.policy(component).await?;
        let document: Result<FloodDocument, _> = serde_json::from_str(&stored.document);
        let document = document.map_err(|error| NotTried::Policy(error.to_string()))?;
        document.check().map_err(NotTried::Policy)
    }

    fn tried(
        &self,
        now: Instant,
        recorded: &[Recorded],
        left_out: &[LeftOut],
        policies: [&Checked; 2],
    ) -> Tried {
        let clock = self.clock();
        let previews = policies.map(|policy| flood::preview(recorded, policy.of_lists()));
        let firsts = recorded.iter().filter_map(|list| list.minutes.first());
        let left = |what| left_out.iter().filter(move |left| left.what == what);
        let minutes = left(Recording::Minutes).map(|left| left.count.saturating_add(1));
        let mut differing = self.differing(recorded, &previews);
        let differ = differing.len();
        differing.truncate(NAMED_MAX);
        Tried {
            from: firsts
                .map(|it| it.starts)
                .min()
                .map(|at| clock.timestamp(at)),
            until: clock.timestamp(now),
            lists: recorded.len(),
            complete_from: minutes.max().unwrap_or(0).max(RECORDED_FROM),
            left_out_at: left(Recording::Peaks)
                .map(|left| clock.timestamp(left.at))
                .max(),
            peaks: previews[0].peaks,
            per_minute: policies.map(Checked::per_minute),
            now: (&previews[0]).into(),
            then: (&previews[1]).into(),
            differ,
            differing,
        }
    }

    /// The lists on which the two differ, those with the most events between them first.
    fn differing(&self, recorded: &[Recorded], previews: &[Preview; 2]) -> Vec<Trial> {
        let [now, then] = previews.each_ref().map(|preview| {
            let stopped = preview.stopped.iter();
            let fates = stopped.map(|stopped| (&stopped.key, self.fate(stopped)));
            fates.collect::<HashMap<_, _>>()
        });
        let fate = |of: &HashMap<_, Fate>, key| of.get(key).copied().unwrap_or_default();
        let trials = recorded.iter().map(|list| Trial {
            key: list.key.clone(),
            peak: list.peak(),
            now: fate(&now, &list.key),
            then: fate(&then, &list.key),
        });
        let mut trials: Vec<_> = trials.filter(|trial| trial.now != trial.then).collect();
        let apart = |it: &Trial| {
            let strikes = it.now.strikes.abs_diff(it.then.strikes);
            (
                it.now.events_stopped.abs_diff(it.then.events_stopped),
                strikes,
            )
        };
        trials.sort_by(|a, b| (apart(b), &a.key).cmp(&(apart(a), &b.key)));
        trials
    }

    fn fate(&self, stopped: &Stopped) -> Fate {
        Fate {
            strikes: stopped.strikes,
            events_stopped: stopped.events,
            disabled_at: stopped.disabled.map(|at| self.clock().timestamp(at)),
        }
    }
}

impl From<&Preview> for Outcome {
    fn from(preview: &Preview) -> Self {
        let stopped = &preview.stopped;
        Self {
            lists_struck: stopped.len(),
            lists_disabled: stopped.iter().filter(|it| it.disabled.is_some()).count(),
            strikes: stopped.iter().map(|it| u64::from(it.strikes)).sum(),
            events_stopped: stopped.iter().map(|it| it.events).sum(),
        }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.from.is_none() {
            return f.write_str("no event is recorded yet: nothing to try it on");
        }
        let Self { now, then, .. } = self;
        write!(
            f,
            "of {} lists it would have struck {} (now {}), stopped {} events (now {}) and disabled {} lists (now {})",
            self.lists,
            then.lists_struck,
            now.lists_struck,
            then.events_stopped,
            now.events_stopped,
            then.lists_disabled,
            now.lists_disabled,
        )
    }
}
