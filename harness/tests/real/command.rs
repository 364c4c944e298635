//! The installed program, from an empty directory: the built-in corpus, and a short campaign with its documents.

use std::fs;
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
fn some_of_upstreams_own_batches_are_right() {
    let folder = tempfile::tempdir().unwrap();
    let chosen = [
        "decode-only/bf16-q32-kv8-16-sequences.toml",
        "logit-soft-capping/f32-q16-kv2-2-sequences-pages4-queries32-cap50.toml",
        "quantized-kv-cache/bf16-f8e5m2-q32-kv8-3-sequences-scales-0p5-0p5.toml",
        "sliding-window/f32-q4-kv4-5-sequences-pages8-queries64-window5.toml",
    ];
    for (index, name) in chosen.into_iter().enumerate() {
        let (_, case) = countersign::corpus::builtin().iter().find(|(path, _)| path.ends_with(name)).unwrap();
        std::fs::write(folder.path().join(format!("{index}.toml")), case).unwrap();
    }
    let output = countersign(folder.path(), &["replay", ".", "--tier", "full"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let shown = text(&output);
    for part in [
        "largest error / bound, q and cache f32, f32: 0.",
        "largest error / bound, q and cache bf16, f8e5m2: 0.",
        "4 cases in",
        "0 new, 0 known, 0 stale, 0 unsupported, 0 unasked",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn the_example_in_the_corpus_readme_replays() {
    let folder = tempfile::tempdir().unwrap();
    let readme = include_str!("../../../corpus/README.md");
    let (_, after) = readme.split_once("<!-- A test replays this very text. -->\n```toml\n").unwrap();
    let (example, _) = after.split_once("\n```\n").unwrap();
    std::fs::write(folder.path().join("example.toml"), example).unwrap();
    let output = countersign(folder.path(), &["replay", "example.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    assert!(text(&output).contains("6 row(s) are right"), "{}", text(&output));
}

#[test]
fn cases_are_added_once_and_superfluous_ones_pruned() {
    let folder = tempfile::tempdir().unwrap();
    let member = |name: &str| {
        let (_, case) = countersign::corpus::builtin().iter().find(|(path, _)| path.ends_with(name)).unwrap();
        (*case).split("[origin]").next().unwrap().to_owned()
    };
    let first = member("two-prefills-of-600.toml");
    std::fs::write(folder.path().join("batch.toml"), &first).unwrap();
    let add = |file: &str| {
        countersign(
            folder.path(),
            &["corpus", "add", file, "--to", "mine", "--from", "a test", "--cause", "It shows how."],
        )
    };
    let added = add("batch.toml");
    assert_eq!(added.status.code(), Some(0), "{}", text(&added));
    let path = folder.path().join("mine/total-q-within-rows-residue.toml");
    assert!(String::from_utf8_lossy(&added.stdout).trim_end().ends_with("total-q-within-rows-residue.toml"));
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written.contains("\"gap:refused-unseen|jax-rpa|total-q-within-rows|residue|-\""), "{written}");
    assert!(written.contains("cause = \"It shows how.\""), "{written}");
    let again = add("batch.toml");
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again).contains("already holds this case"), "{}", text(&again));

    // Another seed, another batch; but it shows nothing that the first doesn't, and its file is larger.
    std::fs::write(folder.path().join("other.toml"), first.replace("seed = 1", "seed = 12345")).unwrap();
    assert_eq!(add("other.toml").status.code(), Some(0));
    let replay = countersign(folder.path(), &["replay", "mine"]);
    assert_eq!(replay.status.code(), Some(0), "{}", text(&replay));
    let second = folder.path().join("mine/total-q-within-rows-residue-2.toml");
    let dry = countersign(folder.path(), &["corpus", "prune", "mine"]);
    assert_eq!(dry.status.code(), Some(0), "{}", text(&dry));
    assert!(text(&dry).contains("drop  total-q-within-rows-residue-2.toml"), "{}", text(&dry));
    assert!(second.exists(), "a dry run");
    let wet = countersign(folder.path(), &["corpus", "prune", "mine", "--yes"]);
    assert_eq!(wet.status.code(), Some(0), "{}", text(&wet));
    assert!(!second.exists() && path.exists());
}

#[test]
fn shapes_of_ones_own_are_fuzzed_and_their_findings_replay_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let variant = "f32-q8-kv4,page_size=32,pages_per_seq=2,sliding_window=9";
    let output = countersign(folder.path(), &["fuzz", "--cases", "150", "--variant", variant, "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["summary"]["hits"]["variant"], serde_json::json!({ variant: 150 }));
    let findings = folder.path().join("countersign/findings");
    let finding = std::fs::read_dir(findings).unwrap().next().unwrap().unwrap().path();
    let replay = countersign(folder.path(), &["replay", finding.to_str().unwrap()]);
    assert_eq!(replay.status.code(), Some(0), "{}", text(&replay));
}

#[test]
fn shapes_that_do_not_lower_are_refused_with_the_kernels_words_and_advice() {
    let folder = tempfile::tempdir().unwrap();
    for (variant, advice) in [
        ("q_heads=3,kv_heads=3,q_dtype=f32", "takes 1, 2, 4, 8"),
        ("q_heads=4,kv_heads=1,kv_dtype=i8", "takes 2, 4, 8"),
        ("q_heads=5", "multiple of kv_heads = 2"),
    ] {
        let output = countersign(folder.path(), &["fuzz", "--cases", "5", "--variant", variant]);
        // The box of an error breaks lines where it likes.
        let words = text(&output).replace('\u{2502}', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(2), "{words}");
        assert!(words.contains("does not lower") && words.contains(advice), "{words}");
    }
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
    // What `report` renders from the JSON is what the run itself wrote.
    for (format, name) in [("html", "report.html"), ("json", "report.json"), ("md", "report.md")] {
        let rendered = countersign(folder.path(), &["report", "countersign", "--format", format]);
        assert_eq!(rendered.status.code(), Some(0), "{}", text(&rendered));
        assert!(rendered.stdout == std::fs::read(out.join(name)).unwrap(), "{name} differs");
    }
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    for finding in document["findings"].as_array().unwrap() {
        assert!(finding["batch"].is_object() && finding["case_file"].is_string());
        assert!(page.contains(finding["file"].as_str().unwrap()));
    }
    assert!(page.contains("causal_mask = row_ids &lt; col_ids"), "the kernel's source is shown");
    for finding in document["findings"].as_array().unwrap() {
        let sizes = |key: &str| finding["minimised"][key]["keys"].as_u64().unwrap();
        assert!(sizes("after") <= sizes("before"), "{finding}");
        for file in [&finding["file"], &finding["repro"], &finding["minimised"]["original"]] {
            assert!(out.join(file.as_str().unwrap()).is_file(), "{file}");
        }
    }
    let log = std::fs::read_to_string(out.join("events.jsonl")).unwrap();
    assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert!(std::fs::read_dir(out.join("findings")).unwrap().count() > 0);
}

/// Replay and minimise say what a broken sequence does to the others.
#[test]
fn interference_is_told_wherever_a_finding_is() {
    let folder = tempfile::tempdir().unwrap();
    let name = "regressions/jax-rpa/kv-len-positive-others-rows.toml";
    let (_, case) = countersign::corpus::builtin().iter().find(|(path, _)| *path == name).unwrap();
    std::fs::write(folder.path().join("batch.toml"), case).unwrap();
    let sentence =
        "Sequence 0 changes the output of others: 1 of 1 row(s) of sequence 1 come out otherwise without it";
    let replay = countersign(folder.path(), &["replay", "batch.toml", "--json"]);
    let report: Value = serde_json::from_slice(&replay.stdout).unwrap();
    assert_eq!(report["findings"][0]["others"], sentence, "{}", text(&replay));
    countersign(folder.path(), &["minimize", "batch.toml"]);
    let script = std::fs::read_to_string(folder.path().join("batch.min.py")).unwrap();
    let words: Vec<&str> = script.split_whitespace().collect();
    assert!(words.join(" ").contains(sentence), "{script}");
}

#[test]
fn a_case_is_minimised_beside_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let (_, case) = countersign::corpus::builtin()
        .iter()
        .find(|(path, _)| path.ends_with("seeds/cu-repeated-entry.toml"))
        .unwrap();
    std::fs::write(folder.path().join("batch.toml"), case).unwrap();
    let output = countersign(folder.path(), &["minimize", "batch.toml", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let done: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&done["file"], &done["repro"]), (&"batch.min.toml".into(), &"batch.min.py".into()));
    assert_eq!(done["complete"], true);
    assert!(done["after"]["keys"].as_u64().unwrap() < done["before"]["keys"].as_u64().unwrap(), "{done}");
    assert!(done["shows"][0]["known"].as_bool().unwrap());
    assert_eq!(std::fs::read_to_string(folder.path().join("batch.toml")).unwrap(), *case, "left as it was");
    let replay = countersign(folder.path(), &["replay", "batch.min.toml"]);
    assert_eq!(replay.status.code(), Some(0), "{}", text(&replay));
    // Nothing is left to leave out.
    let again = countersign(folder.path(), &["minimize", "batch.min.toml", "--json"]);
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["after"], done["after"]);
    // The same script on standard output.
    let shown = countersign(folder.path(), &["show", "batch.min.toml", "--repro"]);
    assert_eq!(shown.status.code(), Some(0), "{}", text(&shown));
    let script = String::from_utf8(shown.stdout).unwrap();
    assert!(
        script.starts_with("\"\"\"JAX ragged paged attention: ") && script.contains("def main():"),
        "{script}"
    );

    let early = countersign(folder.path(), &["minimize", "batch.toml", "--budget", "2"]);
    assert_eq!(early.status.code(), Some(3), "{}", text(&early));
    let clean = include_str!("../../../corpus/seeds/mixed.toml");
    std::fs::write(folder.path().join("clean.toml"), clean).unwrap();
    for arguments in [
        &["minimize", "clean.toml"][..],
        &["minimize", "batch.toml", "--signature", "fault|jax-rpa|-|hang|-"],
    ] {
        let output = countersign(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    }
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
        &["replay", "builtin", "--engine", "jax-interpret", "--profile", "v5e"],
    ] {
        let output = countersign(folder.path(), arguments);
        let text = text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {text}");
        assert!(!text.contains("panicked"), "{text}");
    }
}

#[test]
fn a_benchmark_has_its_ratios_and_its_page() {
    let folder = tempfile::tempdir().unwrap();
    let output = countersign(
        folder.path(),
        &["bench", "--only", "native", "--variant", "f32-q4-kv4", "--json", "--html", "bench.html"],
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let bench: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ratios = bench["ratios"].as_object().unwrap();
    for key in [
        "vm_over_interpreter_warm",
        "vm_over_interpreter_probe",
        "vm_time_over_native",
        "reference_over_jax_fresh",
        "reference_over_jax_warm",
        "sanitizers_on_over_off",
    ] {
        assert!(ratios.contains_key(key), "{key} is missing from {ratios:?}");
    }
    assert!(ratios["vm_time_over_native"].as_f64().unwrap() > 0.0);
    assert!(ratios["vm_over_interpreter_warm"].is_null(), "the interpreter wasn't asked");
    assert_eq!(bench["variants"][0]["name"], "f32-q4-kv4");
    let page = std::fs::read_to_string(folder.path().join("bench.html")).unwrap();
    assert!(page.contains("Times of each variant"), "{page}");
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing but the page is left: {left:?}");
}

#[test]
fn show_follows_a_fault_back_to_the_page_table() {
    let folder = tempfile::tempdir().unwrap();
    let (_, case) = countersign::corpus::builtin()
        .iter()
        .find(|(path, _)| path.ends_with("seeds/page-total-pages.toml"))
        .unwrap();
    std::fs::write(folder.path().join("case.toml"), case).unwrap();
    let output = countersign(folder.path(), &["show", "case.toml", "--trace"]);
    let shown = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    for part in [
        "out-of-bounds: index 40 in dimension 0 of kv_pages [40, 16, 2, 128] lies outside 0..40",
        "async_copy.start()",
        "tpu.enqueue_dma here",
        "next_async_copy_kv.start()",
        "page 40 stands in column 3 of sequence 0, in its KV block 1",
        "the values that led there, from the fault back\n  memref.load of page_indices[0, 3] = 40",
        "memref.load of kv_lens[0] = 143",
        "grid index 1 = 0",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let clean = include_str!("../../../corpus/seeds/mixed.toml");
    std::fs::write(folder.path().join("clean.toml"), clean).unwrap();
    let output = countersign(folder.path(), &["show", "clean.toml", "--trace"]);
    assert!(text(&output).contains("no fault to follow back"), "{}", text(&output));
}

/// From an empty folder to a report, with files of one's own.
#[test]
fn a_repository_of_ones_own_is_begun_and_used() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], code: i32| {
        let output = countersign(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        text(&output)
    };
    let source = fs::read_to_string(&crate::real().exported[0].manifest.source.file).unwrap();
    fs::write(folder.path().join("kernel.py"), source).unwrap();
    let own = ["--kernel-from", "kernel.py:ragged_paged_attention"];
    run(&[&["init"], &own[..]].concat(), 0);
    let forms = ["--junit", "replay.xml", "--sarif", "replay.sarif", "--summary", "summary.md"];
    let replay = ["replay", "corpus/regressions", "--known", "corpus/known.toml"];
    run(&[&replay[..], &own, &forms].concat(), 0);
    assert!(fs::read_to_string(folder.path().join("replay.xml")).unwrap().contains("failures=\"0\""));
    let sarif: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("replay.sarif")).unwrap()).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(fs::read_to_string(folder.path().join("summary.md")).unwrap().contains("# countersign"));

    // A batch dumped from a server: 70 query tokens, and q has 64 rows.
    let code = "import numpy as np\n\
                i = lambda *v: np.array(v, np.int32)\n\
                np.savez('batch.npz', q=np.zeros((64, 4, 128), np.float32), kv_pages=np.zeros((21, 16, 8, 128), np.float32),\n\
                kv_lens=i(48, 40, 0, 0, 0, 0), page_indices=np.arange(18, dtype=np.int32).reshape(6, 3),\n\
                cu_q_lens=i(0, 40, 70, 70, 70, 70, 70), num_seqs=i(2))";
    let python = crate::real().environment.python();
    assert!(Command::new(python).args(["-c", code]).current_dir(folder.path()).status().unwrap().success());
    let said = run(&["diagnose", "batch.npz", "--save", "mine"], 1);
    assert!(said.contains("total-q-within-rows"), "{said}");
    let case = fs::read_dir(folder.path().join("mine")).unwrap().map(|entry| entry.unwrap().path());
    let case = case.into_iter().find(|path| path.extension().is_some_and(|it| it == "toml")).unwrap();
    let case = case.to_str().unwrap();
    run(&["minimize", case, "--out", "small.toml"], 0);
    run(&["replay", "small.toml", "--out", "run"], 0);
    run(&["report", "run", "--output", "report.html"], 0);
    assert!(fs::read_to_string(folder.path().join("report.html")).unwrap().contains("<!DOCTYPE html>"));
}
