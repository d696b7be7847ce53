//! The engine's views as the live data that pages and programs read.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use spillway::{
    BreakerView, BudgetView, Cursor, Instant, Key, Lane, LayerView, Reason, Scope, ShadowView,
    Status, WorkloadView,
};
use spillway_app::live;

use super::core::unix_s;
use super::tally::Tally;
use super::{Inner, Limiter, Limiters, WorkloadIndex};
use crate::clock::Clock;

/// The most users on one page of the state.
pub const USERS_MAX: usize = 1_000;

/// A cursor that no page gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is none that a page of the state gave out")]
pub struct BadCursor;

impl Limiters {
    /// Everything, as of now: at most `users_max` users of each workload, after `cursor`;
    /// only `upstream`, if it is named.
    ///
    /// # Errors
    /// The cursor is none of ours.
    pub fn state(
        &self,
        upstream: Option<&str>,
        cursor: Option<&str>,
        users_max: usize,
    ) -> Result<live::State, BadCursor> {
        let cursor = cursor.map(parse_cursor).transpose()?;
        let as_of = self.clock().wall_now();
        let shown = self
            .all()
            .iter()
            .filter(|limiter| upstream.is_none_or(|name| name == limiter.name()));
        let mut state = live::State {
            as_of: text(as_of),
            started_at: text(self.clock().started_at()),
            time_scale: self.clock().scale(),
            upstreams: shown
                .map(|limiter| limiter.view(cursor.as_ref(), users_max.min(USERS_MAX)))
                .collect(),
            house: None,
        };
        state.sort();
        Ok(state)
    }
}

impl Limiter {
    /// A workload's limits that refuse nothing, and what they would have refused.
    #[must_use]
    pub fn shadows(&self, workload: WorkloadIndex) -> Vec<live::Shadow> {
        let (view, _) = self.inner.joined(self.inner.clock.now(), workload, None, 0);
        let shadows = view.shadows.iter();
        shadows.map(|it| shadow(it, &self.inner.clock)).collect()
    }

    fn view(&self, cursor: Option<&Cursor>, users_max: usize) -> live::Upstream {
        let workloads =
            (0..self.inner.workloads.len()).map(|index| self.inner.view(index, cursor, users_max));
        live::Upstream {
            name: self.name().to_owned(),
            unwritable: self.ready().is_err(),
            pauses: self.pauses().into_iter().map(live::Pause::from).collect(),
            forced: self.held(),
            workloads: workloads.collect(),
        }
    }
}

impl Inner {
    /// The budget of the app that calls belong to where they name none.
    fn app_key(&self, workload: usize) -> Key {
        Key {
            workload,
            scope: Scope::App,
            app: self.app.clone(),
            tenant: String::new(),
            user: String::new(),
        }
    }

    fn view(&self, workload: usize, cursor: Option<&Cursor>, users_max: usize) -> live::Workload {
        let clock = &self.clock;
        let now = clock.now();
        let (mut view, mut tally) = self.joined(now, workload, cursor, users_max);
        if view.full_until.is_some() && view.shared.is_empty() {
            // What was lost is unknown, but not that the app's budget counts as full.
            let app = self.budget_view(now, &self.app_key(workload));
            view.shared.extend(app);
        }
        let lane = |lane| live::Lane {
            waiting: u32::try_from(*view.waiting.get(lane)).unwrap_or(u32::MAX),
            waiting_ms_max: view
                .waiting_since
                .get(lane)
                .map_or(0, |since| wall_ms(clock, now.ms_since(since))),
            waiting_since: view
                .waiting_since
                .get(lane)
                .map(|since| text(clock.timestamp(since))),
            ..tally.lane(lane)
        };
        let lanes = live::Lanes {
            foreground: lane(Lane::Foreground),
            background: lane(Lane::Background),
        };
        let recent = tally.recent(unix_s(clock, clock.now()));
        live::Workload {
            name: self.workloads[workload].name.clone(),
            lanes,
            recent,
            shared: view.shared_total as u64,
            full_until: view.full_until.map(|until| text(clock.timestamp(until))),
            users: view.users_total as u64,
            next_cursor: next_cursor(&view, users_max),
            budgets: view
                .shared
                .iter()
                .chain(&view.users)
                .map(|budget| self.shown(budget))
                .collect(),
            shadows: view.shadows.iter().map(|it| shadow(it, clock)).collect(),
        }
    }

    /// What all shards' engines show together, and what became of their calls.
    fn joined(
        &self,
        now: Instant,
        workload: usize,
        cursor: Option<&Cursor>,
        users_max: usize,
    ) -> (WorkloadView, Tally) {
        let (mut views, mut tally) = (Vec::new(), Tally::default());
        for mut core in self.shards.each() {
            views.push(core.engine.view(now, workload, cursor, users_max));
            tally.add(&core.tallies[workload]);
        }
        (WorkloadView::joined(views, users_max), tally)
    }

