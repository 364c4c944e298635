//! The Python environment: found or built on first need, and how Python is started in it.
//!
//! Invariant: an [`Environment`] that exists is complete. Nothing here depends on the clock or on the working directory, a
//! second process waits, an interrupted set-up is resumed, and every file is replaced whole. Not here: what Python is
//! asked (`export.rs`, `worker.rs`).

mod check;
mod embedded;
mod error;
mod files;
mod interpreter;
mod libtpu;
mod progress;
mod venv;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use etcetera::BaseStrategy;
use serde::{Deserialize, Serialize};

pub use check::{Check, CheckItem, CheckState};
pub use error::SetupError;
pub use files::write_whole;
pub use libtpu::TERMS as LIBTPU_TERMS;
pub use progress::{Progress, Silent};

pub(crate) use embedded::exporter_hash;
pub(crate) use error::last_lines;
pub(crate) use files::{Lock, sha256_hex, temporary_name, write_atomic};

/// Name of the variable that overrides the cache folder.
pub const HOME_VARIABLE: &str = "COUNTERSIGN_HOME";

/// Starts our package from the folder given as first argument, with nothing of the working directory on the path.
const BOOTSTRAP: &str = "import runpy, sys\n\
    root = sys.argv.pop(1)\n\
    sys.path[:] = [root] + [entry for entry in sys.path if entry]\n\
    runpy.run_module('countersign_export', run_name='__main__', alter_sys=True)\n";

/// Versions of Python and of the packages that decide what a kernel lowers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Versions {
    /// Version of CPython, e.g. `3.12.1`.
    pub python: String,
    /// Version by package name.
    pub packages: BTreeMap<String, String>,
}

/// A usable Python with jax in it.
#[derive(Debug, Clone)]
pub struct Environment {
    home: PathBuf,
    python: PathBuf,
    package_root: PathBuf,
    /// What is pinned; nothing of the user's own Python.
    requirements: Option<&'static str>,
    versions: Versions,
}

impl Environment {
    /// Opens the environment, building it first where that is needed (pinned packages, once, tens of seconds).
    ///
    /// `home` is the cache folder, by default `$COUNTERSIGN_HOME` or the platform's cache directory. With `python`, that
    /// interpreter (or the one in that virtual environment) is used as it is: nothing is installed, nothing pinned.
    ///
    /// # Errors
    /// Every [`SetupError`] says what happened and what to do about it.
    pub fn open(
        home: Option<PathBuf>,
        python: Option<PathBuf>,
        progress: &dyn Progress,
    ) -> Result<Environment, SetupError> {
        Environment::open_for(home, python, &[], progress)
    }

    /// As [`Environment::open`], with the release that `packages` (of a catalogue entry) names. Each release has an environment of
    /// its own, made on first need beside the others.
    ///
    /// # Errors
    /// As [`Environment::open`]; also where no such release is pinned.
    pub fn open_for(
        home: Option<PathBuf>,
        python: Option<PathBuf>,
        packages: &[String],
        progress: &dyn Progress,
    ) -> Result<Environment, SetupError> {
        let home = resolve_home(home)?;
        if let Some(python) = python {
            return Environment::unpinned(home, &python, progress);
        }
        let requirements = embedded::requirements_for(packages)
            .ok_or_else(|| SetupError::NotPinned { packages: packages.join(", ") })?;
        let search_path = std::env::var_os("PATH").unwrap_or_default();
        let venv::Venv { python, versions } =
            venv::open_or_build(&home, requirements, &search_path, progress)?;
        let package_root = embedded::unpack(&home)?;
        Ok(Environment { home, python, package_root, requirements: Some(requirements), versions })
    }

    /// Reports what is there, changing nothing.
    ///
    /// # Errors
    /// Only where the cache folder itself can't be determined.
    pub fn check(home: Option<PathBuf>, python: Option<PathBuf>) -> Result<Check, SetupError> {
        check::check(resolve_home(home)?, python)
    }

    fn unpinned(home: PathBuf, python: &Path, progress: &dyn Progress) -> Result<Environment, SetupError> {
        let python = interpreter::named(python)?;
        let package_root = embedded::unpack(&home)?;
        let none = Versions { python: String::new(), packages: BTreeMap::new() };
        let mut environment = Environment { home, python, package_root, requirements: None, versions: none };
        progress.step(&format!("looking at {}", environment.python.display()));
        let text = environment.run(&["identify"])?;
        environment.versions = serde_json::from_str(&text).map_err(|error| {
            SetupError::unusable(&environment.python, &format!("unexpected answer: {error}"))
        })?;
        progress.done(&format!("using {} as it is", environment.python.display()));
        Ok(environment)
    }

    /// The cache folder.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The interpreter that is run.
    pub fn python(&self) -> &Path {
        &self.python
    }

    /// Whether the packages are the user's own (`--python`) and not the pinned ones.
    pub fn is_unpinned(&self) -> bool {
        self.requirements.is_none()
    }

