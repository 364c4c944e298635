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
    let commands = [
        "bench", "controls", "corpus", "diagnose", "fuzz", "init", "kernels", "minimize", "replay", "report",
        "setup", "show", "signoff",
    ]
    .map(|command| vec![command]);
    let corpus = ["verify", "stats", "add", "prune"].map(|command| vec!["corpus", command]);
    for mut command in commands.into_iter().chain(corpus) {
        command.push("--help");
        let output = countersign(folder.path(), &command);
        assert_eq!(output.status.code(), Some(0));
        assert!(text(&output.stdout).contains("Examples:"), "{command:?}");
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
fn shapes_of_ones_own_are_checked_before_anything_is_prepared() {
    fails(&["fuzz", "--variant", "q_head=64"], "did you mean `q_heads`?");
    fails(&["fuzz", "--variant", "f32-q4-kv4,tokens=none"], "none");
    fails(&["fuzz", "--variant", "pages=1000000,page_size=128"], "67108864");
    fails(&["kernels", "export", "jax-rpa", "--variant", "f32-q4-kv4,q_dtype=f33"], "f33");
    let folder = tempfile::tempdir().unwrap();
    let show = |variant: &str| {
        let output = countersign(folder.path(), &["kernels", "show", "jax-rpa", "--variant", variant]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let shown = show("q_heads=64,kv_heads=8,page_size=128");
    for part in ["[case.variant]", "q_heads = 64", "pages = 18", "the static check accepts"] {
        assert!(shown.contains(part), "{shown}");
    }
    assert!(show("q_heads=3").contains("must be divisible by num_kv_heads"), "{}", show("q_heads=3"));
}

/// A folder with the corpus' member of that name as `name` in it.
fn with_member(member: &str, name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let (_, case) = countersign::corpus::builtin().iter().find(|(path, _)| path.ends_with(member)).unwrap();
    let path = folder.path().join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, case).unwrap();
    folder
}

#[test]
fn large_cases_are_replayed_on_request_only() {
    let folder = with_member("basic/f32-q32-kv8-3-sequences.toml", "corpus/large.toml");
    let output = countersign(folder.path(), &["replay", "corpus"]);
    assert_eq!(output.status.code(), Some(2), "no case selected");
    assert!(text(&output.stderr).contains("--tier full"), "{}", text(&output.stderr));
}

#[test]
fn a_corpus_is_verified() {
    let folder = with_member("two-prefills-of-600.toml", "corpus/regressions/jax-rpa/first.toml");
    let verify = |more: &[&str]| {
        let output = countersign(folder.path(), &[&["corpus", "verify", "corpus"], more].concat());
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(verify(&[]), (Some(0), "1 files, 0 problems\n".to_owned()));

    let first = folder.path().join("corpus/regressions/jax-rpa/first.toml");
    let sound = std::fs::read_to_string(&first).unwrap();
    let write = |name: &str, case: &str| {
        let path = folder.path().join("corpus").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, case).unwrap();
    };
    write("regressions/jax-rpa/first.toml", &sound.replace("seed = 1", "seed  =  1"));
    write("regressions/other/again.toml", &sound);
    write("seeds/Odd Name.toml", &sound.replace("seed = 1", "seed = 2").replace("residue", "hang"));
    write("seeds/q-len-1.toml", sound.replace("seed = 1", "seed = 3").split("[expect]").next().unwrap());
    let (code, problems) = verify(&[]);
    assert_eq!(code, Some(1), "{problems}");
    for part in [
        "first.toml:33: isn't written as countersign writes it: `seed  =  1` where `seed = 1` belongs",
        "again.toml: lies in the folder of kernel `other`",
        "again.toml: the same case as regressions/jax-rpa/first.toml",
        "seeds/Odd Name.toml: `Odd Name` in its path",
        "|residue|-, which no entry",
        "seeds/q-len-1.toml: is named for the boundary class `q-len-1`, which it doesn't show",
        "seeds/q-len-1.toml: has no [expect]",
    ] {
        assert!(problems.contains(&part.replace("residue", "hang")), "{part}: {problems}");
    }
    let (_, fixed) = verify(&["--fix"]);
    assert!(!fixed.contains("isn't written") && fixed.contains("1 rewritten"), "{fixed}");
    assert_eq!(std::fs::read_to_string(&first).unwrap(), sound);

    write("bad.toml", "[case]\nversion = 1\nsurprise = 2\n");
    let (code, problems) = verify(&[]);
    assert_eq!(code, Some(2));
    assert!(problems.contains("bad.toml:"), "{problems}");
    let (code, document) = verify(&["--json"]);
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!((code, &document["files"]), (Some(2), &serde_json::json!(5)));
    assert!(document["problems"].as_array().unwrap().iter().any(|problem| problem["unreadable"] == true));
}

#[test]
fn a_corpus_is_counted() {
    let folder = with_member("two-prefills-of-600.toml", "corpus/first.toml");
    let output = countersign(folder.path(), &["corpus", "stats", "corpus", "--json"]);
    let counts: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(counts["cases"], 1);
    assert_eq!(counts["rule"], serde_json::json!({ "total-q-within-rows": 1 }));
    assert_eq!(counts["types"], serde_json::json!({ "f32 q, f32 cache": 1 }));
    assert_eq!(counts["tier"], serde_json::json!({ "full": 0, "small": 1 }));
    assert_eq!(counts["pattern"]["normal@1"], 1);
    assert_eq!(counts["slip"]["empty-sequence"], 0);
    let shown = text(&countersign(folder.path(), &["corpus", "stats", "corpus"]).stdout);
    assert!(shown.contains("total-q-within-rows"), "{shown}");
    fails(&["corpus", "stats", "missing"], "missing");
    fails(&["corpus", "prune", "missing"], "missing");
    fails(&["corpus", "add", "missing.toml", "--to", "x", "--from", "y", "--cause", "z"], "missing.toml");
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
            // The message may be folded to the terminal's width.
            let errors = text(&output.stderr).replace('│', " ");
            let errors = errors.split_whitespace().collect::<Vec<_>>().join(" ");
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

#[test]
fn a_repository_is_begun_once_and_what_is_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let first = countersign(folder.path(), &["init"]);
    assert_eq!(first.status.code(), Some(0), "{}", text(&first.stderr));
    let files = [
        "corpus/README.md",
        "corpus/known.toml",
        "corpus/regressions/example.toml",
        "signoff-policy.toml",
        ".github/workflows/countersign.yml",
    ];
    for file in files {
        let written = std::fs::read_to_string(folder.path().join(file)).unwrap();
        let filled = ["@KERNEL@", "@VERSION@", "@REPOSITORY@"].iter().all(|place| !written.contains(place));
        assert!(filled && !written.is_empty(), "{file}: {written}");
        assert!(text(&first.stdout).contains(file));
    }
    std::fs::write(folder.path().join(files[1]), "version = 1 # mine\n").unwrap();
    let second = countersign(folder.path(), &["init"]);
    assert!(text(&second.stdout).contains("left as it is"), "{}", text(&second.stdout));
    assert_eq!(std::fs::read_to_string(folder.path().join(files[1])).unwrap(), "version = 1 # mine\n");
    let verified = countersign(folder.path(), &["corpus", "verify", "corpus/regressions"]);
    assert_eq!(verified.status.code(), Some(0), "{}", text(&verified.stdout));
    std::fs::create_dir(folder.path().join("my kernels")).unwrap();
    std::fs::write(folder.path().join("my kernels/a=b.py"), "def f(): ...\n").unwrap();
    let workflow = folder.path().join(files[3]);
    std::fs::remove_file(&workflow).unwrap();
    let own = countersign(folder.path(), &["init", "--kernel-from", "my kernels/a=b.py:f"]);
    assert_eq!(own.status.code(), Some(0), "{}", text(&own.stderr));
    let workflow = std::fs::read_to_string(workflow).unwrap();
    assert_eq!(workflow.matches(" --kernel-from 'my kernels/a=b.py:f' ").count(), 2, "{workflow}");
    fails(&["init", "nowhere"], "no such folder");
    fails(&["init", "--kernel-from", "absent.py:f"], "no such file");
}
