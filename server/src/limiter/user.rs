//! One user as its page and programs read it: what limits it, what it waits for, what runs.

use spillway::{BudgetView, Call, Key, Lane, Lease, Scope, Status};
use spillway_app::live::{self, UserState};

use super::view::{shown, text};
use super::{Inner, Limiter, Limiters};
use crate::clock::Clock;

/// One user of one workload.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UserKey {
    /// The upstream's name.
    pub upstream: String,
    /// The workload's name.
    pub workload: String,
    /// The application's key; absent: the one that calls belong to where they name none.
    pub app: Option<String>,
    /// The tenant's key, empty where there is none.
    pub tenant: String,
    /// The user's key.
    pub user: String,
}

/// There are no such limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchLimits {
    /// No upstream has this name.
    #[error("there is no upstream of this name; known: {known}")]
    Upstream {
        /// Those that there are.
        known: String,
    },
    /// The upstream has no workload of this name.
    #[error("the upstream has no workload of this name; known: {known}")]
    Workload {
        /// Those that there are.
        known: String,
    },
}

impl Limiters {
    /// Everything about one user, as of now. Who was never seen is a user without counts.
    ///
    /// # Errors
    /// There is no such upstream or workload.
    pub fn user(&self, key: &UserKey) -> Result<UserState, NoSuchLimits> {
        let (limiter, workload) = self.place(&key.upstream, &key.workload)?;
        let app = key.app.clone().unwrap_or_else(|| limiter.app().to_owned());
        Ok(UserState {
            as_of: text(self.clock().wall_now()),
            started_at: text(self.clock().started_at()),
            time_scale: self.clock().scale(),
            upstream: key.upstream.clone(),
            workload: key.workload.clone(),
            unwritable: limiter.ready().is_err(),
            ..limiter.inner.user(&Who {
                workload,
                app: &app,
                tenant: &key.tenant,
                user: &key.user,
            })
        })
    }

    fn place(&self, upstream: &str, workload: &str) -> Result<(&Limiter, usize), NoSuchLimits> {
        let limiters = self.all().iter();
        let limiter = limiters.clone().find(|it| it.name() == upstream);
        let limiter = limiter.ok_or_else(|| NoSuchLimits::Upstream {
            known: named(limiters.map(Limiter::name)),
        })?;
        let index = limiter.workloads().position(|name| name == workload);
        let index = index.ok_or_else(|| NoSuchLimits::Workload {
            known: named(limiter.workloads()),
        })?;
        Ok((limiter, index))
    }
}

fn named<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}

/// Whose calls are meant.
struct Who<'a> {
    workload: usize,
    app: &'a str,
    tenant: &'a str,
    user: &'a str,
}

impl Who<'_> {
    fn makes(&self, call: &Call) -> bool {
        call.workload == self.workload
            && call.user == self.user
            && call.tenant == self.tenant
            && call.app == self.app
    }

    /// The budget that its calls are charged to at `scope`.
    fn key(&self, scope: Scope) -> Key {
        let call = Call {
            workload: self.workload,
            app: self.app.to_owned(),
            tenant: self.tenant.to_owned(),
            user: self.user.to_owned(),
            lane: Lane::Foreground,
            weight: 1,
        };
        Key::of(&call, scope)
    }
}

impl Inner {
    fn user(&self, who: &Who<'_>) -> UserState {
        let clock = &self.clock;
        let mut core = self.lock();
        let now = clock.now();
        // Widest first, as everywhere.
        let scopes = Scope::ALL.into_iter().rev();
        let budgets = scopes.filter_map(|scope| core.engine.budget_view(now, &who.key(scope)));
        let budgets: Vec<_> = budgets.filter(limits).collect();
        let queue = |lane| {
            let of_lane = core.waits().filter(|(call, _)| call.lane == lane);
            let since = of_lane.filter(|(call, _)| who.makes(call)).map(|it| it.1);
            queue(since.collect(), clock)
        };
        let (foreground, background) = (queue(Lane::Foreground), queue(Lane::Background));
        let leases = core.engine.leases().filter(|lease| who.makes(&lease.call));
        let leases: Vec<_> = leases.collect();
        drop(core);
        let lingering = lingering(&budgets);
        UserState {
            app: who.app.to_owned(),
            tenant: who.tenant.to_owned(),
            user: who.user.to_owned(),
            foreground,
            background,
            leases_total: leases.len() as u64,
            leases: leases_shown(leases, lingering, clock),
            budgets: budgets.iter().map(|it| shown(it, clock)).collect(),
            ..UserState::default()
        }
    }
}

/// Whether the budget can stop a call: the user's own is shown in any case.
fn limits(budget: &BudgetView) -> bool {
    let limits = !budget.layers.is_empty() || budget.breaker.status != Status::Closed;
    limits || budget.key.scope == Scope::User
}

/// The calls that wait since these instants.
fn queue(since: Vec<tokio::time::Instant>, clock: &Clock) -> live::Queue {
    let longest = since.iter().map(tokio::time::Instant::elapsed).max();
    live::Queue {
        waiting: u32::try_from(since.len()).unwrap_or(u32::MAX),
        since: longest.map(|for_long| {
            let now = clock.wall_now();
            text(now.checked_sub(for_long).unwrap_or(now))
        }),
    }
}

/// How many of the user's calls only their expiry will end.
fn lingering(budgets: &[BudgetView]) -> u64 {
    let user = budgets.iter().filter(|it| it.key.scope == Scope::User);
    let layers = user.flat_map(|it| &it.layers);
    layers.map(|layer| layer.lingering).max().unwrap_or(0)
}

/// The oldest grants first. The engine says how many linger, not which: they are marked
/// where all do.
fn leases_shown(mut leases: Vec<Lease>, lingering: u64, clock: &Clock) -> Vec<live::Lease> {
    leases.sort_unstable_by_key(|lease| (lease.granted_at, lease.permit));
    let all_linger = lingering >= leases.len() as u64;
    let listed = leases.iter().take(UserState::LEASES_MAX);
    let shown = listed.map(|lease| live::Lease {
        permit: lease.permit.0,
        lane: match lease.call.lane {
            Lane::Foreground => live::LaneName::Foreground,
            Lane::Background => live::LaneName::Background,
        },
        weight: lease.call.weight,
        granted_at: text(clock.timestamp(lease.granted_at)),
        expires_at: text(clock.timestamp(lease.expires_at)),
        probe: lease.probe,
        lingering: all_linger,
    });
    shown.collect()
}
