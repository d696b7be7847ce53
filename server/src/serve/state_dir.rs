//! The folder of the counters: there, writable, and ours alone.

use std::{
    fs::{DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// Held, locked, while the server runs; the system unlocks it even after `kill -9`.
const LOCK_NAME: &str = "spillway.lock";

/// The folder, locked until dropped. Two servers on one set of counters would each let a
/// full budget through.
#[derive(Debug)]
pub struct StateDir {
    _lock: File,
}

/// Why the folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is not there and cannot be made, or nothing can be written into it.
    #[error("cannot write into {}", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Another server has it.
    #[error("{} is in use by another Spillway", .0.display())]
    InUse(PathBuf),
}

impl StateDir {
    /// Makes `path` where it is missing, and takes it.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn take(path: &Path) -> Result<Self, Error> {
        let unwritable = |source| Error::Unwritable {
            path: path.to_owned(),
            source,
        };
        // The counters name users. A folder that is there already keeps the mode it was given.
        let mut folder = DirBuilder::new();
        let folder = folder.recursive(true).mode(0o700);
        folder.create(path).map_err(unwritable)?;
        let mut options = File::options();
        let options = options.write(true).create(true).truncate(false).mode(0o600);
        let lock = options.open(path.join(LOCK_NAME)).map_err(unwritable)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(Error::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(unwritable(source)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn a_folder_made_here_is_its_owners_alone() {
        let root = tempfile::tempdir().unwrap();
        let made = root.path().join("state");
        StateDir::take(&made).unwrap();
        assert_eq!(mode(&made), 0o700);
        assert_eq!(mode(&made.join(LOCK_NAME)), 0o600);
        let given = root.path().join("given");
        fs::create_dir(&given).unwrap();
        fs::set_permissions(&given, fs::Permissions::from_mode(0o750)).unwrap();
        StateDir::take(&given).unwrap();
        assert_eq!(mode(&given), 0o750);
    }

    #[test]
    fn a_folder_is_one_servers() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/state");
        let held = StateDir::take(&path).unwrap();
        assert!(matches!(StateDir::take(&path), Err(Error::InUse(_))));
        drop(held);
        assert!(StateDir::take(&path).is_ok());
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert!(matches!(
            StateDir::take(file.path()),
            Err(Error::Unwritable { .. })
        ));
    }
}
