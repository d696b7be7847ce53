//! Own limits of one user, tenant or app, in the place of those that all others have.

use super::{Dimension, Error, LAYERS_MAX, Layer};
use crate::call::Scope;

/// The most overrides of a policy: they are exceptions, looked through at every call.
pub const OVERRIDES_MAX: usize = 64;

/// The longest name in an override, in bytes, as that of any key.
pub const NAME_BYTES_MAX: usize = 256;

/// How much of something one key may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnLimit {
    /// Rate or concurrency.
    pub dimension: Dimension,
    /// The most at once.
    pub limit: u32,
}

/// Own limits of one key. Where the workload has a limit of the same dimension at the key's scope,
/// this one holds in its place; else it holds beside the others. What is not named here is as for
/// everybody, as is the background's share.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(
        try_from = "super::document::Override",
        into = "super::document::Override"
    )
)]
pub struct Override {
    scope: Scope,
    app: String,
    tenant: String,
    user: String,
    limits: Vec<OwnLimit>,
}

impl Override {
    /// Own limits of the key of these names: app, tenant, user; those that its scope does not
    /// have are empty. A tenant's name may be empty, as it is for callers without one.
    ///
    /// # Errors
    /// A name is missing, too much, or too long; no limit, an illegal one, or two of the same
    /// dimension.
    pub fn new(scope: Scope, names: [String; 3], limits: Vec<OwnLimit>) -> Result<Self, Error> {
        let [app, tenant, user] = names;
        let named = match scope {
            Scope::App => tenant.is_empty() && user.is_empty(),
            Scope::Tenant => user.is_empty(),
            Scope::User => !user.is_empty(),
        };
        let fits = |name: &String| name.len() <= NAME_BYTES_MAX;
        if !named || app.is_empty() || ![&app, &tenant, &user].into_iter().all(fits) {
            return Err(Error::OverrideKey(scope));
        }
        check_limits(scope, &limits)?;
        Ok(Self {
            scope,
            app,
            tenant,
            user,
            limits,
        })
    }

    /// Whether it is of one user, tenant or app.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }

    /// The names of its app, tenant and user; those that its scope does not have are empty.
    #[must_use]
    pub fn names(&self) -> [&str; 3] {
        [&self.app, &self.tenant, &self.user]
    }

    /// Its limits, in the order given.
    #[must_use]
    pub fn limits(&self) -> &[OwnLimit] {
        &self.limits
    }

    /// The limit of this dimension, if it has one.
    #[must_use]
    pub fn limit(&self, dimension: Dimension) -> Option<u32> {
        let mut limits = self.limits.iter();
        let own = limits.find(|own| own.dimension == dimension);
        own.map(|own| own.limit)
    }

    /// The same for the key of other names: for a driver that knows keys by others.
    pub(super) fn renamed(mut self, name: &impl Fn(&str) -> String) -> Self {
        self.app = name(&self.app);
        if self.scope <= Scope::Tenant {
            self.tenant = name(&self.tenant);
        }
        if self.scope == Scope::User {
            self.user = name(&self.user);
        }
        self
    }
}

fn check_limits(scope: Scope, limits: &[OwnLimit]) -> Result<(), Error> {
    if limits.is_empty() {
        return Err(Error::OverrideEmpty);
    }
    if limits.len() > LAYERS_MAX {
        return Err(Error::TooManyLayers(limits.len()));
    }
    for (n, own) in limits.iter().enumerate() {
        Layer::new(scope, own.dimension, own.limit)?;
        if limits[..n].iter().any(|it| it.dimension == own.dimension) {
            return Err(Error::Doubled(scope, own.dimension));
        }
    }
    Ok(())
}

/// What overrides limit that no layer of the policy does, each once.
pub(crate) fn beside(layers: &[Layer], overrides: &[Override], scope: Scope) -> Vec<Dimension> {
    let is_layer = |dimension: Dimension| {
        let mut layers = layers.iter();
        layers.any(|layer| layer.scope() == scope && layer.dimension() == dimension)
    };
    let mut beside = Vec::new();
    let of_scope = overrides.iter().filter(|it| it.scope == scope);
    for own in of_scope.flat_map(|it| &it.limits) {
        if !is_layer(own.dimension) && !beside.contains(&own.dimension) {
            beside.push(own.dimension);
        }
    }
    beside
}

