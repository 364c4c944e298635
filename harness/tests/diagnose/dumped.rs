//! The dumps of `dumps.py`: the right slip first in every broken one, no complaint about a right one.
//!
//! Invariant: what must come out stands in `dumps.py`, beside what makes it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use countersign_reports::{DIAGNOSIS_SCHEMA, Diagnosis};
use serde::Deserialize;
use serde_json::Value;

use super::{diagnose, python};

#[path = "../../../reports/tests/schema/mod.rs"]
mod schema;

/// What `dumps.py` says of a file.
#[derive(Debug, Deserialize)]
pub(super) struct Expected {
    /// In order; none for a right batch.
    slips: Vec<String>,
    args: Vec<String>,
    /// Whether `--fix` writes a batch; absent for a right one.
    fix: Option<bool>,
}

pub(super) struct Dumps {
    folder: tempfile::TempDir,
    expected: BTreeMap<String, Expected>,
}

impl Dumps {
    pub(super) fn each(&self) -> impl Iterator<Item = (&str, PathBuf, Vec<&str>, &Expected)> {
        self.expected.iter().map(|(name, expected)| {
            let args = expected.args.iter().map(String::as_str).collect();
            (name.as_str(), self.folder.path().join(name), args, expected)
        })
    }
}

pub(super) fn dumps() -> &'static Dumps {
    static DUMPS: OnceLock<Dumps> = OnceLock::new();
    DUMPS.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnose/dumps.py");
        python(&[script.to_str().unwrap(), folder.path().to_str().unwrap()]);
        let expected = std::fs::read_to_string(folder.path().join("expected.json")).unwrap();
        Dumps { folder, expected: serde_json::from_str(&expected).unwrap() }
    })
}

/// The JSON of a run, and what it says.
fn diagnosed(file: &Path, args: &[&str]) -> (Option<i32>, Value, Diagnosis) {
    let output = diagnose(file, &[args, &["--json"]].concat());
    let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{}: {error}: {}", file.display(), String::from_utf8_lossy(&output.stderr))
    });
    (output.status.code(), value.clone(), serde_json::from_value(value).unwrap())
}

#[test]
fn the_right_slip_comes_first_and_right_batches_pass() {
    let mut wrong = Vec::new();
    for (name, file, args, expected) in dumps().each() {
        let (code, _, diagnosis) = diagnosed(&file, &args);
        let slips: Vec<&str> = diagnosis.causes.iter().map(|cause| cause.slip.as_str()).collect();
        if slips != expected.slips || code != Some(i32::from(!expected.slips.is_empty())) {
            wrong.push(format!("{name}: exit {code:?}, {slips:?}, expected {:?}", expected.slips));
        }
        if expected.slips.is_empty() && !(diagnosis.broken.is_empty() && diagnosis.contract == "kept") {
            wrong.push(format!("{name}: a right batch, and yet {:?}", diagnosis.broken));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(dumps().expected.len() >= 25);
}

#[test]
fn json_keeps_to_its_schema() {
    let schema: Value = serde_json::from_str(DIAGNOSIS_SCHEMA).unwrap();
    for (name, file, args, _) in dumps().each() {
        let (_, value, _) = diagnosed(&file, &args);
        assert_eq!(schema::violations(&schema, &value), Vec::<String>::new(), "{name}");
    }
}

#[test]
fn a_fixed_batch_is_right_and_an_ambiguous_one_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for (name, file, args, expected) in dumps().each().filter(|(_, _, _, expected)| expected.fix.is_some()) {
        let fixed = folder.path().join(format!("{name}.fixed.npz"));
        let (_, _, diagnosis) =
            diagnosed(&file, &[args.as_slice(), &["--fix", fixed.to_str().unwrap()]].concat());
        if fixed.exists() != expected.fix.unwrap() {
            wrong.push(format!("{name}: fixed {}, {:?}", fixed.exists(), diagnosis.fix));
        } else if fixed.exists() {
            let (code, _, again) = diagnosed(&fixed, &args);
            if code != Some(0) {
                wrong.push(format!("{name}: the fixed batch breaks {:?}", again.broken));
            }
        } else if diagnosis.fix.reason.is_none() {
            wrong.push(format!("{name}: refused without a reason"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn numpy_reads_what_fix_writes() {
    let folder = tempfile::tempdir().unwrap();
    let fixed = folder.path().join("fixed.npz");
    let dumps = dumps();
    let file = dumps.folder.path().join("int64-lengths.npz");
    let args: Vec<&str> = dumps.expected["int64-lengths.npz"].args.iter().map(String::as_str).collect();
    diagnosed(&file, &[args.as_slice(), &["--fix", fixed.to_str().unwrap()]].concat());
    let code = "import sys, numpy as np\n\
                batch = np.load(sys.argv[1])\n\
                assert all(array.dtype == np.int32 for array in batch.values())\n\
                assert batch['cu_q_lens'].tolist() == [0, 5, 6, 9, 10, 11, 11, 11, 11], batch['cu_q_lens']\n\
                assert batch['page_indices'].shape == (8, 6) and batch['num_seqs'].tolist() == [5]";
    python(&["-c", code, fixed.to_str().unwrap()]);
}

#[test]
fn what_cannot_be_read_is_named_with_a_remedy() {
    let dumps = dumps();
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let whole = std::fs::read(dumps.folder.path().join("right-metadata-alone.npz")).unwrap();
    let tensors = std::fs::read(dumps.folder.path().join("right.safetensors")).unwrap();
    let renamed = dumps.folder.path().join("right-other-names.npz");
    let right = dumps.folder.path().join("right-with-payload.npz");
    let cases: [(PathBuf, &[&str], &str); 9] = [
        (folder.path().join("missing.npz"), &[], "No such file"),
        (file("text.npz", b"kv_lens = [1, 2]"), &[], "neither npz nor safetensors"),
        (file("cut.npz", &whole[..whole.len() / 2]), &[], "cut.npz"),
        (file("cut.safetensors", &tensors[..tensors.len() - 8]), &[], "ends within"),
        (
            renamed,
            &[],
            "--map kv_lens=seq_lens --map page_indices=block_tables --map cu_q_lens=query_start_loc",
        ),
        (right.clone(), &["--map", "kv_lens=lens"], "no array `lens`"),
        (right.clone(), &["--map", "lens=kv_lens"], "no operand `lens`"),
        (right.clone(), &["--dtype", "q=bf16"], "elements of 4 bytes"),
        (right, &["--variant", "tokens=7"], "tokens is 16 in the file"),
    ];
    for (path, args, words) in cases {
        let output = diagnose(&path, args);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{}: {text}", path.display());
        assert!(text.contains(words), "{}: {text}", path.display());
    }
}

#[test]
fn what_a_person_reads() {
    // Dumps whose pages no random number shows on.
    let names = [
        "entry-one-too-small.npz",
        "int64-lengths.npz",
        "num-seqs-counts-padding.npz",
        "right-garbage-past-num-seqs.npz",
        "right-without-shapes.npz",
        "table-too-narrow.npz",
        "too-few-rows.npz",
        "two-leading-zeros.npz",
    ];
    for (name, file, args, _) in dumps().each().filter(|(name, ..)| names.contains(name)) {
        let output = diagnose(&file, &args);
        insta::assert_snapshot!(name, String::from_utf8(output.stdout).unwrap());
    }
}
