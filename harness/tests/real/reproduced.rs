//! Reproducers run for real: a Python with jax and numpy, nothing of ours on its path, and an exit code.
//!
//! Five always run: one of wrong rows, one of a fault by derivation, one of a check's words, one that fails to lower, one that
//! lowers although it shouldn't. `COUNTERSIGN_REPRODUCERS=all` runs that of every regression that shows a finding (some
//! minutes); any other word, such as a commit's hash, draws three more by it, of those that end.

use std::collections::HashSet;
use std::process::Command;

use countersign::campaign::Subject;
use countersign::case::Case;
use countersign::contract::{Lowering, judge_lowering};
use countersign::corpus::{CorpusFile, Expect, builtin};
use countersign::judge::{Finding, judge};
use countersign::loaded::Loaded;
use countersign::repro::{Besides, script};
use countersign::signature::{Effect, Kind, Signature};
use countersign::trial::{Trial, run_trial};
use countersign_kernels::Variant;
use countersign_kernels::catalogue::Tier;
use countersign_kernels::checks::Verdict;
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::env::Silent;
use countersign_kernels::export::export;
use countersign_kernels::worker::Worker;
use countersign_mosaic::FaultClass;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use crate::real;

/// The regressions whose scripts run always.
const ALWAYS: [&str; 5] = [
    "kv-len-positive-others-rows",
    "page-index-in-range-out-of-bounds",
    "num-seqs-minus-one",
    "q-float16",
    "num-seqs-int16",
];

/// The regressions whose scripts wait five minutes for a call that never ends.
const HANGING: [&str; 2] = ["kv-len-int32-max", "kv-lens-in-table-hang"];

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

/// Those of `regressions` whose scripts run, as `COUNTERSIGN_REPRODUCERS` says.
fn chosen() -> Vec<(String, Case)> {
    let word = std::env::var("COUNTERSIGN_REPRODUCERS").unwrap_or_default();
    if word == "all" {
        return regressions();
    }
    let (mut chosen, mut rest): (Vec<_>, Vec<_>) =
        regressions().into_iter().partition(|(name, _)| ALWAYS.contains(&name.as_str()));
    rest.retain(|(name, _)| !HANGING.contains(&name.as_str()));
    rest.sort_by_cached_key(|(name, _)| Sha256::digest(format!("{word} {name}")));
    rest.truncate(if word.is_empty() { 0 } else { 3 });
    chosen.extend(rest);
    chosen
}

/// A case, tried.
fn tried(case: &Case) -> Trial {
    let real = real();
    let variants: Vec<Variant> = real.kernel.variants(Tier::Full).cloned().collect();
    let variant = case.variant(&variants).unwrap().clone();
    let entry_point = format!("{}:{}", real.kernel.python.module, real.kernel.python.entry_point);
    let exports = export(&real.environment, &entry_point, std::slice::from_ref(&variant), &Silent).unwrap();
    let loaded = Loaded::new(&real.kernel, vec![variant], exports, false);
    let mut engine = loaded.engine(0);
    let runs: Option<&mut dyn Engine> = if case.statics.is_some() { None } else { Some(engine.as_mut()) };
    run_trial(runs, &real.kernel, &loaded.variants()[0], case, &Policy::default()).unwrap()
}

/// What becomes of a call with static overrides that the check accepts.
fn lowered(case: &Case, trial: &Trial) -> Option<Lowering> {
    if case.statics.is_none() || trial.static_verdict != Verdict::Accepts {
        return None;
    }
    let call = case.python_call(&real().kernel, &trial.variant);
    Some(Lowering::of(Worker::start(&real().environment).unwrap().trace(&call).unwrap()))
}

/// The scripts of all findings of a case, each with its signature.
fn scripts(case: &Case) -> Vec<(String, String)> {
    let trial = tried(case);
    let lowering = lowered(case, &trial);
    let findings = match &lowering {
        Some(lowering) => judge_lowering(&trial, lowering),
        None => judge(&trial).findings,
    };
    let besides = Besides { others: None, lowering: lowering.as_ref() };
    assert!(!findings.is_empty());
    let one = |finding: &Finding| {
        (finding.signature.to_string(), script(&real().kernel, case, &trial, finding, besides).unwrap())
    };
    findings.iter().map(one).collect()
}

