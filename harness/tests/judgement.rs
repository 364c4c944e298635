//! Every row of the judgement table that can occur, as a trial built by hand.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use std::collections::BTreeMap;

use countersign::compare::{Comparison, Deviation};
use countersign::judge::{Note, judge};
use countersign::orders::Dependence;
use countersign::signature::Effect;
use countersign::trial::{Conduct, Trial};
use countersign_kernels::catalogue::Catalogue;
use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::{Breach, Contract, rules};
use countersign_mosaic::ir::Frame;
use countersign_mosaic::{Fault, FaultClass};

const KEPT: &[(&str, Option<usize>)] = &[];
const DISPUTED: &[(&str, Option<usize>)] = &[("kv-len-positive", Some(1))];
const BROKEN: &[(&str, Option<usize>)] = &[("kv-lens-in-table", Some(1))];
const TWO_DISPUTED: &[(&str, Option<usize>)] = &[("kv-len-positive", Some(1)), ("q-len-positive", Some(0))];
const TWO_BROKEN: &[(&str, Option<usize>)] =
    &[("kv-lens-in-table", Some(1)), ("page-index-in-range", Some(1))];

fn accepts() -> Verdict {
    Verdict::Accepts
}

fn refuses(check: &'static str) -> Verdict {
    Verdict::Refuses { check, message: "no".to_owned() }
}

fn crashes() -> Verdict {
    Verdict::Crashes { message: "AssertionError".to_owned() }
}

fn right() -> Conduct {
    Conduct::Finished(Comparison { owned_rows: 2, compared_rows: 2, ..Comparison::default() })
}

fn wrong_in(sequence: usize) -> Conduct {
    let worst = Deviation { token: 3, head: 1, lane: 7, actual: 2.5, expected: 2.25, bound: 1e-6, r: 2.5e5 };
    Conduct::Finished(Comparison {
        owned_rows: 2,
        compared_rows: 2,
        wrong_rows: BTreeMap::from([(sequence, 1)]),
        worst: Some(worst),
        ..Comparison::default()
    })
}

fn undefined() -> Conduct {
    let Conduct::Finished(comparison) = wrong_in(1) else { unreachable!() };
    Conduct::Finished(Comparison { undefined: true, ..comparison })
}

fn fault() -> Conduct {
    let frame = |file: &str, line| Frame { file: file.to_owned(), line, function: "f".to_owned() };
    Conduct::Fault(Box::new(Fault {
        class: FaultClass::OutOfBounds,
        op: "tpu.enqueue_dma".to_owned(),
        stack: vec![
            frame("/lib/primitives.py", 9),
            frame("/lib/kernel.py", 65),
            frame("/lib/kernel.py", 409),
        ],
        site: None,
        index_site: None,
        grid: vec![0, 1],
        place: None,
        indices: vec![21],
        message: "page 21 of 21".to_owned(),
        other: None,
    }))
}

fn trial(
    breaches: &[(&str, Option<usize>)],
    static_verdict: Verdict,
    dynamic_verdict: Verdict,
    conduct: Conduct,
) -> Trial {
    let breach = |&(id, sequence): &(&str, Option<usize>)| Breach {
        rule: rules(countersign_kernels::family::Family::Rpa).iter().find(|rule| rule.id == id).unwrap(),
        sequence,
        detail: "here".to_owned(),
        entries: Vec::new(),
    };
    let catalogue = Catalogue::builtin().unwrap();
    Trial {
        kernel: "jax-rpa".to_owned(),
        source_file: "kernel.py".to_owned(),
        variant: catalogue.kernel("jax-rpa").unwrap().variant("f32-q8-kv2-window").unwrap().clone(),
        contract: Contract { breaches: breaches.iter().map(breach).collect() },
        static_verdict,
        dynamic_verdict,
        conduct,
        orders: None,
    }
}

