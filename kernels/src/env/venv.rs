//! The pinned virtual environment: built in place, complete only once its marker is written.
//!
//! Invariant: a marker is written last, so an environment with a marker of our lock file was installed to its end. A
//! virtual environment can't be moved, hence built where it stays.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::embedded::pinned_versions;
use super::error::last_lines;
use super::files::{Lock, create_folder, has_room, remove_folder, sha256_hex, write_atomic};
use super::{Progress, SetupError, Versions, interpreter, isolated};

const MARKER: &str = "countersign.json";

/// What the marker records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    /// sha256 of the lock file that was installed.
    lock: String,
    #[serde(flatten)]
    versions: Versions,
}

/// A complete virtual environment.
#[derive(Debug, Clone)]
pub(crate) struct Venv {
    /// Its interpreter.
    pub(crate) python: PathBuf,
    /// What it holds.
    pub(crate) versions: Versions,
}

/// How far a virtual environment has got.
#[derive(Debug)]
pub(crate) enum State {
    /// Nothing there.
    Missing,
    /// Begun, and interrupted or damaged, for the reason given.
    Incomplete(String),
    /// Usable.
    Complete(Venv),
}

/// Folder of the environment that holds `requirements`.
pub(crate) fn folder(home: &Path, requirements: &str) -> PathBuf {
    home.join("venv").join(&sha256_hex(requirements.as_bytes())[..16])
}

/// Looks without changing anything; starts the interpreter, since an upgrade of the system's Python can take it away.
pub(crate) fn state(folder: &Path, requirements: &str) -> State {
    if !folder.is_dir() {
        return State::Missing;
    }
    let marker =
        fs::read(folder.join(MARKER)).ok().and_then(|bytes| serde_json::from_slice::<Marker>(&bytes).ok());
    let Some(marker) = marker else {
        return State::Incomplete("an earlier set-up did not finish".to_owned());
    };
    if marker.lock != sha256_hex(requirements.as_bytes()) {
        return State::Incomplete("it holds other packages".to_owned());
    }
    let python = folder.join("bin").join("python");
    match version_of(&python) {
        Ok(version) if version == marker.versions.python => {
            State::Complete(Venv { python, versions: marker.versions })
        }
        Ok(version) => {
            State::Incomplete(format!("its Python is now {version}, was {}", marker.versions.python))
        }
        Err(reason) => State::Incomplete(format!("its Python does not run ({reason})")),
    }
}

/// The environment that holds `requirements`, built first where it isn't complete.
pub(crate) fn open_or_build(
    home: &Path,
    requirements: &str,
    search_path: &OsStr,
    progress: &dyn Progress,
) -> Result<Venv, SetupError> {
    let folder = folder(home, requirements);
    if let State::Complete(venv) = state(&folder, requirements) {
        return Ok(venv);
    }
    let _lock = Lock::acquire(home, progress)?;
    match state(&folder, requirements) {
        State::Complete(venv) => return Ok(venv), // by another process, while we waited
        State::Incomplete(reason) => progress.step(&format!("rebuilding the Python environment: {reason}")),
        State::Missing => progress.step("preparing the Python environment (once)"),
    }
    let base = interpreter::find(search_path)?;
    build(&base, &folder, requirements, progress)
}

