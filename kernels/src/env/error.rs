//! What can go wrong while the environment is prepared or used, each with its remedy.
//!
//! Invariant: every message says what happened and what to do next; all of them end a command with exit code 2.

use std::io;
use std::path::{Path, PathBuf};

use super::interpreter::SUPPORTED;

/// Why there is no usable environment.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// No interpreter on the PATH at all.
    #[error(
        "no Python found on the PATH. Install CPython {SUPPORTED}, or name one that has jax with --python PATH"
    )]
    NoPython,
    /// Interpreters are there, none is usable; each with its reason.
    #[error(
        "no usable Python on the PATH: {}. Install CPython {SUPPORTED}, or name one that has jax with --python PATH",
        found.join("; ")
    )]
    NoSupportedPython {
        /// `path (version): reason`, in the order they were tried.
        found: Vec<String>,
    },
    /// Making the virtual environment failed.
    #[error(
        "{} could not make a virtual environment: {detail}. On Debian and Ubuntu install python3-venv; else try another \
         Python on the PATH",
        python.display()
    )]
    Venv {
        /// The interpreter.
        python: PathBuf,
        /// Its last words.
        detail: String,
    },
    /// The package index can't be reached.
    #[error(
        "the package index can't be reached: {detail}. Connect to the network (pip's settings and PIP_* variables hold), \
         or name a Python that has jax with --python PATH"
    )]
    Network {
        /// pip's words.
        detail: String,
    },
    /// A download isn't what was pinned.
    #[error(
        "a downloaded package is not the pinned one: {detail}. Check the configured package index or proxy, and clear \
         pip's cache with `pip cache purge`"
    )]
    HashMismatch {
        /// pip's words.
        detail: String,
    },
    /// pip failed for another reason.
    #[error(
        "installing the pinned packages failed: {detail}. Run the command again once the cause is removed"
    )]
    Pip {
        /// pip's words.
        detail: String,
    },
    /// No room.
    #[error("the disk is full: writing to {} failed. Free about 1 GB, or set COUNTERSIGN_HOME to a roomier place", path.display())]
    DiskFull {
        /// What was written.
        path: PathBuf,
    },
    /// No permission.
    #[error("{} is not writable ({source}). Mend its permissions, or set COUNTERSIGN_HOME to another folder", path.display())]
    Unwritable {
        /// What was written.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Another failure of the file system.
    #[error("{}: {source}. Check the path, or set COUNTERSIGN_HOME to another folder", path.display())]
    Io {
        /// What was read or written.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The pinned environment is there and doesn't work.
    #[error("the environment in {} is broken: {detail}. Delete that folder and run the command again", path.display())]
    Broken {
        /// Its folder.
        path: PathBuf,
        /// What didn't work.
        detail: String,
    },
    /// The interpreter named by the user doesn't do.
    #[error(
        "--python {}: {detail}. Name an interpreter, or a virtual environment, in which `import jax` works, or leave \
         --python away",
        python.display()
    )]
    Unusable {
        /// The interpreter.
        python: PathBuf,
        /// What didn't work.
        detail: String,
    },
    /// The exporter failed on a request that it should have answered.
    #[error("exporting {what} failed: {detail}. This is a fault of countersign's exporter: please report it")]
    Exporter {
        /// The variant.
        what: String,
        /// The exporter's words.
        detail: String,
    },
    /// There is no such kernel, or it isn't called as its family is.
    #[error(
        "{entry_point}: {detail}. Name the function with --kernel-from FILE.py:FUNCTION; where the file imports packages of \
         your own, name the Python that has them with --python PATH"
    )]
    Kernel {
        /// `package.module:function` or `file.py:function`.
        entry_point: String,
        /// What is wrong with it.
        detail: String,
    },
    /// A catalogue entry asks for packages that this build doesn't pin.
    #[error("{packages} is not pinned in this build. Name a Python that has it with --python PATH")]
    NotPinned {
        /// What was asked for.
        packages: String,
    },
    /// The platform has no cache folder and none was named.
    #[error("there is no home folder to cache in. Set COUNTERSIGN_HOME to a folder that can be written")]
    NoCacheFolder,
}