    fn budget_view(&self, now: Instant, key: &Key) -> Option<BudgetView> {
        let mut core = self.shards.lock(self.shards.of(&key.app));
        core.engine.budget_view(now, key)
    }
}

pub(super) fn shown(budget: &BudgetView, clock: &Clock) -> live::Budget {
    live::Budget {
        scope: scope(budget.key.scope),
        app: budget.key.app.clone(),
        tenant: budget.key.tenant.clone(),
        user: budget.key.user.clone(),
        layers: budget
            .layers
            .iter()
            .map(|layer| layer_shown(layer, clock))
            .collect(),
        breaker: breaker_shown(&budget.breaker, clock),
    }
}

fn breaker_shown(breaker: &BreakerView, clock: &Clock) -> live::Breaker {
    let shown = |at: spillway::Instant| text(clock.timestamp(at));
    live::Breaker {
        state: match breaker.status {
            Status::Closed => live::BreakerState::Closed,
            Status::Soft => live::BreakerState::Soft,
            Status::Open => live::BreakerState::Open,
            Status::HalfOpen => live::BreakerState::HalfOpen,
            Status::Recovering => live::BreakerState::Recovering,
        },
        since: breaker.since.map(shown),
        until: breaker.until.map(shown),
        reason: breaker.reason.map(|reason| match reason {
            Reason::Throttled => live::BreakerReason::Throttled,
            Reason::Percentage => live::BreakerReason::Percentage,
            Reason::Outage => live::BreakerReason::Outage,
            Reason::Forced => live::BreakerReason::Forced,
        }),
        probing: breaker.probing,
        ramp_calls: breaker.ramp_calls,
        reported_permille: breaker.reported_permille,
        soft_permille: None,
        reported_at: breaker.reported_at.map(shown),
        drift: breaker.drift,
        by: None,
    }
}

fn shadow(shadow: &ShadowView, clock: &Clock) -> live::Shadow {
    let (dimension, window_ms) = dimension(shadow.dimension);
    live::Shadow {
        scope: scope(shadow.scope),
        dimension,
        window_ms,
        limit: shadow.limit,
        foreground: shadow.would_refuse.foreground,
        background: shadow.would_refuse.background,
        since: text(clock.timestamp(shadow.since)),
    }
}

pub(super) const fn scope(scope: Scope) -> live::Scope {
    match scope {
        Scope::User => live::Scope::User,
        Scope::Tenant => live::Scope::Tenant,
        Scope::App => live::Scope::App,
    }
}

const fn dimension(dimension: spillway::Dimension) -> (live::Dimension, Option<u64>) {
    match dimension {
        spillway::Dimension::Rate { window_ms } => (live::Dimension::Rate, Some(window_ms)),
        spillway::Dimension::Concurrency => (live::Dimension::Concurrency, None),
    }
}

fn layer_shown(layer: &LayerView, clock: &Clock) -> live::Layer {
    let (dimension, window_ms) = dimension(layer.dimension);
    let count = |used: u64| u32::try_from(used).unwrap_or(u32::MAX);
    live::Layer {
        dimension,
        window_ms,
        limit: layer.limit,
        used: count(layer.used.total()),
        used_background: count(layer.used.background),
        share_permille: layer.share_permille,
        lingering: count(layer.lingering),
        frees_at: layer.frees_at.map(|at| text(clock.timestamp(at))),
    }
}

fn wall_ms(clock: &Clock, ms: u64) -> u64 {
    u64::try_from(clock.wall(ms).as_millis()).unwrap_or(u64::MAX)
}

/// RFC 3339 in UTC with milliseconds.
pub(super) fn text(at: jiff::Timestamp) -> String {
    format!("{at:.3}")
}

/// Where the next page begins: closeness and key of the last user shown, in an opaque form.
fn next_cursor(view: &WorkloadView, users_max: usize) -> Option<String> {
    let last = view
        .users
        .last()
        .filter(|_| view.users.len() == users_max)?;
    written_cursor(&(last.closeness_permille, last.key.clone()))
}

pub(super) fn written_cursor(cursor: &Cursor) -> Option<String> {
    let json = serde_json::to_vec(cursor).ok()?;
    Some(URL_SAFE_NO_PAD.encode(json))
}

pub(super) fn parse_cursor(cursor: &str) -> Result<Cursor, BadCursor> {
    let json = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| BadCursor)?;
    serde_json::from_slice::<(u64, Key)>(&json).map_err(|_| BadCursor)
}
