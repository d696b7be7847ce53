//! One user as its page and programs read it: what limits it, what it waits for, what runs.

use spillway::{Key, Lane, LeaseView, Scope};
use spillway_app::live::{self, UserState};

use super::view::text;
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
        let mut user = limiter.inner.user(&Key {
            workload,
            scope: Scope::User,
            app,
            tenant: key.tenant.clone(),
            user: key.user.clone(),
        });
        let pauses = limiter.pauses().into_iter().map(live::Pause::from);
        user.pauses = pauses.filter(|pause| pause.stops(&user)).collect();
        Ok(UserState {
            as_of: text(self.clock().wall_now()),
            started_at: text(self.clock().started_at()),
            time_scale: self.clock().scale(),
            upstream: key.upstream.clone(),
            workload: key.workload.clone(),
            unwritable: limiter.ready().is_err(),
            ..user
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

impl Inner {
    fn user(&self, key: &Key) -> UserState {
        let clock = &self.clock;
        let view = {
            let mut core = self.shards.lock(self.shards.of(&key.app));
            let now = clock.now();
            core.engine.user_view(now, key)
        };
        let Some(view) = view else {
            return UserState::default();
        };
        let (own, global): (Vec<_>, Vec<_>) = view
            .budgets
            .iter()
            .partition(|budget| budget.key.workload == key.workload);
        let queue = |lane| live::Queue {
            waiting: u32::try_from(*view.waiting.get(lane)).unwrap_or(u32::MAX),
            since: view
                .waiting_since
                .get(lane)
                .map(|at| text(clock.timestamp(at))),
        };
        let leases = view.leases.iter().take(UserState::LEASES_MAX);
        UserState {
            app: key.app.clone(),
            tenant: key.tenant.clone(),
            user: key.user.clone(),
            // Widest first, as everywhere.
            budgets: own.iter().rev().map(|it| self.shown(it)).collect(),
            global: global.first().map(|it| self.shown(it)),
            foreground: queue(Lane::Foreground),
            background: queue(Lane::Background),
            leases: leases.map(|it| lease(it, clock)).collect(),
            leases_total: view.leases.len() as u64,
            ..UserState::default()
        }
    }
}

fn lease(view: &LeaseView, clock: &Clock) -> live::Lease {
    let lease = &view.lease;
    live::Lease {
        permit: lease.permit.0,
        lane: match lease.call.lane {
            Lane::Foreground => live::LaneName::Foreground,
            Lane::Background => live::LaneName::Background,
        },
        weight: lease.call.weight,
        granted_at: text(clock.timestamp(lease.granted_at)),
        expires_at: text(clock.timestamp(lease.expires_at)),
        probe: lease.probe,
        lingering: view.lingers,
    }
}