impl SetupError {
    /// Sorts a failure of the file system at `path`.
    pub(crate) fn io(path: &Path, source: io::Error) -> SetupError {
        let path = path.to_path_buf();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => SetupError::DiskFull { path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                SetupError::Unwritable { path, source }
            }
            _ => SetupError::Io { path, source },
        }
    }

    pub(crate) fn broken(path: &Path, detail: &str) -> SetupError {
        SetupError::Broken { path: path.to_path_buf(), detail: detail.to_owned() }
    }

    pub(crate) fn unusable(python: &Path, detail: &str) -> SetupError {
        SetupError::Unusable { python: python.to_path_buf(), detail: detail.to_owned() }
    }

    /// Sorts pip's output: the cause that a person can act on, not the last thing that went wrong because of it.
    pub(crate) fn from_pip(venv: &Path, output: &str) -> SetupError {
        const NO_ROOM: [&str; 3] = ["No space left on device", "Errno 28", "Disk quota exceeded"];
        const NO_NETWORK: [&str; 8] = [
            "NewConnectionError",
            "NameResolutionError",
            "ConnectTimeoutError",
            "ReadTimeoutError",
            "ConnectionResetError",
            "ProxyError",
            "SSLError",
            "Network is unreachable",
        ];
        let line_with = |needles: &[&str]| {
            output
                .lines()
                .find(|line| needles.iter().any(|needle| line.contains(needle)))
                .map(|line| line.trim().to_owned())
        };
        if line_with(&NO_ROOM).is_some() {
            SetupError::DiskFull { path: venv.to_path_buf() }
        } else if line_with(&["DO NOT MATCH THE HASHES"]).is_some() {
            SetupError::HashMismatch { detail: last_lines(output) }
        } else if let Some(line) = line_with(&NO_NETWORK) {
            SetupError::Network { detail: reason_of(&line).to_owned() }
        } else {
            SetupError::Pip { detail: last_lines(output) }
        }
    }
}

/// The reason inside pip's description of a failed connection: what stands after the Python object that failed.
fn reason_of(line: &str) -> &str {
    let reason = line.rsplit_once(">: ").map_or(line, |(_, reason)| reason);
    reason.split("')").next().unwrap_or(reason)
}

/// The last lines of a program's output that say something, on one line.
pub(crate) fn last_lines(output: &str) -> String {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.is_empty() {
        true => "no output".to_owned(),
        false => lines[lines.len().saturating_sub(3)..].join(" | ").trim_end_matches('.').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pip_failures_are_told_apart() {
        let sorted = |output: &str| SetupError::from_pip(Path::new("/cache/venv"), output);
        let offline = "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<pip._vendor.\
                       Connection object at 0x7fb6bb5ea710>: Failed: [Errno 111] Connection refused')': /simple/jax/\n\
                       ERROR: Could not find a version that satisfies the requirement jax==0.10.2 (from versions: none)";
        let SetupError::Network { detail } = sorted(offline) else { panic!("not seen as a network failure") };
        assert_eq!(detail, "Failed: [Errno 111] Connection refused");
        let full = "Collecting jax\nERROR: Could not install packages due to an OSError: [Errno 28] No space left on device";
        assert!(matches!(sorted(full), SetupError::DiskFull { .. }));
        let forged = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n Expected sha256 1\n Got 2";
        assert!(matches!(sorted(forged), SetupError::HashMismatch { .. }));
        let other = "ERROR: Could not find a version that satisfies the requirement jax==0.10.2 (from versions: 0.4.1)";
        assert!(sorted(other).to_string().contains("from versions: 0.4.1"));
    }

    #[test]
    fn file_system_failures_are_told_apart() {
        let sorted = |kind: io::ErrorKind| SetupError::io(Path::new("/cache"), kind.into()).to_string();
        assert!(sorted(io::ErrorKind::StorageFull).starts_with("the disk is full: writing to /cache failed"));
        assert!(sorted(io::ErrorKind::PermissionDenied).starts_with("/cache is not writable"));
        assert!(sorted(io::ErrorKind::NotADirectory).contains("COUNTERSIGN_HOME"));
    }

    #[test]
    fn last_lines_skips_blanks() {
        assert_eq!(last_lines("a\n\nb\n  c \nd\n\n"), "b | c | d");
        assert_eq!(last_lines("\n"), "no output");
    }
}
