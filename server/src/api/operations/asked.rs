//! What operators ask, checked.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use spillway::{Key, Whose};
use utoipa::ToSchema;

use super::super::named::{bad_field, key, plain, reason};
use crate::{
    http::Problem,
    limiter::{Limiter, WorkloadIndex},
};

/// What an operator wants, and of whom.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wish {
    /// Left out: the whole upstream. Breakers need one.
    pub(crate) scope: Option<Scope>,
    /// Left out: the configured one.
    #[schema(max_length = 256)]
    pub(crate) app: Option<String>,
    #[schema(max_length = 256)]
    pub(crate) tenant: Option<String>,
    #[schema(max_length = 256)]
    pub(crate) user: Option<String>,
    /// When it is to end by itself, RFC 3339, ahead; not for what holds at once.
    #[schema(format = DateTime)]
    pub(crate) until: Option<String>,
    /// One line for the log.
    #[schema(min_length = 1, max_length = 500)]
    pub(crate) reason: String,
}

/// Whom it concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SteeringScope)]
pub(crate) enum Scope {
    Upstream,
    App,
    Tenant,
    User,
}

/// How long something may be in force, wall time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lasting {
    /// Where the operator says nothing.
    pub(super) default: Duration,
    pub(super) max: Duration,
    /// The maximum in words.
    pub(super) max_text: &'static str,
}

impl Wish {
    /// The budget whose breaker is meant.
    pub(super) fn budget(
        &self,
        limiter: &Limiter,
        workload: WorkloadIndex,
    ) -> Result<Key, Problem> {
        let key = |scope, app, tenant, user| Key {
            workload,
            scope,
            app,
            tenant,
            user,
        };
        let none = String::new;
        match self.whose(limiter)? {
            Whose::Upstream => Err(bad_field("scope must be app, tenant or user")),
            Whose::App { app } => Ok(key(spillway::Scope::App, app, none(), none())),
            Whose::Tenant { app, tenant } => Ok(key(spillway::Scope::Tenant, app, tenant, none())),
            Whose::User { app, tenant, user } => Ok(key(spillway::Scope::User, app, tenant, user)),
        }
    }

    /// Whom it concerns: all of the upstream where nobody is named.
    pub(super) fn whose(&self, limiter: &Limiter) -> Result<Whose, Problem> {
        let scope = self.scope.unwrap_or(Scope::Upstream);
        self.check_names(scope)?;
        if scope == Scope::Upstream {
            return Ok(Whose::Upstream);
        }
        let app = self.app.clone().unwrap_or_else(|| limiter.app().to_owned());
        let app = key("app", app)?;
        let tenant = plain("tenant", self.tenant.clone().unwrap_or_default())?;
        Ok(match scope {
            Scope::Upstream => Whose::Upstream,
            Scope::App => Whose::App { app },
            Scope::Tenant => Whose::Tenant { app, tenant },
            Scope::User => Whose::User {
                app,
                tenant,
                user: key("user", self.user.clone().unwrap_or_default())?,
            },
        })
    }

    /// A name that a scope has no use for is a misunderstanding, and so is one that it lacks.
    fn check_names(&self, scope: Scope) -> Result<(), Problem> {
        let given = [
            ("app", self.app.is_some(), Scope::App),
            ("tenant", self.tenant.is_some(), Scope::Tenant),
            ("user", self.user.is_some(), Scope::User),
        ];
        for (name, given, narrowest) in given {
            if given && scope.is_wider_than(narrowest) {
                return Err(bad_field(format!(
                    "{name} says nothing of a whole {}; name the scope that is meant",
                    scope.name()
                )));
            }
            if !given && scope == narrowest && name != "app" {
                return Err(bad_field(format!("{name} is missing")));
            }
        }
        Ok(())
    }

    /// For how long, from `now` on.
    pub(super) fn lasts(&self, now: Timestamp, lasting: Lasting) -> Result<Duration, Problem> {
        let Some(until) = &self.until else {
            return Ok(lasting.default);
        };
        let until: Timestamp = until.parse().map_err(|_| {
            bad_field("until must be an instant of RFC 3339, like 2026-12-01T06:00:00Z")
        })?;
        let lasts = Duration::try_from(until.duration_since(now)).unwrap_or_default();
        if lasts.is_zero() {
            return Err(bad_field("until must lie ahead"));
        }
        if lasts > lasting.max {
            let max = lasting.max_text;
            return Err(bad_field(format!("until must be at most {max} ahead")));
        }
        Ok(lasts)
    }

    /// What ends something has no end itself.
    pub(super) fn is_for_now(&self) -> Result<(), Problem> {
        match self.until {
            Some(_) => Err(bad_field("until says nothing here: this holds at once")),
            None => Ok(()),
        }
    }

    /// Why.
    pub(super) fn reason(&self) -> Result<&str, Problem> {
        reason(&self.reason)
    }
}

impl Scope {
    /// Scopes are declared from the widest on.
    const fn is_wider_than(self, other: Self) -> bool {
        (self as u8) < (other as u8)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::App => "app",
            Self::Tenant => "tenant",
            Self::User => "user",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOURS: Lasting = Lasting {
        default: Duration::from_secs(600),
        max: Duration::from_secs(86_400),
        max_text: "24 hours",
    };

    fn wish(body: serde_json::Value) -> Wish {
        serde_json::from_value(body).unwrap()
    }

    fn lasts(until: &str) -> Result<Duration, Problem> {
        let wish = wish(serde_json::json!({ "until": until, "reason": "r" }));
        wish.lasts("2026-12-01T06:00:00Z".parse().unwrap(), HOURS)
    }

    #[test]
    fn an_end_lies_ahead_and_not_too_far() {
        for (until, seconds) in [
            ("2026-12-01T06:00:01Z", 1),
            ("2026-12-01T08:00:01+02:00", 1),
            ("2026-12-02T06:00:00Z", 86_400),
        ] {
            assert_eq!(lasts(until), Ok(Duration::from_secs(seconds)), "{until}");
        }
        for until in [
            "2026-12-01T06:00:00Z",
            "2026-12-01T05:59:59Z",
            "2026-12-02T06:00:00.001Z",
            "2026-12-01T06:00:01",
            "tomorrow",
            "",
        ] {
            assert!(lasts(until).is_err(), "{until}");
        }
        let without = wish(serde_json::json!({ "reason": "r" }));
        assert_eq!(without.lasts(Timestamp::now(), HOURS), Ok(HOURS.default));
    }
}
