//! The worked example: a kernel of another family than attention, given by its catalogue folder, through the commands.
//!
//! Invariant: what is said of the kernel follows from its docstring and its source, never from what was seen.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use npyz::WriterBuilder as _;
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
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/examples/gather").canonicalize().unwrap()
}

/// Runs the program in a folder, with the example's catalogue.
fn countersign(folder: &Path, arguments: &[&str]) -> Output {
    crate::real();
    let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
    command.current_dir(folder).args(arguments).arg("--catalog").arg(example()).output().unwrap()
}

/// Runs the program, which must end with `code`; what it prints.
fn ends(code: i32, folder: &Path, arguments: &[&str]) -> String {
    let output = countersign(folder, arguments);
    let [text, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}{errors}");
    text
}

/// A folder with the kernel as `own.py`, its text with `from`, which occurs once, made `to`; and the line of it.
fn edited(from: &str, to: &str) -> (tempfile::TempDir, usize) {
    let folder = tempfile::tempdir().unwrap();
    let text = fs::read_to_string(example().join("gather.py")).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from}");
    fs::write(folder.path().join("own.py"), text.replace(from, to)).unwrap();
    (folder, 1 + text[..text.find(from).unwrap()].matches('\n').count())
}

fn of_example(file: &str) -> String {
    example().join(file).display().to_string()
}

const FUZZ: [&str; 6] = ["fuzz", "--kernel", "example-gather", "--cases", "300", "--json"];

fn fuzz(code: i32, folder: &Path, more: &[&str]) -> Value {
    serde_json::from_str(&ends(code, folder, &[&FUZZ, more].concat())).unwrap()
}

#[test]
fn its_gaps_are_found_replayed_minimised_and_known() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let report = fuzz(1, folder, &[]);
    let signatures: Vec<&str> =
        report["findings"].as_array().unwrap().iter().map(|f| f["signature"].as_str().unwrap()).collect();
    for rule in RULES {
        let gap = format!("gap:accepts-invalid|example-gather|{rule}|out-of-bounds|");
        assert!(signatures.iter().any(|signature| signature.starts_with(&gap)), "{rule}: {signatures:?}");
    }
    assert!(signatures.iter().all(|s| RULES.iter().any(|rule| s.contains(rule))), "{signatures:?}");
    for (format, word) in [("junit", "<failure"), ("sarif", "gather.py"), ("md", "Kernel example-gather")] {
        let arguments = ["report", "countersign", "--format", format];
        let mut command = Command::new(env!("CARGO_BIN_EXE_countersign"));
        let output = command.current_dir(folder).args(arguments).output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains(word), "{format}");
    }

    let found = folder.join("countersign/originals");
    let case = fs::read_dir(found).unwrap().map(|entry| entry.unwrap().path());
    let case = case.into_iter().find(|path| path.to_string_lossy().contains("page-index"));
    let case = case.unwrap().display().to_string();
    let known = of_example("known.toml");
    ends(0, folder, &["replay", &case, "--known", &known, "--orders", "--junit", "out.xml"]);
    assert!(fs::read_to_string(folder.join("out.xml")).unwrap().contains("example-gather"));
    let text = ends(0, folder, &["show", &case, "--trace"]);
    assert!(text.contains("the kernel has none") && text.contains("pages.at[page"), "{text}");
    assert!(text.contains("rows of output"), "{text}");
    let text = ends(1, folder, &["minimize", &case]);
    assert!(text.contains("became 1 sequence, 1 query token"), "{text}");

    let add = ["corpus", "add", &case, "--to", "corpus", "--from", "a test", "--cause", "a page of no cache"];
    ends(0, folder, &add);
    ends(0, folder, &["corpus", "verify", "corpus", "--known", &known]);
    assert!(ends(0, folder, &["corpus", "stats", "corpus"]).contains("example-gather"));
    assert!(ends(0, folder, &["corpus", "prune", "corpus"]).contains("0 to remove"));
}

/// The regressions of the example, each of an entry of its known findings and the other way round.
#[test]
fn its_regressions_are_those_of_its_known_findings() {
    let folder = tempfile::tempdir().unwrap();
    let (regressions, known) = (of_example("regressions"), of_example("known.toml"));
    let text = ends(0, folder.path(), &["replay", &regressions, "--known", &known, "--json"]);
    let report: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(report["summary"]["cases"], RULES.len());
    ends(0, folder.path(), &["corpus", "verify", &regressions, "--known", &known]);
    let entries = fs::read_to_string(example().join("known.toml")).unwrap();
    for rule in RULES {
        assert!(entries.contains(&format!("|{rule}|")), "{rule}");
        let file = example().join(format!("regressions/{rule}-out-of-bounds.toml"));
        assert!(file.is_file(), "{}", file.display());
    }
    assert_eq!(entries.matches("[[known]]").count(), RULES.len());

    let gaps = ["kernels", "gaps", "example-gather", "--out", "gaps", "--cases", "300", "--known", &known];
    let text = ends(0, folder.path(), &[&gaps[..], &["--corpus", &regressions]].concat());
    assert!(text.contains("0 of the static side"), "{text}");
    let page = fs::read_to_string(folder.path().join("gaps/example-gather-0.10.2-gaps.md")).unwrap();
    assert!(page.contains("The kernel has no checks") && !page.contains("accepts 6"), "{page}");
    assert!(page.contains("Kept as") || page.contains("page-index-in-range-out-of-bounds.toml"), "{page}");
}

