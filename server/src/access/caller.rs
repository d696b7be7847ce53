//! Who asks, and what that lets them do.

use std::{collections::BTreeSet, sync::Arc};

use spillway::Lane;

use super::{Account, Role, Scope, Token};
use crate::config::ClientNetwork;

/// Who asks, as far as it is known.
#[derive(Clone, Debug)]
pub enum Caller {
    /// Anyone: the server is open.
    Anyone,
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
}

/// Why a caller who is known may not do what it asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// Its token is for something else.
    #[error("this token is not for that: it lacks the scope {0}")]
    Scope(Scope),
    /// Its role is too low.
    #[error("this token's role is {role}, and this takes {needed}")]
    Role {
        /// What it is.
        role: Role,
        /// What it had to be.
        needed: Role,
    },
    /// Its token is bound to other upstreams.
    #[error("this token is bound to other upstreams than {}", .0.escape_debug())]
    Upstream(String),
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

impl Caller {
    /// What names it in the log.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Anyone => "anyone",
            Self::Token(token) => &token.id,
            Self::Network(network) => &network.of.name,
        }
    }

    /// Where what it takes is counted; `None`: only what all take is bounded.
    #[must_use]
    pub fn account(&self) -> Option<&Arc<Account>> {
        match self {
            Self::Anyone => None,
            Self::Token(token) => Some(&token.account),
            Self::Network(network) => Some(&network.account),
        }
    }

    /// The lane of calls that name none.
    #[must_use]
    pub fn lane(&self) -> Lane {
        let own = match self {
            Self::Anyone => None,
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
            _ => Ok(()),
        }
    }

    /// Whether its role is at least `needed`.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn is_at_least(&self, needed: Role) -> Result<(), Denied> {
        match self {
            Self::Token(token) if token.rights.role < needed => Err(Denied::Role {
                role: token.rights.role,
                needed,
            }),
            _ => Ok(()),
        }
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
            Self::Anyone => true,
            Self::Token(token) => token.rights.act_for_users,
            Self::Network(_) => false,
        };
        if may { Ok(()) } else { Err(Denied::User) }
    }

    /// Whether it may steer what concerns this app, or (`None`) all apps.
    ///
    /// # Errors
    /// See [`Denied`].
    pub fn may_steer(&self, app: Option<&str>) -> Result<(), Denied> {
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
            Self::Anyone => None,
            Self::Token(token) => {
                let apps = &token.rights.apps;
                (!apps.is_empty()).then(|| apps.iter().map(String::as_str).collect())
            }
            Self::Network(network) => network.of.app.as_deref().map(|app| vec![app]),
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
