//! What can go wrong while the site is built.

use std::io;
use std::path::{Path, PathBuf};

/// The result of a step of the site build.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the site could not be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be read or written.
    #[error("{path}")]
    File { path: PathBuf, source: io::Error },
    /// A program could not be started.
    #[error("cannot run {program}; `make setup` installs what the site build needs")]
    Start { program: String, source: io::Error },
    /// A program ended with an error, after saying why by itself.
    #[error("{program} failed")]
    Failed { program: String },
    /// The module and the library that writes its bindings do not fit.
    #[error("wasm-bindgen: {0}")]
    Bindings(String),
    /// The style sheets cannot be put in one.
    #[error("{sheet}: {problem}")]
    Style { sheet: PathBuf, problem: String },
    /// This program does not lie in a target folder.
    #[error("{0} is not in a cargo target folder")]
    NoTarget(PathBuf),
    /// The module outgrew what a visitor is asked to load.
    #[error("the wasm module is {actual} bytes in brotli, over its budget of {budget}")]
    Budget { actual: u64, budget: u64 },
}

impl Error {
    /// Names the file that an I/O error was about.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        move |source| Self::File {
            path: path.to_owned(),
            source,
        }
    }
}

/// An error and its causes on one line.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.fold(error.to_string(), |line, cause| format!("{line}: {cause}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_says_each_cause_once() {
        let gone = io::Error::new(io::ErrorKind::NotFound, "gone");
        assert_eq!(chain(&Error::file(Path::new("a.css"))(gone)), "a.css: gone");
    }
}
