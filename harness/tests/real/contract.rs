//! The published contract is what the checks say and what the kernel does today.

use countersign::contract::{
    self, Lowering, Regressions, Swept, batches, calls, calls_of, effect_of, published, sweep,
};
use countersign::known::KnownFile;
use countersign_kernels::DeviceProfile;
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Silent;
use countersign_kernels::rpa::sweep::{both, edits};
use countersign_kernels::worker::Worker;
use countersign_reports::{FindingStatus, RuleRow};

use crate::kernel::environment;
use crate::{Kernel, real};

fn policy() -> Policy {
    Policy::of(DeviceProfile::exact())
}

fn published_rule(id: &str) -> &'static RuleRow {
    published("jax-rpa").unwrap().rules.iter().find(|row| row.id == id).unwrap()
}

/// Every probe that is a batch, on all variants. After a change that is meant:
/// `countersign kernels gaps jax-rpa --out reports/published`.
#[test]
fn the_published_effects_are_those_of_a_fresh_run() {
    let fresh = batches(&Kernel::unedited(), &policy()).unwrap();
    let names: Vec<&str> = real().variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(published("jax-rpa").unwrap().variants, names);
    for row in &fresh.rules {
        assert_eq!(row, published_rule(&row.id), "{}", row.id);
    }
    let effect = effect_of("jax-rpa", "page-index-in-range").unwrap();
    assert_eq!(effect.effects.keys().collect::<Vec<_>>(), ["out-of-bounds"]);
    assert!(effect.sentence().contains("out-of-bounds access"), "{}", effect.sentence());
}

/// The calls as well; a minute or two.
#[test]
#[ignore = "asks the exporter about some 120 calls"]
fn the_published_calls_are_those_of_a_fresh_run() {
    let table = published("jax-rpa").unwrap();
    let variants: Vec<_> = table
        .static_variants
        .iter()
        .map(|name| real().variants.iter().find(|variant| variant.name == *name).unwrap().clone())
        .collect();
    let mut worker = Worker::start(environment()).unwrap();
    let fresh = calls(environment(), &mut worker, &real().kernel, &variants, &policy(), &Silent).unwrap();
    for row in &fresh {
        assert_eq!(row, published_rule(&row.id), "{}", row.id);
    }
}

/// A few calls of the sweep, one of each outcome, through real worker processes.
#[test]
fn a_sweep_counts_what_lowers_what_is_refused_and_what_crashes() {
    let variants = &real().variants[..1];
    let all = calls_of(variants, 1, 3);
    let chosen: Vec<_> = [
        "soft_cap = 30.0",
        "soft_cap = 0.0",
        "k_scale = 1",
        "num_seqs int16",
        "num_seqs of shape [2]",
        "kv_lens int16",
    ]
    .iter()
    .map(|name| all.iter().find(|call| call.name == *name).unwrap_or_else(|| panic!("{name}")).clone())
    .chain(all.iter().filter(|call| call.axis.is_none()).cloned())
    .collect();
    assert_eq!(chosen.len(), 9, "three pairs");
    let start = || Worker::start(environment());
    let mut heard = 0;
    let report = sweep(
        &real().kernel,
        variants,
        &chosen[..6],
        &KnownFile::default(),
        &Regressions::default(),
        &start,
        2,
        &|| true,
        &mut |_| {
            heard += 1;
        },
    );
    assert_eq!((heard, report.unasked, report.problems.len(), report.pairs), (6, 0, 0, 0));
    assert_eq!(report.singles.values().sum::<u64>(), 6);
    let of = |keeping: &str, outcome: &str| report.outcomes[keeping].get(outcome).copied().unwrap_or(0);
    assert_eq!(of("kept", Lowering::Lowers.name()), 1);
    for check in ["cap-nonzero", "num-seqs-shape", "metadata-int32"] {
        assert_eq!(of("broken", &format!("refused by {check}")), 1, "{:?}", report.outcomes);
    }
    assert_eq!(of("broken", "the static check crashes"), 1);
    let crash = report.gaps.iter().find(|gap| gap.finding.kind == "gap:validator-crash").unwrap();
    assert_eq!(crash.finding.locus, "scales-float");
    assert!(report.gaps.iter().any(|gap| gap.finding.locus == "num-seqs-int32"), "{:?}", report.outcomes);
    // Each gap's case says the same when it is read again.
    for gap in &report.gaps {
        let text = gap.finding.case_file.as_deref().unwrap();
        let file = countersign::corpus::CorpusFile::from_toml(text).unwrap();
        assert_eq!(file.to_toml(), text);
    }
}

