//! Who acts.

use std::{fmt, net::IpAddr};

use crate::access::{Caller, Person};

/// What kind of actor somebody is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person with an account, signed in.
    Account,
    /// A program with a token.
    Token,
    /// Whoever ran a command on the server's machine.
    CommandLine,
    /// Spillway by itself.
    System,
    /// A site's admin, by the link of a mail.
    SiteAdmin,
    /// Nobody known: an open server's visitor, or one who failed to sign in.
    Anyone,
}

/// Who acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor {
    /// Of what kind.
    pub kind: ActorKind,
    /// What tells it from all others of its kind, empty where nothing does.
    pub id: String,
    /// What people call it.
    pub name: String,
}

/// Who acts, from where and why: what an act says beside what is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// Who.
    pub actor: Actor,
    /// The address that it asks from; `None`: not by network, or not known.
    pub client: Option<IpAddr>,
    /// In its own words; `None`: it was not asked for any.
    pub reason: Option<String>,
}

impl ActorKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Account,
        Self::Token,
        Self::CommandLine,
        Self::System,
        Self::SiteAdmin,
        Self::Anyone,
    ];

    /// As it is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Token => "token",
            Self::CommandLine => "command_line",
            Self::System => "system",
            Self::SiteAdmin => "site_admin",
            Self::Anyone => "anyone",
        }
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Actor {
    /// Spillway by itself.
    #[must_use]
    pub fn system() -> Self {
        Self::named(ActorKind::System, "", "spillway")
    }

    /// Whoever runs this command: the account of the system that it runs under. The name is
    /// what the shell says, and may be a lie; the number is the system's.
    #[must_use]
    pub fn command_line() -> Self {
        let id = format!("uid:{}", rustix::process::getuid().as_raw());
        let name = ["SUDO_USER", "USER", "LOGNAME"].into_iter();
        let name = name.filter_map(|name| std::env::var(name).ok()).next();
        Self::named(ActorKind::CommandLine, &id, &name.unwrap_or_default())
    }

    /// Somebody who has signed in.
    #[must_use]
    pub fn person(person: &Person) -> Self {
        Self::named(ActorKind::Account, &person.id, &person.name)
    }

    /// Nobody known.
    #[must_use]
    pub fn anyone() -> Self {
        Self::named(ActorKind::Anyone, "", "")
    }

    /// The actor of these.
    #[must_use]
    pub fn named(kind: ActorKind, id: &str, name: &str) -> Self {
        Self {
            kind,
            id: id.to_owned(),
            name: name.to_owned(),
        }
    }
}

impl From<&Caller> for Actor {
    fn from(caller: &Caller) -> Self {
        match caller {
            Caller::Anyone | Caller::Guest => Self::anyone(),
            Caller::Session(session) => Self::person(&session.person),
            Caller::Token(token) => Self::named(ActorKind::Token, &token.id, &token.name),
            Caller::Network(network) => Self::named(ActorKind::Anyone, "", &network.of.name),
        }
    }
}

/// `account ann`, `token bridge (0123456789abcdef)`: for people, unescaped.
impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, id, name } = self;
        match (name.as_str(), id.as_str()) {
            ("", "") => write!(f, "{kind}"),
            (name, "") => write!(f, "{kind} {name}"),
            ("", id) => write!(f, "{kind} {id}"),
            (name, id) => write!(f, "{kind} {name} ({id})"),
        }
    }
}

impl By {
    /// An actor without an address or a reason.
    #[must_use]
    pub const fn actor(actor: Actor) -> Self {
        Self {
            actor,
            client: None,
            reason: None,
        }
    }

    /// Spillway by itself, for this reason.
    #[must_use]
    pub fn system(reason: &str) -> Self {
        Self::actor(Actor::system()).because(reason)
    }

    /// Whoever runs this command.
    #[must_use]
    pub fn command_line() -> Self {
        Self::actor(Actor::command_line())
    }

    /// The same for a reason.
    #[must_use]
    pub fn because(mut self, reason: &str) -> Self {
        self.reason = Some(reason.to_owned());
        self
    }
}
