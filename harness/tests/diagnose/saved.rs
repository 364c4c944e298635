//! A dump turned into a case: it holds the dump's own values, runs, replays, and refuses another payload.
//!
//! Invariant: the kernel is the real one.

use std::path::Path;
use std::process::{Command, Output};

use super::{diagnose, python};

/// A batch whose cache is larger than what it uses, in f32, right but for what `change` does to it.
fn dump(path: &Path, change: &str) {
    let code = format!(
        "import sys, numpy as np\n\
         rng = np.random.default_rng(3)\n\
         q = rng.standard_normal((16, 4, 128)).astype(np.float32)\n\
         kv_pages = rng.standard_normal((500, 16, 8, 128)).astype(np.float32)\n\
         kv_lens = np.array([18, 29, 7, 0], np.int32)\n\
         page_indices = np.array([[301, 7], [499, 12], [44, 0], [0, 0]], np.int32)\n\
         cu_q_lens = np.array([0, 5, 6, 13, 13], np.int32)\n\
         num_seqs = np.array([3], np.int32)\n\
         {change}\n\
         np.savez(sys.argv[1], q=q, kv_pages=kv_pages, kv_lens=kv_lens, page_indices=page_indices, cu_q_lens=cu_q_lens,\n\
         num_seqs=num_seqs)"
    );
    python(&["-c", &code, path.to_str().unwrap()]);
}

/// Blocks as a small variant of the catalogue has them, so that the kernel's own tuning table isn't asked.
const BLOCKS: [&str; 2] = ["--variant", "pages_per_block=2,queries_per_block=8"];

fn countersign(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign")).args(arguments).output().unwrap()
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_right_batch_is_saved_cut_run_and_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let (file, cases) = (folder.path().join("batch.npz"), folder.path().join("cases"));
    dump(&file, "");
    let output = diagnose(&file, &[&BLOCKS[..], &["--run", "--save", cases.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("13 row(s) are right"), "{}", text(&output));
    assert!(text(&output).contains("cache cut to the 5 pages in use"), "{}", text(&output));

    let case = cases.join("batch.toml");
    let payload = std::fs::metadata(cases.join("batch.npz")).unwrap().len();
    assert!(payload < 13 * 4 * 128 * 4 + 5 * 16 * 8 * 128 * 4 + 2048, "{payload} bytes");
    let replayed = countersign(&["replay", case.to_str().unwrap()]);
    assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed));
    assert!(text(&replayed).contains("13 row(s) are right"), "{}", text(&replayed));
    let whole = countersign(&["replay", cases.to_str().unwrap()]);
    assert_eq!(whole.status.code(), Some(0), "{}", text(&whole));
    let shown = countersign(&["show", case.to_str().unwrap()]);
    assert!(text(&shown).contains("file@1 from batch.npz"), "{}", text(&shown));

    // Another payload is no payload.
    let mut bytes = std::fs::read(cases.join("batch.npz")).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(cases.join("batch.npz"), bytes).unwrap();
    let damaged = countersign(&["replay", case.to_str().unwrap()]);
    assert_eq!(damaged.status.code(), Some(2), "{}", text(&damaged));
    assert!(text(&damaged).contains("sha256"), "{}", text(&damaged));
}

#[test]
fn values_that_break_a_rule_are_found_once_they_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("batch.npz");
    dump(&file, "kv_pages[499, 3, 2, 77] = np.nan; kv_pages[300] = np.nan");
    assert_eq!(diagnose(&file, &BLOCKS).status.code(), Some(0));
    let cases = folder.path().join("cases");
    let output = diagnose(&file, &[&BLOCKS[..], &["--save", cases.to_str().unwrap()]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("of sequence 1: kv_pages[499, 3, 2, 77] = NaN"), "{}", text(&output));
}

