//! Own limits of one key, as people and programs write them.

use serde::{Deserialize, Serialize};
use spillway::{
    Override, OwnLimit, Scope,
    policy::{self, NAME_BYTES_MAX, OVERRIDES_MAX},
};
use utoipa::ToSchema;

use super::{Mistake, Scopes, WrittenDimension, WrittenLayer, WrittenScope, mistake, parts};

/// Own limits of one user, tenant or app. Each holds in the place of the workload's of the same
/// dimension, or beside them where it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyOverride)]
pub struct WrittenOverride {
    /// Whether it is of one user, tenant or app.
    pub scope: WrittenScope,
    /// The application's key.
    #[schema(min_length = 1, max_length = 256)]
    pub app: String,
    /// The tenant's key; left out: that of calls that name none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(max_length = 256)]
    pub tenant: String,
    /// The user's key; of a user alone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(max_length = 256)]
    pub user: String,
    /// Each dimension at most once.
    #[schema(min_items = 1, max_items = 16)]
    pub limits: Vec<WrittenOwnLimit>,
}

/// How much of something one key may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyOwnLimit)]
pub struct WrittenOwnLimit {
    /// Weight per window, or calls in flight.
    pub dimension: WrittenDimension,
    /// The window's length in milliseconds; rates alone have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 2_678_400_000_i64)]
    pub window_ms: Option<i64>,
    /// The most at once.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub limit: i64,
}

pub(super) fn check(
    overrides: &[WrittenOverride],
    scopes: Scopes,
    mistakes: &mut Vec<Mistake>,
) -> Option<Vec<Override>> {
    if overrides.len() > OVERRIDES_MAX {
        let error = policy::Error::TooManyOverrides(overrides.len());
        mistakes.push(mistake("overrides", error));
        return None;
    }
    let all = overrides.iter().enumerate().map(|(n, it)| {
        let at = format!("overrides[{n}]");
        let whose =
            |it: &WrittenOverride| (it.scope, it.app.clone(), it.tenant.clone(), it.user.clone());
        let before = &overrides[..n];
        if let Some(first) = before.iter().position(|other| whose(other) == whose(it)) {
            let detail = format!("is of the same key as overrides[{first}]: keep one");
            mistakes.push(mistake(&at, detail));
        }
        it.check(&at, scopes, mistakes)
    });
    // To the end, so that all mistakes are said.
    let all: Vec<_> = all.collect();
    all.into_iter().collect()
}

impl WrittenOverride {
    fn check(&self, at: &str, scopes: Scopes, mistakes: &mut Vec<Mistake>) -> Option<Override> {
        let found = mistakes.len();
        self.check_names(at, mistakes);
        if scopes == Scopes::App && self.scope != WrittenScope::App {
            let detail = "must be app: a global limit is an app's, whatever it calls and for whom";
            mistakes.push(mistake(format!("{at}.scope"), detail));
        }
        if self.limits.is_empty() {
            let field = format!("{at}.limits");
            mistakes.push(mistake(field, policy::Error::OverrideEmpty));
        }
        let limits = self.limits.iter().enumerate().map(|(n, own)| {
            let at = format!("{at}.limits[{n}]");
            let layer = own.as_layer(self.scope).check(&at, Scopes::All, mistakes)?;
            Some(OwnLimit {
                dimension: layer.dimension(),
                limit: layer.limit(),
            })
        });
        let limits: Vec<_> = limits.collect();
        if mistakes.len() > found {
            return None;
        }
        let names = [self.app.clone(), self.tenant.clone(), self.user.clone()];
        let limits: Option<Vec<OwnLimit>> = limits.into_iter().collect();
        let made = Override::new(self.scope.into(), names, limits?);
        made.map_err(|error| mistakes.push(mistake(at, error))).ok()
    }

    fn check_names(&self, at: &str, mistakes: &mut Vec<Mistake>) {
        let scope = Scope::from(self.scope);
        let names = [
            ("app", &self.app, true, true),
            ("tenant", &self.tenant, scope <= Scope::Tenant, false),
            ("user", &self.user, scope == Scope::User, true),
        ];
        for (name, text, has, must) in names {
            let detail = if !has && !text.is_empty() {
                format!("must be left out: an override of one {scope} has none")
            } else if has && must && text.is_empty() {
                "must not be empty".to_owned()
            } else if text.len() > NAME_BYTES_MAX || text.chars().any(char::is_control) {
                format!("must be at most {NAME_BYTES_MAX} bytes without control characters")
            } else {
                continue;
            };
            mistakes.push(mistake(format!("{at}.{name}"), detail));
        }
    }
}

impl WrittenOwnLimit {
    /// The same as a layer, which is checked alike.
    const fn as_layer(self, scope: WrittenScope) -> WrittenLayer {
        WrittenLayer {
            scope,
            dimension: self.dimension,
            window_ms: self.window_ms,
            limit: self.limit,
            shadow: false,
        }
    }
}

impl From<&Override> for WrittenOverride {
    fn from(own: &Override) -> Self {
        let [app, tenant, user] = own.names().map(str::to_owned);
        let limits = own.limits().iter().map(|own| {
            let (dimension, window_ms) = parts(own.dimension);
            WrittenOwnLimit {
                dimension,
                window_ms,
                limit: own.limit.into(),
            }
        });
        Self {
            scope: own.scope().into(),
            app,
            tenant,
            user,
            limits: limits.collect(),
        }
    }
}
