//! The Python package and the pinned requirements, carried in the binary.
//!
//! Invariant: the unpacked package is byte for byte the embedded one, in a folder named by its hash.

use std::fs;
use std::path::{Path, PathBuf};

use super::SetupError;
use super::files::{create_folder, sha256_hex, write_atomic};

/// Hash-pinned requirements, as pip reads them: those that everything is tested with.
pub(crate) const REQUIREMENTS: &str = include_str!("../../python/requirements.lock");

/// Of other releases, for kernels of the catalogue that ask for one.
const OTHER_RELEASES: [&str; 4] = [
    include_str!("../../python/requirements-jax-0.9.2.lock"),
    include_str!("../../python/requirements-jax-0.8.1.lock"),
    include_str!("../../python/requirements-jax-0.7.2.lock"),
    include_str!("../../python/requirements-jax-0.6.0.lock"),
];

/// The TPU's compiler, an optional part: the one that the release of [`REQUIREMENTS`] names.
pub(crate) const LIBTPU: &str = include_str!("../../python/requirements-libtpu.lock");

/// The requirements that pin all of `packages`, each `name==version`.
pub(crate) fn requirements_for(packages: &[String]) -> Option<&'static str> {
    [REQUIREMENTS].into_iter().chain(OTHER_RELEASES).find(|requirements| {
        let pins = |package: &String| {
            pinned_versions(requirements)
                .any(|(name, version)| package.split_once("==") == Some((name, version)))
        };
        packages.iter().all(pins)
    })
}

macro_rules! package {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../python/countersign_export/", $name)))),+]
    };
}

/// The package's files: name, text.
pub(crate) const PACKAGE: [(&str, &str); 15] = package![
    "__init__.py",
    "__main__.py",
    "arrays.py",
    "call.py",
    "compiler.py",
    "export.py",
    "failure.py",
    "generation.py",
    "glue.py",
    "identity.py",
    "interpreter.py",
    "lowering.py",
    "py.typed",
    "wire.py",
    "worker.py",
];

/// sha256 over the package's names and texts, in hex.
pub(crate) fn exporter_hash() -> String {
    let text: String =
        PACKAGE.iter().map(|(name, text)| format!("{name}\0{}\n", sha256_hex(text.as_bytes()))).collect();
    sha256_hex(text.as_bytes())
}

/// Where the package is unpacked to: the folder that goes on Python's path.
pub(crate) fn package_root(home: &Path) -> PathBuf {
    home.join("exporter").join(&exporter_hash()[..16])
}

/// Whether every file is there as embedded.
pub(crate) fn is_unpacked(home: &Path) -> bool {
    let folder = package_root(home).join("countersign_export");
    PACKAGE.iter().all(|(name, text)| is_current(&folder.join(name), text))
}

/// Unpacks what is missing or differs, and returns the folder that goes on Python's path.
pub(crate) fn unpack(home: &Path) -> Result<PathBuf, SetupError> {
    let root = package_root(home);
    let folder = root.join("countersign_export");
    for (name, text) in PACKAGE {
        let path = folder.join(name);
        if !is_current(&path, text) {
            create_folder(&folder)?;
            write_atomic(&path, text.as_bytes())?;
        }
    }
    Ok(root)
}

/// Package versions pinned by a lock file, by name.
pub(crate) fn pinned_versions(requirements: &str) -> impl Iterator<Item = (&str, &str)> {
    requirements
        .lines()
        .filter(|line| !line.starts_with([' ', '#']))
        .filter_map(|line| line.trim_end_matches('\\').trim_end().split_once("=="))
}

fn is_current(path: &Path, text: &str) -> bool {
    fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_file_of_the_package_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/countersign_export");
        let on_disk: BTreeSet<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".py") || name == "py.typed")
            .collect();
        let embedded: BTreeSet<String> = PACKAGE.iter().map(|(name, _)| (*name).to_owned()).collect();
        assert_eq!(embedded, on_disk);
    }

    #[test]
    fn a_damaged_file_is_mended_and_others_are_left_alone() {
        let home = tempfile::tempdir().unwrap();
        assert!(!is_unpacked(home.path()));
        let folder = unpack(home.path()).unwrap().join("countersign_export");
        assert!(is_unpacked(home.path()));
        fs::write(folder.join("worker.py"), "broken").unwrap();
        let untouched = fs::metadata(folder.join("call.py")).unwrap().modified().unwrap();
        assert!(!is_unpacked(home.path()));
        unpack(home.path()).unwrap();
        assert!(is_unpacked(home.path()));
        assert_eq!(fs::metadata(folder.join("call.py")).unwrap().modified().unwrap(), untouched);
    }

    #[test]
    fn every_release_is_found_by_its_packages() {
        let found = |package: &str| requirements_for(&[package.to_owned()]);
        for requirements in [REQUIREMENTS].into_iter().chain(OTHER_RELEASES) {
            let (name, version) = pinned_versions(requirements).find(|(name, _)| *name == "jax").unwrap();
            assert_eq!(found(&format!("{name}=={version}")), Some(requirements));
        }
        assert_eq!(requirements_for(&[]), Some(REQUIREMENTS));
        assert_eq!(found("jax==0.1.0"), None);
    }

    #[test]
    fn the_lock_pins_every_package_by_hash() {
        let versions: Vec<(&str, &str)> = pinned_versions(REQUIREMENTS).collect();
        assert!(
            versions.contains(&("jax", "0.10.2")) && versions.contains(&("jaxlib", "0.10.2")),
            "{versions:?}"
        );
        // jaxlib is built per interpreter and platform: 3 interpreters, 3 platforms.
        let jaxlib = REQUIREMENTS.split("\njaxlib==").nth(1).unwrap().split("\nml_dtypes==").next().unwrap();
        assert_eq!(jaxlib.matches("--hash=sha256:").count(), 9);
    }
}