/// Builds the environment in `folder` with interpreter `base`, replacing what is there.
fn build(
    base: &Path,
    folder: &Path,
    requirements: &str,
    progress: &dyn Progress,
) -> Result<Venv, SetupError> {
    remove_folder(folder)?;
    create_folder(folder)?;
    progress.step(&format!("making a virtual environment with {}", base.display()));
    let made = isolated(base).args(["-m", "venv"]).arg(folder).stdin(Stdio::null()).output();
    let made = made.map_err(|error| SetupError::io(base, error))?;
    if !made.status.success() {
        let output = [made.stdout, made.stderr].concat();
        let detail = last_lines(&String::from_utf8_lossy(&output));
        return Err(unless_full(folder, SetupError::Venv { python: base.to_path_buf(), detail }));
    }
    let python = folder.join("bin").join("python");
    install(&python, folder, requirements, progress)?;
    progress.step("checking that jax starts");
    let version = version_of(&python).map_err(|reason| SetupError::broken(folder, &reason))?;
    import_jax(&python).map_err(|reason| SetupError::broken(folder, &reason))?;
    let packages =
        pinned_versions(requirements).map(|(name, version)| (name.to_owned(), version.to_owned())).collect();
    let versions = Versions { python: version, packages };
    let marker = Marker { lock: sha256_hex(requirements.as_bytes()), versions: versions.clone() };
    let text =
        serde_json::to_vec_pretty(&marker).map_err(|error| SetupError::broken(folder, &error.to_string()))?;
    write_atomic(&folder.join(MARKER), &text)?;
    progress.done(&format!(
        "Python {} with {} pinned packages is ready",
        versions.python,
        versions.packages.len()
    ));
    Ok(Venv { python, versions })
}

/// Installs the pinned packages, passing pip's own steps on.
fn install(
    python: &Path,
    folder: &Path,
    requirements: &str,
    progress: &dyn Progress,
) -> Result<(), SetupError> {
    pip_install(python, &[], folder, requirements, progress)
}

/// [`install`] with more arguments for pip; `folder` is what they make it install to.
pub(super) fn pip_install(
    python: &Path,
    arguments: &[&OsStr],
    folder: &Path,
    requirements: &str,
    progress: &dyn Progress,
) -> Result<(), SetupError> {
    let file = folder.join("requirements.lock");
    write_atomic(&file, requirements.as_bytes())?;
    let mut command = isolated(python);
    // -I shuts off PYTHON* only; pip still reads its own settings and PIP_* variables.
    command.args(["-m", "pip", "install", "--require-hashes", "--only-binary=:all:", "--no-input"]);
    // Modules are compiled when they are first imported: most of these never are.
    command.arg("--no-compile").args(arguments);
    command.args(["--disable-pip-version-check", "--progress-bar", "off", "-r"]).arg(&file);
    let (succeeded, output) =
        run_with_steps(&mut command, progress).map_err(|error| SetupError::io(python, error))?;
    match succeeded {
        true => Ok(()),
        false => Err(unless_full(folder, SetupError::from_pip(folder, &output))),
    }
}

/// `error`, unless the disk is full: then that is the cause, whatever the program made of it.
fn unless_full(folder: &Path, error: SetupError) -> SetupError {
    match has_room(folder) {
        true => error,
        false => SetupError::DiskFull { path: folder.to_path_buf() },
    }
}

/// Runs a command, showing its lines as steps; returns whether it succeeded and all that it printed.
fn run_with_steps(command: &mut Command, progress: &dyn Progress) -> std::io::Result<(bool, String)> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut errors = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(errors) = &mut errors {
            let _ = errors.read_to_end(&mut bytes); // a broken pipe only shortens the message
        }
        String::from_utf8_lossy(&bytes).into_owned()
    });
    let mut output = String::new();
    if let Some(lines) = child.stdout.take() {
        for line in BufReader::new(lines).split(b'\n') {
            let line = line?;
            let line = String::from_utf8_lossy(&line);
            progress.step(line.trim());
            output.push_str(&line);
            output.push('\n');
        }
    }
    let succeeded = child.wait()?.success();
    output.push_str(&reader.join().unwrap_or_default());
    Ok((succeeded, output))
}

fn version_of(python: &Path) -> Result<String, String> {
    ask(python, "import platform; print(platform.python_version())")
}

/// Imports jax, since wheels that install may still not load (an old libc, a missing CPU feature).
pub(crate) fn import_jax(python: &Path) -> Result<String, String> {
    ask(python, "import os; os.environ['JAX_PLATFORMS'] = 'cpu'; import jax; print(jax.__version__)")
}

