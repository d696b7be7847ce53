//! Pauses of background calls, which operators begin and end.

use serde::{Deserialize, Serialize};

use super::UserState;

/// Background calls that an operator paused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Pause {
    /// Whose calls.
    pub scope: PauseScope,
    /// The application's key, unless all of the upstream's are paused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app: String,
    /// The tenant's key, where one tenant's or user's are paused and it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tenant: String,
    /// The user's key, where one user's are paused.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub user: String,
    /// When it ends by itself, RFC 3339.
    #[cfg_attr(feature = "ssr", schema(format = DateTime))]
    pub until: String,
    /// Who paused them, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<SetBy>,
}

/// Who paused or forced something. Texts are as they were given: show them as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct SetBy {
    /// What kind of actor, and what people call it: `token bridge (0123456789abcdef)`.
    pub who: String,
    /// In its own words.
    pub reason: String,
    /// When, RFC 3339.
    #[cfg_attr(feature = "ssr", schema(format = DateTime))]
    pub at: String,
}

/// Whose background calls are paused, the widest first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PauseScope {
    /// All of the upstream's.
    #[default]
    Upstream,
    /// One app's.
    App,
    /// One app's within one tenant.
    Tenant,
    /// One user's of an app.
    User,
}

impl PauseScope {
    /// As the API names it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::App => "app",
            Self::Tenant => "tenant",
            Self::User => "user",
        }
    }
}

impl Pause {
    /// Whether it stops this user's background calls.
    #[must_use]
    pub fn stops(&self, user: &UserState) -> bool {
        let app = self.app == user.app;
        let tenant = app && self.tenant == user.tenant;
        match self.scope {
            PauseScope::Upstream => true,
            PauseScope::App => app,
            PauseScope::Tenant => tenant,
            PauseScope::User => tenant && self.user == user.user,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pause(scope: PauseScope, [app, tenant, user]: [&str; 3]) -> Pause {
        Pause {
            scope,
            app: app.to_owned(),
            tenant: tenant.to_owned(),
            user: user.to_owned(),
            until: String::new(),
            by: None,
        }
    }

    #[test]
    fn a_pause_stops_whom_all_its_keys_name() {
        use PauseScope::{App, Tenant, Upstream, User};
        let user = UserState {
            app: "a".to_owned(),
            tenant: "t".to_owned(),
            user: "u".to_owned(),
            ..UserState::default()
        };
        for (scope, keys, stops) in [
            (Upstream, ["", "", ""], true),
            (App, ["a", "", ""], true),
            (App, ["b", "", ""], false),
            (Tenant, ["a", "t", ""], true),
            (Tenant, ["a", "", ""], false),
            (Tenant, ["b", "t", ""], false),
            (User, ["a", "t", "u"], true),
            (User, ["a", "t", "v"], false),
            (User, ["a", "", "u"], false),
            (User, ["b", "t", "u"], false),
        ] {
            assert_eq!(pause(scope, keys).stops(&user), stops, "{scope:?} {keys:?}");
        }
    }

    #[test]
    fn scopes_are_named_as_they_are_written() {
        use PauseScope::{App, Tenant, Upstream, User};
        for scope in [Upstream, App, Tenant, User] {
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.name());
        }
    }
}
