//! Which rows have a value in a broken batch, what a batch owns, and metadata at its worst.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

mod common;

use common::{BLOCKING, Extents, PLAIN, Stream, normal_batch};
use countersign_dtype::DType;
use countersign_reference::{
    Batch, Magnitudes, Metadata, Options, Profile, RowStatus, attend, magnitudes, paging, rule,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// 12 rows of q; three sequences with (q_len, kv_len) (2, 5), (3, 3), (4, 9); pages of 4 tokens, 3 a sequence, 10 in all.
fn batch() -> Batch {
    let extents = Extents {
        tokens: 12,
        q_heads: 1,
        kv_heads: 1,
        head_dim: 4,
        page_size: 4,
        pages_per_seq: 3,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
    };
    extents.batch(&[(2, 5), (3, 3), (4, 9)], &mut Stream(11), &mut |_, _, _, stream| stream.normal())
}

/// One word a row: `v1` for a value of sequence 1, else the rule and the sequence it names.
fn statuses(batch: &Batch) -> Vec<String> {
    let reference = attend(batch, &PLAIN, &BLOCKING, &Profile::EXACT);
    for (row, status) in reference.rows.iter().enumerate() {
        let has_value = matches!(status, RowStatus::Value { .. });
        for index in 4 * row..4 * (row + 1) {
            assert_eq!(reference.values[index].is_finite(), has_value);
            assert_eq!(reference.bounds[index].is_finite(), has_value);
        }
    }
    let word = |status: &RowStatus| match status {
        RowStatus::Value { sequence } => format!("v{sequence}"),
        RowStatus::Undefined { rule, sequence: Some(sequence) } => format!("{rule}@{sequence}"),
        RowStatus::Undefined { rule, sequence: None } => rule.to_string(),
    };
    reference.rows.iter().map(word).collect()
}

/// Runs of equal words, as `2xv0 3xv1`.
fn summary(batch: &Batch) -> String {
    let words = statuses(batch);
    let runs = words.chunk_by(|a, b| a == b).map(|run| format!("{}x{}", run.len(), run[0]));
    runs.collect::<Vec<_>>().join(" ")
}

fn changed(change: impl FnOnce(&mut Metadata)) -> String {
    let mut batch = batch();
    change(&mut batch.metadata);
    summary(&batch)
}

#[test]
fn one_broken_sequence_takes_nothing_from_the_others() {
    assert_eq!(summary(&batch()), "2xv0 3xv1 4xv2 3xrow-past-last-token");
    assert_eq!(changed(|m| m.kv_lens[1] = 2), "2xv0 3xq-len-within-kv-len@1 4xv2 3xrow-past-last-token");
    assert_eq!(changed(|m| m.kv_lens[1] = -1), "2xv0 3xkv-lens-nonnegative@1 4xv2 3xrow-past-last-token");
    assert_eq!(changed(|m| m.kv_lens[1] = 13), "2xv0 3xkv-lens-in-table@1 4xv2 3xrow-past-last-token");
    for page in [10, -1, i32::MIN, i32::MAX] {
        let text = changed(|m| m.page_indices[3] = page);
        assert_eq!(text, "2xv0 3xpage-index-in-range@1 4xv2 3xrow-past-last-token");
        // The second page of sequence 1 isn't in use.
        assert_eq!(changed(|m| m.page_indices[4] = page), summary(&batch()));
    }
}

#[test]
fn cumulative_lengths() {
    assert_eq!(
        changed(|m| m.cu_q_lens[0] = 1),
        "1xcu-q-lens-starts-at-zero 1xv0 3xv1 4xv2 3xrow-past-last-token"
    );
    // Sequence 2 ends before it starts; nobody else is touched. Its would-be rows lie past the (smaller) total.
    assert_eq!(changed(|m| m.cu_q_lens[3] = 4), "2xv0 3xv1 7xrow-past-last-token");
    // Sequence 1 runs backwards, so sequences 0 and 2 share row 1.
    let text = changed(|m| m.cu_q_lens[2] = 1);
    assert_eq!(text, "1xv0 1xcu-q-lens-nondecreasing 7xv2 3xrow-past-last-token");
    let text = changed(|m| m.cu_q_lens[1] = -2);
    assert_eq!(text, "5xcu-q-lens-nonnegative@1 4xv2 3xrow-past-last-token");
    // Sequence 2 sticks out of q.
    assert_eq!(changed(|m| m.cu_q_lens[3] = 13), "2xv0 3xv1 7xtotal-q-within-rows@2");
    // Empty sequences claim no row.
    assert_eq!(
        changed(|m| (m.cu_q_lens[1], m.kv_lens[0]) = (0, 0)),
        "5xq-len-within-kv-len@1 4xv2 3xrow-past-last-token"
    );
}

#[test]
fn number_of_sequences() {
    assert_eq!(changed(|m| m.num_seqs = 2), "2xv0 3xv1 7xrow-past-last-token");
    assert_eq!(changed(|m| m.num_seqs = 0), "12xrow-past-last-token");
    assert_eq!(changed(|m| m.num_seqs = -1), "12xnum-seqs-nonnegative");
    assert_eq!(changed(|m| m.num_seqs = 4), "2xv0 3xv1 4xv2 3xnum-seqs-within-table");
    assert_eq!(changed(|m| m.num_seqs = i32::MAX), "2xv0 3xv1 4xv2 3xnum-seqs-within-table");
}

#[test]
fn values_that_are_not_finite() {
    let mut nan_query = batch();
    nan_query.q.set_f32(3 * 4 + 2, f32::NAN);
    assert_eq!(summary(&nan_query), "2xv0 1xv1 1xowned-values-finite@1 1xv1 4xv2 3xrow-past-last-token");
    let mut nan_key = batch();
    let page = nan_key.metadata.page_indices[3 * 2 + 2] as usize; // holds key 8 of sequence 2, which only its last row sees
    nan_key.kv_pages.set_f32((page * 4) * 2 * 4, f32::INFINITY);
    assert_eq!(summary(&nan_key), "2xv0 3xv1 4xowned-values-finite@2 3xrow-past-last-token");
    let mut unowned = batch();
    unowned.kv_pages.set_f32((page * 4 + 1) * 2 * 4, f32::INFINITY); // the slot after it
    assert_eq!(summary(&unowned), summary(&batch()));
}

#[test]
fn ownership() {
    let batch = batch();
    let metadata = &batch.metadata;
    let slots = paging::owned_slots(metadata, 10, 4);
    let expected = [(0, 4), (1, 1), (3, 3), (6, 4), (7, 4), (8, 1)];
    for (entry, slots_used) in expected {
        assert_eq!(slots[metadata.page_indices[entry] as usize], slots_used, "entry {entry}");
    }
    assert_eq!(slots.iter().sum::<usize>(), 5 + 3 + 9);
    assert_eq!(paging::owned_rows(metadata, 12), 0..9);
    assert_eq!(paging::owned_rows(metadata, 7), 0..7);

    // A page that two sequences share belongs to the batch as far as the longer use goes.
    let mut shared = metadata.clone();
    shared.page_indices[3] = shared.page_indices[0];
    assert_eq!(paging::owned_slots(&shared, 10, 4)[shared.page_indices[0] as usize], 4);
    // Between a decreasing step's rows nothing is lost.
    let mut decreasing = metadata.clone();
    decreasing.cu_q_lens = vec![0, 6, 2, 4];
    assert_eq!(paging::owned_rows(&decreasing, 12), 0..6);
    let mut none = metadata.clone();
    none.num_seqs = -5;
    assert_eq!(paging::owned_rows(&none, 12), 0..0);
    assert_eq!(paging::owned_slots(&none, 10, 4), vec![0; 10]);
}

fn awkward() -> impl Strategy<Value = i32> {
    prop_oneof![
        Just(i32::MIN),
        Just(i32::MIN + 1),
        Just(i32::MAX),
        Just(i32::MAX - 1),
        -3..20i32,
        Just(1 << 30),
        Just(-1)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(400) })]

    /// No metadata makes us panic, and a row has a value exactly if its sequence can be computed alone.
    #[test]
    fn absurd_metadata(
        kv_lens in prop::collection::vec(awkward(), 0..5),
        page_indices in prop::collection::vec(prop_oneof![4 => 0..10i32, 1 => awkward()], 0..16),
        pages_per_seq in 0usize..4,
        cu_q_lens in prop::collection::vec(prop_oneof![2 => 0..14i32, 1 => awkward()], 0..6),
        num_seqs in awkward(),
        window in prop_oneof![Just(None), Just(Some(1)), Just(Some(i32::MAX))],
    ) {
        let mut batch = batch();
        batch.kv_pages.bytes.fill(0);
        batch.q.bytes.fill(0);
        batch.metadata = Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs };
        let options = Options { sliding_window: window, ..PLAIN };
        let reference = attend(&batch, &options, &BLOCKING, &Profile::EXACT);
        let metadata = &batch.metadata;
        let owned = paging::owned_rows(metadata, 12);
        let slots = paging::owned_slots(metadata, 10, 4);
        prop_assert!(slots.iter().all(|&slots| slots <= 4));
        for (row, status) in reference.rows.iter().enumerate() {
            if let RowStatus::Value { sequence } = *status {
                prop_assert!(owned.contains(&row));
                let claims = metadata.cu_q_lens.windows(2).take(metadata.sequences_in_table());
                let claiming = claims.filter(|ends| (ends[0]..ends[1]).contains(&(row as i32))).count();
                prop_assert_eq!(claiming, 1);
                let last = metadata.kv_lens[sequence] - 1;
                let page = metadata.page_indices[sequence * metadata.pages_per_seq + last as usize / 4];
                prop_assert!(slots[page as usize] > last as usize % 4);
            }
        }
        magnitudes(&batch, &options);
    }
}

