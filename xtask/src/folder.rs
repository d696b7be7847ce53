//! The site's folder: files are written only when they change, and what no longer belongs goes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compress;
use crate::error::{Error, Result};

/// A folder being brought to a new content.
pub struct Folder {
    root: PathBuf,
    wanted: BTreeSet<PathBuf>,
}

impl Folder {
    /// Starts from whatever is in the folder now.
    pub fn open(root: PathBuf) -> Self {
        Self {
            root,
            wanted: BTreeSet::new(),
        }
    }

    /// Puts a file, with its compressed forms where they pay, unless it is there as it should be.
    ///
    /// The file itself is written last: where it is as wanted, its compressed forms are too, even if an earlier
    /// build was stopped half-way.
    pub fn put(&mut self, name: &Path, bytes: &[u8]) -> Result<()> {
        let forms = self.want(name);
        let path = self.root.join(name);
        let complete = forms.iter().all(|form| form.exists());
        if complete && fs::read(&path).is_ok_and(|old| old == bytes) {
            return Ok(());
        }
        if !forms.is_empty() {
            let compressed = compress::forms(bytes).map_err(Error::file(&path))?;
            forms
                .iter()
                .zip(compressed)
                .try_for_each(|(form, bytes)| write(form, &bytes))?;
        }
        write(&path, bytes)
    }

    /// Puts each file of another folder, in its subfolders too, below a folder of this one.
    pub fn put_all(&mut self, below: &str, from: &Path) -> Result<()> {
        for path in files(from)? {
            let bytes = fs::read(&path).map_err(Error::file(&path))?;
            let name = path.strip_prefix(from).unwrap_or(&path);
            self.put(&Path::new(below).join(name), &bytes)?;
        }
        Ok(())
    }

    /// Removes what was not put.
    pub fn prune(&self) -> Result<()> {
        let mut stale = files(&self.root)?
            .into_iter()
            .filter(|path| !self.wanted.contains(path));
        stale.try_for_each(|path| fs::remove_file(&path).map_err(Error::file(&path)))
    }

    /// The size of a file of the site, in bytes.
    pub fn size_bytes(&self, name: &str) -> Result<u64> {
        let path = self.root.join(name);
        Ok(fs::metadata(&path).map_err(Error::file(&path))?.len())
    }

    /// Notes that a file belongs to the site; the paths of its compressed forms.
    fn want(&mut self, name: &Path) -> Vec<PathBuf> {
        let path = self.root.join(name);
        let forms = if compress::pays(name) {
            compressed(&path)
        } else {
            Vec::new()
        };
        self.wanted.extend(forms.iter().cloned());
        self.wanted.insert(path);
        forms
    }
}

fn compressed(path: &Path) -> Vec<PathBuf> {
    let with = |suffix: &&str| PathBuf::from(format!("{}{suffix}", path.display()));
    compress::SUFFIXES.iter().map(with).collect()
}

/// Writes a file whole or not at all, so that a server never serves half of one, nor a build that was stopped
/// leaves one that looks finished.
fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(Error::file(parent))?;
    }
    let partial = PathBuf::from(format!("{}.partial", path.display()));
    fs::write(&partial, bytes).map_err(Error::file(&partial))?;
    fs::rename(&partial, path).map_err(Error::file(path))
}

/// All files below a folder, in a fixed order; none where there is no such folder.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if folder.exists() {
        collect(folder, &mut found)?;
    }
    found.sort();
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let path = entry.map_err(Error::file(folder))?.path();
        if path.is_dir() {
            collect(&path, found)?
        } else {
            found.push(path)
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own that goes with the test.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("spillway-folder-{test}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let relative =
                |path: PathBuf| path.strip_prefix(&self.0).unwrap().display().to_string();
            files(&self.0).unwrap().into_iter().map(relative).collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_new_build_leaves_nothing_of_the_old() {
        let scratch = Scratch::new("prune");
        let mut first = Folder::open(scratch.0.clone());
        first.put(Path::new("pkg/old.js"), b"old").unwrap();
        first.put(Path::new("icon.png"), b"icon").unwrap();
        first.prune().unwrap();
        assert_eq!(
            scratch.names(),
            ["icon.png", "pkg/old.js", "pkg/old.js.br", "pkg/old.js.gz"]
        );

        let mut second = Folder::open(scratch.0.clone());
        second.put(Path::new("icon.png"), b"icon").unwrap();
        second.prune().unwrap();
        assert_eq!(scratch.names(), ["icon.png"]);
    }

    #[test]
    fn a_changed_file_changes_its_compressed_forms() {
        let scratch = Scratch::new("change");
        let mut folder = Folder::open(scratch.0.clone());
        folder.put(Path::new("a.css"), b"a {}").unwrap();
        let before = fs::read(scratch.0.join("a.css.gz")).unwrap();
        folder.put(Path::new("a.css"), b"b {}").unwrap();
        assert_ne!(fs::read(scratch.0.join("a.css.gz")).unwrap(), before);
    }

    #[test]
    fn a_build_stopped_half_way_is_finished_by_the_next() {
        let scratch = Scratch::new("half");
        let mut folder = Folder::open(scratch.0.clone());
        folder.put(Path::new("a.css"), b"a {}").unwrap();
        let wanted = fs::read(scratch.0.join("a.css.gz")).unwrap();
        // As if the next build had written the compressed forms and then been killed.
        fs::write(scratch.0.join("a.css.gz"), b"of b").unwrap();
        fs::write(scratch.0.join("a.css"), b"older").unwrap();
        folder.put(Path::new("a.css"), b"a {}").unwrap();
        assert_eq!(fs::read(scratch.0.join("a.css.gz")).unwrap(), wanted);
    }

    #[test]
    fn a_lost_compressed_form_comes_back() {
        let scratch = Scratch::new("lost");
        let mut folder = Folder::open(scratch.0.clone());
        folder.put(Path::new("a.css"), b"a {}").unwrap();
        fs::remove_file(scratch.0.join("a.css.br")).unwrap();
        folder.put(Path::new("a.css"), b"a {}").unwrap();
        assert_eq!(scratch.names(), ["a.css", "a.css.br", "a.css.gz"]);
    }
}
