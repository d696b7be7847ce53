//! What can be set, with its defaults and its bounds.

use std::str::FromStr;

/// How the lookalike behaves. Times are unscaled unless a name says otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// How many times faster than the wall its windows and latencies pass: 1 to 10,000.
    pub time_scale: u32,
    /// The kind of window its rates are counted in.
    pub windows: Windows,
    /// Whether refused calls count against the windows.
    pub rejected: Rejected,
    /// Decides the contents, the window phases, the latencies and the request ids.
    pub seed: u64,
    /// How long a call takes.
    pub latency: Latency,
    /// What is enforced for OneNote.
    pub limits: Limits,
    /// What is enforced for each connection to Notion.
    pub notion: ScopeLimits,
    /// The application of callers whose token names none.
    pub app: String,
    /// Scheme and authority for links, such as `https://graph.example`; left out, `http` and each
    /// request's own `Host`.
    pub base_url: Option<String>,
    /// How many calls in a thousand, and how many batches, meet a fault by chance: 0 to 1,000.
    pub faults_permille: u32,
    /// Fewest and most pages in a section, both included.
    pub pages_per_section: (u32, u32),
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            time_scale: 1,
            windows: Windows::Fixed,
            rejected: Rejected::Count,
            seed: 1,
            latency: Latency {
                min_ms: 300,
                max_ms: 900,
            },
            limits: Limits::onenote(),
            notion: ScopeLimits::notion(),
            app: "note-bridge".to_owned(),
            base_url: None,
            faults_permille: 0,
            pages_per_section: (32, 48),
        }
    }
}

impl Settings {
    /// Checks every bound; [`Simulator::new`](crate::Simulator::new) does so too.
    ///
    /// # Errors
    /// The first setting that is out of bounds, by name.
    pub fn validate(&self) -> Result<(), SettingsError> {
        check("time_scale", u64::from(self.time_scale), 1, 10_000)?;
        check(
            "latency.min_ms",
            self.latency.min_ms,
            0,
            self.latency.max_ms,
        )?;
        check("faults_permille", u64::from(self.faults_permille), 0, 1_000)?;
        check("latency.max_ms", self.latency.max_ms, 0, 600_000)?;
        let (fewest, most) = self.pages_per_section;
        check("pages_per_section", u64::from(fewest), 0, u64::from(most))?;
        check("pages_per_section", u64::from(most), 0, 10_000)?;
        check("app (its length)", self.app.len() as u64, 1, 256)?;
        if let Some(url) = &self.base_url {
            check_base_url(url)?;
        }
        let scopes = [
            Some(&self.limits.user),
            self.limits.app.as_ref(),
            Some(&self.notion),
        ];
        scopes
            .into_iter()
            .flatten()
            .try_for_each(ScopeLimits::validate)
    }
}

/// How the upstream counts its rate windows. Microsoft documents neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Windows {
    /// Back to back, each budget's at a random phase of its own.
    #[default]
    Fixed,
    /// The window that ends at each call.
    Sliding,
}

impl FromStr for Windows {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        match text {
            "fixed" => Ok(Self::Fixed),
            "sliding" => Ok(Self::Sliding),
            _ => Err(ChoiceError {
                given: text.to_owned(),
                choices: "fixed, sliding",
            }),
        }
    }
}

/// Whether refused calls count against the windows. Graph's general guidance says that all
/// requests do; OneNote's own page says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rejected {
    /// They do: hammering keeps a window full.
    #[default]
    Count,
    /// They do not.
    Ignore,
}

impl FromStr for Rejected {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        match text {
            "count" => Ok(Self::Count),
            "ignore" => Ok(Self::Ignore),
            _ => Err(ChoiceError {
                given: text.to_owned(),
                choices: "count, ignore",
            }),
        }
    }
}

/// How long a call takes: drawn evenly from here, in unscaled milliseconds, at most 600,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Latency {
    /// The shortest.
    pub min_ms: u64,
    /// The longest.
    pub max_ms: u64,
}

/// What is enforced, at each scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// For one user of one application in one tenant.
    pub user: ScopeLimits,
    /// For one application over all its users; `None` switches that off.
    pub app: Option<ScopeLimits>,
}

impl Limits {
    /// Microsoft's published limits for OneNote (learn.microsoft.com/graph/throttling-limits,
    /// "OneNote service limits"). The application's column is headed "app-only context" there; it
    /// is enforced here over all users, the stricter reading.
    pub fn onenote() -> Self {
        Self {
            user: ScopeLimits::per_minute_and_hour(120, 400, 5),
            app: Some(ScopeLimits::per_minute_and_hour(240, 800, 20)),
        }
    }
}

