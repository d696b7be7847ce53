//! Who asks, and what that lets them do.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use jiff::Timestamp;
use spillway::Lane;

use super::{Account, Role, Scope, Session, Token};
use crate::config::ClientNetwork;

/// Who asks, as far as it is known.
#[derive(Clone, Debug)]
pub enum Caller {
    /// Anyone: the server is open.
    Anyone,
    /// Anyone in a demo, who may look and call, and steers nothing.
    Guest,
    /// Somebody who has signed in.
    Session(Arc<Session>),
    /// The holder of a token.
    Token(Arc<Token>),
    /// Somebody in a network that an upstream lets in.
    Network(Arc<Network>),
}

/// A network whose callers need no token, all of them one caller.
#[derive(Debug)]
pub struct Network {
    /// As it is configured.
    pub of: Arc<ClientNetwork>,
    /// What its callers have taken.
    pub account: Arc<Account>,
    /// When somebody last called from it, Unix milliseconds; the least: nobody has.
    used_at_ms: AtomicI64,
}

/// Why a caller who is known may not do what it asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Its token is for something else.
    #[error("this token is not for that: it lacks the scope {0}")]
    Scope(Scope),
    /// Its role is too low.
    #[error("the role {role} may not do this: it takes {needed}")]
    Role {
        /// What it is.
        role: Role,
        /// What it had to be.
        needed: Role,
    },
    /// It has not signed in, in a demo.
    #[error(
        "this takes the role {0}: sign in with one of the accounts that the demo printed at its start"
    )]
    Guest(Role),
    /// It has signed in, and this is for programs.
    #[error("this is for programs: bring a token with the scope {0}")]
    ForPrograms(Scope),
    /// Its token is bound to other upstreams.
    #[error("this token is bound to other upstreams than {}", .0.escape_debug())]
    Upstream(String),
    /// Its token is bound to other sites.
    #[error("this token is bound to other sites than {}", .0.escape_debug())]
    Site(String),
    /// It is bound to something else, and no site is named among it.
    #[error("this token is bound to apps or upstreams and names no site")]
    NoSite,
    /// What it asks for concerns more than its sites.
    #[error("this token is bound to some sites, apps or upstreams, and this concerns all sites")]
    AllSites,
    /// Its token is bound to sites alone.
    #[error("this token is bound to sites, and this concerns no site")]
    OnlySites,
    /// What it asks for shows more than it may see.
    #[error("this token is bound to some upstreams, and this shows all; name one of {0}")]
    AllUpstreams(String),
    /// It names an app that is not its own.
    #[error("this caller may not use the app {}; its own: {own}", app.escape_debug())]
    App {
        /// The app.
        app: String,
        /// Those that it may use.
        own: String,
    },
    /// It has several apps and names none of them.
    #[error("name the app that this is for; the token is bound to {0}")]
    AppMissing(String),
    /// What it asks for concerns more than its apps.
    #[error("this token is bound to some apps, and this concerns all; its own: {0}")]
    AllApps(String),
    /// It names a user and may not.
    #[error(
        "only a token made with --act-for-users may say by Spillway-User for whom it calls; \
         leave the header out to call as the user of the upstream's token"
    )]
    User,
}

impl Network {
    /// One that nobody has called from yet.
    #[must_use]
    pub fn new(of: Arc<ClientNetwork>, account: Arc<Account>) -> Self {
        Self {
            of,
            account,
            used_at_ms: AtomicI64::new(i64::MIN),
        }
    }

    /// Somebody calls from it.
    pub fn see(&self, now: Timestamp) {
        self.used_at_ms
            .fetch_max(now.as_millisecond(), Ordering::Relaxed);
    }

    /// When somebody last did, Unix milliseconds; `None`: nobody has since the start.
    #[must_use]
    pub fn used_at_ms(&self) -> Option<i64> {
        let used = self.used_at_ms.load(Ordering::Relaxed);
        (used > i64::MIN).then_some(used)
    }
}

