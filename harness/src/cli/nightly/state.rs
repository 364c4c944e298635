//! What nights leave to each other, on disk.
//!
//! ```text
//! nightly/ lock, history.sqlite, findings/*.toml, corpus/<kernel>/<target>/<sha256>.case
//! ```
//!
//! Invariant: one night at a time uses a state folder. Where it can't be written, the night goes on in the run's own folder, and
//! says so.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::super::console::{Failure, today};
use crate::campaign::tool;
use crate::night::{History, Store, Target};

/// The state's folder, opened.
pub(super) struct State {
    pub(super) folder: PathBuf,
    pub(super) history: Option<History>,
    /// The night's number; 0 without a history.
    pub(super) number: i64,
    /// Held until the night ends; the system lets it go with the process.
    _lock: File,
}

impl State {
    /// Opens `asked` or the cache folder's; else, with the reason, one in the run's folder.
    pub(super) fn open(
        asked: Option<&Path>,
        home: &Path,
        out: &Path,
    ) -> Result<(State, Vec<String>), Failure> {
        let folder = asked.map_or_else(|| home.join("nightly"), Path::to_owned);
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        let mut troubles = Vec::new();
        let (folder, lock) = match prepare(&folder) {
            Ok(lock) => (folder, lock),
            Err(error) => {
                let instead = out.join("state");
                troubles.push(format!(
                    "{} can't be written ({error}): grown corpus, findings and history are in {}, and the next night won't have them",
                    folder.display(),
                    instead.display()
                ));
                let lock = prepare(&instead).map_err(|error| Failure::file(&instead, error))?;
                (instead, lock)
            }
        };
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::new(
                    format!("another night uses {}", folder.display()),
                    "wait for its end, or name another folder with --state",
                ));
            }
            Err(TryLockError::Error(error)) => {
                troubles.push(format!("no lock on {}: {error}", folder.display()))
            }
        }
        let opened = History::open(&folder.join("history.sqlite"))
            .and_then(|history| Ok((history.begin(&today(), &tool())?, history)));
        let (number, history) = match opened {
            Ok((number, history)) => {
                match history.unfinished(number) {
                    Ok(killed) => troubles.extend(
                        killed
                            .iter()
                            .map(|night| format!("night {night} was killed; what it had stored is used")),
                    ),
                    Err(error) => troubles.push(format!("the history can't be read: {error}")),
                }
                (number, Some(history))
            }
            Err(error) => {
                troubles.push(format!("there is no history: {error}"));
                (0, None)
            }
        };
        Ok((State { folder, history, number, _lock: lock }, troubles))
    }

    /// Where findings that nothing explains are kept.
    pub(super) fn findings(&self) -> PathBuf {
        self.folder.join("findings")
    }

    /// The grown corpus of a kernel and target.
    pub(super) fn corpus(&self, kernel: &str, target: Target) -> io::Result<Store> {
        Store::open(self.folder.join("corpus").join(kernel).join(target.name()))
    }
}

/// Makes the folders; the lock's file, for which writing is needed.
fn prepare(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder.join("findings"))?;
    File::options().create(true).truncate(false).write(true).open(folder.join("lock"))
}
