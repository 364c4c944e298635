//! `setup --check`: what is there, changing nothing.
//!
//! Invariant: no file is written, no folder made, nothing downloaded.

use std::fs;
use std::path::{Path, PathBuf};

use super::venv::{self, State};
use super::{SetupError, embedded, interpreter, libtpu};

/// How a part of the environment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// Usable.
    Ready,
    /// Not there; made on first need.
    Missing,
    /// Not there, and only needed by what asks for it.
    Optional,
    /// There, and unusable.
    Broken,
}

/// One part of the environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckItem {
    /// What it is, e.g. `packages`.
    pub name: &'static str,
    /// How it is.
    pub state: CheckState,
    /// Where it is, or what is wrong with it.
    pub detail: String,
}

/// What [`super::Environment::check`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// The parts, in the order in which they depend on each other.
    pub items: Vec<CheckItem>,
}

impl Check {
    /// Whether everything needed is there and works.
    pub fn is_ready(&self) -> bool {
        self.items.iter().all(|item| matches!(item.state, CheckState::Ready | CheckState::Optional))
    }
}

pub(super) fn check(home: PathBuf, python: Option<PathBuf>) -> Result<Check, SetupError> {
    let item = |name, state, detail: String| CheckItem { name, state, detail };
    let mut items = vec![item(
        "cache folder",
        if home.is_dir() { CheckState::Ready } else { CheckState::Missing },
        home.display().to_string(),
    )];
    match python {
        Some(python) => items.push(match interpreter::named(&python) {
            Ok(python) => jax_item("unpinned Python", &python),
            Err(error) => item("unpinned Python", CheckState::Broken, error.to_string()),
        }),
        None => {
            let folder = venv::folder(&home, embedded::REQUIREMENTS);
            match venv::state(&folder, embedded::REQUIREMENTS) {
                State::Complete(venv) => {
                    items.push(item(
                        "Python",
                        CheckState::Ready,
                        format!("{} in {}", venv.versions.python, folder.display()),
                    ));
                    items.push(jax_item("packages", &venv.python));
                }
                State::Incomplete(reason) => items.extend(unbuilt(CheckState::Broken, reason)),
                State::Missing => items.extend(unbuilt(CheckState::Missing, "made on first need".to_owned())),
            }
        }
    }
    let unpacked = if embedded::is_unpacked(&home) { CheckState::Ready } else { CheckState::Missing };
    items.push(item("exporter", unpacked, embedded::package_root(&home).display().to_string()));
    items.push(match libtpu::installed(&home) {
        Some(folder) => item("TPU compiler", CheckState::Ready, folder.display().to_string()),
        None => item(
            "TPU compiler",
            CheckState::Optional,
            "not installed; `countersign setup --with-libtpu` does".to_owned(),
        ),
    });
    items.push(item("exported kernels", CheckState::Ready, format!("{}", count_kernels(&home))));
    Ok(Check { items })
}

/// The items for an environment that is not complete: the interpreter that would be used, and the environment.
fn unbuilt(state: CheckState, detail: String) -> [CheckItem; 2] {
    let python = match interpreter::find(&std::env::var_os("PATH").unwrap_or_default()) {
        Ok(python) => {
            CheckItem { name: "Python", state: CheckState::Ready, detail: python.display().to_string() }
        }
        Err(error) => CheckItem { name: "Python", state: CheckState::Broken, detail: error.to_string() },
    };
    [python, CheckItem { name: "packages", state, detail }]
}

fn jax_item(name: &'static str, python: &Path) -> CheckItem {
    match venv::import_jax(python) {
        Ok(version) => CheckItem {
            name,
            state: CheckState::Ready,
            detail: format!("jax {version} in {}", python.display()),
        },
        Err(reason) => CheckItem { name, state: CheckState::Broken, detail: reason },
    }
}

fn count_kernels(home: &Path) -> usize {
    let entries = fs::read_dir(home.join("kernels")).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().join("manifest.json").is_file()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_home_is_reported_and_stays_empty() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("none");
        let check = check(home.clone(), None).unwrap();
        assert!(!check.is_ready());
        assert_eq!((check.items[0].name, check.items[0].state), ("cache folder", CheckState::Missing));
        assert!(!home.exists());
    }

    #[test]
    fn a_named_interpreter_without_jax_is_broken() {
        let folder = tempfile::tempdir().unwrap();
        let body = "echo \"ModuleNotFoundError: No module named 'jax'\" >&2; exit 1";
        let python = interpreter::tests::script(folder.path(), "python", body);
        let check = check(folder.path().to_path_buf(), Some(python)).unwrap();
        assert_eq!(check.items[1].state, CheckState::Broken);
        assert!(check.items[1].detail.contains("No module named 'jax'"));
    }
}