/// Judges, and compares signatures (without kernel and options, which are the same throughout) and note.
#[track_caller]
fn check(trial: &Trial, signatures: &[&str], note: Note) {
    let judgement = judge(trial);
    let found: Vec<String> = judgement
        .findings
        .iter()
        .map(|finding| {
            let text = finding.signature.to_string();
            text.strip_suffix("|window").unwrap().replace("|jax-rpa|", "|")
        })
        .collect();
    assert_eq!(
        (found.iter().map(String::as_str).collect::<Vec<_>>(), judgement.note),
        (signatures.to_vec(), note)
    );
}

#[test]
fn a_dependence_on_the_order_of_copies_is_a_finding_of_a_kept_batch() {
    let detail = "With copies that land at once: a race".to_owned();
    let orders = Some(Dependence { effect: Effect::Fault(FaultClass::Race), detail: detail.clone() });
    let kept = Trial { orders: orders.clone(), ..trial(&[], Verdict::Accepts, Verdict::Accepts, right()) };
    let judgement = judge(&kept);
    let [finding] = judgement.findings.as_slice() else { panic!("{judgement:?}") };
    assert_eq!(finding.signature.to_string(), "dma-order|jax-rpa|-|race|window");
    assert_eq!((&finding.detail, judgement.note), (&detail, Note::Reported));
    let broken = trial(&[("page-index-in-range", None)], Verdict::Accepts, Verdict::Accepts, right());
    assert!(judge(&Trial { orders, ..broken }).findings.is_empty());
}

#[test]
fn kept_accepted_right() {
    check(&trial(KEPT, accepts(), accepts(), right()), &[], Note::Right);
}

#[test]
fn kept_accepted_wrong() {
    check(&trial(KEPT, accepts(), accepts(), wrong_in(0)), &["divergence|-|wrong-rows"], Note::Reported);
    check(
        &trial(KEPT, accepts(), accepts(), undefined()),
        &["divergence|-|undefined-output"],
        Note::Reported,
    );
}

#[test]
fn kept_accepted_fault_at_the_kernels_own_line() {
    let signatures = ["fault|kernel.py:65,tpu.enqueue_dma|out-of-bounds"];
    let trial = trial(KEPT, accepts(), accepts(), fault());
    check(&trial, &signatures, Note::Reported);
    assert_eq!(judge(&trial).findings[0].stack.len(), 3);
}

#[test]
fn kept_accepted_out_of_fuel() {
    check(&trial(KEPT, accepts(), accepts(), Conduct::Hang), &["fault|-|hang"], Note::Reported);
}

#[test]
fn kept_refused_right() {
    let gap = ["gap:refuses-valid|check:kv-lens-in-table|refusal"];
    check(&trial(KEPT, accepts(), refuses("kv-lens-in-table"), right()), &gap, Note::Reported);
    check(&trial(KEPT, refuses("kv-lens-in-table"), accepts(), right()), &gap, Note::Reported);
}

#[test]
fn kept_refused_wrong_says_who_shields_it() {
    let shielded = trial(KEPT, accepts(), refuses("kv-lens-in-table"), wrong_in(0));
    check(&shielded, &["divergence|-|wrong-rows"], Note::Reported);
    assert!(judge(&shielded).findings[0].detail.contains("Only the dynamic check would stop it"));
    let stopped = trial(KEPT, refuses("kv-lens-in-table"), accepts(), fault());
    check(&stopped, &["fault|kernel.py:65,tpu.enqueue_dma|out-of-bounds"], Note::Reported);
    assert!(judge(&stopped).findings[0].detail.contains("The entry point's own check stops this call"));
}

#[test]
fn disputed_mishandled() {
    for (conduct, effect) in
        [(wrong_in(1), "wrong-rows"), (fault(), "out-of-bounds"), (Conduct::Hang, "hang")]
    {
        for dynamic in [accepts(), refuses("q-len-within-kv-len")] {
            let signature = format!("gap:mishandles-disputed|kv-len-positive|{effect}");
            check(&trial(DISPUTED, accepts(), dynamic, conduct.clone()), &[&signature], Note::Reported);
        }
    }
}

#[test]
fn disputed_right_is_counted() {
    for dynamic in [accepts(), refuses("q-len-within-kv-len")] {
        check(&trial(DISPUTED, accepts(), dynamic, right()), &[], Note::DisputedRight);
    }
}