/// What the script prints and its exit code, run from an empty folder in the environment's Python.
fn run(script: &str) -> (Option<i32>, String) {
    run_in(&tempfile::tempdir().unwrap(), script)
}

/// The same, from a folder.
fn run_in(folder: &TempDir, script: &str) -> (Option<i32>, String) {
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
    let mut failures = Vec::new();
    let mut count = 0;
    for (name, case) in chosen() {
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
    assert!(count >= ALWAYS.len(), "{count} scripts");
}

#[test]
fn a_script_of_a_right_batch_ends_with_one() {
    let (_, case) = regressions().into_iter().find(|(name, _)| name == ALWAYS[0]).unwrap();
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

#[test]
fn what_no_regression_shows_yet_is_told_apart_all_the_same() {
    // A right batch: the kernel ends, and its output doesn't depend on when copies land.
    let (_, mut case) = regressions().into_iter().find(|(name, _)| name == ALWAYS[0]).unwrap();
    (case.metadata.num_seqs, case.metadata.cu_q_lens[1]) = (1, 1);
    case.metadata.kv_lens[0] = 2;
    let trial = tried(&case);
    assert!(judge(&trial).findings.is_empty(), "{}", trial.conduct);
    let claim = |kind, effect| {
        let text = "divergence|jax-rpa|-|wrong-rows|-";
        let signature = Signature { kind, effect, ..Signature::parse(text).unwrap() };
        let finding = Finding { signature, detail: "claimed by a test".to_owned(), stack: Vec::new() };
        script(&real().kernel, &case, &trial, &finding, Besides::default()).unwrap()
    };
    let hang = claim(Kind::Fault, Effect::Hang);
    let race = claim(Kind::Fault, Effect::Fault(FaultClass::Race));
    for (script, code, words) in [
        (claim(Kind::Divergence, Effect::WrongRows), 1, "0 row(s) are wrong"),
        (claim(Kind::DmaOrder, Effect::OtherBits), 1, "copies land: []"),
        (race.clone(), 1, "finds no race"),
        (hang.clone(), 1, "The kernel ends."),
        (hang.replace("SECONDS = 300", "SECONDS = 0.01"), 0, "did not end within 0.01 s"),
    ] {
        let (ended, said) = run(&script);
        assert_eq!(ended, Some(code), "{said}");
        assert!(said.contains(words), "{said}");
    }
    // The same kernel without its waits, on the same batch.
    let kernel = real().exported[0].manifest.source.text().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let careless = kernel.replace("async_copy.wait()", "pass");
    assert_ne!(careless, kernel);
    std::fs::write(folder.path().join("careless.py"), careless).unwrap();
    let import = "from jax.experimental.pallas.ops.tpu.ragged_paged_attention import kernel as rpa";
    assert!(race.contains(import));
    let (code, said) = run_in(&folder, &race.replace(import, "import careless as rpa"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("races with a copy"), "{said}");
}

/// Why no script is written for a division without a result: no divisor is read from a batch.
#[test]
fn the_released_kernel_divides_by_constants_only() {
    for (variant, module) in real().variants.iter().zip(&real().modules) {
        let mut constants = HashSet::new();
        let mut quotients = 0;
        module.walk(|op, _| match op.name.as_str() {
            "arith.constant" => constants.extend(op.results.iter().copied()),
            "vector.broadcast" if constants.contains(&op.operands[0]) => {
                constants.extend(op.results.iter().copied());
            }
            "arith.divsi" | "arith.remsi" => {
                quotients += 1;
                assert!(constants.contains(&op.operands[1]), "{}: line {}", variant.name, op.line);
            }
            _ => {}
        });
        assert!(quotients > 0, "{}", variant.name);
    }
}
