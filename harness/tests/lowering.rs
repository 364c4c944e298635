//! What the lowering of a call means, and calls as overrides of a case.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

use countersign::case::{Case, Payload, StaticOverrides, VariantRef};
use countersign::contract::{Lowering, calls_of, judge_lowering};
use countersign::corpus::CorpusFile;
use countersign::trial::{Trial, run_trial};
use countersign_kernels::catalogue::{Catalogue, KernelEntry};
use countersign_kernels::checks::StaticCall;
use countersign_kernels::contract::probe::base;
use countersign_kernels::engine::Policy;
use countersign_kernels::export::Refusal;
use countersign_kernels::rpa::sweep::edits;
use countersign_kernels::{DeviceProfile, Variant};

fn kernel() -> KernelEntry {
    Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone()
}

fn variant() -> Variant {
    kernel().variant("f32-q4-kv4").unwrap().clone()
}

fn case(call: &StaticCall) -> Case {
    Case {
        kernel: "jax-rpa".to_owned(),
        variant: VariantRef::Named(variant().name),
        metadata: base(&variant()),
        payload: Payload { pattern: "normal@1".to_owned(), seed: 1, patches: Vec::new(), file: None },
        checksum: None,
        statics: Some(StaticOverrides::between(&StaticCall::of(&variant()), call)),
    }
}

fn trial(edit: &str) -> Trial {
    let edits = edits(&variant());
    let edit = edits.iter().find(|e| e.name == edit).unwrap_or_else(|| panic!("{edit}"));
    run_trial(None, &kernel(), &variant(), &case(&edit.call), &Policy::of(DeviceProfile::exact())).unwrap()
}

fn refusal(deliberate: bool) -> Refusal {
    Refusal { kind: "TypeError".to_owned(), message: "no".to_owned(), line: Some(7), deliberate }
}

fn signatures(edit: &str, lowering: &Lowering) -> Vec<String> {
    judge_lowering(&trial(edit), lowering).iter().map(|finding| finding.signature.to_string()).collect()
}

#[test]
fn each_outcome_is_judged_by_the_contract() {
    let (fails, declined) = (Lowering::Fails(refusal(false)), Lowering::Declined(refusal(true)));
    let kept = "num_queries_per_block = 1";
    assert_eq!(signatures(kept, &Lowering::Lowers), [""; 0]);
    assert_eq!(signatures(kept, &declined), [""; 0]);
    assert_eq!(
        signatures(kept, &fails),
        ["gap:does-not-lower|jax-rpa|kernel.py:7,TypeError|lowering-crash|-"]
    );
    let disputed = "mask_value = 0.0";
    assert_eq!(signatures(disputed, &Lowering::Lowers), [""; 0]);
    assert_eq!(
        signatures(disputed, &fails),
        ["gap:does-not-lower|jax-rpa|mask-value-finite|lowering-crash|-"]
    );
    let broken = "sm_scale = nan";
    assert_eq!(
        signatures(broken, &Lowering::Lowers),
        ["gap:accepts-invalid|jax-rpa|options-finite|lowers|-"]
    );
    assert_eq!(signatures(broken, &declined), [""; 0]);
    // Of a num_seqs that can't be an index, the dynamic check crashes as well.
    assert_eq!(
        signatures("num_seqs float32", &Lowering::Lowers),
        [
            "gap:validator-crash|jax-rpa|num-seqs-int32|message|-",
            "gap:refused-unseen|jax-rpa|num-seqs-int32|lowers|-"
        ]
    );
}

#[test]
fn every_edit_is_a_case_that_reads_back() {
    for edit in edits(&variant()) {
        let case = case(&edit.call);
        // By their text, in which NaN equals NaN.
        assert_eq!(
            format!("{:?}", case.static_call(&variant())),
            format!("{:?}", edit.call),
            "{}",
            edit.name
        );
        let text = CorpusFile { case, origin: None, expect: None }.to_toml();
        let read =
            CorpusFile::from_toml(&text).unwrap_or_else(|error| panic!("{}: {error}\n{text}", edit.name));
        let again = format!("{:?}", read.case.static_call(&variant()));
        assert_eq!(again, format!("{:?}", edit.call), "{}", edit.name);
    }
}

#[test]
fn a_sweep_is_a_function_of_its_seed() {
    let variants = [variant()];
    let names = |seed| -> Vec<String> {
        calls_of(&variants, seed, 40)
            .into_iter()
            .filter(|call| call.axis.is_none())
            .map(|call| call.name)
            .collect()
    };
    assert_eq!(names(1), names(1));
    assert_ne!(names(1), names(2));
    assert_eq!(names(1).len(), 40);
    assert_eq!(calls_of(&variants, 1, 0).len(), edits(&variant()).len());
}
