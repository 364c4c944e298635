//! Explanations of batches that keep the contract, that break it in one way, and of any batch at all.
//!
//! Invariant: no file is read here; whole dumps are tested in `harness/tests/diagnose`.

use std::collections::BTreeMap;

use countersign_reference::Metadata;
use proptest::prelude::*;

use super::*;
use crate::catalogue::{Catalogue, KernelEntry};
use crate::rpa::contract::{Standing, rules};
use crate::rpa::testing::{batch, variant};
use crate::rpa::validator::StaticCall;

fn kernel() -> KernelEntry {
    Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone()
}

fn state(metadata: Metadata) -> State {
    let variant = variant();
    State { call: StaticCall::with_metadata(&variant, &metadata), variant, metadata }
}

fn slips(edit: impl FnOnce(&mut Metadata)) -> Vec<&'static str> {
    let mut metadata = batch().metadata;
    edit(&mut metadata);
    explain(Vec::new(), state(metadata)).steps.iter().map(|step| step.cause.slip).collect()
}

#[test]
fn a_kept_batch_has_no_cause() {
    assert_eq!(slips(|_| {}), Vec::<&str>::new());
}

#[test]
fn what_is_undone_keeps_the_contract() {
    let mut metadata = batch().metadata;
    metadata.cu_q_lens = vec![3, 1, 4, 0, 0];
    let explained = explain(Vec::new(), state(metadata));
    assert_eq!(explained.steps[0].cause.slip, "lengths-not-sums");
    assert_eq!(explained.repaired.metadata.cu_q_lens, [0, 3, 4, 8, 8]);
    assert!(explained.left.is_empty() && explained.unsure().is_none());
}

#[test]
fn two_slips_are_both_found() {
    let both = slips(|m| {
        m.cu_q_lens = vec![3, 4, 8, 8, 8];
        m.page_indices.iter_mut().for_each(|page| *page = page.saturating_add(100));
    });
    assert_eq!(both, ["leading-zero-missing", "pages-of-another-pool"]);
}

#[test]
fn readings_that_fit_equally_are_not_certain() {
    // One more query token than the cache holds: the end, or the length.
    let mut metadata = batch().metadata;
    metadata.kv_lens[2] = 3;
    let explained = explain(Vec::new(), state(metadata));
    assert!(explained.unsure().is_some(), "{:?}", explained.steps);
    assert!(!explained.steps[0].others.is_empty());
}

fn given(shape: &[usize], values: &[i32]) -> Given {
    Given { dtype: "int32".to_owned(), shape: shape.to_vec(), values: values.to_vec(), odd: None }
}

fn arrays() -> BTreeMap<&'static str, Given> {
    let m = batch().metadata;
    BTreeMap::from([
        ("kv_lens", given(&[4], &m.kv_lens)),
        ("page_indices", given(&[4, 3], &m.page_indices)),
        ("cu_q_lens", given(&[5], &m.cu_q_lens)),
        ("num_seqs", given(&[1], &[m.num_seqs])),
    ])
}

#[test]
fn unknown_shapes_leave_their_rules_unjudged_and_break_none() {
    let subject = read(&kernel(), &arrays(), "").unwrap();
    assert_eq!(subject.unknown, ["q", "kv_pages"]);
    assert_eq!(subject.breaches(), []);
    let needs =
        |id: &str, operand: &str| subject.needs(rules().iter().find(|rule| rule.id == id).unwrap(), operand);
    assert!(needs("total-q-within-rows", "q") && needs("kv-lens-in-table", "kv_pages"));
    assert!(!needs("cu-q-lens-nondecreasing", "q"));

    let subject = read(&kernel(), &arrays(), "tokens=7,page_size=4,pages=12").unwrap();
    assert!(subject.unknown.is_empty());
    let broken: Vec<&str> = subject.breaches().iter().map(|breach| breach.rule.id).collect();
    assert_eq!(broken, ["total-q-within-rows"]);
}

#[test]
fn what_the_arrays_say_cannot_be_said_otherwise() {
    let mut arrays = arrays();
    arrays.insert("q", given(&[16, 2, 128], &[]));
    assert!(read(&kernel(), &arrays, "tokens=16").is_ok());
    let error = read(&kernel(), &arrays, "tokens=17").unwrap_err();
    assert_eq!(error.message, "tokens is 16 in the file, --variant says 17");
    assert!(read(&kernel(), &arrays, "token=16").unwrap_err().help.contains("tokens"));
    arrays.remove("kv_lens");
    assert!(read(&kernel(), &arrays, "").unwrap_err().message.contains("kv_lens"));
}

#[test]
fn wrong_forms_are_named_and_undone() {
    let mut arrays = arrays();
    for given in arrays.values_mut() {
        given.dtype = "int64".to_owned();
    }
    arrays.get_mut("page_indices").unwrap().shape = vec![12];
    arrays.get_mut("num_seqs").unwrap().shape = Vec::new();
    let subject = read(&kernel(), &arrays, "tokens=16,page_size=4,pages=12").unwrap();
    let form: Vec<&str> = subject.form.iter().map(|cause| cause.slip).collect();
    assert_eq!(form, ["num-seqs-shape", "flat-page-table", "metadata-int64"]);
    assert!(!subject.breaches().is_empty() && subject.state.breaches().is_empty());
}

proptest! {
    #[test]
    fn any_metadata_is_explained(
        kv_lens in prop::collection::vec(odd_number(), 0..6),
        pages in prop::collection::vec(odd_number(), 0..20),
        pages_per_seq in 1usize..5,
        cu_q_lens in prop::collection::vec(odd_number(), 0..7),
        num_seqs in odd_number(),
    ) {
        let metadata = Metadata { kv_lens, page_indices: pages, pages_per_seq, cu_q_lens, num_seqs };
        let state = state(metadata);
        let breaches = state.breaches();
        let explained = explain(Vec::new(), state);
        prop_assert_eq!(breaches.is_empty(), explained.steps.is_empty());
        // Whatever stays broken has a cause under its own name, and what counts as one correction keeps every rule.
        for breach in &explained.left {
            prop_assert!(explained.steps.iter().any(|step| step.cause.slip == breach.rule.id));
        }
        if explained.unsure().is_none() {
            prop_assert!(explained.repaired.breaches().iter().all(|breach| breach.rule.standing == Standing::Disputed));
        }
    }

    /// Repaired batches keep every rule that the repair is meant to mend, from small right batches with one array replaced.
    #[test]
    fn a_small_change_is_explained(at in 0usize..5, by in -3i32..4) {
        let mut metadata = batch().metadata;
        metadata.cu_q_lens[at] = metadata.cu_q_lens[at].saturating_add(by);
        let state = state(metadata);
        let broken = state.breaches().len();
        let explained = explain(Vec::new(), state);
        prop_assert!(explained.left.len() <= broken);
    }
}

fn odd_number() -> impl Strategy<Value = i32> {
    prop_oneof![4 => 0i32..9, 1 => -4i32..40, 1 => any::<i32>(), 1 => Just(i32::MAX), 1 => Just(i32::MIN)]
}