#[test]
fn a_page_too_far_is_reported_at_its_line() {
    let (folder, line) = edited("lax.div(position, page_size)]", "lax.div(position, page_size) + 1]");
    let own = ["--kernel-from", "own.py:gather", "--variant", "f32-kv4", "--only", "kept"];
    let report = fuzz(1, folder.path(), &own);
    let at_line = report["findings"].as_array().unwrap().iter().any(|finding| {
        let stack = finding["fault"]["stack"].as_array();
        stack
            .is_some_and(|stack| stack.iter().any(|frame| frame["line"] == line && frame["file"] == "own.py"))
    });
    assert!(at_line, "nothing at line {line}: {}", report["findings"]);
}

#[test]
fn a_scale_of_the_other_half_is_a_wrong_row() {
    let (folder, _) = edited("token.shape, 0) % 2 == 0", "token.shape, 0) % 2 == 1");
    let own = ["--kernel-from", "own.py:gather", "--variant", "bf16-kv8-scales", "--only", "kept"];
    let report = fuzz(1, folder.path(), &own);
    let finding = &report["findings"][0];
    assert_eq!(finding["kind"], "divergence", "{finding}");
    assert_eq!(finding["minimised"]["after"]["sequences"], 1, "{finding}");
}

#[test]
fn dumps_of_its_arrays_are_diagnosed_in_its_words() {
    let folder = tempfile::tempdir().unwrap();
    let batch = folder.path().join("batch");
    fs::create_dir(&batch).unwrap();
    for (name, shape, values) in [
        ("kv_lens", &[6u64][..], &[5, 20, 1, 0, 0, 0][..]),
        ("page_indices", &[6, 3], &[0, 0, 0, 1, 2, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("cu_q_lens", &[7], &[0, 5, 6, 7, 7, 7, 7]),
        ("num_seqs", &[1], &[3]),
        ("q", &[1], &[0]),
    ] {
        write_npy(&batch.join(format!("{name}.npy")), shape, values);
    }
    let diagnose = ["diagnose", "batch", "--kernel", "example-gather", "--variant"];
    let sizes = "kv_heads=4,head_dim=128,page_size=16,pages=21,kv_dtype=f32,generation=v5e";
    let right = ends(0, folder.path(), &[&diagnose[..], &[&format!("{sizes},tokens=32"), "--run"]].concat());
    assert!(right.contains("the batch is right") && right.contains("7 row(s) are right"), "{right}");
    assert!(right.contains("output of 32 rows") && right.contains("the kernel has none"), "{right}");
    assert!(right.contains("not looked at: q") && !right.contains("port"), "{right}");
    let known = of_example("known.toml");
    let few =
        ends(1, folder.path(), &[&diagnose[..], &[&format!("{sizes},tokens=6"), "--known", &known]].concat());
    assert!(few.contains("output has too few rows: 6 for 7 gathered tokens"), "{few}");
    assert!(few.contains("effect: a copy from outside an array") && few.contains("rows=7"), "{few}");
}

fn write_npy(path: &Path, shape: &[u64], values: &[i32]) {
    let file = fs::File::create(path).unwrap();
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd().unwrap();
    writer.extend(values.iter().copied()).unwrap();
    writer.finish().unwrap();
}

#[test]
fn its_mutants_are_noticed_without_batches_of_an_upstream_test() {
    let folder = tempfile::tempdir().unwrap();
    let few = ["mutants", "--kernel", "example-gather", "--count", "27", "--cases", "40", "--controls", "40"];
    let score: Value =
        serde_json::from_str(&ends(0, folder.path(), &[&few[..], &["--json"]].concat())).unwrap();
    assert_eq!(score["upstream"], Value::Null);
    assert!(score["score"].as_f64().unwrap() > 0.8, "{score}");
    // Loops unrolled by 1 leave loops over nothing behind.
    assert!(score["equivalent"].as_u64().unwrap() > 0, "{score}");
}

#[test]
fn a_night_without_regressions_and_checks_is_clean() {
    let folder = tempfile::tempdir().unwrap();
    let known = of_example("known.toml");
    let night = ["nightly", "--kernel", "example-gather", "--time", "2s", "--state", "state"];
    let text = ends(0, folder.path(), &[&night[..], &["--out", "night", "--known", &known]].concat());
    assert!(text.contains("example-gather differential") && !text.contains("validators"), "{text}");
}

#[test]
fn what_it_has_nothing_to_say_to_ends_in_words() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in
        [&["fuzz", "--static"][..], &["bench", "--no-jax"], &["relations"], &["mutants", "--relations"]]
    {
        let all = [arguments, &["--kernel", "example-gather"]].concat();
        let output = countersign(folder.path(), &all);
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {words}");
        assert!(words.contains("example-gather"), "{words}");
    }
}

#[test]
fn its_controls_and_its_place_in_the_catalogue_are_shown() {
    let folder = tempfile::tempdir().unwrap();
    let text = ends(0, folder.path(), &["controls", "--kernel", "example-gather"]);
    assert!(text.contains("0 above the bound"), "{text}");
    let text = ends(0, folder.path(), &["kernels", "list"]);
    assert!(text.contains("example-gather"), "{text}");
    let text = ends(0, folder.path(), &["kernels", "show", "example-gather"]);
    assert!(text.contains("No sequence gathers more tokens than it has in the cache."), "{text}");
    let text = ends(0, folder.path(), &["init"]);
    assert!(text.contains("replay corpus/regressions --catalog"), "{text}");
}
