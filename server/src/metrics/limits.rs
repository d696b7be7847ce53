//! What the limiters know, as families: one label for each thing that the configuration names.
//!
//! No user, tenant or app becomes a label: of all budgets the one closest to a limit is told,
//! and how many there are in each state.

use prometheus::proto::MetricFamily;
use spillway::{Lane, Scope, Status};

use super::family::Family;
use crate::limiter::{Cause, Figures, HOLD_BOUNDS_S, WorkloadFigures};

/// Everything the limiters know, of all upstreams.
pub(super) fn families(upstreams: &[Figures]) -> Vec<MetricFamily> {
    let mut all = Families::new();
    for upstream in upstreams {
        all.upstream(upstream);
        for workload in &upstream.workloads {
            all.lanes(&upstream.name, workload);
            all.refusals(&upstream.name, workload);
            all.budgets(&upstream.name, workload);
        }
    }
    all.finish()
}

struct Families {
    admitted: Family,
    held: Family,
    refused: Family,
    hold: Family,
    waiting: Family,
    in_flight: Family,
    limit: Family,
    used: Family,
    budgets: Family,
    users: Family,
    permits: Family,
    expired: Family,
    journal_bytes: Family,
    journal_unsynced: Family,
    journal_errors: Family,
    journal_writable: Family,
}

impl Families {
    fn new() -> Self {
        Self {
            admitted: Family::counter(
                "spillway_calls_admitted_total",
                "Calls let through, at once or after a wait.",
            ),
            held: Family::counter(
                "spillway_calls_held_total",
                "Calls let through after a wait.",
            ),
            refused: Family::counter(
                "spillway_calls_refused_total",
                "Calls refused without reaching the upstream, by what stood in the way.",
            ),
            hold: Family::histogram(
                "spillway_hold_seconds",
                "How long calls that were let through after a wait had waited.",
            ),
            waiting: Family::gauge("spillway_calls_waiting", "Calls that wait for room now."),
            in_flight: Family::gauge(
                "spillway_calls_in_flight",
                "Calls that were granted and have neither ended nor expired.",
            ),
            limit: Family::gauge(
                "spillway_layer_limit",
                "The most that one budget may use of a layer.",
            ),
            used: Family::gauge(
                "spillway_worst_budget_used_ratio",
                "How much of a layer the budget has used that is closest to its limit.",
            ),
            budgets: Family::gauge(
                "spillway_budgets",
                "Budgets that count something, by the state of their breakers.",
            ),
            users: Family::gauge("spillway_users", "User keys that hold counts or leases."),
            permits: Family::gauge(
                "spillway_permits_out",
                "Permits in the hands of callers that call the upstream themselves.",
            ),
            expired: Family::counter(
                "spillway_permits_expired_total",
                "Permits that expired because their holders did not say how the call ended.",
            ),
            journal_bytes: Family::gauge(
                "spillway_journal_bytes",
                "The length of the journals; they begin anew when they are long.",
            ),
            journal_unsynced: Family::gauge(
                "spillway_journal_unsynced_seconds",
                "For how long the oldest line has been written that a power loss would take.",
            ),
            journal_errors: Family::counter(
                "spillway_journal_errors_total",
                "Times that the counters could not be synced or written to disk.",
            ),
            journal_writable: Family::gauge(
                "spillway_journal_writable",
                "1 while grants can be written down; while 0, every call is refused.",
            ),
        }
    }

    fn upstream(&mut self, upstream: &Figures) {
        let labels = [("upstream", upstream.name.as_str())];
        self.users.add(&labels, upstream.users);
        self.permits.add(&labels, upstream.permits_out);
        self.expired.add(&labels, upstream.permits_expired);
        self.journal_bytes.add(&labels, upstream.journal_bytes);
        self.journal_unsynced
            .add_float(&labels, upstream.journal_unsynced.as_secs_f64());
        self.journal_errors.add(&labels, upstream.journal_errors);
        self.journal_writable.add(&labels, upstream.writable.into());
    }

    fn lanes(&mut self, upstream: &str, workload: &WorkloadFigures) {
        for lane in Lane::ALL {
            let text = lane.to_string();
            let labels = [
                ("lane", text.as_str()),
                ("upstream", upstream),
                ("workload", workload.name.as_str()),
            ];
            let calls = workload.tally.lane(lane);
            self.admitted.add(&labels, calls.admitted);
            self.held.add(&labels, calls.held);
            self.waiting
                .add(&labels, *workload.survey.waiting.get(lane));
            self.in_flight
                .add(&labels, *workload.survey.in_flight.get(lane));
            let holds = workload.tally.holds(lane);
            let sum_s = holds.sum.as_secs_f64();
            self.hold
                .add_histogram(&labels, &HOLD_BOUNDS_S, &holds.counts, sum_s);
        }
    }