/// The limits at one scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeLimits {
    /// At most eight.
    pub rates: Vec<Rate>,
    /// Calls in flight: 1 to 10,000.
    pub concurrent: u32,
}

impl ScopeLimits {
    /// A minute's, an hour's and a concurrency limit.
    pub fn per_minute_and_hour(minute: u32, hour: u32, concurrent: u32) -> Self {
        Self {
            rates: vec![
                Rate {
                    limit: minute,
                    window_ms: 60_000,
                },
                Rate {
                    limit: hour,
                    window_ms: 3_600_000,
                },
            ],
            concurrent,
        }
    }

    /// Notion's published limits for one connection (developers.notion.com, "Request limits"), its
    /// generations read together and strictly: 3 a second, and 180 in 60 s. None is published for
    /// calls at once; the lookalike bears 10,000.
    pub fn notion() -> Self {
        let rate = |limit, window_ms| Rate { limit, window_ms };
        Self {
            rates: vec![rate(3, 1000), rate(180, 60_000)],
            concurrent: 10_000,
        }
    }

    fn validate(&self) -> Result<(), SettingsError> {
        check("limits (rates of a scope)", self.rates.len() as u64, 0, 8)?;
        check("limits.concurrent", u64::from(self.concurrent), 1, 10_000)?;
        self.rates.iter().try_for_each(|rate| {
            check("limits.limit", u64::from(rate.limit), 1, 100_000)?;
            check("limits.window_ms", rate.window_ms, 1, 86_400_000)
        })
    }
}

/// So many calls in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Calls: 1 to 100,000.
    pub limit: u32,
    /// Unscaled length of the window: 1 ms to a day.
    pub window_ms: u64,
}

/// A word that is none of the choices.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{given}\" is not one of: {choices}")]
pub struct ChoiceError {
    given: String,
    choices: &'static str,
}

/// A setting out of its bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A number outside its range.
    #[error("{name} is {given}; it must be from {min} to {max}")]
    Range {
        /// The setting.
        name: &'static str,
        /// What it was.
        given: u64,
        /// The least allowed.
        min: u64,
        /// The most allowed.
        max: u64,
    },
    /// `base_url` is not a scheme and an authority.
    #[error("base_url is not like http://host:port")]
    BaseUrl,
}

fn check(name: &'static str, given: u64, min: u64, max: u64) -> Result<(), SettingsError> {
    if (min..=max).contains(&given) {
        return Ok(());
    }
    Err(SettingsError::Range {
        name,
        given,
        min,
        max,
    })
}

fn check_base_url(url: &str) -> Result<(), SettingsError> {
    let authority = url
        .strip_prefix("http://")
        .or_else(|| url.strip_prefix("https://"));
    match authority.map(|text| text.trim_end_matches('/')) {
        Some(text) if is_authority(text) => Ok(()),
        _ => Err(SettingsError::BaseUrl),
    }
}

/// Whether the text can stand as a host and port in a link without any escaping.
pub(crate) fn is_authority(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b".-_:[]".contains(&b);
    (1..=255).contains(&text.len()) && text.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_parse_or_say_what_may_stand_there() {
        assert_eq!("sliding".parse(), Ok(Windows::Sliding));
        assert_eq!("ignore".parse(), Ok(Rejected::Ignore));
        let error = "Fixed".parse::<Windows>().unwrap_err();
        assert_eq!(error.to_string(), "\"Fixed\" is not one of: fixed, sliding");
    }

    #[test]
    fn bad_settings_are_named() {
        assert_eq!(Settings::default().validate(), Ok(()));
        let bad = [
            Settings {
                time_scale: 0,
                ..Settings::default()
            },
            Settings {
                latency: Latency {
                    min_ms: 2,
                    max_ms: 1,
                },
                ..Settings::default()
            },
            Settings {
                pages_per_section: (5, 4),
                ..Settings::default()
            },
            Settings {
                app: String::new(),
                ..Settings::default()
            },
        ];
        for settings in bad {
            assert!(
                matches!(settings.validate(), Err(SettingsError::Range { .. })),
                "{settings:?}"
            );
        }
        let mut zero = Settings::default();
        zero.limits.user.rates[0].limit = 0;
        let error = zero.validate().unwrap_err().to_string();
        assert_eq!(error, "limits.limit is 0; it must be from 1 to 100000");
    }

    #[test]
    fn a_base_url_is_scheme_and_authority() {
        let with = |url: &str| Settings {
            base_url: Some(url.to_owned()),
            ..Settings::default()
        };
        assert_eq!(with("https://graph.example:8443/").validate(), Ok(()));
        for url in [
            "graph.example",
            "ftp://x",
            "http://",
            "http://a/b",
            "http://a\"b",
        ] {
            assert_eq!(with(url).validate(), Err(SettingsError::BaseUrl), "{url}");
        }
    }
}
