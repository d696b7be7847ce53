//! The written form of a policy: what a file or a database row holds. What is as the design has it
//! is left out, so that a policy that says nothing of it is written as it always was.

use super::{BreakerRules, Dimension, Error, Override as Own, OwnLimit, Scope, Share};

#[derive(serde::Serialize, serde::Deserialize)]
pub(super) struct Layer {
    scope: Scope,
    #[serde(flatten)]
    dimension: Dimension,
    limit: u32,
    #[serde(default, skip_serializing_if = "is_false")]
    shadow: bool,
}

impl TryFrom<Layer> for super::Layer {
    type Error = Error;

    fn try_from(layer: Layer) -> Result<Self, Error> {
        let made = Self::new(layer.scope, layer.dimension, layer.limit)?;
        Ok(if layer.shadow {
            made.counting_only()
        } else {
            made
        })
    }
}

impl From<super::Layer> for Layer {
    fn from(layer: super::Layer) -> Self {
        Self {
            scope: layer.scope,
            dimension: layer.dimension,
            limit: layer.limit,
            shadow: layer.shadow,
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Override {
    scope: Scope,
    app: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tenant: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    user: String,
    limits: Vec<Limit>,
}

/// Of a key that is named beside it.
#[derive(serde::Serialize, serde::Deserialize)]
struct Limit {
    #[serde(flatten)]
    dimension: Dimension,
    limit: u32,
}

impl TryFrom<Override> for Own {
    type Error = Error;

    fn try_from(it: Override) -> Result<Self, Error> {
        let limits = it.limits.into_iter().map(|it| OwnLimit {
            dimension: it.dimension,
            limit: it.limit,
        });
        Self::new(it.scope, [it.app, it.tenant, it.user], limits.collect())
    }
}

impl From<Own> for Override {
    fn from(it: Own) -> Self {
        let limits = it.limits().iter().map(|it| Limit {
            dimension: it.dimension,
            limit: it.limit,
        });
        let [app, tenant, user] = it.names().map(str::to_owned);
        Self {
            scope: it.scope(),
            limits: limits.collect(),
            app,
            tenant,
            user,
        }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    layers: Vec<super::Layer>,
    background_share_permille: Share,
    #[serde(default, skip_serializing_if = "is_default")]
    breakers: BreakerRules,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    overrides: Vec<Own>,
}

impl TryFrom<Policy> for super::Policy {
    type Error = Error;

    fn try_from(policy: Policy) -> Result<Self, Error> {
        Self::new(policy.layers, policy.background_share_permille)?
            .with_breakers(policy.breakers)?
            .with_overrides(policy.overrides)
    }
}

impl From<super::Policy> for Policy {
    fn from(policy: super::Policy) -> Self {
        Self {
            layers: policy.layers,
            background_share_permille: policy.background_share,
            breakers: policy.breakers,
            overrides: policy.overrides,
        }
    }
}

impl TryFrom<u16> for Share {
    type Error = Error;

    fn try_from(permille: u16) -> Result<Self, Error> {
        Self::new(permille)
    }
}

impl From<Share> for u16 {
    fn from(share: Share) -> Self {
        share.permille()
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn is_false(it: &bool) -> bool {
    !*it
}

fn is_default(rules: &BreakerRules) -> bool {
    *rules == BreakerRules::DEFAULT
}
