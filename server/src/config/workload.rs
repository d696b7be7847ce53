//! A workload of an upstream: a preset, or one of the configuration's own.

use serde::Deserialize;
use spillway::{
    Scope,
    policy::{Dimension, Policy, Share},
    preset::Preset,
};

use super::{Error, PathPattern, PatternError, paths, upstream::is_name};
use crate::policy::{Document, Scopes, WrittenBreakers, WrittenLayer, WrittenOverride};

/// A part of an upstream with limits of its own.
#[derive(Clone, Debug)]
pub struct Workload {
    /// `onenote`, …
    pub name: String,
    /// Which calls belong to it.
    pub claims: Claims,
    /// The limits that a fresh database is seeded with.
    pub policy: Policy,
}

/// Which calls belong to a workload.
#[derive(Clone, Debug)]
pub enum Claims {
    /// Those that the preset knows.
    Preset(Preset),
    /// Those whose path matches one of these.
    Paths(Vec<PathPattern>),
    /// All calls of the upstream, beside the workload that they belong to, if there is one.
    Global,
}

impl Workload {
    /// Whether a call belongs to it: its method, and the raw path after the upstream's name,
    /// without its query. What is global is not asked.
    pub fn claims(&self, method: &str, path: &str) -> bool {
        match &self.claims {
            Claims::Preset(preset) => preset.claims(method, &paths::plain(path)),
            Claims::Paths(patterns) => patterns.iter().any(|pattern| pattern.claims(path)),
            Claims::Global => false,
        }
    }

    /// The layer that the upstream's own count of what is left speaks of, if it tells one.
    pub fn remaining_is_of(&self) -> Option<(Scope, Dimension)> {
        match &self.claims {
            Claims::Preset(preset) => preset.remaining_is_of(),
            Claims::Paths(_) | Claims::Global => None,
        }
    }

    /// What a call that belongs to it costs, at least 1.
    pub fn weight(&self, method: &str, path: &str, query: &str) -> u32 {
        match &self.claims {
            Claims::Preset(preset) => {
                preset.weight(method, &paths::plain(path), &paths::plain(query))
            }
            Claims::Paths(_) | Claims::Global => 1,
        }
    }
}

/// The presets that `name` brings.
pub(super) fn presets(key: &str, name: &str) -> Result<&'static [Preset], Error> {
    let presets = Preset::brought_by(name);
    if presets.is_empty() {
        let problem = format!(
            "there is no preset \"{}\"; known: {}",
            name.escape_debug(),
            Preset::NAMES.join(", ")
        );
        return Err(Error::invalid(key, problem));
    }
    Ok(presets)
}

/// The workload of a preset.
pub(super) fn of_preset(key: &str, preset: Preset) -> Result<Workload, Error> {
    Ok(Workload {
        name: preset.name().to_owned(),
        claims: Claims::Preset(preset),
        policy: preset
            .policy()
            .map_err(|error| Error::invalid(key, error.to_string()))?,
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    name: Option<String>,
    #[serde(default)]
    paths: Vec<String>,
    background_share_permille: Option<i64>,
    #[serde(default)]
    layers: Vec<WrittenLayer>,
    #[serde(default)]
    breakers: WrittenBreakers,
    #[serde(default)]
    overrides: Vec<WrittenOverride>,
}

impl Raw {
    pub(super) fn check(self, key: &str) -> Result<Workload, Error> {
        let name = self.name.unwrap_or_default();
        if !is_name(&name) {
            let problem =
                "must be of lower-case letters, digits, `-` and `_`, beginning with a letter";
            return Err(Error::invalid(format!("{key}.name"), problem));
        }
        let limits = Document {
            background_share_permille: share(self.background_share_permille),
            layers: self.layers,
            breakers: self.breakers,
            overrides: self.overrides,
        };
        Ok(Workload {
            name,
            claims: Claims::Paths(patterns(key, &self.paths)?),
            policy: policy(key, Scopes::All, &limits)?,
        })
    }
}

fn patterns(key: &str, paths: &[String]) -> Result<Vec<PathPattern>, Error> {
    if paths.is_empty() {
        let problem = "must hold at least one path, like \"/v1/search\"";
        return Err(Error::invalid(format!("{key}.paths"), problem));
    }
    let pattern = |(n, text): (usize, &String)| {
        text.parse().map_err(|error: PatternError| {
            Error::invalid(format!("{key}.paths[{n}]"), error.to_string())
        })
    };
    paths.iter().enumerate().map(pattern).collect()
}

/// Background's part where none is given: half.
pub(super) fn share(permille: Option<i64>) -> i64 {
    permille.unwrap_or_else(|| Share::HALF.permille().into())
}

/// The same as where a policy is written by the API: the first of its mistakes, under its key.
pub(super) fn policy(key: &str, scopes: Scopes, limits: &Document) -> Result<Policy, Error> {
    limits.check(scopes).map_err(|mistakes| {
        let mistake = mistakes.into_iter().next();
        mistake.map_or_else(
            || Error::invalid(key, "is no policy"),
            |it| Error::invalid(format!("{key}.{}", it.field), it.detail),
        )
    })
}
