//! A policy as people and programs write it: every mistake is said, each with its place.

mod breakers;
mod overrides;

use serde::{Deserialize, Serialize};
use spillway::{
    Dimension, Layer, Policy, Scope,
    policy::{self, LAYERS_MAX, LIMIT_MAX, Share, WINDOW_MS_MAX, WINDOW_MS_MIN},
};
use utoipa::ToSchema;

pub use breakers::WrittenBreakers;
pub use overrides::{WrittenOverride, WrittenOwnLimit};

/// The limits of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Policy)]
pub struct Document {
    /// Background's part of every layer, in whole per mille.
    #[schema(minimum = 1, maximum = 1_000)]
    pub background_share_permille: i64,
    /// Each scope and dimension at most once.
    #[schema(min_items = 1, max_items = 16)]
    pub layers: Vec<WrittenLayer>,
    /// When breakers trip, and for how long; what is left out is as the design has it.
    #[serde(default, skip_serializing_if = "WrittenBreakers::is_default")]
    pub breakers: WrittenBreakers,
    /// Own limits of one user, tenant or app each; left out: nobody has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 64)]
    pub overrides: Vec<WrittenOverride>,
}

/// One limit at one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PolicyLayer)]
pub struct WrittenLayer {
    /// Whose budget.
    pub scope: WrittenScope,
    /// Weight per window, or calls in flight.
    pub dimension: WrittenDimension,
    /// The window's length in milliseconds; rates alone have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 2_678_400_000_i64)]
    pub window_ms: Option<i64>,
    /// The most at once.
    #[schema(minimum = 1, maximum = 1_000_000_000)]
    pub limit: i64,
    /// Whether it refuses nothing, and only counts what it would have refused.
    #[serde(default, skip_serializing_if = "is_false")]
    pub shadow: bool,
}

/// Whose budget a limit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PolicyScope)]
pub enum WrittenScope {
    /// One user's of an app.
    User,
    /// An app's within one tenant.
    Tenant,
    /// An app's.
    App,
}

/// What a layer limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = PolicyDimension)]
pub enum WrittenDimension {
    /// Weight per window.
    Rate,
    /// Calls in flight.
    Concurrency,
}

/// Something that a policy cannot have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = PolicyMistake)]
pub struct Mistake {
    /// Its place, like `layers[1].limit`.
    pub field: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

/// Whose limits may be in a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scopes {
    /// Any.
    All,
    /// An app's alone, as in what limits all its calls together.
    App,
}

impl Document {
    /// The policy that it says.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn check(&self, scopes: Scopes) -> Result<Policy, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let share = self.share(&mut mistakes);
        let layers = self.layers.iter().enumerate();
        let layers: Vec<_> = layers
            .map(|(n, layer)| layer.check(&format!("layers[{n}]"), scopes, &mut mistakes))
            .collect();
        self.check_number(&mut mistakes);
        self.check_doubled(&mut mistakes);
        let layers: Option<Vec<Layer>> = layers.into_iter().collect();
        let rules = self.breakers.check(&mut mistakes);
        let overrides = overrides::check(&self.overrides, scopes, &mut mistakes);
        match (share, layers, rules, overrides) {
            (Some(share), Some(layers), Some(rules), Some(overrides)) if mistakes.is_empty() => {
                let policy = Policy::new(layers, share);
                let policy = policy.and_then(|policy| policy.with_breakers(rules));
                let policy = policy.map_err(|error| vec![mistake("layers", error)])?;
                let policy = policy.with_overrides(overrides);
                policy.map_err(|error| vec![mistake("overrides", error)])
            }
            _ => Err(mistakes),
        }
    }

    fn share(&self, mistakes: &mut Vec<Mistake>) -> Option<Share> {
        let permille = self.background_share_permille;
        // Whatever does not fit is above or below all that may be.
        let fitting = u16::try_from(permille.max(0)).unwrap_or(u16::MAX);
        match Share::new(fitting) {
            Ok(share) if permille >= 0 => Some(share),
            Ok(_) | Err(_) => {
                let detail = format!(
                    "{permille} is outside 1 to 1000 per mille (to stop background calls, pause the lane instead)"
                );
                mistakes.push(mistake("background_share_permille", detail));
                None
            }
        }
    }

    fn check_number(&self, mistakes: &mut Vec<Mistake>) {
        match self.layers.len() {
            0 => mistakes.push(mistake("layers", policy::Error::NoLayers)),
            1..=LAYERS_MAX => {}
            many => mistakes.push(mistake("layers", policy::Error::TooManyLayers(many))),
        }
    }

    fn check_doubled(&self, mistakes: &mut Vec<Mistake>) {
        let what = |layer: &WrittenLayer| (layer.scope, layer.dimension, layer.window_ms);
        for (n, layer) in self.layers.iter().enumerate() {
            let before = &self.layers[..n];
            if let Some(first) = before.iter().position(|it| what(it) == what(layer)) {
                let detail = format!("limits the same as layers[{first}]: keep the lower one");
                mistakes.push(mistake(format!("layers[{n}]"), detail));
            }
        }
    }
}

