//! A kernel author's own file, given by `--kernel-from`: a copy of the installed kernel, then the same with a bug.
//!
//! Invariant: the copies are made here from the installed file and edited by one token each.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::real;

/// Runs the program in a folder.
fn countersign(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign")).current_dir(folder).args(arguments).output().unwrap()
}

/// Fuzzes the function of `own.py` and gives the exit code and the report.
fn fuzzed(folder: &Path) -> (Option<i32>, Value) {
    let output = countersign(
        folder,
        &[
            "fuzz",
            "--kernel-from",
            "own.py:ragged_paged_attention",
            "--variant",
            "f32-q4-kv4",
            "--cases",
            "60",
            "--only",
            "kept",
            "--json",
        ],
    );
    let report = serde_json::from_slice(&output.stdout);
    (output.status.code(), report.unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr))))
}

/// The installed kernel's text with `from`, which occurs once, made `to`; and the line of it.
fn edited(from: &str, to: &str) -> (String, usize) {
    let manifest = &real().exported[0].manifest;
    let source = fs::read_to_string(&manifest.source.file).unwrap();
    assert_eq!(source.matches(from).count(), 1, "{from}");
    let line = 1 + source[..source.find(from).unwrap()].matches('\n').count();
    (source.replace(from, to), line)
}

#[test]
fn an_index_too_large_is_reported_at_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let (text, line) = edited("page_indices_ref[seq_id, page_idx]", "page_indices_ref[seq_id, page_idx + 1]");
    fs::write(folder.path().join("own.py"), text).unwrap();
    let (code, report) = fuzzed(folder.path());
    assert_eq!(code, Some(1));
    let at_line = report["findings"].as_array().unwrap().iter().find(|finding| {
        let frame = &finding["fault"]["stack"][0];
        frame["file"] == "own.py" && frame["line"] == line
    });
    let finding = at_line.unwrap_or_else(|| panic!("nothing at line {line}: {}", report["findings"]));
    assert_eq!((&finding["kind"], &finding["effect"]), (&"fault".into(), &"out-of-bounds".into()));
    println!("line {line}: {} {}", finding["signature"], finding["fault"]["message"]);
}

#[test]
fn a_mask_one_too_wide_is_found_made_small_and_not_blamed_on_a_line_without_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.py");
    let (right, wrong) = ("< kv_len - kv_len_start", "<= kv_len - kv_len_start");
    fs::write(&own, edited(right, right).0).unwrap();
    let (code, report) = fuzzed(folder.path());
    assert_eq!((code, &report["summary"]["findings_new"]), (Some(0), &0.into()), "an unchanged copy");
    assert_eq!(report["kernels"][0]["unpinned"], true);

    // The same path with another text: what was exported before must not serve.
    let (text, line) = edited(right, wrong);
    fs::write(&own, text).unwrap();
    let (code, report) = fuzzed(folder.path());
    assert_eq!(code, Some(1));
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "divergence");
    assert_eq!(finding["minimised"]["after"]["sequences"], 1, "{finding}");
    let suspects = finding["suspects"].as_str().unwrap();
    assert!(suspects.contains(&format!("own.py:{line}")) || suspects.contains("can't tell"), "{suspects}");
    println!("line {line}: {} {}; {suspects}", finding["signature"], finding["detail"]);

    let case = Path::new("countersign").join(finding["file"].as_str().unwrap());
    let case = case.to_str().unwrap();
    let from = ["--kernel-from", "own.py:ragged_paged_attention"];
    let own = countersign(folder.path(), &["replay", case, from[0], from[1]]);
    assert_eq!(own.status.code(), Some(1), "{}", String::from_utf8_lossy(&own.stderr));
    let stock = countersign(folder.path(), &["replay", case]);
    assert_eq!(stock.status.code(), Some(0), "{}", String::from_utf8_lossy(&stock.stdout));
}

#[test]
fn a_file_of_a_package_imports_from_it_and_is_exported_again_when_that_changes() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("mine/kernels");
    fs::create_dir_all(&deep).unwrap();
    let (text, _) = edited("< kv_len - kv_len_start", "< kv_len - kv_len_start + SLACK + tables.NONE");
    let imports = "from . import tables\nfrom ..bounds import SLACK\n\nimport functools\n";
    let (head, rest) = text.split_once("import functools\n").unwrap();
    fs::write(deep.join("attention.py"), format!("{head}{imports}{rest}")).unwrap();
    fs::write(deep.join("tables.py"), "NONE = 0\n").unwrap();
    fs::write(deep.join("__init__.py"), "").unwrap();
    fs::write(folder.path().join("mine/__init__.py"), "").unwrap();
    let bounds = folder.path().join("mine/bounds.py");
    let replay = [
        &["fuzz", "--kernel-from", "mine/kernels/attention.py:ragged_paged_attention"][..],
        &["--variant", "f32-q4-kv4", "--cases", "30", "--only", "kept", "--json"],
    ];
    for (slack, code) in [(0, 0), (1, 1)] {
        fs::write(&bounds, format!("SLACK = {slack}\n")).unwrap();
        let output = countersign(folder.path(), &replay.concat());
        assert_eq!(output.status.code(), Some(code), "{slack}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn what_is_no_kernel_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("own.py"), "import nothing_of_that_name\n").unwrap();
    fs::write(folder.path().join("other.py"), "def attend(x):\n    return x\n").unwrap();
    for (from, word) in [
        ("own.py:attend", "No module named 'nothing_of_that_name'"),
        ("other.py:attend", "leading parameters must be q, kv_pages"),
        ("other.py:absent", "no attribute 'absent'"),
        ("absent.py:attend", "no such file"),
    ] {
        let output = countersign(folder.path(), &["fuzz", "--cases", "5", "--kernel-from", from]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(word) && errors.contains("--kernel-from"), "{errors}");
    }
}

#[test]
fn a_catalogue_of_ones_own_names_a_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let catalogue = folder.path().join("kernels");
    fs::create_dir(&catalogue).unwrap();
    fs::write(catalogue.join("mine.py"), edited("causal_mask = row_ids", "causal_mask = row_ids").0).unwrap();
    let text = include_str!("../../../kernels/catalog/jax-rpa.toml")
        .replace("id = \"jax-rpa\"", "id = \"mine\"")
        .replace("jax.experimental.pallas.ops.tpu.ragged_paged_attention.kernel", "mine.py");
    fs::write(catalogue.join("mine.toml"), text).unwrap();
    let arguments = ["fuzz", "--catalog", "kernels", "--kernel", "mine"];
    let rest = ["--cases", "40", "--only", "kept", "--variant", "f32-q4-kv4", "--json"];
    let output = countersign(folder.path(), &[&arguments[..], &rest].concat());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{errors}"));
    assert_eq!(report["kernels"][0]["id"], "mine");
    assert_eq!(output.status.code(), Some(0), "{errors}");
}
