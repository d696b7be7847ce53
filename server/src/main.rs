//! `spillway`: reads the command line, does what it asks, and says how it ended.

use std::{error::Error as _, io::Write, process::ExitCode};

use clap::Parser;
use spillway_server::{
    api, audit,
    cli::{Cli, Command},
    demo,
    failure::Failure,
    http::Shutdown,
    mail, open_files, policy, serve, simulate, telemetry, token, user,
};

/// A call allocates some hundred times, its own state among it, which is more than glibc keeps at
/// hand for a thread (1,032 bytes).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            report(&failure);
            failure.exit_code()
        }
    }
}

async fn run(cli: Cli) -> Result<(), Failure> {
    let _logs = telemetry::init(cli.log.format, cli.log_filter())?;
    open_files::raise();
    let shutdown = Shutdown::on_signals().map_err(Failure::Signals)?;
    match cli.command {
        Command::Serve(command) => {
            let options = serve::Options::from(&command);
            Ok(serve::run(command.load()?, options, shutdown, |ready| ready.announce()).await?)
        }
        Command::Demo(command) => Ok(demo::run(&command, shutdown).await?),
        Command::Simulate(command) => Ok(simulate::run(&command, shutdown).await?),
        Command::Openapi => print(&api::document_text()),
        Command::User(command) => Ok(user::run(&command, jiff::Timestamp::now()).await?),
        Command::Token(command) => Ok(token::run(&command, jiff::Timestamp::now()).await?),
        Command::Policy(command) => Ok(policy::run(&command, jiff::Timestamp::now()).await?),
        Command::Audit(command) => Ok(audit::run(&command, jiff::Timestamp::now()).await?),
        Command::Mail(command) => Ok(mail::run(&command, jiff::Timestamp::now()).await?),
    }
}

/// What a command was asked for, on standard output.
fn print(text: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let printed = out.write_all(text).and_then(|()| out.write_all(b"\n"));
    printed.and_then(|()| out.flush()).map_err(Failure::Output)
}

/// One line with the whole chain of causes. Not through the log, whose filter may be off.
fn report(failure: &Failure) {
    let mut line = failure.to_string();
    let mut cause = failure.source();
    while let Some(error) = cause {
        line.push_str(": ");
        line.push_str(&error.to_string());
        cause = error.source();
    }
    let line: Vec<_> = line.split_whitespace().collect();
    // Nobody is left to tell that standard error is closed.
    let _ = writeln!(std::io::stderr(), "spillway: {}", line.join(" "));
}
