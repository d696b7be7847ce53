//! Where things are: the sources, the site, and what lies between them.

use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The name of the site's files, as `output-name` in the workspace's Cargo.toml has it for cargo-leptos.
pub const NAME: &str = "spillway";

/// The folders of one site build.
pub struct Layout {
    root: PathBuf,
    target: PathBuf,
}

impl Layout {
    /// The layout of this checkout, with the target folder that this program was itself built into, so that each
    /// way to name one (environment, configuration) is followed.
    pub fn here() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let program = std::env::current_exe().map_err(Error::file(Path::new("xtask")))?;
        let target = program.ancestors().nth(2).map(Path::to_owned);
        Ok(Self {
            root,
            target: target.ok_or(Error::NoTarget(program))?,
        })
    }

    /// The workspace's own folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// What the server serves.
    pub fn site(&self) -> PathBuf {
        self.target.join("site")
    }

    /// Held while the site is built, so that two builds do not write over each other.
    pub fn lock(&self) -> PathBuf {
        self.target.join("site.lock")
    }

    /// The optimised module and its JavaScript, emptied before each use; outside the site, so that a build that
    /// was stopped half-way is never served.
    pub fn bindings(&self) -> PathBuf {
        self.target.join("site-bindings")
    }

    /// Says of what the bindings were made.
    pub fn stamp(&self) -> PathBuf {
        self.target.join("site-bindings.inputs")
    }

    /// The module as the compiler leaves it.
    pub fn compiled(&self) -> PathBuf {
        self.target
            .join("wasm32-unknown-unknown/wasm-release/spillway_app.wasm")
    }

    /// The programs of the npm packages.
    pub fn node_programs(&self) -> PathBuf {
        self.root.join("end2end/node_modules/.bin")
    }

    /// The style sheet that names all others.
    pub fn main_sheet(&self) -> PathBuf {
        self.root.join("style/main.css")
    }

    /// Files served as they are.
    pub fn public(&self) -> PathBuf {
        self.root.join("public")
    }
}
