//! The TPU's compiler as an optional part of the environment: libtpu, in a folder of its own.
//!
//! Invariant: never on the path of anything but a worker that compiles, and never fetched unless the user asked for it by name.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::embedded::LIBTPU;
use super::files::{Lock, create_folder, remove_folder, sha256_hex, write_atomic};
use super::{Progress, SetupError, venv};

/// What a user must know before it is installed.
pub const TERMS: &str = "libtpu is Google's compiler and run-time for TPUs. It is not free software: it is made available as \
    \"Software\" under the agreement that governs your use of Google Cloud Platform, with its Service Specific Terms \
    (https://cloud.google.com/terms/service-terms). About 210 MB to download, 700 MB on disk, for Linux on x86-64.";

/// Written last: a folder with it is complete.
const MARKER: &str = "complete";

fn folder(home: &Path) -> PathBuf {
    home.join("libtpu").join(&sha256_hex(LIBTPU.as_bytes())[..16])
}

/// The folder that goes on Python's path, where it was installed to its end.
pub(super) fn installed(home: &Path) -> Option<PathBuf> {
    let folder = folder(home);
    folder.join(MARKER).is_file().then_some(folder)
}

/// Installs it with the environment's pip, unless it is there.
pub(super) fn install(home: &Path, python: &Path, progress: &dyn Progress) -> Result<PathBuf, SetupError> {
    let _lock = Lock::acquire(home, progress)?;
    if let Some(folder) = installed(home) {
        return Ok(folder);
    }
    let folder = folder(home);
    remove_folder(&folder)?;
    create_folder(&folder)?;
    progress.step("installing libtpu");
    let target: [&OsStr; 3] = ["--no-deps".as_ref(), "--target".as_ref(), folder.as_os_str()];
    venv::pip_install(python, &target, &folder, LIBTPU, progress)?;
    write_atomic(&folder.join(MARKER), b"")?;
    progress.done(&format!("libtpu is in {}", folder.display()));
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::super::interpreter::tests::script;
    use super::*;
    use crate::env::Silent;

    #[test]
    fn only_an_installation_that_ended_counts() {
        let home = tempfile::tempdir().unwrap();
        let fails = script(home.path(), "fails", "echo no such wheel >&2; exit 1");
        assert!(install(home.path(), &fails, &Silent).is_err());
        assert_eq!(installed(home.path()), None);
        let works = script(home.path(), "works", "exit 0");
        let folder = install(home.path(), &works, &Silent).unwrap();
        assert_eq!(installed(home.path()), Some(folder.clone()));
        assert_eq!(install(home.path(), &fails, &Silent).unwrap(), folder);
    }
}
