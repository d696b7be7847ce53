//! Figures for machines: what all budgets add up to, told without naming any.
//!
//! However many keys there are, a survey has as many figures as the policies have layers. It
//! is taken a few steps at a time, so that nobody's call has to wait for all of it; a call or a key
//! that comes or goes meanwhile may be missed or counted, which no figure of a moment can tell.

use std::collections::BTreeMap;

use crate::breaker::{Breaker, Status};
use crate::call::{Lane, PerLane, Permit, Scope};
use crate::engine::Engine;
use crate::policy::Dimension;
use crate::time::Instant;

/// What a workload's budgets add up to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// The scopes that have layers, narrowest first.
    pub scopes: Vec<ScopeSurvey>,
    /// How many calls wait.
    pub waiting: PerLane<u64>,
    /// How many calls were granted and have neither ended nor expired.
    pub in_flight: PerLane<u64>,
}

/// What the budgets of one scope add up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeSurvey {
    /// Whose budgets.
    pub scope: Scope,
    /// Its layers, in the policy's order.
    pub layers: Vec<LayerSurvey>,
    /// How many budgets count, run or were told something, by their breakers.
    pub budgets: BTreeMap<Status, u64>,
}

/// One layer over all budgets of its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerSurvey {
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// The most that may be used.
    pub limit: u32,
    /// What the budget that is closest to the limit has used, both lanes.
    pub used_max: u64,
    /// What background calls have used of the budget in which they have used most.
    pub used_background_max: u64,
}

/// Where a survey goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyStep(Step);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// At the leases, those that end at this instant first; none: at the first.
    Lease(Option<(Instant, Permit)>),
    /// At the budgets, by position.
    Budget(usize),
}

impl SurveyStep {
    /// Where a survey begins.
    pub const FIRST: Self = Self(Step::Lease(None));
}

impl Survey {
    /// Takes in what another engine of the same policies adds up to.
    pub fn add(&mut self, other: &Self) {
        if self.scopes.is_empty() {
            self.scopes.clone_from(&other.scopes);
        } else {
            for (own, others) in self.scopes.iter_mut().zip(&other.scopes) {
                own.add(others);
            }
        }
        for lane in Lane::ALL {
            *self.waiting.get_mut(lane) += other.waiting.get(lane);
            *self.in_flight.get_mut(lane) += other.in_flight.get(lane);
        }
    }
}

impl ScopeSurvey {
    fn add(&mut self, other: &Self) {
        for (own, others) in self.layers.iter_mut().zip(&other.layers) {
            own.raise(others.used_max, others.used_background_max);
        }
        for (status, count) in &other.budgets {
            *self.budgets.entry(*status).or_default() += count;
        }
    }
}

impl LayerSurvey {
    fn raise(&mut self, used: u64, used_background: u64) {
        self.used_max = self.used_max.max(used);
        self.used_background_max = self.used_background_max.max(used_background);
    }
}

impl Engine {
    /// Begins a survey of each workload, in their order: what waits, but neither calls nor
    /// budgets yet.
    pub fn survey(&mut self, now: Instant) -> Vec<Survey> {
        self.advance(now);
        let mut surveys: Vec<_> = (0..self.workloads.len())
            .map(|workload| Survey {
                scopes: self.unseen(workload),
                ..Survey::default()
            })
            .collect();
        for (app, queue) in &self.queues {
            let of = self.tree.get(*app).map(|node| usize::from(node.workload));
            if let Some(survey) = of.and_then(|workload| surveys.get_mut(workload)) {
                for lane in Lane::ALL {
                    *survey.waiting.get_mut(lane) += queue.waiting(lane) as u64;
                }
            }
        }
        surveys
    }

    /// Goes on with a survey at `from`, and looks at `steps` calls in flight or budgets at most.
    /// Says where to go on, if there are more.
    pub fn survey_more(
        &mut self,
        surveys: &mut [Survey],
        now: Instant,
        from: SurveyStep,
        steps: usize,
    ) -> Option<SurveyStep> {
        let now = self.advance(now);
        let next = match from.0 {
            Step::Lease(first) => Some(self.survey_leases(surveys, first, steps)),
            Step::Budget(first) => self.survey_budgets(surveys, now, first, steps),
        };
        next.map(SurveyStep)
    }

    fn survey_leases(
        &self,
        surveys: &mut [Survey],
        first: Option<(Instant, Permit)>,
        steps: usize,
    ) -> Step {
        let (some, next) = self.leases.some(first, steps);
        for held in some {
            let user = self.tree.get(held.user);
            let of = user.map(|node| usize::from(node.workload));
            if let Some(survey) = of.and_then(|workload| surveys.get_mut(workload)) {
                *survey.in_flight.get_mut(held.lane) += 1;
            }
        }
        next.map_or(Step::Budget(0), |next| Step::Lease(Some(next)))
    }

    fn survey_budgets(
        &mut self,
        surveys: &mut [Survey],
        now: Instant,
        first: usize,
        steps: usize,
    ) -> Option<Step> {
        let until = first.saturating_add(steps).min(self.tree.places_len());
        for position in first..until {
            self.survey_place(surveys, now, position);
        }
        (until < self.tree.places_len()).then_some(Step::Budget(until))
    }

    fn survey_place(&mut self, surveys: &mut [Survey], now: Instant, position: usize) {
        let Some(node) = self.tree.at_mut(position) else {
            return;
        };
        let workload = usize::from(node.workload);
        let Some((it, survey)) = self.workloads.get(workload).zip(surveys.get_mut(workload)) else {
            return;
        };
        node.advance(it.shape.at(node.scope), now);
        let of_scope = survey.scopes.iter_mut().find(|it| it.scope == node.scope);
        let Some(of_scope) = of_scope.filter(|_| node.is_charged()) else {
            return;
        };
        // Of who has limits of its own, what it uses of those that all have.
        let limits = it.shape.at(node.scope).deciding();
        for (layer, limit) in of_scope.layers.iter_mut().zip(limits) {
            let used = node.used(limit);
            layer.raise(used.total(), used.background);
        }
        let status = node.breaker().map(Breaker::view).unwrap_or_default().status;
        *of_scope.budgets.entry(status).or_default() += 1;
    }

    /// What is true of budgets that nobody has seen: nothing is used, unless the counts were
    /// lost a while ago.
    fn unseen(&self, workload: usize) -> Vec<ScopeSurvey> {
        let it = &self.workloads[workload];
        let layers = |scope| {
            let shape = it.shape.at(scope);
            shape.deciding().map(|limit| {
                let span_ms = limit.span_ms(shape, self.settings.lease_ms);
                let lost = self
                    .full_at
                    .is_some_and(|at| at.plus_ms(span_ms) > self.now);
                LayerSurvey {
                    dimension: limit.dimension,
                    limit: limit.limit(),
                    used_max: if lost { limit.limit().into() } else { 0 },
                    used_background_max: 0,
                }
            })
        };
        let scopes = Scope::ALL.into_iter().filter(|scope| it.shape.has(*scope));
        scopes
            .map(|scope| ScopeSurvey {
                scope,
                layers: layers(scope).collect(),
                budgets: BTreeMap::new(),
            })
            .collect()
    }
}
