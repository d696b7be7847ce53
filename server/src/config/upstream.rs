//! `[upstreams.NAME]`: one throttled API.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use serde::Deserialize;
use spillway::preset::{Preset, Vendor};

use super::{ClientNetwork, Error, WebAddress, Workload, global, networks, source, workload};

/// How long the gateway holds a call where the configuration says nothing.
const HOLD_MAX_MS_DEFAULT: u64 = 30_000;

/// The longest hold that may be set: what proxies and clients commonly bear is far below.
const HOLD_MAX_MS_MAX: u64 = 600_000;

/// The most characters of a name or an app's key: they become keys of counters and labels.
const NAME_CHARS_MAX: usize = 64;

/// One throttled API.
#[derive(Clone, Debug)]
pub struct Upstream {
    /// The first segment of the gateway's paths: `graph`.
    pub name: String,
    /// Where it is.
    pub base_url: WebAddress,
    /// Its parts with limits of their own; a call belongs to the first that claims it.
    pub workloads: Vec<Workload>,
    /// What limits all calls of an app together.
    pub global: Option<Workload>,
    /// The app's key where a call names none.
    pub app: String,
    /// Where the user's key comes from.
    pub user_from: UserFrom,
    /// How long a call may be held, wall time.
    pub hold_max: Duration,
    /// Whether links to it are rewritten into ones to the gateway, and back.
    pub rewrite_links: bool,
    /// Whether a `POST` of `…/$batch` is taken apart, so that each of its parts is charged.
    pub split_batches: bool,
    /// Whose callers need no token, the narrowest network first.
    pub clients: Vec<Arc<ClientNetwork>>,
}

/// Where the user's key of a call comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UserFrom {
    /// The claims `tid`, `oid` and `appid` of the bearer.
    #[default]
    Token,
    /// The header `Spillway-User`.
    Header,
    /// The path: `/users/{id}/…`.
    Path,
}

impl Upstream {
    /// Everything that has a policy, in the engine's order: the workloads, then what is global.
    pub fn limited(&self) -> impl Iterator<Item = &Workload> {
        self.workloads.iter().chain(&self.global)
    }

    /// Where [`Upstream::limited`] has what is global.
    pub fn global_at(&self) -> Option<usize> {
        self.global.as_ref().map(|_| self.workloads.len())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    base_url: Option<String>,
    #[serde(default)]
    presets: Vec<String>,
    app: Option<String>,
    #[serde(default)]
    user_from: UserFrom,
    hold_max_ms: Option<i64>,
    #[serde(default)]
    workloads: Vec<workload::Raw>,
    global: Option<global::Raw>,
    #[serde(default)]
    clients: Vec<networks::RawClient>,
    rewrite_links: Option<bool>,
    split_batches: Option<bool>,
}

impl Raw {
    pub(super) fn check(self, name: String) -> Result<Upstream, Error> {
        let key = format!("upstreams.{name}");
        if !is_name(&name) {
            let problem = "an upstream's name must be of lower-case letters, digits, `-` and `_`, beginning with a letter";
            return Err(Error::invalid(key, problem));
        }
        let base_url = base_url(&key, self.base_url)?;
        let presets = presets(&key, &self.presets)?;
        let brought: Vec<Preset> = presets.iter().map(|(_, preset)| *preset).collect();
        Ok(Upstream {
            base_url,
            workloads: workloads(&key, self.workloads, presets)?,
            global: global::workload(&key, self.global, &brought)?,
            app: app(&key, self.app, &name)?,
            user_from: self.user_from,
            hold_max: hold_max(&key, self.hold_max_ms)?,
            rewrite_links: self.rewrite_links.unwrap_or(true),
            split_batches: self.split_batches.unwrap_or_else(|| has_batches(&brought)),
            clients: networks::clients(&key, self.clients)?,
            name,
        })
    }
}

/// Names are path segments and labels: plain, and never mistaken for anything else.
pub(super) fn is_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    name.len() <= NAME_CHARS_MAX
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(plain)
}

fn base_url(key: &str, text: Option<String>) -> Result<WebAddress, Error> {
    let key = format!("{key}.base_url");
    let Some(text) = text else {
        return Err(Error::invalid(key, "is missing"));
    };
    text.parse()
        .map_err(|error: super::AddressError| Error::invalid(key, error.to_string()))
}

/// Whether an upstream may have batches: as far as is known, any but Notion. Passed on as one
/// call, a batch would be as many too many as it has parts.
fn has_batches(presets: &[Preset]) -> bool {
    let vendors = presets.iter().map(|preset| preset.vendor());
    !vendors.into_iter().any(|vendor| vendor == Vendor::Notion)
}

/// What the names bring, each with its key. One upstream is one vendor's.
fn presets(key: &str, names: &[String]) -> Result<Vec<(String, Preset)>, Error> {
    let mut all: Vec<(String, Preset)> = Vec::new();
    for (n, name) in names.iter().enumerate() {
        let key = format!("{key}.presets[{n}]");
        for preset in workload::presets(&key, name)? {
            if let Some((_, first)) = all.first()
                && first.vendor() != preset.vendor()
            {
                let problem = format!(
                    "`{name}` is not of the vendor of `{}`: it needs an upstream of its own",
                    names[0]
                );
                return Err(Error::invalid(key, problem));
            }
            all.push((key.clone(), *preset));
        }
    }
    Ok(all)
}

/// The configuration's own workloads come first, so that they can narrow a preset.
fn workloads(
    key: &str,
    own: Vec<workload::Raw>,
    presets: Vec<(String, Preset)>,
) -> Result<Vec<Workload>, Error> {
    let own = own.into_iter().enumerate().map(|(n, raw)| {
        let key = format!("{key}.workloads[{n}]");
        raw.check(&key)
            .map(|workload| (format!("{key}.name"), workload))
    });
    let presets = presets
        .into_iter()
        .map(|(key, preset)| workload::of_preset(&key, preset).map(|workload| (key, workload)));
    let all: Vec<_> = own.chain(presets).collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    for (key, workload) in &all {
        if !names.insert(workload.name.as_str()) {
            return Err(Error::invalid(
                key,
                format!("`{}` is given twice", workload.name),
            ));
        }
    }
    if all.is_empty() {
        return Err(Error::invalid(
            format!("{key}.presets"),
            "must name a preset, or [[…workloads]] must follow: without limits there is nothing to keep",
        ));
    }
    Ok(all.into_iter().map(|(_, workload)| workload).collect())
}

fn app(key: &str, app: Option<String>, upstream: &str) -> Result<String, Error> {
    let app = app.unwrap_or_else(|| upstream.to_owned());
    app_key(&format!("{key}.app"), app)
}

/// An app's key: plain, so that it can be read in a log or typed.
pub(super) fn app_key(key: &str, app: String) -> Result<String, Error> {
    let sound = !app.is_empty()
        && app.chars().count() <= NAME_CHARS_MAX
        && app.chars().all(|c| c.is_ascii_graphic());
    if sound {
        Ok(app)
    } else {
        let problem = format!("must be 1 to {NAME_CHARS_MAX} visible ASCII characters");
        Err(Error::invalid(key, problem))
    }
}

fn hold_max(key: &str, ms: Option<i64>) -> Result<Duration, Error> {
    let ms = ms.map_or(Ok(HOLD_MAX_MS_DEFAULT), |ms| {
        source::whole(&format!("{key}.hold_max_ms"), ms, 1..=HOLD_MAX_MS_MAX)
    });
    ms.map(Duration::from_millis)
}
