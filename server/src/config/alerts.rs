//! `[alerts]`: what counts as trouble, how often somebody is told, and which programs are.

use std::{fmt, ops::RangeInclusive, path::PathBuf, time::Duration};

use serde::Deserialize;
use url::{Host, Url};

use super::{Error, source, upstream::is_name};

/// As long as docs/METRICS.md has an open breaker wake somebody after.
const TELL_AFTER_S: u32 = 300;

/// Case 44 of the specification: ten minutes.
const OVER_AFTER_S: u32 = 600;

/// As many users as speak for more than one person's bad day; the engine takes as many for an
/// app's trouble.
const USERS_MIN: u32 = 3;

/// How often an upstream has to throttle although everything fitted before that is told.
const DRIFT_MIN: u32 = 3;

/// One each five minutes: who gets more has been told.
const PER_HOUR_MAX: u32 = 12;

/// The most programs that are told.
const WEBHOOKS_MAX: usize = 8;

/// What counts as trouble, and who is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alerts {
    /// How long something has to be wrong before somebody is told.
    pub tell_after: Duration,
    /// How long it has to be right before that is over.
    pub over_after: Duration,
    /// From how many users' open breakers on that is told.
    pub users_min: u32,
    /// How often an upstream has to throttle although everything fitted before that is told.
    pub drift_min: u32,
    /// How often somebody is told within an hour; what comes beyond is told together.
    pub per_hour_max: u32,
    /// The programs that are told.
    pub webhooks: Vec<Webhook>,
}

/// A program that is told.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook {
    /// What it is called wherever it is shown: its address may be a secret.
    pub name: String,
    /// Where it takes POST requests.
    pub url: Url,
    /// The file that holds what requests to it are signed with.
    pub secret_file: PathBuf,
    /// Whether it may be at an address that only this network knows.
    pub private: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Raw {
    tell_after_s: Option<i64>,
    over_after_s: Option<i64>,
    users_min: Option<i64>,
    drift_min: Option<i64>,
    per_hour_max: Option<i64>,
    #[serde(default)]
    webhooks: Vec<RawWebhook>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawWebhook {
    name: Option<String>,
    url: Option<String>,
    secret_file: Option<PathBuf>,
    #[serde(default)]
    private: bool,
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook")
            .field("name", &self.name)
            .field("host", &self.url.host_str())
            .field("private", &self.private)
            .finish_non_exhaustive()
    }
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            tell_after: seconds(TELL_AFTER_S),
            over_after: seconds(OVER_AFTER_S),
            users_min: USERS_MIN,
            drift_min: DRIFT_MIN,
            per_hour_max: PER_HOUR_MAX,
            webhooks: Vec::new(),
        }
    }
}

impl Alerts {
    /// The same where time runs so many times faster.
    #[must_use]
    pub fn scaled(&self, time_scale: u32) -> Self {
        let scale = time_scale.max(1);
        Self {
            tell_after: self.tell_after / scale,
            over_after: self.over_after / scale,
            ..self.clone()
        }
    }
}

impl Raw {
    pub(super) fn check(self) -> Result<Alerts, Error> {
        if self.webhooks.len() > WEBHOOKS_MAX {
            let problem = format!("must hold at most {WEBHOOKS_MAX}");
            return Err(Error::invalid("alerts.webhooks", problem));
        }
        let webhooks = self.webhooks.into_iter().enumerate();
        let webhooks: Vec<_> = webhooks
            .map(|(n, webhook)| webhook.check(&format!("alerts.webhooks[{n}]")))
            .collect::<Result<_, _>>()?;
        for (n, webhook) in webhooks.iter().enumerate() {
            if webhooks[..n].iter().any(|other| other.name == webhook.name) {
                let problem = "is there twice";
                return Err(Error::invalid(
                    format!("alerts.webhooks[{n}].name"),
                    problem,
                ));
            }
        }
        Ok(Alerts {
            tell_after: seconds(number(
                "tell_after_s",
                self.tell_after_s,
                TELL_AFTER_S,
                0..=86_400,
            )?),
            over_after: seconds(number(
                "over_after_s",
                self.over_after_s,
                OVER_AFTER_S,
                1..=86_400,
            )?),
            users_min: number("users_min", self.users_min, USERS_MIN, 1..=1_000_000)?,
            drift_min: number("drift_min", self.drift_min, DRIFT_MIN, 1..=1_000)?,
            per_hour_max: number("per_hour_max", self.per_hour_max, PER_HOUR_MAX, 1..=1_000)?,
            webhooks,
        })
    }
}

impl RawWebhook {
    fn check(self, key: &str) -> Result<Webhook, Error> {
        let name = self.name.filter(|name| is_name(name)).ok_or_else(|| {
            let problem =
                "must be of lower-case letters, digits, `-` and `_`, beginning with a letter";
            Error::invalid(format!("{key}.name"), problem)
        })?;
        let url_key = format!("{key}.url");
        let problem = |problem| Error::invalid(&url_key, problem);
        let url = self.url.ok_or_else(|| problem("is missing"))?;
        let url: Url = url.parse().map_err(|_| problem(NOT_ABSOLUTE))?;
        check_url(&url, self.private).map_err(problem)?;
        let secret_file = self.secret_file.ok_or_else(|| {
            let problem = "is missing: a file that holds what requests are signed with";
            Error::invalid(format!("{key}.secret_file"), problem)
        })?;
        Ok(Webhook {
            name,
            url,
            secret_file,
            private: self.private,
        })
    }
}

const NOT_ABSOLUTE: &str = "must be an absolute address like https://chat.example.org/hook";

fn check_url(url: &Url, private: bool) -> Result<(), &'static str> {
    let is_loopback = match url.host() {
        None => return Err(NOT_ABSOLUTE),
        Some(Host::Domain(name)) => name.eq_ignore_ascii_case("localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
    };
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("must not hold a user, a password or a fragment");
    }
    match url.scheme() {
        "https" => Ok(()),
        "http" if private && is_loopback => Ok(()),
        _ => Err("must be https; http is for programs on this machine, with `private = true`"),
    }
}

fn number(
    key: &str,
    given: Option<i64>,
    default: u32,
    range: RangeInclusive<u32>,
) -> Result<u32, Error> {
    given.map_or(Ok(default), |given| {
        source::whole(&format!("alerts.{key}"), given, range)
    })
}

fn seconds(number: u32) -> Duration {
    Duration::from_secs(number.into())
}