#[test]
fn a_broken_batch_runs_itself_or_a_small_one_with_the_same_slip() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("batch.npz");
    dump(&file, "page_indices[1, 1] = 700");
    let output = diagnose(&file, &[&BLOCKS[..], &["--run"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said = text(&output);
    assert!(
        said.contains("the batch itself") && said.contains("The kernel faults (out-of-bounds)"),
        "{said}"
    );

    // No cache in the file, and no heads said: only a stand-in can run.
    let file = folder.path().join("metadata.npz");
    let code = "import sys, numpy as np\n\
                np.savez(sys.argv[1], kv_lens=np.array([5, 29, 19], np.int32), cu_q_lens=np.array([5, 6, 9, 0], np.int32),\n\
                page_indices=np.array([[1, 0], [2, 3], [4, 5]], np.int32), num_seqs=np.array([3], np.int32))";
    python(&["-c", code, file.to_str().unwrap()]);
    let output = diagnose(&file, &["--run"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("builtin:seeds/cu-leading-zero-missing.toml"), "{}", text(&output));
}

#[test]
fn a_case_that_is_minimised_elsewhere_takes_its_values_along() {
    let folder = tempfile::tempdir().unwrap();
    let (file, cases) = (folder.path().join("batch.npz"), folder.path().join("cases"));
    dump(&file, "page_indices[1, 1] = 700");
    diagnose(&file, &[&BLOCKS[..], &["--save", cases.to_str().unwrap()]].concat());
    let elsewhere = folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let (case, small) = (cases.join("batch.toml"), elsewhere.join("small.toml"));
    let minimize = || {
        // Just the one execution that shows it: the values stay the file's.
        let out = ["--out", small.to_str().unwrap(), "--budget", "1"];
        countersign(&[&["minimize", case.to_str().unwrap()][..], &out].concat())
    };
    let output = minimize();
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(std::fs::read_to_string(&small).unwrap().contains("file@1"));
    let replayed = countersign(&["replay", small.to_str().unwrap()]);
    assert_eq!(replayed.status.code(), Some(0), "{}", text(&replayed));
    // The file is there already, and then it isn't the same any more.
    assert_eq!(minimize().status.code(), Some(3));
    std::fs::write(elsewhere.join("batch.npz"), "another").unwrap();
    let refused = minimize();
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("another file of that name"), "{}", text(&refused));
}

#[test]
fn a_right_batch_that_a_kernel_gets_wrong_is_the_kernels_fault() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own.py");
    // The softmax is right as long as exp doesn't overflow: of values as they mostly are, nothing shows.
    let code = "import importlib.util, sys\n\
                found = importlib.util.find_spec('jax.experimental.pallas.ops.tpu.ragged_paged_attention.kernel')\n\
                text = open(found.origin).read()\n\
                right = 'jnp.max(qk, axis=1, keepdims=True)'\n\
                assert text.count(right) == 1\n\
                open(sys.argv[1], 'w').write(text.replace(right, f'-jnp.maximum(-{right}, -40.0)'))";
    python(&["-c", code, own.to_str().unwrap()]);
    let from = format!("{}:ragged_paged_attention", own.display());
    let run = [&BLOCKS[..], &["--run", "--kernel-from", &from]].concat();
    let file = folder.path().join("batch.npz");
    dump(&file, "");
    let output = diagnose(&file, &run);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("13 row(s) are right"), "{}", text(&output));

    dump(&file, "q *= 40; kv_pages *= 40");
    let output = diagnose(&file, &[&run[..], &["--json"]].concat());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["contract"], "kept", "{said}");
    assert!(said["run"]["ran"].as_str().unwrap().contains("with its own values"), "{said}");
    assert!(said["run"]["kernel"].as_str().unwrap().contains("wrong"), "{said}");
    let notes = said["notes"].to_string();
    assert!(notes.contains("that is a fault of the kernel; --save keeps the case"), "{notes}");
    let stock = diagnose(&file, &[&BLOCKS[..], &["--run"]].concat());
    assert_eq!(stock.status.code(), Some(0), "{}", text(&stock));
}
