//! The gather against rows that are written down by hand, and its bound against every rounding of a product.
//!
//! Invariant: expected values follow from the definition alone.

use countersign_dtype::{Array, DType};
use countersign_reference::{Batch, Metadata, Options, Profile, RowStatus, gather};

/// Pages of two tokens of one K and one V head of two lanes; a stored value is 100 page + 10 slot + place.
fn batch() -> Batch {
    let cache: Vec<f32> =
        (0..3 * 2 * 4).map(|at| (100 * (at / 8) + 10 * (at / 4 % 2) + at % 4) as f32).collect();
    Batch {
        metadata: Metadata {
            kv_lens: vec![3, 2, 9],
            page_indices: vec![2, 0, 1, 0, 0, 0],
            pages_per_seq: 2,
            cu_q_lens: vec![0, 2, 3, 7],
            num_seqs: 2,
        },
        q: Array::from_f32(DType::F32, &[4, 2, 2], &[0.0; 16]),
        kv_pages: Array::from_f32(DType::F32, &[3, 2, 2, 2], &cache),
    }
}

fn options(k_scale: Option<f32>, v_scale: Option<f32>) -> Options {
    Options { sm_scale: 1.0, sliding_window: None, soft_cap: None, mask_value: -1e38, k_scale, v_scale }
}

#[test]
fn rows_are_the_last_tokens_of_their_sequence_each_head_with_its_scale() {
    let gathered = gather(&batch(), &options(Some(2.0), Some(0.5)), &Profile::EXACT);
    // Tokens 1 and 2 of sequence 0: page 2, slot 1; page 0, slot 0. Token 1 of sequence 1: page 1, slot 1.
    let expected = [420.0, 422.0, 106.0, 106.5, 0.0, 2.0, 1.0, 1.5, 220.0, 222.0, 56.0, 56.5];
    assert_eq!(gathered.values[..12], expected);
    assert!(gathered.values[12..].iter().all(|value| value.is_nan()));
    let sequences: Vec<Option<usize>> = gathered
        .rows
        .iter()
        .map(|row| match row {
            RowStatus::Value { sequence } => Some(*sequence),
            RowStatus::Undefined { .. } => None,
        })
        .collect();
    assert_eq!(sequences, [Some(0), Some(0), Some(1), None]);
}

#[test]
fn without_scales_nothing_may_differ() {
    let gathered = gather(&batch(), &options(None, None), &Profile::EXACT);
    assert!(gathered.bounds[..12].iter().all(|bound| *bound == 0.0));
}

#[test]
fn the_bound_holds_for_every_product_and_is_near() {
    let mut largest = 0.0f64;
    for step in 1..2000u32 {
        let (stored, scale) = (1.0 + step as f32 * 3.1e-4, 1.0 + (step * 7919 % 1999) as f32 * 2.7e-4);
        let mut batch = batch();
        batch.kv_pages.set_f32(0, stored);
        let gathered = gather(&batch, &options(Some(scale), Some(1.0)), &Profile::EXACT);
        let r = (f64::from(stored * scale) - gathered.values[4]).abs() / gathered.bounds[4];
        largest = largest.max(r);
    }
    assert!((0.5..=1.0).contains(&largest), "{largest}");
}

#[test]
fn a_token_that_is_not_finite_takes_its_own_row_alone() {
    let mut batch = batch();
    batch.kv_pages.set_f32(1, f32::INFINITY); // page 0, slot 0: row 1
    let gathered = gather(&batch, &options(None, None), &Profile::EXACT);
    assert!(matches!(gathered.rows[0], RowStatus::Value { sequence: 0 }));
    assert!(matches!(gathered.rows[1], RowStatus::Undefined { sequence: Some(0), .. }));
}