impl WrittenLayer {
    fn check(self, at: &str, scopes: Scopes, mistakes: &mut Vec<Mistake>) -> Option<Layer> {
        let found = mistakes.len();
        if scopes == Scopes::App && self.scope != WrittenScope::App {
            let detail = "must be app: a global limit is an app's, whatever it calls and for whom";
            mistakes.push(mistake(format!("{at}.scope"), detail));
        }
        let dimension = self.dimension().map_err(|detail| {
            mistakes.push(mistake(format!("{at}.window_ms"), detail));
        });
        let limit = self.limit().map_err(|detail| {
            mistakes.push(mistake(format!("{at}.limit"), detail));
        });
        let (dimension, limit) = (dimension.ok()?, limit.ok()?);
        if mistakes.len() > found {
            return None;
        }
        let layer = Layer::new(self.scope.into(), dimension, limit);
        let layer = layer.map(|layer| match self.shadow {
            true => layer.counting_only(),
            false => layer,
        });
        layer
            .map_err(|error| mistakes.push(mistake(at, error)))
            .ok()
    }

    fn dimension(self) -> Result<Dimension, String> {
        match (self.dimension, self.window_ms) {
            (WrittenDimension::Concurrency, None) => Ok(Dimension::Concurrency),
            (WrittenDimension::Concurrency, Some(_)) => {
                Err("a concurrency has no window: leave it out".to_owned())
            }
            (WrittenDimension::Rate, None) => {
                Err("is missing: a rate is a limit per window".to_owned())
            }
            (WrittenDimension::Rate, Some(ms)) => u64::try_from(ms)
                .ok()
                .filter(|ms| (WINDOW_MS_MIN..=WINDOW_MS_MAX).contains(ms))
                .map(|window_ms| Dimension::Rate { window_ms })
                .ok_or_else(|| {
                    format!("{ms} is outside {WINDOW_MS_MIN} to {WINDOW_MS_MAX} ms (31 days)")
                }),
        }
    }

    fn limit(self) -> Result<u32, String> {
        match u32::try_from(self.limit) {
            Ok(0) => Err(policy::Error::LimitZero.to_string()),
            Ok(limit) if limit <= LIMIT_MAX => Ok(limit),
            _ => Err(format!("{} is outside 1 to {LIMIT_MAX}", self.limit)),
        }
    }
}

impl From<&Policy> for Document {
    fn from(policy: &Policy) -> Self {
        Self {
            background_share_permille: policy.background_share().permille().into(),
            layers: policy.layers().iter().map(WrittenLayer::from).collect(),
            breakers: policy.breakers().into(),
            overrides: policy.overrides().iter().map(Into::into).collect(),
        }
    }
}

impl From<&Layer> for WrittenLayer {
    fn from(layer: &Layer) -> Self {
        let (dimension, window_ms) = parts(layer.dimension());
        Self {
            scope: layer.scope().into(),
            dimension,
            window_ms,
            limit: layer.limit().into(),
            shadow: layer.is_shadow(),
        }
    }
}

const fn parts(dimension: Dimension) -> (WrittenDimension, Option<i64>) {
    match dimension {
        Dimension::Concurrency => (WrittenDimension::Concurrency, None),
        Dimension::Rate { window_ms } => (WrittenDimension::Rate, Some(window_ms.cast_signed())),
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
const fn is_false(it: &bool) -> bool {
    !*it
}

impl From<WrittenScope> for Scope {
    fn from(scope: WrittenScope) -> Self {
        match scope {
            WrittenScope::User => Self::User,
            WrittenScope::Tenant => Self::Tenant,
            WrittenScope::App => Self::App,
        }
    }
}

impl From<Scope> for WrittenScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::User => Self::User,
            Scope::Tenant => Self::Tenant,
            Scope::App => Self::App,
        }
    }
}

fn mistake(field: impl Into<String>, detail: impl ToString) -> Mistake {
    Mistake {
        field: field.into(),
        detail: detail.to_string(),
    }
}

#[cfg(test)]
mod tests;
