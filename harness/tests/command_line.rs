//! The binary as a person meets it, as far as no Python is needed: help, exit codes, errors with a remedy.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::path::Path;
use std::process::{Command, Output};

/// Runs the binary in a folder of its own, with a cache folder that is never needed.
fn countersign(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(arguments)
        .current_dir(folder)
        .env("COUNTERSIGN_HOME", folder.join("home"))
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[track_caller]
fn fails(arguments: &[&str], word: &str) {
    let folder = tempfile::tempdir().unwrap();
    let output = countersign(folder.path(), arguments);
    let errors = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(errors.contains(word), "{arguments:?}: {errors}");
    assert!(
        !folder.path().join("home").exists(),
        "{arguments:?} prepared an environment before it read its arguments"
    );
}

#[test]
fn every_command_helps_with_examples() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["fuzz", "replay", "report", "show", "kernels", "setup"] {
        let output = countersign(folder.path(), &[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("Examples:"), "{command}");
    }
}

#[test]
fn wrong_usage_ends_in_two_and_says_what_is_right() {
    fails(&["fuzz", "--seed", "seven"], "random");
    fails(&["fuzz", "--time", "soon"], "10m");
    fails(&["fuzz", "--cases", "0"], "--cases");
    fails(&["fuzz", "--variant", "no-such"], "f32-q4-kv4");
    fails(&["fuzz", "--kernel", "no-such"], "jax-rpa");
    fails(&["fuzz", "--known", "missing.toml"], "missing.toml");
    fails(&["kernels", "show", "no-such"], "jax-rpa");
}

#[test]
fn what_cannot_be_read_is_named() {
    fails(&["replay", "missing"], "missing");
    fails(&["show", "missing.toml"], "missing.toml");
    let folder = tempfile::tempdir().unwrap();
    let output = countersign(folder.path(), &["replay", "."]);
    assert_eq!(output.status.code(), Some(2), "no case selected");
    std::fs::write(folder.path().join("bad.toml"), "[case]\nversion = 1\nsurprise = 2\n").unwrap();
    let output = countersign(folder.path(), &["replay", "."]);
    assert_eq!(output.status.code(), Some(2));
    let errors = text(&output.stderr);
    assert!(errors.contains("bad.toml") && errors.contains("line"), "{errors}");
}

#[test]
fn a_report_that_cannot_be_read_is_named_with_its_place() {
    fails(&["report", "missing"], "missing");
    fails(&["report", ".", "--format", "pdf"], "html");
    for (content, words) in [
        ("", "line 1 column 0"),
        ("# Report\n", "line 1 column 1"),
        ("{\n  \"schema_version\": 2,\n  \"tool\": \"coun", "line 3"),
        ("{}", "schema_version"),
        ("{\"schema_version\": 1}", "version 1"),
        ("{\"schema_version\": 2}", "missing field"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("report.json"), content).unwrap();
        for run in [".", "report.json"] {
            let output = countersign(folder.path(), &["report", run]);
            let errors = text(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{content}: {errors}");
            assert!(errors.contains("report.json: ") && errors.contains(words), "{content}: {errors}");
            assert!(output.stdout.is_empty());
        }
    }
}

#[test]
fn kernels_are_listed_and_shown() {
    let folder = tempfile::tempdir().unwrap();
    let list = countersign(folder.path(), &["kernels", "list"]);
    assert!(list.status.success() && text(&list.stdout).contains("jax-rpa"));
    let show = text(&countersign(folder.path(), &["kernels", "show", "jax-rpa"]).stdout);
    for part in ["ragged_paged_attention", "f32-q4-kv4", "q-len-within-kv-len"] {
        assert!(show.contains(part), "{show}");
    }
}

#[test]
fn a_case_is_shown_with_its_rules_and_the_validators_words() {
    let folder = tempfile::tempdir().unwrap();
    let (_, case) = countersign::corpus::builtin()
        .iter()
        .find(|(name, _)| name.ends_with("two-prefills-of-600.toml"))
        .expect("the first case of all is in the built-in corpus");
    std::fs::write(folder.path().join("case.toml"), case).unwrap();
    let output = countersign(folder.path(), &["show", "case.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    for part in ["total-q-within-rows", "static    accepts", "Total q tokens 1200", "broken"] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn set_up_is_looked_at_without_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let output = countersign(folder.path(), &["setup", "--check"]);
    assert_eq!(output.status.code(), Some(2), "nothing is there yet");
    assert!(text(&output.stdout).contains("missing"));
    assert!(!folder.path().join("home").exists());
}
