//! Names and generations of an upstream's counter files in the state folder.
//!
//! Generation *n* has one snapshot, whole (`graph.000012.full`) or of what changed since
//! the one before (`graph.000012.delta`), and one journal of what came after it
//! (`graph.000012.journal`). A snapshot appears under its name only when it is complete.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

/// Which of a generation's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Full,
    Delta,
    Journal,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Full, Self::Delta, Self::Journal];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Delta => "delta",
            Self::Journal => "journal",
        }
    }
}

/// The counter files of one upstream.
#[derive(Clone, Debug)]
pub(super) struct Files {
    folder: PathBuf,
    upstream: String,
}

impl Files {
    pub(super) fn new(folder: &Path, upstream: &str) -> Self {
        Self {
            folder: folder.to_owned(),
            upstream: upstream.to_owned(),
        }
    }

    pub(super) fn upstream(&self) -> &str {
        &self.upstream
    }

    pub(super) fn path(&self, kind: Kind, generation: u64) -> PathBuf {
        self.folder.join(format!(
            "{}.{generation:06}.{}",
            self.upstream,
            kind.suffix()
        ))
    }

    /// What is there, oldest first.
    pub(super) fn list(&self) -> io::Result<Vec<(u64, Kind)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name();
            found.extend(name.to_str().and_then(|name| self.parse(name)));
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Makes a new, empty file, which must not exist.
    pub(super) fn create(&self, kind: Kind, generation: u64) -> io::Result<File> {
        File::options()
            .append(true)
            .create_new(true)
            .open(self.path(kind, generation))
    }

    /// Writes a file that appears whole or not at all, and is on disk when this returns.
    pub(super) fn write_whole(
        &self,
        kind: Kind,
        generation: u64,
        content: &[u8],
    ) -> io::Result<()> {
        let path = self.path(kind, generation);
        let unfinished = path.with_extension("unfinished");
        let mut file = File::create(&unfinished)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&unfinished, &path)?;
        self.sync_folder()
    }

    /// Makes new and renamed files last.
    pub(super) fn sync_folder(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    /// Removes what the snapshot of `generation` made needless.
    pub(super) fn remove_before(&self, generation: u64, whole: bool) -> io::Result<()> {
        for (old, kind) in self.list()? {
            let needless = old < generation && (whole || kind == Kind::Journal);
            if needless {
                fs::remove_file(self.path(kind, old))?;
            }
        }
        Ok(())
    }

    fn parse(&self, name: &str) -> Option<(u64, Kind)> {
        let rest = name.strip_prefix(&self.upstream)?.strip_prefix('.')?;
        let (generation, suffix) = rest.split_once('.')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.suffix() == suffix)?;
        Some((generation.parse().ok()?, kind))
    }
}
