//! What the figures say has happened since the last look.

use std::collections::HashMap;

use spillway::{Dimension, Lane, Scope, ScopeSurvey, Status};
use spillway_app::live::{self, BreakerState};

use super::{LanePoint, LanePoints, LayerPoint, Point, ScopeState, point::severity};
use crate::limiter::{Figures, Tally, WorkloadFigures};

/// One look at one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) upstream: String,
    pub(super) workload: String,
    pub(super) point: Point,
}

/// Remembers what was counted until the last look.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    counted: HashMap<(String, String), Counted>,
}

/// What only ever grows, while the process lives.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    foreground: LanePoint,
    background: LanePoint,
    throttled: u64,
}

impl Sampler {
    /// What is seen of each workload: the figures of an upstream, and what it reported since the
    /// last look, by workload.
    pub(super) fn samples(&mut self, figures: &[(Figures, Vec<Option<u32>>)]) -> Vec<Seen> {
        let mut samples = Vec::new();
        for (upstream, reported) in figures {
            let reported = reported.iter().copied().chain(std::iter::repeat(None));
            for (workload, reported) in upstream.workloads.iter().zip(reported) {
                let place = (upstream.name.clone(), workload.name.clone());
                let now = Counted::of(&workload.tally);
                let before = self.counted.insert(place, now).unwrap_or_default();
                samples.push(Seen {
                    upstream: upstream.name.clone(),
                    workload: workload.name.clone(),
                    point: point(workload, now, before, reported),
                });
            }
        }
        samples
    }
}

impl Counted {
    fn of(tally: &Tally) -> Self {
        let lane = |lane| {
            let calls = tally.lane(lane);
            LanePoint {
                admitted: calls.admitted,
                held: calls.held,
                refused: calls.refused,
                ..LanePoint::default()
            }
        };
        Self {
            foreground: lane(Lane::Foreground),
            background: lane(Lane::Background),
            throttled: tally.throttled(),
        }
    }
}

fn point(
    workload: &WorkloadFigures,
    now: Counted,
    before: Counted,
    reported_permille: Option<u32>,
) -> Point {
    let survey = &workload.survey;
    let lane = |lane, now: LanePoint, before: LanePoint| LanePoint {
        admitted: now.admitted.saturating_sub(before.admitted),
        held: now.held.saturating_sub(before.held),
        refused: now.refused.saturating_sub(before.refused),
        waiting_max: *survey.waiting.get(lane),
        in_flight_max: *survey.in_flight.get(lane),
    };
    let seen = Point {
        samples: 1,
        layers: survey.scopes.iter().flat_map(layers).collect(),
        reported_permille,
        upstream_throttled: now.throttled.saturating_sub(before.throttled),
        lanes: LanePoints {
            foreground: lane(Lane::Foreground, now.foreground, before.foreground),
            background: lane(Lane::Background, now.background, before.background),
        },
        breakers: survey.scopes.iter().map(state).collect(),
    };
    // Brings layers and states into their order.
    let mut point = Point::default();
    point.merge(&seen);
    point
}

fn layers(of: &ScopeSurvey) -> impl Iterator<Item = LayerPoint> {
    let permille = |used: u64, limit: u32| {
        let permille = used.saturating_mul(1_000) / u64::from(limit.max(1));
        u32::try_from(permille).unwrap_or(u32::MAX)
    };
    of.layers.iter().map(move |layer| {
        let (dimension, window_ms) = match layer.dimension {
            Dimension::Rate { window_ms } => (live::Dimension::Rate, Some(window_ms)),
            Dimension::Concurrency => (live::Dimension::Concurrency, None),
        };
        LayerPoint {
            scope: scope(of.scope),
            dimension,
            window_ms,
            used_permille: permille(layer.used_max, layer.limit),
            used_background_permille: permille(layer.used_background_max, layer.limit),
        }
    })
}

fn state(of: &ScopeSurvey) -> ScopeState {
    let states = of.budgets.iter().filter(|(_, count)| **count > 0);
    let states = states.map(|(status, _)| breaker(*status));
    ScopeState {
        scope: scope(of.scope),
        state: states
            .max_by_key(|state| severity(*state))
            .unwrap_or(BreakerState::Closed),
    }
}

const fn scope(scope: Scope) -> live::Scope {
    match scope {
        Scope::User => live::Scope::User,
        Scope::Tenant => live::Scope::Tenant,
        Scope::App => live::Scope::App,
    }
}

const fn breaker(status: Status) -> BreakerState {
    match status {
        Status::Closed => BreakerState::Closed,
        Status::Soft => BreakerState::Soft,
        Status::Open => BreakerState::Open,
        Status::HalfOpen => BreakerState::HalfOpen,
        Status::Recovering => BreakerState::Recovering,
    }
}
