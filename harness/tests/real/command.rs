//! The installed program, from an empty directory: the built-in corpus, and a short campaign with its documents.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn countersign(folder: &Path, arguments: &[&str]) -> Output {
    // Prepared by whoever came first; the lock would make the others wait anyway.
    crate::real();
    Command::new(env!("CARGO_BIN_EXE_countersign")).current_dir(folder).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_built_in_corpus_is_as_expected() {
    let folder = tempfile::tempdir().unwrap();
    let output = countersign(folder.path(), &["replay", "builtin"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn fuzz_from_an_empty_directory_leaves_report_log_and_findings() {
    let folder = tempfile::tempdir().unwrap();
    let output = countersign(folder.path(), &["fuzz", "--cases", "200", "--seed", "3", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["summary"]["cases"], 200);
    assert_eq!(document["summary"]["unsupported"], 0);
    assert!(document["summary"]["largest_r"].as_f64().unwrap() <= 1.0);
    let out = folder.path().join("countersign");
    assert!(out.join("report.md").exists() && out.join("report.json").exists());
    let log = std::fs::read_to_string(out.join("events.jsonl")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert!(std::fs::read_dir(out.join("findings")).unwrap().count() > 0);
}

#[test]
fn a_profile_is_used_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["fuzz", "--cases", "60", "--only", "kept", "--profile", "v5e", "--json"];
    let output = countersign(folder.path(), &arguments);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["profile"], "v5e@1");
    assert!(document["summary"]["largest_r"].as_f64().unwrap() <= 1.0);
    let log = std::fs::read_to_string(folder.path().join("countersign/events.jsonl")).unwrap();
    let started: Value = serde_json::from_str(log.lines().next().unwrap()).unwrap();
    assert_eq!(started["profile"], "v5e@1");

    let output = countersign(folder.path(), &["replay", "builtin", "--profile", "v6e@1", "--json"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["profile"], "v6e@1");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

#[test]
fn usage_and_input_errors_end_with_two_and_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("bad.toml"), "[case]\nversion = 1\nkernle = \"jax-rpa\"\n").unwrap();
    for arguments in [
        &["replay", "bad.toml"][..],
        &["replay", "missing.toml"],
        &["show", "bad.toml"],
        &["fuzz", "--variant", "no-such"],
        &["fuzz", "--kernel", "no-such"],
        &["fuzz", "--python", "no-such"],
        &["fuzz", "--profile", "v9"],
        &["replay", "builtin", "--engine", "interpreter", "--profile", "v5e"],
    ] {
        let output = countersign(folder.path(), arguments);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}
