//! What can be wrong with a configuration: one clear line that names the key.

use std::path::PathBuf;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is not there, or may not be read.
    #[error("{}: cannot be read", path.display())]
    Unreadable {
        /// The file asked for.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("{}: line {line}: {problem}", path.display())]
    Syntax {
        /// The file asked for.
        path: PathBuf,
        /// Where reading stopped, counted from 1.
        line: usize,
        /// What the reader expected.
        problem: String,
    },
    /// An environment variable that overrides nothing.
    #[error("{variable}: {problem}")]
    Variable {
        /// Its name.
        variable: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A key that means nothing here.
    #[error("{key}: unknown key{}", suggestion(nearest.as_deref()))]
    UnknownKey {
        /// The whole key: `server.lisen`.
        key: String,
        /// The known key that looks most like it.
        nearest: Option<String>,
    },
    /// A key whose value cannot be used.
    #[error("{key}: {problem}")]
    Invalid {
        /// The whole key: `upstreams.graph.hold_max_ms`.
        key: String,
        /// What it has to be.
        problem: String,
    },
}

impl Error {
    /// An unusable value of `key`.
    pub(crate) fn invalid(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Invalid {
            key: key.into(),
            problem: problem.into(),
        }
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest
        .map(|key| format!("; did you mean `{key}`?"))
        .unwrap_or_default()
}
