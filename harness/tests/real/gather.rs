//! The worked example: a kernel of another family than attention, given by a catalogue folder, through the commands.
//!
//! Invariant: what is said of the kernel follows from its docstring and its source, never from what was seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

const RULES: [&str; 7] = [
    "cu-q-lens-nonnegative",
    "kv-lens-in-table",
    "kv-lens-nonnegative",
    "num-seqs-within-table",
    "page-index-in-range",
    "q-len-within-kv-len",
    "total-q-within-rows",
];

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/examples/gather")
}

/// Runs the program in a folder, with a copy of the example's catalogue there.
fn countersign(folder: &Path, arguments: &[&str]) -> Output {
    crate::real();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.current_dir(folder).args(arguments).args(["--catalog", "example"]).output().unwrap()
}

/// A folder with the example, its kernel's text with `from`, which occurs once, made `to`; and the line of it.
fn folder_with(from: &str, to: &str) -> (tempfile::TempDir, usize) {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("example");
    fs::create_dir(&copy).unwrap();
    for file in ["example-gather.toml", "known.toml"] {
        let target = if file == "known.toml" { folder.path().join(file) } else { copy.join(file) };
        fs::copy(example().join(file), target).unwrap();
    }
    let text = fs::read_to_string(example().join("gather.py")).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from}");
    fs::write(copy.join("gather.py"), text.replace(from, to)).unwrap();
    (folder, 1 + text[..text.find(from).unwrap()].matches('\n').count())
}

fn fuzz(folder: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let all = [&["fuzz", "--kernel", "example-gather", "--cases", "300", "--json"][..], more].concat();
    let output = countersign(folder, &all);
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code(), report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

#[test]
fn its_gaps_are_found_replayed_minimised_and_known() {
    let (folder, _) = folder_with("out[row] = value", "out[row] = value");
    let (code, report) = fuzz(folder.path(), &[]);
    assert_eq!(code, Some(1));
    let signatures: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|f| f["signature"].as_str().unwrap()).collect();
    for rule in RULES {
        let gap = format!("gap:accepts-invalid|example-gather|{rule}|out-of-bounds|");
        assert!(signatures.iter().any(|signature| signature.starts_with(&gap)), "{rule}: {signatures:?}");
    }
    assert!(signatures.iter().all(|s| RULES.iter().any(|rule| s.contains(rule))), "{signatures:?}");
    let found = folder.path().join("countersign/findings");
    let case = fs::read_dir(found).unwrap().map(|entry| entry.unwrap().path());
    let case = case.into_iter().find(|path| {
        path.extension().is_some_and(|e| e == "toml") && path.to_string_lossy().contains("page-index")
    });
    let case = case.unwrap().display().to_string();
    let replayed = countersign(folder.path(), &["replay", &case, "--known", "known.toml"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", String::from_utf8_lossy(&replayed.stdout));
    let traced = countersign(folder.path(), &["show", &case, "--trace"]);
    let text = String::from_utf8_lossy(&traced.stdout).into_owned();
    assert!(text.contains("the kernel has none") && text.contains("pages.at[page"), "{text}");
    let (code, _) = fuzz(folder.path(), &["--known", "known.toml"]);
    assert_eq!(code, Some(0));
}

#[test]
fn a_page_too_far_is_reported_at_its_line() {
    let (folder, line) = folder_with("lax.div(position, page_size)]", "lax.div(position, page_size) + 1]");
    let (code, report) = fuzz(folder.path(), &["--only", "kept"]);
    assert_eq!(code, Some(1));
    let at_line = report["findings"].as_array().unwrap().iter().any(|finding| {
        let stack = finding["fault"]["stack"].as_array();
        stack.is_some_and(|stack| stack.iter().any(|frame| frame["line"] == line))
    });
    let wrong = report["findings"].as_array().unwrap().iter().any(|f| f["kind"] == "divergence");
    assert!(at_line || wrong, "nothing at line {line}: {}", report["findings"]);
}

#[test]
fn what_it_has_nothing_to_say_to_ends_in_words() {
    let (folder, _) = folder_with("out[row] = value", "out[row] = value");
    for arguments in [&["fuzz", "--static"][..], &["bench", "--no-jax"], &["relations"]] {
        let all = [arguments, &["--kernel", "example-gather"]].concat();
        let output = countersign(folder.path(), &all);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {words}");
        assert!(words.contains("example-gather"), "{words}");
    }
}
