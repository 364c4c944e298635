//! A jax with a one-line edit of its kernel, in a virtual environment of its own, given by `--python`.
//!
//! Invariant: the edited package is the installed one, copied; everything else in the environment is linked to it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::real;

#[cfg(unix)]
#[test]
fn an_edited_jax_is_fuzzed_and_the_edit_found() {
    let folder = tempfile::tempdir().unwrap();
    let python = environment(folder.path());
    let out = folder.path().join("out");
    let output = Command::new(env!("CARGO_BIN_EXE_countersign"))
        .args(["fuzz", "--cases", "60", "--only", "kept", "--json", "--variant", "f32-q4-kv4", "--python"])
        .arg(&python)
        .arg("--out")
        .arg(&out)
        .env("COUNTERSIGN_HOME", folder.path().join("home"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(document["summary"]["findings_new"].as_u64().unwrap() > 0);
    assert_eq!(document["kernels"][0]["unpinned"], true);
    let report = fs::read_to_string(out.join("report.md")).unwrap();
    assert!(report.contains("unpinned") && report.contains("divergence"), "{report}");
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("unpinned") && page.contains("causal_mask = row_ids &lt;= col_ids"));
}

/// A virtual environment whose jax masks one key too many.
fn environment(folder: &Path) -> PathBuf {
    let pinned = real().environment.python().to_owned();
    let site = |python: &Path| {
        let code = "import sysconfig; print(sysconfig.get_path('purelib'))";
        let output = Command::new(python).args(["-I", "-c", code]).output().unwrap();
        PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
    };
    let own = folder.join("venv");
    let made = Command::new(&pinned).args(["-I", "-m", "venv", "--without-pip"]).arg(&own).status().unwrap();
    assert!(made.success());
    let python = own.join("bin").join("python");
    let (from, to) = (site(&pinned), site(&python));
    for entry in fs::read_dir(&from).unwrap().map(Result::unwrap) {
        if entry.file_name() != "jax" {
            #[cfg(unix)]
            std::os::unix::fs::symlink(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    copy(&from.join("jax"), &to.join("jax"));
    let kernel = to.join("jax/experimental/pallas/ops/tpu/ragged_paged_attention/kernel.py");
    let source = fs::read_to_string(&kernel).unwrap();
    let edited = source.replace("causal_mask = row_ids < col_ids", "causal_mask = row_ids <= col_ids");
    assert_ne!(source, edited);
    fs::write(&kernel, edited).unwrap();
    python
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "__pycache__" {
                copy(&entry.path(), &target);
            }
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
