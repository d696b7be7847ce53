//! What a token may do, and which combinations make no sense.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use spillway::Lane;

/// What a person of this role may do in the dashboard, and the most that a token of it may.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Its own migrations and connections; for tokens: calls, permits, events and jobs
    Member,
    /// Also see everything
    Viewer,
    /// Also pause, resume, re-enable and force breakers
    Operator,
    /// Also edit policies, users and tokens
    Admin,
}

/// One kind of request that a token is good for.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    clap::ValueEnum,
    utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
#[schema(as = TokenScope)]
pub enum Scope {
    /// Calls through the gateway
    Gateway,
    /// Permits for calls that the program makes itself
    Permits,
    /// Reports of change events
    Events,
    /// The metrics
    Metrics,
    /// Migrations
    Jobs,
    /// Counts, limits and the live stream
    Read,
    /// Pauses, breakers, and what else the role may change
    Write,
}

/// What a token may do. An empty set binds it to nothing in particular.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Whose part it has.
    pub role: Role,
    /// What it is good for.
    pub scopes: BTreeSet<Scope>,
    /// The only upstreams that it may call or see.
    pub upstreams: BTreeSet<String>,
    /// The only apps whose budgets it may charge or steer.
    pub apps: BTreeSet<String>,
    /// The only sites whose events it may report, and which it may steer.
    pub sites: BTreeSet<String>,
    /// The lane of calls that name none.
    pub lane: Option<Lane>,
    /// Whether it may say by header for which user it calls.
    pub act_for_users: bool,
}

/// Rights that no token can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Impossible {
    /// Nothing that it would be good for.
    #[error("at least one scope is needed")]
    NoScope,
    /// More than its role may do.
    #[error("the role {role} may not have the scope {scope}: it needs the role {needed}")]
    Role {
        /// The role that was asked for.
        role: Role,
        /// The scope that is too much for it.
        scope: Scope,
        /// The lowest role that may have it.
        needed: Role,
    },
    /// A scope that cannot be kept to a part.
    #[error("the scope {scope} shows all {all}: a token that is bound to some cannot have it")]
    Bound {
        /// The scope.
        scope: Scope,
        /// What it cannot be bound to.
        all: &'static str,
    },
    /// Something that only matters with another scope.
    #[error("{what} says nothing without the scope {scopes}")]
    Pointless {
        /// What was asked for.
        what: &'static str,
        /// The scopes with which it would say something.
        scopes: &'static str,
    },
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Gateway,
        Self::Permits,
        Self::Events,
        Self::Metrics,
        Self::Jobs,
        Self::Read,
        Self::Write,
    ];

    /// The lowest role that may have it.
    pub(super) const fn role_min(self) -> Role {
        match self {
            Self::Gateway | Self::Permits | Self::Events | Self::Jobs => Role::Member,
            Self::Metrics | Self::Read => Role::Viewer,
            Self::Write => Role::Operator,
        }
    }
}

impl Role {
    /// All of them, each with the rights of those before it.
    pub const ALL: [Self; 4] = [Self::Member, Self::Viewer, Self::Operator, Self::Admin];

    /// The role of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let mut roles = Self::ALL.into_iter();
        roles.find(|role| role.to_string() == name)
    }
}

impl Rights {
    /// Whether it is bound to some upstreams, apps or sites.
    #[must_use]
    pub fn is_bound(&self) -> bool {
        !(self.upstreams.is_empty() && self.apps.is_empty() && self.sites.is_empty())
    }

    /// Whether it is bound to sites, and to nothing else.
    #[must_use]
    pub fn is_bound_to_sites_alone(&self) -> bool {
        !self.sites.is_empty() && self.upstreams.is_empty() && self.apps.is_empty()
    }

    /// Whether a token can have them.
    ///
    /// # Errors
    /// The first thing about them that is [`Impossible`].
    pub fn check(&self) -> Result<(), Impossible> {
        if self.scopes.is_empty() {
            return Err(Impossible::NoScope);
        }
        let too_much = |scope: &&Scope| scope.role_min() > self.role;
        if let Some(&scope) = self.scopes.iter().find(too_much) {
            return Err(Impossible::Role {
                role: self.role,
                scope,
                needed: scope.role_min(),
            });
        }
        self.check_bindings()?;
        self.check_callers_part()
    }

    fn check_bindings(&self) -> Result<(), Impossible> {
        let unbindable = [
            (Scope::Metrics, "upstreams", self.upstreams.is_empty()),
            (Scope::Metrics, "apps", self.apps.is_empty()),
            (Scope::Read, "apps", self.apps.is_empty()),
        ];
        for (scope, all, free) in unbindable {
            if !free && self.scopes.contains(&scope) {
                return Err(Impossible::Bound { scope, all });
            }
        }
        let calls = [Scope::Gateway, Scope::Permits, Scope::Write];
        self.needs(
            "an app",
            !self.apps.is_empty(),
            &calls,
            "gateway, permits or write",
        )?;
        let seen = [Scope::Gateway, Scope::Permits, Scope::Write, Scope::Read];
        let named = "gateway, permits, read or write";
        self.needs("an upstream", !self.upstreams.is_empty(), &seen, named)?;
        let reached = [Scope::Events, Scope::Write];
        let named = "events or write";
        self.needs("a site", !self.sites.is_empty(), &reached, named)
    }

    fn check_callers_part(&self) -> Result<(), Impossible> {
        let calls = [Scope::Gateway, Scope::Permits];
        self.needs("a lane", self.lane.is_some(), &calls, "gateway or permits")?;
        // Takers of permits name their users in the body, as there is nothing else to go by.
        self.needs(
            "acting for users",
            self.act_for_users,
            &[Scope::Gateway],
            "gateway",
        )
    }

    fn needs(
        &self,
        what: &'static str,
        asked: bool,
        any: &[Scope],
        scopes: &'static str,
    ) -> Result<(), Impossible> {
        if asked && !any.iter().any(|scope| self.scopes.contains(scope)) {
            return Err(Impossible::Pointless { what, scopes });
        }
        Ok(())
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Member => "member",
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gateway => "gateway",
            Self::Permits => "permits",
            Self::Events => "events",
            Self::Metrics => "metrics",
            Self::Jobs => "jobs",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

#[cfg(test)]
mod tests;