#[test]
fn broken_accepted_everywhere() {
    let gap = |effect: &str| format!("gap:accepts-invalid|kv-lens-in-table|{effect}");
    for (conduct, effect) in [
        (wrong_in(1), "wrong-rows"),
        (wrong_in(0), "others-rows"),
        (undefined(), "undefined-output"),
        (fault(), "out-of-bounds"),
        (Conduct::Hang, "hang"),
    ] {
        check(&trial(BROKEN, accepts(), accepts(), conduct), &[&gap(effect)], Note::Reported);
    }
}

#[test]
fn broken_refused_only_by_the_dynamic_check() {
    let signature = ["gap:refused-unseen|kv-lens-in-table|out-of-bounds"];
    check(&trial(BROKEN, accepts(), refuses("kv-lens-in-table"), fault()), &signature, Note::Reported);
}

#[test]
fn broken_refused_with_another_message() {
    let misleading = "gap:misleading-message|kv-lens-in-table|message";
    let other = || refuses("total-q-within-rows");
    check(&trial(BROKEN, accepts(), other(), right()), &[misleading], Note::Reported);
    let both = ["gap:refused-unseen|kv-lens-in-table|hang", misleading];
    check(&trial(BROKEN, accepts(), other(), Conduct::Hang), &both, Note::Reported);
    check(
        &trial(BROKEN, refuses("window-positive"), accepts(), Conduct::NotRun),
        &[misleading],
        Note::Reported,
    );
}

#[test]
fn broken_harmless_is_counted() {
    for dynamic in [accepts(), refuses("kv-lens-in-table")] {
        check(&trial(BROKEN, accepts(), dynamic, right()), &[], Note::Harmless);
    }
}

#[test]
fn broken_refused_statically_is_agreement() {
    check(&trial(BROKEN, refuses("kv-lens-in-table"), accepts(), Conduct::NotRun), &[], Note::Agreement);
}

#[test]
fn a_crash_of_a_check_is_a_finding_whatever_the_kernel_does() {
    let crash = "gap:validator-crash|-|message";
    check(&trial(KEPT, accepts(), crashes(), right()), &[crash], Note::Reported);
    check(&trial(KEPT, crashes(), accepts(), right()), &[crash], Note::Reported);
    check(
        &trial(KEPT, accepts(), crashes(), wrong_in(0)),
        &["divergence|-|wrong-rows", crash],
        Note::Reported,
    );
    let crash = "gap:validator-crash|kv-lens-in-table|message";
    check(&trial(BROKEN, crashes(), accepts(), Conduct::NotRun), &[crash], Note::Reported);
    let both = ["gap:refused-unseen|kv-lens-in-table|hang", crash];
    check(&trial(BROKEN, accepts(), crashes(), Conduct::Hang), &both, Note::Reported);
}

#[test]
fn a_gap_names_one_rule_so_several_are_only_counted() {
    check(&trial(TWO_BROKEN, accepts(), accepts(), fault()), &[], Note::SeveralRules);
    check(&trial(TWO_DISPUTED, accepts(), accepts(), fault()), &[], Note::SeveralRules);
    check(&trial(TWO_BROKEN, accepts(), refuses("total-q-within-rows"), right()), &[], Note::Harmless);
    check(&trial(TWO_BROKEN, accepts(), crashes(), fault()), &[], Note::SeveralRules);
}

#[test]
fn unsupported_is_counted_and_never_right() {
    for breaches in [KEPT, DISPUTED, BROKEN] {
        let conduct = Conduct::Unsupported("tpu.new_op".to_owned());
        check(&trial(breaches, accepts(), accepts(), conduct), &[], Note::Unsupported);
    }
}

#[test]
fn details_name_rule_place_and_deviation() {
    let detail = judge(&trial(BROKEN, accepts(), accepts(), wrong_in(0))).findings[0].detail.clone();
    for part in [
        "breaks kv-lens-in-table (here)",
        "1 of sequence 0",
        "token 3, head 1, lane 7",
        "r = 2.500e5",
        "No check stops it",
    ] {
        assert!(detail.contains(part), "{detail}");
    }
}
