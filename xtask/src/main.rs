//! `cargo xtask site`: from sources to the folder that the server serves.
//!
//! The browser half of the dashboard is compiled to wasm, given its JavaScript bindings, shrunk, and laid beside the
//! style sheets and static files, each with its compressed forms. `cargo-leptos` does the same, but takes half an
//! hour to install, which is too long for a first run; this crate compiles in a minute.

use std::io::{self, Write};
use std::process::ExitCode;

mod compress;
mod error;
mod fingerprint;
mod folder;
mod layout;
mod site;
mod style;
mod wasm;

const USAGE: &str = "usage: cargo xtask site";

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some("site"), None) => finish(site::build()),
        _ => complain(USAGE),
    }
}

fn finish(result: Result<(), error::Error>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => complain(&error::chain(&error)),
    }
}

fn complain(message: &str) -> ExitCode {
    // Nobody is left to tell where even standard error is closed.
    let _ = writeln!(io::stderr(), "{message}");
    ExitCode::FAILURE
}