impl Caller {
    /// What names it in the log.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Anyone | Self::Guest => "anyone",
            Self::Session(session) => &session.person.name,
            Self::Token(token) => &token.id,
            Self::Network(network) => &network.of.name,
        }
    }

    /// Where what it takes is counted; `None`: only what all take is bounded.
    #[must_use]
    pub fn account(&self) -> Option<&Arc<Account>> {
        match self {
            Self::Anyone | Self::Guest => None,
            Self::Session(session) => Some(&session.account),
            Self::Token(token) => Some(&token.account),
            Self::Network(network) => Some(&network.account),
        }
    }

    /// The lane of calls that name none.
    #[must_use]
    pub fn lane(&self) -> Lane {
        let own = match self {
            Self::Anyone | Self::Guest | Self::Session(_) => None,
            Self::Token(token) => token.rights.lane,
            Self::Network(network) => network.of.lane,
        };
        own.unwrap_or(Lane::Foreground)
    }

    /// Whether it is there for requests of this kind.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn is_for(&self, scope: Scope) -> Result<(), Denied> {
        match self {
            Self::Token(token) if !token.rights.scopes.contains(&scope) => {
                Err(Denied::Scope(scope))
            }
            Self::Session(session) => person_may(session.person.role, scope),
            _ => Ok(()),
        }
    }

    /// Whether its role is at least `needed`.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn is_at_least(&self, needed: Role) -> Result<(), Denied> {
        let role = match self {
            Self::Anyone | Self::Network(_) => return Ok(()),
            // A guest is a viewer.
            Self::Guest if needed > Role::Viewer => return Err(Denied::Guest(needed)),
            Self::Guest => return Ok(()),
            Self::Session(session) => session.person.role,
            Self::Token(token) => token.rights.role,
        };
        if role < needed {
            return Err(Denied::Role { role, needed });
        }
        Ok(())
    }

    /// Whether it may call, see or steer this upstream.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_use(&self, upstream: &str) -> Result<(), Denied> {
        match self {
            Self::Token(token) if !allows(&token.rights.upstreams, upstream) => {
                Err(Denied::Upstream(upstream.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may report events of this site.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_report(&self, site: &str) -> Result<(), Denied> {
        match self {
            Self::Token(token) if !allows(&token.rights.sites, site) => {
                Err(Denied::Site(site.to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may see and steer this site: a token that is bound to anything reaches the sites
    /// that it names, and no other.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_steer_site(&self, site: &str) -> Result<(), Denied> {
        match self {
            Self::Token(token) if token.rights.sites.is_empty() && token.rights.is_bound() => {
                Err(Denied::NoSite)
            }
            _ => self.may_report(site),
        }
    }

    /// Whether it may see and steer what concerns all sites.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_steer_all_sites(&self) -> Result<(), Denied> {
        match self {
            Self::Token(token) if token.rights.is_bound() => Err(Denied::AllSites),
            _ => Ok(()),
        }
    }

    /// Whether it may see all upstreams at once.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_see_all(&self) -> Result<(), Denied> {
        match self {
            Self::Token(token) if !token.rights.upstreams.is_empty() => {
                Err(Denied::AllUpstreams(list(&token.rights.upstreams)))
            }
            _ => Ok(()),
        }
    }

    /// Whether it may say for which user it calls.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_name_users(&self) -> Result<(), Denied> {
        let may = match self {
            Self::Anyone | Self::Guest => true,
            Self::Token(token) => token.rights.act_for_users,
            Self::Network(_) | Self::Session(_) => false,
        };
        if may { Ok(()) } else { Err(Denied::User) }
    }

    /// Whether it may steer what concerns this app, or (`None`) all apps.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_steer(&self, app: Option<&str>) -> Result<(), Denied> {
        if let Self::Token(token) = self
            && token.rights.is_bound_to_sites_alone()
        {
            return Err(Denied::OnlySites);
        }
        let Some(own) = self.apps() else {
            return Ok(());
        };
        match app {
            None => Err(Denied::AllApps(own.join(", "))),
            Some(app) => may_use_app(&own, app),
        }
    }

    /// The app that its call is charged to: the one it `asked` for, the one its credential for
    /// the upstream `claimed` (empty: none), else `default`. Who has one app of its own is
    /// always that app, whatever its credential claims, which nobody has verified.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn app(&self, asked: Option<&str>, claimed: &str, default: &str) -> Result<String, Denied> {
        let own = self.apps();
        if let Some(asked) = asked {
            match (self, &own) {
                (_, Some(own)) => may_use_app(own, asked)?,
                (Self::Network(_), None) => may_use_app(&[], asked)?,
                _ => {}
            }
            return Ok(asked.to_owned());
        }
        let mut usual = [claimed, default].into_iter().filter(|app| !app.is_empty());
        match own.as_deref() {
            None => Ok(usual.next().unwrap_or(default).to_owned()),
            Some([only]) => Ok((*only).to_owned()),
            Some(own) => usual
                .find(|app| own.contains(app))
                .map(str::to_owned)
                .ok_or_else(|| Denied::AppMissing(own.join(", "))),
        }
    }

    /// The only apps that it may use; `None`: all.
    fn apps(&self) -> Option<Vec<&str>> {
        match self {
            Self::Anyone | Self::Guest | Self::Session(_) => None,
            Self::Token(token) => {
                let apps = &token.rights.apps;
                (!apps.is_empty()).then(|| apps.iter().map(String::as_str).collect())
            }
            Self::Network(network) => network.of.app.as_deref().map(|app| vec![app]),
        }
    }
}

/// What people do in the dashboard; calls, permits, events and metrics are for programs.
fn person_may(role: Role, scope: Scope) -> Result<(), Denied> {
    match scope {
        Scope::Read | Scope::Write | Scope::Jobs if role >= scope.role_min() => Ok(()),
        Scope::Read | Scope::Write | Scope::Jobs => Err(Denied::Role {
            role,
            needed: scope.role_min(),
        }),
        Scope::Gateway | Scope::Permits | Scope::Events | Scope::Metrics => {
            Err(Denied::ForPrograms(scope))
        }
    }
}

/// An empty binding binds to nothing in particular.
fn allows(bound: &BTreeSet<String>, name: &str) -> bool {
    bound.is_empty() || bound.contains(name)
}

fn may_use_app(own: &[&str], app: &str) -> Result<(), Denied> {
    if own.contains(&app) {
        return Ok(());
    }
    let own = if own.is_empty() {
        "none by name".to_owned()
    } else {
        own.join(", ")
    };
    Err(Denied::App {
        app: app.to_owned(),
        own,
    })
}

fn list(names: &BTreeSet<String>) -> String {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests;
