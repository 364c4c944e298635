//! Reproducers run for real: a Python with jax and numpy, nothing of ours on its path, and an exit code.
//!
//! `COUNTERSIGN_REPRODUCERS=all` runs that of every regression that shows a finding (some minutes), else three are drawn: one
//! of wrong rows, one of a fault by derivation, one of a check's words.

use std::process::Command;

use countersign::campaign::Subject;
use countersign::case::Case;
use countersign::corpus::{CorpusFile, Expect, builtin};
use countersign::judge::judge;
use countersign::loaded::Loaded;
use countersign::repro::script;
use countersign::trial::run_trial;
use countersign_kernels::Variant;
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Silent;
use countersign_kernels::export::export;

use crate::real;

/// The regressions whose scripts run always.
const DRAWN: [&str; 3] =
    ["kv-len-positive-others-rows", "page-index-in-range-out-of-bounds", "num-seqs-minus-one"];

/// Name and case of each regression that shows a finding.
fn regressions() -> Vec<(String, Case)> {
    let mine = builtin().iter().filter(|(name, _)| name.starts_with("regressions/jax-rpa/"));
    let files = mine.map(|(name, text)| {
        let stem = name.rsplit('/').next().unwrap().trim_end_matches(".toml").to_owned();
        (stem, CorpusFile::from_toml(text).unwrap())
    });
    files
        .filter(|(_, file)| matches!(file.expect, Some(Expect::Signatures(_))))
        .map(|(name, file)| (name, file.case))
        .collect()
}

/// The scripts of all findings of a case, each with its signature.
fn scripts(case: &Case) -> Vec<(String, String)> {
    let real = real();
    let variants: Vec<Variant> =
        real.kernel.variants(countersign_kernels::catalogue::Tier::Full).cloned().collect();
    let variant = case.variant(&variants).unwrap().clone();
    let entry_point = format!("{}:{}", real.kernel.python.module, real.kernel.python.entry_point);
    let exports = export(&real.environment, &entry_point, std::slice::from_ref(&variant), &Silent).unwrap();
    let loaded = Loaded::new(&real.kernel, vec![variant], exports, false);
    let mut engine = loaded.engine(0);
    let variant = &loaded.variants()[0];
    let trial = run_trial(Some(engine.as_mut()), &real.kernel, variant, case, &Policy::default()).unwrap();
    let findings = judge(&trial).findings;
    assert!(!findings.is_empty());
    let one = |finding: &countersign::judge::Finding| {
        (finding.signature.to_string(), script(&real.kernel, case, &trial, finding, None).unwrap())
    };
    findings.iter().map(one).collect()
}

/// What the script prints and its exit code, run from an empty folder in the environment's Python.
fn run(script: &str) -> (Option<i32>, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("repro.py");
    std::fs::write(&file, script).unwrap();
    let mut python = Command::new(real().environment.python());
    let output = python.arg("repro.py").current_dir(folder.path()).env_remove("PYTHONPATH").output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.code(), text)
}

#[test]
fn scripts_show_their_findings() {
    let all = std::env::var("COUNTERSIGN_REPRODUCERS").is_ok_and(|which| which == "all");
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, case) in regressions() {
        if !all && !DRAWN.contains(&name.as_str()) {
            continue;
        }
        for (signature, script) in scripts(&case) {
            let (code, said) = run(&script);
            count += 1;
            println!("{name}, {signature}: {code:?}");
            if code != Some(0) {
                failures.push(format!("{name}, {signature}: {code:?}\n{said}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(count >= DRAWN.len(), "{count} scripts");
}

#[test]
fn a_script_of_a_right_batch_ends_with_one() {
    let (_, case) = regressions().into_iter().find(|(name, _)| name == DRAWN[0]).unwrap();
    let (_, wrong) = scripts(&case).remove(0);
    // The same claim about a batch whose sequences all have tokens: nothing is wrong, and the script says so.
    let metadata: String = wrong
        .lines()
        .map(|line| match line.split(" = ").next() {
            Some("num_seqs") => "num_seqs = np.array([0], np.int32)\n".to_owned(),
            _ => format!("{line}\n"),
        })
        .collect();
    assert_ne!(metadata, wrong);
    let (code, said) = run(&metadata);
    assert_eq!(code, Some(1), "{said}");
}
