//! `[upstreams.NAME.global]`: what limits all calls of an app together.

use serde::Deserialize;
use spillway::{
    policy::Policy,
    preset::{Preset, Vendor},
};

use super::{Claims, Error, Workload, workload};
use crate::policy::{Document, Scopes, WrittenBreakers, WrittenLayer, WrittenOverride};

/// The name of the workload that every call is charged to beside its own. No configured
/// workload can have it, since their names begin with a letter.
pub const NAME: &str = "_global";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    background_share_permille: Option<i64>,
    #[serde(default)]
    layers: Vec<WrittenLayer>,
    #[serde(default)]
    breakers: WrittenBreakers,
    #[serde(default)]
    overrides: Vec<WrittenOverride>,
}

/// The configured limits, else the vendor's own.
pub(super) fn workload(
    upstream: &str,
    configured: Option<Raw>,
    presets: &[Preset],
) -> Result<Option<Workload>, Error> {
    let key = format!("{upstream}.global");
    let policy = match configured {
        Some(raw) => Some(raw.check(&key)?),
        None => vendors(presets, &key)?,
    };
    Ok(policy.map(|policy| Workload {
        name: NAME.to_owned(),
        claims: Claims::Global,
        policy,
    }))
}

fn vendors(presets: &[Preset], key: &str) -> Result<Option<Policy>, Error> {
    let vendor: Option<Vendor> = presets.first().map(|preset| preset.vendor());
    let policy = vendor.and_then(Vendor::global).transpose();
    policy.map_err(|error| Error::invalid(key, error.to_string()))
}

impl Raw {
    fn check(self, key: &str) -> Result<Policy, Error> {
        let limits = Document {
            background_share_permille: workload::share(self.background_share_permille),
            layers: self.layers,
            breakers: self.breakers,
            overrides: self.overrides,
        };
        workload::policy(key, Scopes::App, &limits)
    }
}
