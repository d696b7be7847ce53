//! The secret behind the keys of callers who show no readable identity.
//!
//! Counters are kept under those keys, so the secret lies beside the counters and lasts as
//! long: with another secret every such caller would look new, and get a second budget.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use crate::gateway::KeySecret;

const NAME: &str = "caller-keys.secret";
const BYTES: usize = 32;

/// Why there is no secret.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is there and cannot be read, or is not and cannot be made.
    #[error("{} cannot be used", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The file is something else, or was cut.
    #[error("{} does not hold {BYTES} bytes; restore it, or delete it and the counters with it", .0.display())]
    Damaged(PathBuf),
}

/// The secret in `state_dir`, made where there is none.
///
/// # Errors
/// See [`Error`].
pub fn load(state_dir: &Path) -> Result<KeySecret, Error> {
    let path = state_dir.join(NAME);
    let found = match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(&path),
        found => found,
    };
    let bytes = found.map_err(|source| Error::Unusable {
        path: path.clone(),
        source,
    })?;
    let bytes: [u8; BYTES] = bytes.try_into().map_err(|_| Error::Damaged(path))?;
    Ok(KeySecret::from(bytes))
}

/// Whole or not at all: a cut secret would end every later start.
fn create(path: &Path) -> io::Result<Vec<u8>> {
    let secret: [u8; BYTES] = rand::random();
    let draft = path.with_extension("draft");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)?;
    file.write_all(&secret)?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    Ok(secret.to_vec())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_secret_is_made_once_and_is_its_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        load(dir.path()).unwrap();
        let path = dir.path().join(NAME);
        let first = fs::read(&path).unwrap();
        load(dir.path()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), first);
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }

    #[test]
    fn a_cut_secret_is_not_silently_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(NAME), "short").unwrap();
        assert!(matches!(load(dir.path()), Err(Error::Damaged(_))));
    }
}
