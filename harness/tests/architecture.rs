//! The rules of the workspace that a compiler doesn't check: which crate may know which, and what every file looks like.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand};

/// What each crate of ours may depend on, of ours; `fuzz` is a workspace of its own and isn't listed.
const ALLOWED: [(&str, &[&str]); 6] = [
    ("countersign-dtype", &[]),
    ("countersign-mosaic", &["countersign-dtype"]),
    ("countersign-reference", &["countersign-dtype"]),
    ("countersign-reports", &[]),
    ("countersign-kernels", &["countersign-dtype", "countersign-mosaic", "countersign-reference"]),
    (
        "countersign",
        &[
            "countersign-dtype",
            "countersign-kernels",
            "countersign-mosaic",
            "countersign-reference",
            "countersign-reports",
        ],
    ),
];

/// Longest file, in lines.
const LONGEST: usize = 700;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

#[test]
fn crates_know_only_what_they_may() {
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .no_deps()
        .other_options(["--offline".to_owned()])
        .exec()
        .unwrap();
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into_iter().collect();
    let ours: BTreeSet<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    assert_eq!(ours, allowed.keys().copied().collect(), "a crate is missing from the list above");
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        // Tests may look at more than the crate itself may know.
        for dependency in package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development) {
            let name = dependency.name.as_str();
            if ours.contains(name) && !allowed[package.name.as_str()].contains(&name) {
                wrong.push(format!("{} -> {name}", package.name));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                rust_files(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    let mut files = Vec::new();
    for folder in ["harness", "reports", "reference", "kernels", "fuzz"] {
        rust_files(&root().join(folder), &mut files);
    }
    assert!(files.len() > 50, "the search found only {} files", files.len());
    let mut wrong = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        let lines = text.lines().count();
        if !text.starts_with("//!") && !text.starts_with("#![no_main]\n//!") {
            wrong.push(format!("{name} doesn't open with //!"));
        }
        if lines > LONGEST {
            wrong.push(format!("{name} has {lines} lines"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
