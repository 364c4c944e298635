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

use countersign_kernels::env::cache_folder;
use countersign_reports::Trend;

use super::super::console::Failure;
use crate::campaign::tool;
use crate::night::{History, Store, Target, UNEXPLAINED};

/// Nights on a plot.
pub(super) const SHOWN: u32 = 60;

/// The database within a state's folder.
const HISTORY: &str = "history.sqlite";

/// The grown corpus within it.
const CORPUS: &str = "corpus";

/// The grown corpus of a state's folder, without a night: locked, so that no night has it meanwhile.
pub(in super::super) struct Grown {
    /// Its folder, which needn't be there.
    pub(in super::super) corpus: PathBuf,
    _lock: File,
}

impl Grown {
    /// Of `asked` or the cache folder's. With `make`, the state's folder is made where needed.
    pub(in super::super) fn open(asked: Option<&Path>, make: bool) -> Result<Grown, Failure> {
        let folder = folder(asked, &cache_folder()?);
        if !make && !folder.is_dir() {
            return Err(Failure::new(
                format!("{}: no such folder", folder.display()),
                "`countersign nightly` grows a corpus there; --state names another folder",
            ));
        }
        let lock = prepare(&folder).map_err(|error| Failure::file(&folder, error))?;
        if let Some(error) = hold(&lock, &folder)? {
            return Err(Failure::file(&folder.join("lock"), error));
        }
        Ok(Grown { corpus: folder.join(CORPUS), _lock: lock })
    }
}

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
    /// Opens `asked` or the cache folder's; else, with the reason, one in the run's folder. `date` is the night's.
    pub(super) fn open(
        asked: Option<&Path>,
        home: &Path,
        out: &Path,
        date: &str,
    ) -> Result<(State, Vec<String>), Failure> {
        let folder = folder(asked, home);
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
        if let Some(error) = hold(&lock, &folder)? {
            troubles.push(format!("no lock on {}: {error}", folder.display()));
        }
        let opened = History::open(&folder.join(HISTORY))
            .and_then(|history| Ok((history.begin(date, &tool())?, history)));
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
        Store::open(self.folder.join(CORPUS).join(kernel).join(target.name()))
    }
}

/// Figures of `kernel` over the nights whose state is in `asked`; of the cache folder's, where there were any.
pub(in super::super) fn trends(asked: Option<&Path>, kernel: &str) -> Result<Vec<Trend>, Failure> {
    let path = folder(asked, &cache_folder()?).join(HISTORY);
    if !path.is_file() {
        return match asked {
            None => Ok(Vec::new()),
            Some(_) => Err(Failure::new(
                format!("{}: no history of nights", path.display()),
                "name the folder that `countersign nightly --state` was given",
            )),
        };
    }
    let trends = History::open(&path).and_then(|history| history.trends(SHOWN));
    let trends = trends.map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()), "another --state has another history")
    })?;
    let is_mine = |title: &str| {
        title.strip_prefix(kernel).map_or(title == UNEXPLAINED, |rest| rest.starts_with([' ', ',']))
    };
    let trends = trends.into_iter().filter(|(title, _)| is_mine(title));
    Ok(trends.map(|(title, points)| Trend { title, points }).collect())
}

/// `asked` or the cache folder's.
fn folder(asked: Option<&Path>, home: &Path) -> PathBuf {
    let folder = asked.map_or_else(|| home.join("nightly"), Path::to_owned);
    std::path::absolute(&folder).unwrap_or(folder)
}

/// Takes the lock, or says why there is none to be had. That another process has it is a failure.
fn hold(lock: &File, folder: &Path) -> Result<Option<io::Error>, Failure> {
    match lock.try_lock() {
        Ok(()) => Ok(None),
        Err(TryLockError::WouldBlock) => Err(Failure::new(
            format!("another night uses {}", folder.display()),
            "wait for its end, or name another folder with --state",
        )),
        Err(TryLockError::Error(error)) => Ok(Some(error)),
    }
}

/// Makes the folders; the lock's file, for which writing is needed.
fn prepare(folder: &Path) -> io::Result<File> {
    fs::create_dir_all(folder.join("findings"))?;
    File::options().create(true).truncate(false).write(true).open(folder.join("lock"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::night::RunRecord;

    #[test]
    fn a_clock_that_jumps_puts_no_night_before_another() {
        let folder = tempfile::tempdir().unwrap();
        let record = RunRecord { findings: vec!["a".to_owned()], ..RunRecord::default() };
        for (number, date) in (1..).zip(["2026-03-29", "1970-01-01", "2099-12-31", "2026-03-29"]) {
            let (mut state, troubles) =
                State::open(Some(folder.path()), folder.path(), folder.path(), date).unwrap();
            assert_eq!((state.number, troubles), (number, Vec::<String>::new()));
            let history = state.history.as_mut().unwrap();
            history.end(number, &record).unwrap();
            assert_eq!(history.first_seen("a").unwrap(), Some(1));
            let nights: Vec<i64> = history.trends(60).unwrap()[0].1.iter().map(|point| point.0).collect();
            assert_eq!(nights, (1..=number).collect::<Vec<_>>());
        }
    }

    #[test]
    fn one_night_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let open = || State::open(Some(folder.path()), folder.path(), folder.path(), "2026-03-29");
        let first = open().unwrap();
        let refused = |failure: Failure| assert!(failure.to_string().contains("another night"), "{failure}");
        open().err().map(refused).unwrap();
        Grown::open(Some(folder.path()), true).err().map(refused).unwrap();
        drop(first);
        Grown::open(Some(folder.path()), true).unwrap();
    }
}