/// Two edits that meet: the one that breaks a rule is not blamed for what the other does.
#[test]
fn a_pair_is_blamed_on_neither_rule_nor_line_that_one_edit_explains() {
    let variants = &real().variants[..1];
    let single = |name: &str| {
        let all = calls_of(variants, 1, 0);
        all.into_iter().find(|call| call.name == name).unwrap_or_else(|| panic!("{name}"))
    };
    let pair = |first: &str, second: &str| {
        let all = edits(&variants[0]);
        let edit = |name: &str| all.iter().find(|edit| edit.name == name).unwrap();
        let call = both(&variants[0], edit(first), edit(second)).unwrap();
        let parts = vec![first.to_owned(), second.to_owned()];
        Swept { variant: 0, name: parts.join(", "), call, axis: None, parts }
    };
    let names = ["num_queries_per_block = 2147483648", "sm_scale = nan", "q bfloat16", "v_scale = nan"];
    let mut calls = names.map(single).to_vec();
    calls.push(pair(names[0], names[1]));
    calls.push(pair(names[2], names[3]));
    let (known, regressions) = (KnownFile::builtin().unwrap(), Regressions::default());
    let start = || Worker::start(environment());
    let report =
        sweep(&real().kernel, variants, &calls, &known, &regressions, &start, 2, &|| true, &mut |_| {});
    let gap = |kind: &str, locus: &str| {
        report.gaps.iter().find(|gap| gap.finding.kind == kind && gap.finding.locus == locus)
    };
    // Alone, the one fails at its line and the other lowers; together they fail at that line, which is the first one's.
    assert!(gap("gap:does-not-lower", "options-finite").is_none());
    assert_eq!(gap("gap:does-not-lower", "kernel.py:335,OverflowError").unwrap().finding.count, 1);
    assert_eq!(gap("gap:accepts-invalid", "options-finite").unwrap().finding.count, 2);
    // Alone, both lower; together they meet the assertion that K and V agree, whatever the scale is.
    let together = gap("gap:does-not-lower", "kernel.py:476,AssertionError").unwrap();
    assert_eq!(together.finding.status, FindingStatus::Known);
    assert_eq!((report.pairs, report.explained), (2, 1));
}

#[test]
fn a_corpus_table_names_who_is_hit() {
    let subject = Kernel::unedited();
    let measured = batches(&subject, &policy()).unwrap();
    let others: Vec<_> = measured
        .gallery
        .exhibits()
        .filter(|exhibit| exhibit.finding.signature.effect.name() == "others-rows")
        .collect();
    assert!(!others.is_empty());
    for exhibit in others {
        use countersign::campaign::Subject as _;
        let variant = &exhibit.variant;
        let position = subject.variants().iter().position(|other| other == variant).unwrap();
        let mut engine = subject.engine(position);
        let trial = countersign::trial::run_trial(
            Some(engine.as_mut()),
            subject.kernel(),
            variant,
            &exhibit.case,
            &policy(),
        )
        .unwrap();
        let harms = contract::harms(&trial, &exhibit.case.metadata);
        assert!(
            !harms.is_empty() && harms.iter().all(|harm| !harm.own && !harm.rows.is_empty()),
            "{harms:?}"
        );
        let sentences = contract::sentences(&trial, &exhibit.case.metadata);
        assert!(sentences[0].contains("which breaks no rule itself"), "{sentences:?}");
    }
}
