//! Files replaced whole, hashes, and the lock against a second process.
//!
//! Invariant: a reader sees an old file or a new one, never a part of one.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};

use super::{Progress, SetupError};

/// sha256 in hex.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name beside others that no running process uses: process id and a counter.
pub(crate) fn temporary_name() -> String {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    format!(".tmp-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

/// Creates a folder and those above it.
pub(crate) fn create_folder(path: &Path) -> Result<(), SetupError> {
    fs::create_dir_all(path).map_err(|error| SetupError::io(path, error))
}

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove_folder(path: &Path) -> Result<(), SetupError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(SetupError::io(path, error)),
        _ => Ok(()),
    }
}

/// [`write_whole`], with the path in the error.
pub(crate) fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), SetupError> {
    write_whole(path, bytes).map_err(|error| SetupError::io(path, error))
}

/// Writes a file through a temporary one beside it, flushed to the disk before it takes the name.
///
/// # Errors
/// As the file system gives them; the file is as it was.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = path.with_file_name(temporary_name());
    let written = File::create(&temporary)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&temporary, path));
    written.inspect_err(|_| {
        let _ = fs::remove_file(&temporary); // best effort: the error that is reported is the first one
    })
}

/// Whether `folder` takes another few megabytes. Programs that ran out of room don't always say so.
pub(crate) fn has_room(folder: &Path) -> bool {
    let path = folder.join(temporary_name());
    let written = File::create(&path)
        .and_then(|mut file| file.write_all(&vec![1; 8 << 20]).and_then(|()| file.sync_all()));
    let _ = fs::remove_file(&path); // the folder is rebuilt anyway
    !written
        .is_err_and(|error| matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}

/// The cache folder's lock, held while something in it is built; the system releases it if the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock, telling the user when that means waiting for another process.
    pub(crate) fn acquire(home: &Path, progress: &dyn Progress) -> Result<Lock, SetupError> {
        create_folder(home)?;
        let path: PathBuf = home.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| SetupError::io(&path, error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                progress
                    .step(&format!("waiting for another countersign that is preparing {}", home.display()));
                file.lock().map_err(|error| SetupError::io(&path, error))?;
            }
            // Some network file systems have no locks; files are replaced whole, so the worst is work done twice.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
            Err(TryLockError::Error(error)) => return Err(SetupError::io(&path, error)),
        }
        Ok(Lock { _file: file })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use super::*;
    use crate::env::Silent;

    #[derive(Default)]
    struct Recorded(Mutex<Vec<String>>);

    impl Progress for Recorded {
        fn step(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }

        fn done(&self, _message: &str) {}
    }

    #[test]
    fn a_file_is_replaced_whole_and_nothing_stays_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomic(&path, b"old").unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_leaves_the_old_state() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        fs::create_dir(&path).unwrap(); // a file can't take a folder's name
        fs::write(path.join("inside"), b"kept").unwrap();
        assert!(write_atomic(&path, b"new").is_err());
        assert_eq!(fs::read(path.join("inside")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_second_holder_waits_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let first = Lock::acquire(folder.path(), &Silent).unwrap();
        let recorded = Recorded::default();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| Lock::acquire(folder.path(), &recorded).map(drop));
            while recorded.0.lock().unwrap().is_empty() {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap().unwrap();
        });
        assert!(recorded.0.lock().unwrap()[0].starts_with("waiting for another countersign"));
    }

    #[test]
    fn hashes_are_in_hex() {
        assert_eq!(&sha256_hex(b"")[..16], "e3b0c44298fc1c14");
    }
}
