//! The workflows of this repository and those that `init` writes, as far as they can be tried without a runner: they are YAML, use
//! actions of a stated version, and every command of ours in them is one that the program takes.
//!
//! Invariant: commands are given to the program itself, which parses its arguments from left to right, so that `--help` at their end
//! is reached only by right ones.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use saphyr::{LoadableYamlNode, Yaml};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Path and text of each YAML file in a folder.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut yaml: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|ending| ending == "yml" || ending == "yaml"))
        .collect();
    yaml.sort();
    yaml.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

/// The workflows here, and those of a repository that was begun with a kernel of its own.
fn workflows() -> Vec<(PathBuf, String)> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.py"), "def f(): ...\n").unwrap();
    assert!(ends_well(folder.path(), &["init", "--kernel-from", "own.py:f"]));
    let mut all = files(&root().join(".github/workflows"));
    all.extend(files(&folder.path().join(".github/workflows")));
    all
}

fn ends_well(folder: &Path, arguments: &[&str]) -> bool {
    let output =
        Command::new(env!("CARGO_BIN_EXE_countersign")).args(arguments).current_dir(folder).output().unwrap();
    output.status.success()
}

fn parsed(text: &str) -> Yaml<'_> {
    let mut documents = Yaml::load_from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(documents.len(), 1);
    documents.remove(0)
}

/// The texts under a key, wherever it stands.
fn under(yaml: &Yaml<'_>, key: &str, found: &mut Vec<String>) {
    match yaml {
        Yaml::Mapping(entries) => {
            for (name, value) in entries {
                match value.as_str() {
                    Some(text) if name.as_str() == Some(key) => found.push(text.to_owned()),
                    _ => under(value, key, found),
                }
            }
        }
        Yaml::Sequence(items) => items.iter().for_each(|item| under(item, key, found)),
        _ => {}
    }
}

/// The arguments of each command of ours in a shell text; what the runner fills in is a 1.
fn commands(text: &str) -> Vec<Vec<String>> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${{") {
        filled += &format!("{before}1");
        rest = after.split_once("}}").unwrap().1;
    }
    filled += rest;
    let mut commands = Vec::new();
    for line in filled.lines() {
        let words = shlex::split(line).unwrap_or_else(|| panic!("no shell text: {line}"));
        for command in words.split(|word| ["||", "&&", "|", ";"].contains(&word.as_str())) {
            let command = command.split(|word| word.starts_with('>')).next().unwrap_or_default();
            if let Some((program, arguments)) = command.split_first()
                && program.rsplit('/').next() == Some("countersign")
            {
                commands.push(arguments.to_vec());
            }
        }
    }
    commands
}

#[test]
fn every_command_in_a_workflow_exists() {
    let folder = tempfile::tempdir().unwrap();
    let mut tried = 0;
    for (path, text) in workflows() {
        let yaml = parsed(&text);
        let (mut runs, mut uses) = (Vec::new(), Vec::new());
        under(&yaml, "run", &mut runs);
        under(&yaml, "uses", &mut uses);
        for action in &uses {
            let (name, version) =
                action.split_once('@').unwrap_or_else(|| panic!("{}: {action}", path.display()));
            assert!(name.contains('/') && version.starts_with('v'), "{}: {action}", path.display());
        }
        for command in runs.iter().flat_map(|run| commands(run)) {
            let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
            arguments.push("--help");
            assert!(ends_well(folder.path(), &arguments), "{}: {command:?}", path.display());
            tried += 1;
        }
    }
    assert!(tried >= 12, "{tried} commands");
    assert!(
        !ends_well(folder.path(), &["nightly", "--times", "1h", "--help"]),
        "a wrong one must be noticed"
    );
    assert!(!ends_well(folder.path(), &["fuzz", "--time", "soon", "--help"]), "so must a wrong value");
}

#[test]
fn every_file_in_a_workflow_is_there() {
    for (path, text) in files(&root().join(".github/workflows")) {
        let mut runs = Vec::new();
        under(&parsed(&text), "run", &mut runs);
        for word in runs.iter().flat_map(|run| run.split_whitespace()) {
            if word.starts_with("corpus/") || word.starts_with(".ci/") {
                assert!(root().join(word).exists(), "{}: {word}", path.display());
            }
        }
    }
}

#[test]
fn clusterfuzzlite_builds_targets_that_there_are() {
    let folder = root().join(".clusterfuzzlite");
    let project = files(&folder).pop().unwrap().1;
    assert_eq!(parsed(&project)["language"].as_str(), Some("rust"));
    let docker = fs::read_to_string(folder.join("Dockerfile")).unwrap();
    assert!(docker.contains("FROM gcr.io/oss-fuzz-base/base-builder-rust"));
    let build = fs::read_to_string(folder.join("build.sh")).unwrap();
    let targets = build.split_once("targets=\"").unwrap().1.split_once('"').unwrap().0;
    let mut named: Vec<&str> = targets.split_whitespace().collect();
    // What it leaves out it says so.
    named.extend(
        ["differential", "minimize_keeps"]
            .into_iter()
            .filter(|left_out| build.contains(&format!("`{left_out}`"))),
    );
    named.sort_unstable();
    let sources = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
    let mut there: Vec<String> = sources
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    there.sort_unstable();
    assert_eq!(named, there);
}
