//! `spillway policy`: the limits as files, beside a running server or without one.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use jiff::Timestamp;
use spillway::Policy;

use super::{
    Document, Mistake,
    args::{Command, PolicyArgs},
    compare,
    export::{self, Exported},
    import::{self, BadFile},
    scopes,
};
use crate::{
    audit::{By, action},
    config::{self, Config, PolicySource},
    store::{self, NewPolicy, PolicyPlace, Store, StoredPolicy},
};

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is wrong.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The database cannot be used, or is not there: the server's first start makes it.
    #[error("server.database_url")]
    Database(#[from] store::OpenError),
    /// The file cannot be read.
    #[error("{}", file.display())]
    File {
        /// Which.
        file: PathBuf,
        /// What is wrong with it.
        #[source]
        source: BadFile,
    },
    /// The file names what is not configured.
    #[error("{}: there is no workload {}; configured: {known}", file.display(), name.escape_debug())]
    Unknown {
        /// Which.
        file: PathBuf,
        /// What it names.
        name: String,
        /// What there is.
        known: String,
    },
    /// The file says what no policy can.
    #[error("{}: {mistakes}", file.display())]
    Mistakes {
        /// Which.
        file: PathBuf,
        /// All of it.
        mistakes: String,
    },
    /// The configuration file rules.
    #[error(
        "server.policy_source: is \"file\": change the limits in the configuration, and restart"
    )]
    FileRules,
    /// What is in the database is no policy, or this one cannot be written down.
    #[error("the limits of {name} cannot be read or written")]
    Illegal {
        /// Whose.
        name: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The database has it otherwise, or failed.
    #[error("the limits were not changed")]
    Store(#[from] store::Error),
    /// Nobody reads what was to be printed.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
}

impl Error {
    /// Whether something about what was asked, or how it is configured, is wrong; else
    /// somebody was first, or it failed.
    pub fn at_start(&self) -> bool {
        !matches!(
            self,
            Self::Store(_) | Self::Output(_) | Self::Illegal { .. }
        )
    }
}

/// Does what is asked, at `now`.
///
/// # Errors
/// See [`Error`].
pub async fn run(args: &PolicyArgs, now: Timestamp) -> Result<(), Error> {
    let config = Config::load(args.config.as_deref(), std::env::vars_os())?;
    let store = Store::open_existing(&config.server.database_url).await?;
    let done = match &args.command {
        Command::Export => export(&config, &store).await,
        Command::Diff { file } => diff(&config, &store, file).await,
        Command::Apply { file, reason } => apply(&config, &store, file, reason, now).await,
    };
    store.close().await;
    let mut out = io::stdout().lock();
    out.write_all(done?.as_bytes())?;
    Ok(out.flush()?)
}

async fn export(config: &Config, store: &Store) -> Result<String, Error> {
    let mut all = Vec::new();
    for (upstream, workload) in workloads(config) {
        let place = PolicyPlace { upstream, workload };
        if let Some(stored) = store.policy(place).await? {
            all.push(Exported {
                upstream: upstream.to_owned(),
                workload: workload.to_owned(),
                version: stored.version,
                document: Document::from(&policy_of(place, &stored)?),
            });
        }
    }
    Ok(export::text(&all))
}

async fn diff(config: &Config, store: &Store, file: &Path) -> Result<String, Error> {
    let mut text = String::new();
    for (read, policy) in checked(config, file)? {
        let place = place(&read);
        let newest = newest(store, place).await?;
        let lines = compare::differences(&policy_of(place, &newest)?, &policy);
        if lines.is_empty() {
            continue;
        }
        text.push_str(&format!("{}/{}:", place.upstream, place.workload));
        if read.version != newest.version {
            let (of, is) = (read.version, newest.version);
            text.push_str(&format!(" the file is of version {of}, the newest is {is}"));
        }
        lines
            .iter()
            .for_each(|line| text.push_str(&format!("\n  {line}")));
        text.push('\n');
    }
    Ok(text)
}

async fn apply(
    config: &Config,
    store: &Store,
    file: &Path,
    reason: &str,
    now: Timestamp,
) -> Result<String, Error> {
    if config.server.policy_source == PolicySource::File {
        return Err(Error::FileRules);
    }
    let read = checked(config, file)?;
    let mut documents = Vec::with_capacity(read.len());
    for (it, policy) in &read {
        let document = serde_json::to_string(policy);
        documents.push(document.map_err(|source| illegal(place(it), source))?);
    }
    let changes = read.iter().zip(&documents);
    let changes: Vec<_> = changes
        .map(|((it, _), document)| NewPolicy {
            place: place(it),
            base: it.version,
            document,
            action: action::POLICY_CHANGE,
        })
        .collect();
    let by = By::command_line().because(reason);
    let stored = store
        .change_policies(&changes, &by, now.as_millisecond())
        .await?;
    let lines = changes.iter().zip(&stored).map(|(change, stored)| {
        let PolicyPlace { upstream, workload } = change.place;
        let version = stored.version;
        if version == change.base {
            format!("{upstream}/{workload}: unchanged, version {version}\n")
        } else {
            format!("{upstream}/{workload}: version {version}\n")
        }
    });
    Ok(lines.collect())
}

/// The file's policies, each legal and of a workload that there is.
fn checked(config: &Config, file: &Path) -> Result<Vec<(Exported, Policy)>, Error> {
    let read = import::read(file).map_err(|source| Error::File {
        file: file.to_owned(),
        source,
    })?;
    let (mut all, mut mistakes) = (Vec::new(), Vec::new());
    for it in read {
        let (upstream, workload) = (it.upstream.as_str(), it.workload.as_str());
        if !workloads(config).any(|known| known == (upstream, workload)) {
            let known =
                workloads(config).map(|(upstream, workload)| format!("{upstream}.{workload}"));
            return Err(Error::Unknown {
                file: file.to_owned(),
                name: format!("{upstream}.{workload}"),
                known: known.collect::<Vec<_>>().join(", "),
            });
        }
        match it.document.check(scopes(workload)) {
            Ok(policy) => all.push((it, policy)),
            Err(found) => mistakes.extend(found.into_iter().map(|Mistake { field, detail }| {
                format!("{upstream}.{workload}.{field}: {detail}")
            })),
        }
    }
    if mistakes.is_empty() {
        return Ok(all);
    }
    Err(Error::Mistakes {
        file: file.to_owned(),
        mistakes: mistakes.join("; "),
    })
}

async fn newest(store: &Store, place: PolicyPlace<'_>) -> Result<StoredPolicy, Error> {
    let newest = store.policy(place).await?;
    let of = || format!("{}/{}", place.upstream, place.workload);
    Ok(newest.ok_or_else(|| store::Error::NoPolicy(of()))?)
}

fn policy_of(place: PolicyPlace<'_>, stored: &StoredPolicy) -> Result<Policy, Error> {
    let policy = serde_json::from_str(&stored.document);
    policy.map_err(|source| illegal(place, source))
}

fn illegal(place: PolicyPlace<'_>, source: serde_json::Error) -> Error {
    let name = format!("{}/{}", place.upstream, place.workload);
    Error::Illegal { name, source }
}

fn place(exported: &Exported) -> PolicyPlace<'_> {
    PolicyPlace {
        upstream: &exported.upstream,
        workload: &exported.workload,
    }
}

/// Upstreams and their workloads, in the configuration's order.
fn workloads(config: &Config) -> impl Iterator<Item = (&str, &str)> {
    config.upstreams.iter().flat_map(|upstream| {
        let workloads = upstream.limited();
        workloads.map(|workload| (upstream.name.as_str(), workload.name.as_str()))
    })
}