/// Whether a policy of these layers may have these.
pub(super) fn check(layers: &[Layer], overrides: &[Override]) -> Result<(), Error> {
    if overrides.len() > OVERRIDES_MAX {
        return Err(Error::TooManyOverrides(overrides.len()));
    }
    for (n, it) in overrides.iter().enumerate() {
        let same = |other: &Override| (other.scope, other.names()) == (it.scope, it.names());
        if overrides[..n].iter().any(same) {
            return Err(Error::OverrideDoubled(it.scope));
        }
    }
    for scope in Scope::ALL {
        let own = layers.iter().filter(|layer| layer.scope() == scope).count();
        let all = own + beside(layers, overrides, scope).len();
        if all > LAYERS_MAX {
            return Err(Error::TooManyLayers(all));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{Policy, Share};
    use super::*;

    const MINUTE: Dimension = Dimension::Rate { window_ms: 60_000 };

    fn own(limit: u32) -> Vec<OwnLimit> {
        vec![OwnLimit {
            dimension: MINUTE,
            limit,
        }]
    }

    fn of(scope: Scope, names: [&str; 3], limits: Vec<OwnLimit>) -> Result<Override, Error> {
        Override::new(scope, names.map(str::to_owned), limits)
    }

    #[test]
    fn an_override_names_its_key_and_nothing_else() {
        for (scope, names) in [
            (Scope::User, ["a", "t", "u"]),
            (Scope::User, ["a", "", "u"]),
            (Scope::Tenant, ["a", "t", ""]),
            (Scope::Tenant, ["a", "", ""]),
            (Scope::App, ["a", "", ""]),
        ] {
            assert!(of(scope, names, own(1)).is_ok(), "{scope:?} {names:?}");
        }
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for (scope, names) in [
            (Scope::User, ["a", "t", ""]),
            (Scope::User, ["", "t", "u"]),
            (Scope::Tenant, ["a", "t", "u"]),
            (Scope::App, ["a", "t", ""]),
            (Scope::App, ["", "", ""]),
            (Scope::App, [&long, "", ""]),
        ] {
            let refused = of(scope, names, own(1));
            assert_eq!(refused, Err(Error::OverrideKey(scope)), "{names:?}");
        }
    }

    #[test]
    fn its_limits_are_legal_and_there_once() {
        let user = |limits| of(Scope::User, ["a", "t", "u"], limits);
        assert_eq!(user(vec![]), Err(Error::OverrideEmpty));
        assert_eq!(user(own(0)), Err(Error::LimitZero));
        let twice = [own(1), own(2)].concat();
        assert_eq!(user(twice), Err(Error::Doubled(Scope::User, MINUTE)));
    }

    #[test]
    fn a_policy_takes_each_key_once_and_not_too_many() {
        let layer = Layer::new(Scope::User, MINUTE, 5).unwrap();
        let policy = Policy::new(vec![layer], Share::HALF).unwrap();
        let ann = of(Scope::User, ["a", "t", "ann"], own(1)).unwrap();
        let twice = policy.clone().with_overrides(vec![ann.clone(); 2]);
        assert_eq!(twice, Err(Error::OverrideDoubled(Scope::User)));
        let many = (0..=OVERRIDES_MAX)
            .map(|n| of(Scope::User, ["a", "t", &n.to_string()], own(1)).unwrap());
        let many = policy.clone().with_overrides(many.collect());
        assert_eq!(many, Err(Error::TooManyOverrides(OVERRIDES_MAX + 1)));
        assert!(policy.with_overrides(vec![ann]).is_ok());
    }

    #[test]
    fn names_below_the_scope_stay_empty() {
        let renamed = |scope, names| {
            let it = of(scope, names, own(1)).unwrap();
            let it = it.renamed(&|name| format!("<{name}>"));
            it.names().map(str::to_owned)
        };
        assert_eq!(renamed(Scope::App, ["a", "", ""]), ["<a>", "", ""]);
        assert_eq!(renamed(Scope::Tenant, ["a", "", ""]), ["<a>", "<>", ""]);
        assert_eq!(renamed(Scope::User, ["a", "", "u"]), ["<a>", "<>", "<u>"]);
    }
}
