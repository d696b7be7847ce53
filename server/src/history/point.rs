//! What was seen in a while, and how two of them become one.

use serde::{Deserialize, Serialize};
use spillway_app::live::{BreakerState, Dimension, Scope};
use utoipa::ToSchema;

/// The longest a point may be, in bytes of JSON.
pub const POINT_BYTES_MAX: usize = 4_096;

/// The most layers in a point: those of a policy, and some of the one before it.
pub const LAYERS_MAX: usize = spillway::policy::LAYERS_MAX * 3 / 2;

/// What was seen of a workload in a while.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryPoint)]
pub struct Point {
    /// How often was looked: each five seconds, unless the server was down for some of it.
    pub samples: u32,
    /// How full each layer was, of the budget that was closest to its limit.
    pub layers: Vec<LayerPoint>,
    /// The most that the upstream reported of a limit, per mille; left out: it reported nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_permille: Option<u32>,
    /// How many answers said that the upstream throttled: 429 and the like.
    pub upstream_throttled: u64,
    /// What became of the calls.
    pub lanes: LanePoints,
    /// The worst state of the breakers of each scope.
    pub breakers: Vec<ScopeState>,
}

/// One layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryLayer)]
pub struct LayerPoint {
    /// Whose budgets.
    pub scope: Scope,
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// The window of a rate in milliseconds; left out for concurrency.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// The most that was used, both lanes, per mille of the limit.
    pub used_permille: u32,
    /// The most that background calls used, per mille of the limit.
    pub used_background_permille: u32,
}

/// Both lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryLanes)]
pub struct LanePoints {
    /// Calls a person waits for.
    pub foreground: LanePoint,
    /// Jobs.
    pub background: LanePoint,
}

/// One lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryLane)]
pub struct LanePoint {
    /// Calls let through.
    pub admitted: u64,
    /// Those of them that had to wait first.
    pub held: u64,
    /// Calls refused without reaching the upstream.
    pub refused: u64,
    /// The most calls that waited.
    pub waiting_max: u64,
    /// The most calls in flight.
    pub in_flight_max: u64,
}

/// The breakers of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = HistoryBreakers)]
pub struct ScopeState {
    /// Whose.
    pub scope: Scope,
    /// The worst of their states.
    pub state: BreakerState,
}

impl Point {
    /// Takes in what else was seen in the same while. In whatever order and parts: it comes to
    /// the same, up to [`LAYERS_MAX`] layers.
    pub fn merge(&mut self, other: &Self) {
        self.samples = self.samples.saturating_add(other.samples);
        other
            .layers
            .iter()
            .for_each(|layer| self.merge_layer(layer));
        self.reported_permille = self.reported_permille.max(other.reported_permille);
        self.upstream_throttled = self
            .upstream_throttled
            .saturating_add(other.upstream_throttled);
        self.lanes.foreground.merge(&other.lanes.foreground);
        self.lanes.background.merge(&other.lanes.background);
        other
            .breakers
            .iter()
            .for_each(|state| self.merge_state(state));
    }

    /// As it is stored; `None`: it would be too long, which none of [`LAYERS_MAX`] layers is.
    #[must_use]
    pub fn written(&self) -> Option<String> {
        let text = serde_json::to_string(self).ok();
        text.filter(|text| text.len() <= POINT_BYTES_MAX)
    }

    /// A point as it was stored, if it is one.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The layer with this place among all.
    fn merge_layer(&mut self, other: &LayerPoint) {
        match self
            .layers
            .binary_search_by_key(&other.order(), LayerPoint::order)
        {
            Ok(at) => {
                if let Some(own) = self.layers.get_mut(at) {
                    own.raise(other);
                }
            }
            Err(at) => {
                self.layers.insert(at, *other);
                self.layers.truncate(LAYERS_MAX);
            }
        }
    }

    fn merge_state(&mut self, other: &ScopeState) {
        match self
            .breakers
            .binary_search_by_key(&other.scope, |it| it.scope)
        {
            Ok(at) => {
                if let Some(own) = self.breakers.get_mut(at)
                    && severity(other.state) > severity(own.state)
                {
                    own.state = other.state;
                }
            }
            Err(at) => self.breakers.insert(at, *other),
        }
    }
}

impl LayerPoint {
    /// Apps first; within a scope the shortest window first, and calls in flight at the end.
    fn order(&self) -> (Scope, u64) {
        (self.scope, self.window_ms.unwrap_or(u64::MAX))
    }

    /// Whether both are of the same layer.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        self.order() == other.order()
    }

    fn raise(&mut self, other: &Self) {
        self.used_permille = self.used_permille.max(other.used_permille);
        let background = self.used_background_permille;
        self.used_background_permille = background.max(other.used_background_permille);
    }
}

impl LanePoint {
    fn merge(&mut self, other: &Self) {
        self.admitted = self.admitted.saturating_add(other.admitted);
        self.held = self.held.saturating_add(other.held);
        self.refused = self.refused.saturating_add(other.refused);
        self.waiting_max = self.waiting_max.max(other.waiting_max);
        self.in_flight_max = self.in_flight_max.max(other.in_flight_max);
    }
}

/// How much a state stops: the more, the higher.
#[must_use]
pub const fn severity(state: BreakerState) -> u8 {
    match state {
        BreakerState::Closed => 0,
        BreakerState::Soft => 1,
        BreakerState::Recovering => 2,
        BreakerState::HalfOpen => 3,
        BreakerState::Open => 4,
    }
}