    /// Those that have not happened stand there with zero, so that their first is an increase.
    fn refusals(&mut self, upstream: &str, workload: &WorkloadFigures) {
        let tally = &workload.tally;
        let mut causes = possible(workload);
        for cause in tally.causes() {
            // What limits all calls of an app together is another workload's.
            if !causes.contains(&cause) {
                causes.push(cause);
            }
        }
        for lane in Lane::ALL {
            let text = lane.to_string();
            for cause in &causes {
                let (reason, scope, layer) = told(*cause);
                let labels = [
                    ("lane", text.as_str()),
                    ("layer", layer.as_str()),
                    ("reason", reason),
                    ("scope", scope.as_str()),
                    ("upstream", upstream),
                    ("workload", workload.name.as_str()),
                ];
                self.refused.add(&labels, tally.refused_for(lane, *cause));
            }
        }
    }

    fn budgets(&mut self, upstream: &str, workload: &WorkloadFigures) {
        let name = workload.name.as_str();
        for of_scope in &workload.survey.scopes {
            let scope = of_scope.scope.to_string();
            for layer in &of_scope.layers {
                let text = layer.dimension.to_string();
                let labels = [
                    ("layer", text.as_str()),
                    ("scope", scope.as_str()),
                    ("upstream", upstream),
                    ("workload", name),
                ];
                self.limit.add(&labels, layer.limit.into());
                for (lane, used) in [
                    ("all", layer.used_max),
                    ("background", layer.used_background_max),
                ] {
                    let labels = [&[("lane", lane)], &labels[..]].concat();
                    self.used.add_float(&labels, ratio(used, layer.limit));
                }
            }
            for (status, text) in STATES {
                let labels = [
                    ("breaker", text),
                    ("scope", scope.as_str()),
                    ("upstream", upstream),
                    ("workload", name),
                ];
                let count = of_scope.budgets.get(&status).copied();
                self.budgets.add(&labels, count.unwrap_or(0));
            }
        }
    }

    fn finish(self) -> Vec<MetricFamily> {
        let all = [
            self.admitted,
            self.held,
            self.refused,
            self.hold,
            self.waiting,
            self.in_flight,
            self.limit,
            self.used,
            self.budgets,
            self.users,
            self.permits,
            self.expired,
            self.journal_bytes,
            self.journal_unsynced,
            self.journal_errors,
            self.journal_writable,
        ];
        all.into_iter().filter_map(Family::finish).collect()
    }
}

/// The states of a breaker, as the API names them.
const STATES: [(Status, &str); 5] = [
    (Status::Closed, "closed"),
    (Status::Soft, "soft"),
    (Status::Open, "open"),
    (Status::HalfOpen, "half_open"),
    (Status::Recovering, "recovering"),
];

/// What may stand in the way of a workload's calls: its own layers, and what is everybody's.
fn possible(workload: &WorkloadFigures) -> Vec<Cause> {
    let scopes = &workload.survey.scopes;
    let layers = scopes.iter().flat_map(|of_scope| {
        let layers = of_scope.layers.iter().map(|layer| Cause::Layer {
            scope: of_scope.scope,
            dimension: layer.dimension,
        });
        let scope = of_scope.scope;
        layers.chain([Cause::Breaker { scope }, Cause::Soft { scope }])
    });
    let others = [
        Cause::Paused,
        Cause::Queue,
        Cause::Impossible,
        Cause::Capacity,
        Cause::Storage,
    ];
    layers.chain(others).collect()
}

/// Reason, scope and layer; what does not apply is empty.
fn told(cause: Cause) -> (&'static str, String, String) {
    let of_scope = |reason, scope: Scope| (reason, scope.to_string(), String::new());
    let alone = |reason| (reason, String::new(), String::new());
    match cause {
        Cause::Layer { scope, dimension } => ("limit", scope.to_string(), dimension.to_string()),
        Cause::Breaker { scope } => of_scope("breaker", scope),
        Cause::Soft { scope } => of_scope("soft", scope),
        Cause::Paused => alone("paused"),
        Cause::Queue => alone("queue"),
        Cause::Impossible => alone("impossible"),
        Cause::Capacity => alone("capacity"),
        Cause::Storage => alone("storage"),
    }
}

/// How much of `limit` is used: 1 is all of it.
#[allow(
    clippy::cast_precision_loss,
    reason = "a ratio is a float; what is used fits its digits"
)]
fn ratio(used: u64, limit: u32) -> f64 {
    used as f64 / f64::from(limit.max(1))
}
