//! The command line.

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, Parser, Subcommand};
use spillway_simulator::{Latency, Rejected, Settings, Windows};
use tracing_subscriber::filter::{LevelFilter, Targets};

use crate::{
    audit::Audit, config, demo::Demo, limiter::Recovery, mail::MailArgs, policy::PolicyArgs, serve,
    telemetry, token::Token, user::User,
};

/// Keeps applications inside the limits of the APIs they call, so that these never have
/// to answer 429.
#[derive(Debug, Parser)]
#[command(name = "spillway", version, disable_help_subcommand = true)]
pub struct Cli {
    /// What is logged.
    #[command(flatten)]
    pub log: Log,
    /// What is asked for.
    #[command(subcommand)]
    pub command: Command,
}

/// What is logged, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Logs")]
pub struct Log {
    /// What is logged: a level, or levels by part, like `info,spillway::access=warn`.
    /// Without this, info; in a demo, warn, so that its terminal stays readable
    #[arg(
        long = "log",
        value_name = "FILTER",
        env = "SPILLWAY_LOG",
        global = true
    )]
    pub filter: Option<Targets>,
    /// How a log line on standard error looks
    #[arg(
        long = "log-format",
        value_name = "FORMAT",
        env = "SPILLWAY_LOG_FORMAT",
        default_value = "compact",
        global = true
    )]
    pub format: telemetry::Format,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Runs the gateway and the dashboard
    ///
    /// Anything wrong with the configuration, its files or its ports ends it at once, with
    /// one line that names the key and exit code 2. SIGTERM or SIGINT lets calls in flight
    /// finish, for at most 10 s, keeps the counters and ends with exit code 0.
    Serve(Serve),
    /// Runs a lookalike, the server in front of it, and users who call: everything, to watch.
    Demo(Demo),
    /// Runs lookalikes of Microsoft Graph's OneNote and of Notion that enforce the real limits
    ///
    /// Point the base_url of both upstreams at it. What arrived, what it refused and how close to
    /// each limit it came is at /_sim/stats.
    Simulate(Simulate),
    /// Prints the API's OpenAPI 3.1 document, as /api/openapi.json answers it
    Openapi,
    /// Makes, lists and revokes the tokens that programs bring
    Token(Token),
    /// Exports, compares and changes the limits
    Policy(PolicyArgs),
    /// Checks the log of who did what
    Audit(Audit),
    /// Makes, lists, changes and removes the accounts with which people sign in
    User(User),
    /// Tries whether mail goes out
    Mail(MailArgs),
}

/// `spillway serve`
#[derive(Debug, Args)]
pub struct Serve {
    /// The configuration; `SPILLWAY__SECTION__KEY` variables override it. Without this,
    /// spillway.toml is read where it exists
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// No sign-in and no tokens, for trials: on loopback only, and requests that came
    /// through a proxy are refused. Without this, programs bring a token, see `spillway token`
    #[arg(long)]
    pub open: bool,
    /// Start with empty budgets where the counters of a database that has served are
    /// lost. Without this, every budget counts as spent for one window
    #[arg(long)]
    pub assume_empty: bool,
    /// Run limits so many times faster than the wall clock, for trials in front of
    /// `spillway simulate --time-scale N`: with --open, and for upstreams on this machine only
    #[arg(long, value_name = "N", default_value_t = 1, requires = "open", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub time_scale: u32,
}

/// `spillway simulate`
#[derive(Debug, Args)]
pub struct Simulate {
    /// Where it listens
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:3002")]
    pub listen: SocketAddr,
    /// Shrinks every window and latency so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub time_scale: u32,
    /// How the rate windows are counted: fixed (back to back, at a random phase) or sliding
    #[arg(long, value_name = "KIND", default_value = "fixed")]
    pub windows: Windows,
    /// Whether refused calls count against the windows: count or ignore
    #[arg(long, value_name = "WHETHER", default_value = "count")]
    pub rejected: Rejected,
    /// Decides contents, window phases and latencies; the same seed, the same lookalike
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// How many of a thousand calls to Graph, and of its batches, fail by chance
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub faults_permille: u32,
    /// The shortest time a call takes, before scaling, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 300)]
    pub latency_ms_min: u64,
    /// The longest time a call takes, before scaling, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 900)]
    pub latency_ms_max: u64,
}

impl Cli {
    /// What is logged, where nothing is said by the command's own default.
    pub fn log_filter(&self) -> Targets {
        let default = match self.command {
            Command::Serve(_) | Command::Simulate(_) | Command::Openapi => LevelFilter::INFO,
            Command::Demo(_)
            | Command::Token(_)
            | Command::User(_)
            | Command::Policy(_)
            | Command::Audit(_)
            | Command::Mail(_) => LevelFilter::WARN,
        };
        let filter = self.log.filter.clone();
        quietened(filter.unwrap_or_else(|| Targets::new().with_default(default)))
    }
}

/// Without what the libraries of sessions say of every request, unless somebody asks for it:
/// spans that say nothing, and warnings of any cookie of an earlier run.
fn quietened(filter: Targets) -> Targets {
    let libraries = ["axum_login", "tower_sessions", "tower_sessions_core"];
    libraries.into_iter().fold(filter, |filter, library| {
        let named = filter.iter().any(|(target, _)| target == library);
        if named {
            return filter;
        }
        filter.with_target(library, LevelFilter::ERROR)
    })
}

impl From<&Serve> for serve::Options {
    fn from(command: &Serve) -> Self {
        let recovery = if command.assume_empty {
            Recovery::AssumeEmpty
        } else {
            Recovery::AssumeFull
        };
        Self {
            open: command.open,
            recovery,
            time_scale: command.time_scale,
            ..Self::default()
        }
    }
}

impl Serve {
    /// Reads the configuration it names.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn load(&self) -> Result<config::Config, config::Error> {
        config::Config::load(self.config.as_deref(), std::env::vars_os())
    }
}

impl Simulate {
    /// What the lookalike is told.
    pub fn settings(&self) -> Settings {
        Settings {
            time_scale: self.time_scale,
            windows: self.windows,
            rejected: self.rejected,
            seed: self.seed,
            faults_permille: self.faults_permille,
            latency: Latency {
                min_ms: self.latency_ms_min,
                max_ms: self.latency_ms_max,
            },
            ..Settings::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn libraries_of_sessions_are_quiet_unless_asked() {
        use tracing_subscriber::filter::LevelFilter as Level;
        let filter = |text: &str| quietened(text.parse().unwrap());
        let warns = |filter: &Targets| filter.would_enable("tower_sessions", &tracing::Level::WARN);
        assert!(!warns(&filter("debug")));
        assert!(warns(&filter("info,tower_sessions=debug")));
        assert!(
            quietened(Targets::new().with_default(Level::INFO))
                .would_enable("spillway", &tracing::Level::INFO)
        );
    }

    #[test]
    fn every_command_and_every_option_has_help() {
        let cli = Cli::command();
        for command in std::iter::once(&cli).chain(cli.get_subcommands()) {
            assert!(command.get_about().is_some(), "{}", command.get_name());
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{} {}",
                    command.get_name(),
                    argument.get_id()
                );
            }
        }
    }
}