#[test]
fn every_rule_id_is_distinct() {
    let ids = [
        rule::ROW_PAST_LAST_TOKEN,
        rule::NUM_SEQS_NONNEGATIVE,
        rule::NUM_SEQS_WITHIN_TABLE,
        rule::CU_Q_LENS_STARTS_AT_ZERO,
        rule::CU_Q_LENS_NONNEGATIVE,
        rule::CU_Q_LENS_NONDECREASING,
        rule::TOTAL_Q_WITHIN_ROWS,
        rule::KV_LENS_NONNEGATIVE,
        rule::Q_LEN_WITHIN_KV_LEN,
        rule::KV_LENS_IN_TABLE,
        rule::PAGE_INDEX_IN_RANGE,
        rule::OWNED_VALUES_FINITE,
        rule::SHAPES_FIT,
        rule::OPTIONS_DEFINED,
    ];
    assert_eq!(std::collections::BTreeSet::from(ids).len(), ids.len());
}

#[test]
fn magnitudes_of_known_values() {
    let extents = Extents {
        tokens: 4,
        q_heads: 2,
        kv_heads: 1,
        head_dim: 4,
        page_size: 2,
        pages_per_seq: 4,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
    };
    let of = |value: f32, key: f32, options: &Options| {
        let batch = extents.batch(&[(1, 3), (2, 5)], &mut Stream(2), &mut |role, _, _, _| match role {
            common::Role::Query => -2.0,
            common::Role::Key => key,
            common::Role::Value => value,
        });
        magnitudes(&batch, options)
    };
    let halved = Options { sm_scale: 0.5, ..PLAIN };
    let near =
        |computed: f64, expected: f64| approx::assert_relative_eq!(computed, expected, max_relative = 1e-12);
    let small = of(-1.5, 3.0, &halved);
    near(small.v_sum, 7.5);
    near(small.dot, 24.0);
    near(small.score, 12.0);
    near(of(1.0, 3.0, &Options { sm_scale: 10.0, ..PLAIN }).dot, 240.0);
    near(of(1.0, 3.0, &Options { soft_cap: Some(-5.0), ..PLAIN }).score, 5.0);
    let large = of(3e38, 1e37, &PLAIN);
    near(large.v_sum, 5.0 * f64::from(3e38f32));
    near(large.dot, 8.0 * f64::from(1e37f32));
    assert!(large.v_sum > Magnitudes::SUM_LIMIT && large.dot < Magnitudes::SUM_LIMIT);
    assert_eq!(of(f32::NAN, f32::INFINITY, &PLAIN).dot, f64::INFINITY);
    assert_eq!(of(f32::NAN, 1.0, &PLAIN).v_sum, f64::INFINITY);
    // The default mask value leaves room for scores up to 0.3 of f32's largest number, and mask_value 0 for none.
    near(Magnitudes::score_limit(&PLAIN), f64::from(f32::MAX) - f64::from(0.7 * f32::MAX));
    assert!(Magnitudes::score_limit(&Options { mask_value: 0.0, ..PLAIN }) < 0.0);
    // Never too small, and cheap: an upper bound within reason on ordinary values.
    let normal = magnitudes(&normal_batch(4, DType::F32), &PLAIN);
    assert!(normal.dot > 1.0 && normal.dot < 1e4 && normal.v_sum > 1.0 && normal.v_sum < 1e3);
}
