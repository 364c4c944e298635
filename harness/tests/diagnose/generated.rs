//! Recognition over thousands of generated batches: kept ones pass, and the slip that the generator made is named.
//!
//! Many slips leave arrays that another mistake explains as well (a batch of one sequence, lengths that ascend): a share is asked for,
//! and printed, not all.
//!
//! Invariant: no kept batch may have a cause, however it was drawn.

use std::collections::BTreeMap;

use countersign::generate::{Slip, generate};
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::checks::StaticCall;
use countersign_kernels::contract::Keeping;
use countersign_kernels::rpa::diagnose::{State, explain};

/// Cases that are drawn.
const CASES: u64 = 12_000;

/// The names that are right for a slip of the generator, and the least share in per cent that must have one of them.
const NAMES: [(Slip, &[&str], usize); 22] = [
    (Slip::CuLeadingZeroMissing, &["leading-zero-missing"], 80),
    (Slip::CuLengthsNotSums, &["lengths-not-sums", "leading-zero-missing"], 80),
    (Slip::CuLengthsAfterZero, &["lengths-after-zero"], 80),
    // Where the first sequence has one token, its end is as well one too small.
    (Slip::CuExclusiveShift, &["exclusive-shift"], 60),
    (Slip::CuEntryPlusOne, &["off-by-one-entry", "off-by-one-length"], 80),
    (Slip::CuEntryMinusOne, &["off-by-one-entry", "off-by-one-length"], 80),
    (Slip::CuLastPlusOne, &["off-by-one-entry", "off-by-one-length"], 80),
    (Slip::CuTotalOneAboveRows, &["too-few-rows"], 80),
    (Slip::CuTotalFarAboveRows, &["too-few-rows"], 80),
    (Slip::CuNegative, &["garbage-entry", "off-by-one-entry"], 80),
    (Slip::CuNearInt32Max, &["garbage-entry"], 80),
    (Slip::CuNearInt32Min, &["garbage-entry"], 80),
    (Slip::CuStartsAboveZero, &["starts-above-zero", "one-entry", "off-by-one-entry"], 80),
    (Slip::NumSeqsZero, &["num-seqs-not-set"], 80),
    (Slip::NumSeqsNegative, &["num-seqs-not-set"], 80),
    (Slip::NumSeqsOneMore, &["num-seqs-off-by-one"], 80),
    (Slip::NumSeqsCountsPadding, &["num-seqs-counts-padding", "num-seqs-off-by-one"], 80),
    (Slip::NumSeqsOneAboveTable, &["num-seqs-off-by-one"], 80),
    (Slip::NumSeqsFarAboveTable, &["num-seqs-wrong", "num-seqs-off-by-one"], 80),
    (Slip::KvLenNegative, &["garbage-length"], 80),
    (Slip::PageTotalPages, &["one-page-past-the-cache", "pages-of-another-pool", "pages-from-one"], 80),
    (Slip::PageMinusOne, &["page-not-allocated", "garbage-page"], 80),
];

#[test]
fn generated_slips_are_named_and_kept_batches_pass() {
    let catalogue = Catalogue::builtin().unwrap();
    let variants: Vec<Variant> =
        catalogue.kernel("jax-rpa").unwrap().variants(Tier::Small).cloned().collect();
    let mut tally: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let mut kept = 0;
    for index in 0..CASES {
        let generated = generate(5, index, "jax-rpa", &variants, None);
        let variant = generated.case.variant(&variants).unwrap().clone();
        let call = StaticCall::with_metadata(&variant, &generated.case.metadata);
        let explained = explain(Vec::new(), State { call, variant, metadata: generated.case.metadata });
        if generated.tags.intention == Keeping::Kept {
            assert!(explained.steps.is_empty(), "case {index} is kept: {:?}", explained.steps);
            kept += 1;
        }
        let first = explained.steps.first().map_or("-", |step| step.cause.slip);
        if let Some(slip) = generated.tags.slip {
            *tally.entry(slip.name()).or_default().entry(first.to_owned()).or_default() += 1;
        }
    }
    println!("{kept} kept batches without a complaint");
    let mut wrong = Vec::new();
    for (slip, names) in &tally {
        println!("{slip}: {names:?}");
        let Some((_, right, least)) = NAMES.iter().find(|(named, _, _)| named.name() == *slip) else {
            continue;
        };
        let all: usize = names.values().sum();
        let found: usize =
            names.iter().filter(|(name, _)| right.contains(&name.as_str())).map(|(_, count)| count).sum();
        if found * 100 < least * all {
            wrong.push(format!("{slip}: {found} of {all} are one of {right:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
