//! The grown corpus: binary cases in a folder, each under the hash of its content.
//!
//! Invariant: a file appears whole, through a temporary one that is flushed first, and never changes; the same case is one
//! file, whoever adds it and however often.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use countersign_kernels::env::write_whole;
use sha2::{Digest, Sha256};

use super::Target;
use crate::case::Case;

/// How the files end.
const ENDING: &str = ".case";

/// A case with its file's name.
pub type Named = (String, Case);

/// A folder of cases.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// The file name of a binary case.
pub fn name_of(bytes: &[u8]) -> String {
    let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{hash}{ENDING}")
}

impl Store {
    /// Opens a folder, which is made where needed.
    ///
    /// # Errors
    /// It can't be made.
    pub fn open(folder: impl Into<PathBuf>) -> io::Result<Store> {
        let folder = folder.into();
        fs::create_dir_all(&folder)?;
        Ok(Store { folder })
    }

    /// The stores of a grown corpus, `<kernel>/<target>`, in order. Other folders are passed over; without a corpus there are
    /// none.
    ///
    /// # Errors
    /// A folder can't be read.
    pub fn all(corpus: &Path) -> io::Result<Vec<(String, Target, Store)>> {
        let mut stores = Vec::new();
        if !corpus.exists() {
            return Ok(stores);
        }
        for entry in fs::read_dir(corpus)? {
            let entry = entry?;
            let kernel = entry.file_name().to_string_lossy().into_owned();
            for (target, _) in Target::SHARES {
                let folder = entry.path().join(target.name());
                if folder.is_dir() {
                    stores.push((kernel.clone(), target, Store { folder }));
                }
            }
        }
        stores.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
        Ok(stores)
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores a case in binary form; its file's name, and whether it wasn't there before.
    ///
    /// # Errors
    /// The file can't be written; nothing is left of it.
    pub fn add(&self, bytes: &[u8]) -> io::Result<(String, bool)> {
        let name = name_of(bytes);
        let path = self.folder.join(&name);
        if path.exists() {
            return Ok((name, false));
        }
        write_whole(&path, bytes)?;
        Ok((name, true))
    }

    /// Names of all cases, in order. What a killed process left of a file isn't one.
    ///
    /// # Errors
    /// The folder can't be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(ENDING) {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// The cases with their names, small ones first; and the names of files that are no case of this version.
    ///
    /// # Errors
    /// A file can't be read.
    pub fn cases(&self) -> io::Result<(Vec<Named>, Vec<String>)> {
        let (mut cases, mut unreadable) = (Vec::new(), Vec::new());
        for name in self.names()? {
            let bytes = fs::read(self.folder.join(&name))?;
            match Case::from_bytes(&bytes) {
                Ok(case) => cases.push((bytes.len(), name, case)),
                Err(_) => unreadable.push(name),
            }
        }
        cases.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
        Ok((cases.into_iter().map(|(_, name, case)| (name, case)).collect(), unreadable))
    }

    /// Removes a case.
    ///
    /// # Errors
    /// It can't be removed; that it isn't there is no error.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.folder.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_is_one_file_and_what_is_no_case_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("a/b")).unwrap();
        let (name, text) =
            crate::corpus::builtin().iter().find(|(name, _)| name.starts_with("seeds/")).unwrap();
        let case =
            crate::corpus::CorpusFile::from_toml(text).unwrap_or_else(|error| panic!("{name}: {error}")).case;
        let bytes = case.to_bytes().unwrap();
        let (name, fresh) = store.add(&bytes).unwrap();
        assert!(fresh);
        assert_eq!(store.add(&bytes).unwrap(), (name.clone(), false));
        store.add(b"nonsense").unwrap();
        fs::write(store.folder().join(".tmp-1-2"), b"half").unwrap();
        let (cases, unreadable) = store.cases().unwrap();
        assert_eq!((cases, unreadable.len()), (vec![(name.clone(), case)], 1));
        store.remove(&name).unwrap();
        store.remove(&name).unwrap();
        assert_eq!(store.names().unwrap().len(), 1);
    }
}