    /// Whether it holds `packages`, each `name==version`; the user's own Python is taken as it is.
    pub fn holds(&self, packages: &[String]) -> bool {
        let holds = |package: &String| {
            package.split_once("==").is_some_and(|(name, version)| {
                self.versions.packages.get(name).is_some_and(|held| held == version)
            })
        };
        self.is_unpinned() || packages.iter().all(holds)
    }

    /// What is installed.
    pub fn versions(&self) -> &Versions {
        &self.versions
    }

    /// A command that runs our Python package. The pinned environment is shut off from the user's `PYTHON*` settings; with
    /// `--python` they belong to "as it is". Settings of JAX and XLA that could change a lowering are dropped in both.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command =
            if self.is_unpinned() { Command::new(&self.python) } else { isolated(&self.python) };
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("JAX_") || name.starts_with("XLA_")) {
                command.env_remove(name);
            }
        }
        command.env("JAX_PLATFORMS", "cpu").args(["-c", BOOTSTRAP]).arg(&self.package_root).args(arguments);
        command
    }

    /// Runs our package to its end and returns its standard output.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String, SetupError> {
        let output = self
            .command(arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .map_err(|error| self.broken(&error.to_string()))?;
        if !output.status.success() {
            return Err(self.broken(&error::last_lines(&String::from_utf8_lossy(&output.stderr))));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// The folder with the TPU's compiler, where `setup --with-libtpu` has put it.
    pub fn libtpu(&self) -> Option<PathBuf> {
        libtpu::installed(&self.home)
    }

    /// Name and version of the compiler that [`Environment::install_libtpu`] installs.
    pub fn libtpu_version() -> String {
        let pins = embedded::pinned_versions(embedded::LIBTPU);
        pins.map(|(name, version)| format!("{name} {version}")).collect::<Vec<_>>().join(", ")
    }

    /// Installs the TPU's compiler beside the environment, in a folder of its own. It is under other terms than the rest
    /// ([`LIBTPU_TERMS`]), so only ever do so where the user asked for it by name.
    ///
    /// # Errors
    /// As [`Environment::open`].
    pub fn install_libtpu(&self, progress: &dyn Progress) -> Result<PathBuf, SetupError> {
        libtpu::install(&self.home, &self.python, progress)
    }

    /// The error for an environment that turned out not to work.
    pub(crate) fn broken(&self, detail: &str) -> SetupError {
        match self.requirements {
            None => SetupError::unusable(&self.python, detail),
            Some(requirements) => SetupError::broken(&venv::folder(&self.home, requirements), detail),
        }
    }
}

/// An interpreter without the user's Python settings.
fn isolated(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.arg("-I").env_remove("PYTHONHOME").env_remove("PYTHONPATH").env_remove("__PYVENV_LAUNCHER__");
    command
}

/// The cache folder that [`Environment::open`] takes by default; it needn't be there.
///
/// # Errors
/// If the platform doesn't say where such folders are.
pub fn cache_folder() -> Result<PathBuf, SetupError> {
    resolve_home(None)
}

fn resolve_home(home: Option<PathBuf>) -> Result<PathBuf, SetupError> {
    let chosen =
        home.or_else(|| std::env::var_os(HOME_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from));
    let chosen = match chosen {
        Some(path) => path,
        None => etcetera::base_strategy::choose_native_strategy()
            .map_err(|_| SetupError::NoCacheFolder)?
            .cache_dir()
            .join("countersign"),
    };
    std::path::absolute(&chosen).map_err(|error| SetupError::io(&chosen, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_home_is_made_absolute() {
        assert!(resolve_home(Some("here".into())).unwrap().is_absolute());
    }

    #[test]
    fn a_named_python_without_jax_is_refused_with_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let body = "echo \"ModuleNotFoundError: No module named 'jax'\" >&2; exit 1";
        let python = interpreter::tests::script(folder.path(), "python3", body);
        let home = folder.path().join("home");
        let message = Environment::open(Some(home), Some(python), &Silent).unwrap_err().to_string();
        assert!(
            message.contains("No module named 'jax'") && message.contains("leave --python away"),
            "{message}"
        );
    }

    #[test]
    fn no_setting_of_jax_reaches_a_lowering() {
        let versions = Versions { python: "3.12.1".into(), packages: BTreeMap::new() };
        let environment = |requirements| Environment {
            home: "/home".into(),
            python: "/python".into(),
            package_root: "/package".into(),
            requirements,
            versions: versions.clone(),
        };
        let arguments = |command: &Command| -> Vec<String> {
            command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect()
        };
        let pinned = environment(Some("")).command(&["worker"]);
        assert_eq!(arguments(&pinned), ["-I", "-c", BOOTSTRAP, "/package", "worker"]);
        assert!(pinned.get_envs().any(|(name, value)| name == "PYTHONPATH" && value.is_none()));
        let own = environment(None).command(&["worker"]);
        assert_eq!(arguments(&own), ["-c", BOOTSTRAP, "/package", "worker"]);
        assert!(
            own.get_envs().any(|(name, value)| name == "JAX_PLATFORMS" && value == Some(OsStr::new("cpu")))
        );
    }
}
