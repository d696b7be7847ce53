//! Where a demo keeps its files.

use std::{fs::DirBuilder, io, os::unix::fs::DirBuilderExt as _, path::Path};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use tempfile::TempDir;

use super::Error;

/// What needs no escape in the path of a database's address.
const PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A folder that stays, or one that goes with the demo.
#[derive(Debug)]
pub(super) enum Folder<'a> {
    Kept(&'a Path),
    Temporary(TempDir),
}

impl<'a> Folder<'a> {
    /// `kept`, made where it is missing; without it, a new temporary folder.
    pub(super) fn open(kept: Option<&'a Path>) -> Result<Self, Error> {
        let failed = |path: &Path, source: io::Error| Error::Folder {
            path: path.to_owned(),
            source,
        };
        let Some(path) = kept else {
            let temporary = TempDir::with_prefix("spillway-demo-");
            return temporary
                .map(Self::Temporary)
                .map_err(|source| failed(&std::env::temp_dir(), source));
        };
        // What lies there names users; a folder that is there already keeps its mode.
        let mut folder = DirBuilder::new();
        let made = folder.recursive(true).mode(0o700).create(path);
        made.map_err(|source| failed(path, source))?;
        Ok(Self::Kept(path))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(path) => path,
            Self::Temporary(folder) => folder.path(),
        }
    }

    /// Whether it is removed at the end.
    pub(super) const fn is_temporary(&self) -> bool {
        matches!(self, Self::Temporary(_))
    }

    /// The address of the database in it.
    pub(super) fn database_url(&self) -> String {
        let path = self.path().join("spillway.db");
        format!(
            "sqlite://{}",
            percent_encode(path.as_os_str().as_encoded_bytes(), PATH)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;

    #[tokio::test]
    async fn a_database_lies_in_any_folder() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("new/100 % ä?x=1#y");
        let folder = Folder::open(Some(&path)).unwrap();
        let store = Store::open(&folder.database_url()).await.unwrap();
        store.close().await;
        assert!(path.join("spillway.db").is_file());
        drop(folder);
        assert!(path.is_dir());
    }

    #[test]
    fn a_temporary_folder_goes_with_the_demo() {
        let folder = Folder::open(None).unwrap();
        let path = folder.path().to_owned();
        assert!(path.is_dir() && folder.is_temporary());
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_is_no_folder() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Folder::open(Some(file.path())).unwrap_err();
        assert!(error.to_string().starts_with("--data-dir: "), "{error}");
    }
}
