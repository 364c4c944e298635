//! Finds a Python interpreter that can hold the pinned packages.
//!
//! Invariant: an interpreter counts only after it has run and said what it is: a name on the PATH proves nothing.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{SetupError, isolated};

/// The versions that the lock file has hashes for, as text for messages.
pub(crate) const SUPPORTED: &str = "3.11, 3.12 or 3.13";
const OLDEST: (u32, u32) = (3, 11);
const NEWEST: (u32, u32) = (3, 13);

/// Names that are looked for; the user's own default comes first.
const NAMES: [&str; 4] = ["python3", "python3.13", "python3.12", "python3.11"];

/// Prints what an interpreter is, in words that [`judge`] reads.
const PROBE: &str = "import sys\n\
    try:\n    import ensurepip, venv\n    tools = 'venv'\n\
    except ImportError:\n    tools = 'bare'\n\
    free = 'free-threaded' if not getattr(sys, '_is_gil_enabled', lambda: True)() else 'standard'\n\
    print(sys.implementation.name, sys.version_info[0], sys.version_info[1], sys.version_info[2], tools, free)\n";

/// The first usable interpreter on `search_path`.
pub(crate) fn find(search_path: &OsStr) -> Result<PathBuf, SetupError> {
    let mut found = Vec::new();
    for name in NAMES {
        for folder in std::env::split_paths(search_path) {
            let python = folder.join(name);
            if !python.is_file() {
                continue;
            }
            match probe(&python) {
                Ok(()) => return Ok(python),
                Err(reason) => found.push(format!("{} {reason}", python.display())),
            }
        }
    }
    match found.is_empty() {
        true => Err(SetupError::NoPython),
        false => Err(SetupError::NoSupportedPython { found }),
    }
}

/// The interpreter that a user named: a file, a virtual environment's folder, or a command on the PATH.
pub(crate) fn named(python: &Path) -> Result<PathBuf, SetupError> {
    let inside = python.join("bin").join("python");
    if python.is_dir() && inside.is_file() {
        return std::path::absolute(&inside).map_err(|error| SetupError::io(python, error));
    }
    if python.is_file() {
        // Never resolved: a virtual environment is known by the path that its interpreter is started by.
        return std::path::absolute(python).map_err(|error| SetupError::io(python, error));
    }
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    let on_path =
        std::env::split_paths(&search_path).map(|folder| folder.join(python)).find(|path| path.is_file());
    match on_path {
        Some(path) if python.components().count() == 1 => Ok(path),
        _ => Err(SetupError::unusable(python, "there is no such interpreter")),
    }
}

fn probe(python: &Path) -> Result<(), String> {
    let output = isolated(python)
        .args(["-c", PROBE])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("does not run ({error})"))?;
    if !output.status.success() {
        return Err(format!(
            "does not run ({})",
            super::error::last_lines(&String::from_utf8_lossy(&output.stderr))
        ));
    }
    judge(&String::from_utf8_lossy(&output.stdout))
}

/// Whether what [`PROBE`] printed describes a usable interpreter, else why not.
fn judge(words: &str) -> Result<(), String> {
    let words: Vec<&str> = words.split_whitespace().collect();
    let [implementation, major, minor, micro, tools, threading] = words[..] else {
        return Err(format!("does not answer like Python ({})", words.join(" ")));
    };
    let (Ok(major), Ok(minor)) = (major.parse::<u32>(), minor.parse::<u32>()) else {
        return Err(format!("does not answer like Python ({})", words.join(" ")));
    };
    let version = format!("{major}.{minor}.{micro}");
    if (major, minor) < OLDEST {
        Err(format!("({version}) is too old"))
    } else if (major, minor) > NEWEST {
        Err(format!("({version}) is too new"))
    } else if implementation != "cpython" {
        Err(format!("({version}) is {implementation}, not CPython"))
    } else if threading != "standard" {
        Err(format!("({version}) is a free-threaded build, which has no pinned packages"))
    } else if tools != "venv" {
        Err(format!("({version}) lacks venv and ensurepip (on Debian and Ubuntu: install python3-venv)"))
    } else {
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A shell script called `name` in `folder`.
    pub(crate) fn script(folder: &Path, name: &str, body: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn without_any_python_the_message_names_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let message = find(folder.path().as_os_str()).unwrap_err().to_string();
        assert!(message.contains("no Python found") && message.contains("3.11, 3.12 or 3.13"), "{message}");
    }

    #[test]
    fn unusable_ones_are_each_listed_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        script(folder.path(), "python3", "echo cpython 3 9 2 venv standard");
        script(folder.path(), "python3.13", "echo cpython 3 14 0 venv standard");
        script(folder.path(), "python3.12", "echo 'command not found' >&2; exit 127");
        script(folder.path(), "python3.11", "echo cpython 3 11 2 bare standard");
        let message = find(folder.path().as_os_str()).unwrap_err().to_string();
        for reason in
            ["(3.9.2) is too old", "(3.14.0) is too new", "does not run (command not found)", "lacks venv"]
        {
            assert!(message.contains(reason), "{reason} missing in: {message}");
        }
    }

    #[test]
    fn the_users_default_wins_and_a_dead_shim_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("a"), folder.path().join("b"));
        script(&first, "python3", "exit 127");
        let default = script(&second, "python3", "echo cpython 3 12 1 venv standard");
        script(&first, "python3.13", "echo cpython 3 13 0 venv standard");
        let search_path = std::env::join_paths([&first, &second]).unwrap();
        assert_eq!(find(&search_path).unwrap(), default);
    }

    #[test]
    fn other_kinds_of_python_are_refused() {
        assert!(judge("pypy 3 11 1 venv standard").unwrap_err().contains("not CPython"));
        assert!(judge("cpython 3 13 1 venv free-threaded").unwrap_err().contains("free-threaded"));
        assert!(judge("hello").unwrap_err().contains("does not answer"));
        assert_eq!(judge("cpython 3 13 1 venv standard"), Ok(()));
    }

    #[test]
    fn a_named_interpreter_may_be_an_environments_folder() {
        let folder = tempfile::tempdir().unwrap();
        let python = script(&folder.path().join("bin"), "python", "");
        assert_eq!(named(folder.path()).unwrap(), python);
        assert_eq!(named(&python).unwrap(), python);
        let message = named(&folder.path().join("none")).unwrap_err().to_string();
        assert!(message.contains("there is no such interpreter"), "{message}");
    }
}