fn ask(python: &Path, script: &str) -> Result<String, String> {
    let output = isolated(python)
        .args(["-c", script])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(last_lines(&String::from_utf8_lossy(&output.stderr))),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::embedded::REQUIREMENTS;
    use super::super::interpreter::tests::script;
    use super::*;
    use crate::env::Silent;

    /// A stand-in for Python: makes "virtual environments" of itself, answers probes, and for pip does as told.
    fn fake_python(folder: &Path, pip: &str) -> PathBuf {
        let body = format!(
            "case \"$*\" in\n\
             *'-m venv'*) eval target=\\${{$#}}; mkdir -p \"$target/bin\"; cp \"$0\" \"$target/bin/python\";;\n\
             *'-m pip'*) {pip};;\n\
             *'import platform'*) echo 3.12.1;;\n\
             *'import jax'*) echo 0.10.2;;\n\
             *) echo cpython 3 12 1 venv standard;;\n\
             esac"
        );
        script(folder, "python3", &body)
    }

    #[derive(Default)]
    struct Steps(Mutex<Vec<String>>);

    impl Progress for Steps {
        fn step(&self, message: &str) {
            self.0.lock().unwrap().push(message.to_owned());
        }

        fn done(&self, message: &str) {
            self.step(message);
        }
    }

    #[test]
    fn built_once_and_then_only_opened() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, home) = (folder.path().join("bin"), folder.path().join("home"));
        fake_python(&bin, "echo Collecting jax");
        let steps = Steps::default();
        let built = open_or_build(&home, REQUIREMENTS, bin.as_os_str(), &steps).unwrap();
        assert_eq!(built.versions.packages["jax"], "0.10.2");
        assert!(steps.0.lock().unwrap().contains(&"Collecting jax".to_owned()));
        // No interpreter on the path any more: opening must not look for one.
        let opened = open_or_build(&home, REQUIREMENTS, OsStr::new(""), &Silent).unwrap();
        assert_eq!((opened.python, opened.versions), (built.python, built.versions));
    }

    #[test]
    fn an_interrupted_or_damaged_environment_is_rebuilt() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, home) = (folder.path().join("bin"), folder.path().join("home"));
        fake_python(&bin, ":");
        let venv = super::folder(&home, REQUIREMENTS);
        fs::create_dir_all(venv.join("bin")).unwrap();
        fs::write(venv.join("half-unpacked"), "").unwrap();
        assert!(matches!(state(&venv, REQUIREMENTS), State::Incomplete(_)));
        let built = open_or_build(&home, REQUIREMENTS, bin.as_os_str(), &Silent).unwrap();
        assert!(!venv.join("half-unpacked").exists());
        fs::remove_file(&built.python).unwrap(); // the system's Python was upgraded away
        let State::Incomplete(reason) = state(&venv, REQUIREMENTS) else {
            panic!("a dead interpreter was not noticed")
        };
        assert!(reason.contains("does not run"), "{reason}");
        open_or_build(&home, REQUIREMENTS, bin.as_os_str(), &Silent).unwrap();
        fs::write(venv.join(MARKER), "{").unwrap();
        assert!(matches!(state(&venv, REQUIREMENTS), State::Incomplete(_)));
    }

    #[test]
    fn pips_failure_is_reported_and_leaves_no_marker() {
        let folder = tempfile::tempdir().unwrap();
        let (bin, home) = (folder.path().join("bin"), folder.path().join("home"));
        fake_python(&bin, "echo \"WARNING: Retrying after 'NewConnectionError: no route'\" >&2; exit 1");
        let error = open_or_build(&home, REQUIREMENTS, bin.as_os_str(), &Silent).unwrap_err();
        assert!(matches!(error, SetupError::Network { .. }), "{error}");
        assert!(matches!(state(&super::folder(&home, REQUIREMENTS), REQUIREMENTS), State::Incomplete(_)));
    }

    #[test]
    fn an_unwritable_home_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let error = open_or_build(&folder.path().join("file/home"), REQUIREMENTS, OsStr::new(""), &Silent)
            .unwrap_err();
        assert!(error.to_string().contains("COUNTERSIGN_HOME"), "{error}");
    }
}
