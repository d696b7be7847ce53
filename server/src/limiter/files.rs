//! Names and generations of an upstream's counter files in the state folder.
//!
//! Generation *n* has one snapshot, whole (`graph.000012.full`) or of what changed since
//! the one before (`graph.000012.delta`), and for each shard one journal of what came after it
//! (`graph.000012.0.journal`). A snapshot appears under its name only when it is complete.
//! They name users, so they are their owner's alone.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::shards::ShardIndex;

/// Which of a generation's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Full,
    Delta,
    /// Of one shard.
    Journal(ShardIndex),
}

impl Kind {
    fn parse(suffix: &str) -> Option<Self> {
        match suffix {
            "full" => Some(Self::Full),
            "delta" => Some(Self::Delta),
            _ => {
                let shard = suffix.strip_suffix(".journal")?;
                shard.parse().ok().map(Self::Journal)
            }
        }
    }
}

/// How the file's name ends.
impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Delta => f.write_str("delta"),
            Self::Journal(shard) => write!(f, "{shard}.journal"),
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
        self.folder
            .join(format!("{}.{generation:06}.{kind}", self.upstream))
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
        new_file().append(true).open(self.path(kind, generation))
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
        // One that a crash left behind may be open to others.
        match fs::remove_file(&unfinished) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = new_file().write(true).open(&unfinished)?;
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
            let needless = old < generation && (whole || matches!(kind, Kind::Journal(_)));
            if needless {
                fs::remove_file(self.path(kind, old))?;
            }
        }
        Ok(())
    }

    fn parse(&self, name: &str) -> Option<(u64, Kind)> {
        let rest = name.strip_prefix(&self.upstream)?.strip_prefix('.')?;
        let (generation, suffix) = rest.split_once('.')?;
        Some((generation.parse().ok()?, Kind::parse(suffix)?))
    }
}

/// Opens only what is not there yet, for its owner alone.
fn new_file() -> OpenOptions {
    let mut options = File::options();
    options.create_new(true).mode(0o600);
    options
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_are_their_owners_alone_whatever_a_crash_left() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::new(dir.path(), "graph");
        let unfinished = dir.path().join("graph.000002.unfinished");
        fs::write(&unfinished, "a longer text that a crash left").unwrap();
        fs::set_permissions(&unfinished, fs::Permissions::from_mode(0o644)).unwrap();
        files.create(Kind::Journal(7), 1).unwrap();
        files.write_whole(Kind::Full, 2, b"new").unwrap();
        files.write_whole(Kind::Delta, 3, b"new").unwrap();
        let made = [(1, Kind::Journal(7)), (2, Kind::Full), (3, Kind::Delta)];
        for (generation, kind) in made {
            assert_eq!(mode(&files.path(kind, generation)), 0o600, "{kind:?}");
        }
        assert_eq!(files.list().unwrap(), made);
        assert_eq!(fs::read(files.path(Kind::Full, 2)).unwrap(), b"new");
        assert!(!unfinished.exists());
    }
}
