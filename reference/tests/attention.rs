//! Attention against tiny cases by hand, a second derivation, and relations that must hold exactly.

#![allow(clippy::unwrap_used)] // helpers of tests

mod common;

use common::{BLOCKING, Extents, PLAIN, Role, Stream, normal_batch};
use countersign_dtype::{Array, DType};
use countersign_reference::{Batch, Options, Profile, Reference, RowStatus, attend, attend_into};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn exact(batch: &Batch, options: &Options) -> Reference {
    attend(batch, options, &BLOCKING, &Profile::EXACT)
}

/// One head, `head_dim` 1, one sequence of one query: attention of `scores` over `values`.
fn tiny(scores: &[f32], values: &[f32], options: &Options) -> f64 {
    let extents = Extents {
        tokens: 1,
        q_heads: 1,
        kv_heads: 1,
        head_dim: 1,
        page_size: 2,
        pages_per_seq: 4,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
    };
    let batch = extents.batch(&[(1, scores.len())], &mut Stream(5), &mut |role, key, _, _| match role {
        Role::Query => 1.0,
        Role::Key => scores[key],
        Role::Value => values[key],
    });
    let reference = exact(&batch, options);
    assert_eq!(reference.rows, [RowStatus::Value { sequence: 0 }]);
    reference.values[0]
}

#[test]
fn by_hand() {
    let close =
        |computed: f64, expected: f64| approx::assert_relative_eq!(computed, expected, max_relative = 1e-14);
    // A single key has all the weight.
    close(tiny(&[3.0], &[7.0], &PLAIN), 7.0);
    // Equal scores: the mean.
    close(tiny(&[1.0, 1.0, 1.0], &[1.0, 2.0, 6.0], &PLAIN), 3.0);
    // Weights 1/3 and 2/3: scores differ by ln 2 once the f32 score is scaled.
    let (e1, e2) = (1f64.exp(), 2f64.exp());
    close(tiny(&[1.0, 2.0], &[10.0, 20.0], &PLAIN), (e1 * 10.0 + e2 * 20.0) / (e1 + e2));
    let halved = Options { sm_scale: 0.5, ..PLAIN };
    close(tiny(&[2.0, 4.0], &[10.0, 20.0], &halved), (e1 * 10.0 + e2 * 20.0) / (e1 + e2));
    // The cap: 2 tanh(s / 2).
    let capped = Options { soft_cap: Some(2.0), ..PLAIN };
    let (c1, c2) = ((2.0 * 0.5f64.tanh()).exp(), (2.0 * 2.0f64.tanh()).exp());
    close(tiny(&[1.0, 4.0], &[10.0, 20.0], &capped), (c1 * 10.0 + c2 * 20.0) / (c1 + c2));
    // A window of 2 sees the query's own key and the one before.
    let window = Options { sliding_window: Some(2), ..PLAIN };
    close(tiny(&[9.0, 1.0, 2.0], &[500.0, 10.0, 20.0], &window), (e1 * 10.0 + e2 * 20.0) / (e1 + e2));
    let one = Options { sliding_window: Some(1), ..PLAIN };
    close(tiny(&[9.0, 1.0, 2.0], &[500.0, 10.0, 20.0], &one), 20.0);
}

#[test]
fn scales_round_to_the_type_of_q() {
    // 3 * 0.1f32 rounded to bf16 is 0.30078125; 5 * 0.7 likewise 3.5.
    let extents = Extents {
        tokens: 1,
        q_heads: 1,
        kv_heads: 1,
        head_dim: 2,
        page_size: 1,
        pages_per_seq: 2,
        q_dtype: DType::Bf16,
        kv_dtype: DType::I8,
    };
    let batch = extents.batch(&[(1, 2)], &mut Stream(1), &mut |role, key, element, _| match role {
        Role::Query => 1.0,
        Role::Key => {
            if key == 1 && element == 0 {
                3.0
            } else {
                0.0
            }
        }
        Role::Value => [[5.0, -7.0], [0.0, 127.0]][key][element],
    });
    let options = Options { k_scale: Some(0.1), v_scale: Some(0.7), ..PLAIN };
    let reference = exact(&batch, &options);
    let weight = 1.0 / (1.0 + 0.30078125f64.exp());
    let bf16 = |value: f32| f64::from(countersign_dtype::round_to(DType::Bf16, value));
    let expected = [weight * bf16(3.5), weight * bf16(-7.0 * 0.7) + (1.0 - weight) * bf16(127.0 * 0.7)];
    approx::assert_relative_eq!(reference.values[..], expected[..], max_relative = 1e-14);
}

/// The definition again, element by element, as the upstream docstring tells it: every key scored, masked ones set aside.
fn second_derivation(batch: &Batch, options: &Options, index: usize) -> f64 {
    let shape = batch.shape().unwrap();
    let metadata = &batch.metadata;
    let (d, head) = (index % shape.head_dim, index / shape.head_dim % shape.q_heads);
    let row = (index / shape.head_dim / shape.q_heads) as i32;
    let sequence = metadata.cu_q_lens.iter().rposition(|&start| start <= row).unwrap();
    let (start, end) = (metadata.cu_q_lens[sequence], metadata.cu_q_lens[sequence + 1]);
    let kv_len = metadata.kv_lens[sequence];
    let position = kv_len - (end - start) + (row - start);
    let kv_head = head * shape.kv_heads / shape.q_heads;
    let cached = |key: i32, combined_head: usize, element: usize| {
        let (logical, slot) = (key as usize / shape.page_size, key as usize % shape.page_size);
        let page = metadata.page_indices[sequence * metadata.pages_per_seq + logical] as usize;
        let heads = 2 * shape.kv_heads;
        let flat = ((page * shape.page_size + slot) * heads + combined_head) * shape.head_dim + element;
        f64::from(batch.kv_pages.get_f32(flat))
    };
    let (mut numerator, mut denominator) = (0.0, 0.0);
    for key in 0..kv_len {
        let masked = position < key || options.sliding_window.is_some_and(|window| position - window >= key);
        if masked {
            continue;
        }
        let mut score = 0.0;
        for element in 0..shape.head_dim {
            let query = batch.q.get_f32((row as usize * shape.q_heads + head) * shape.head_dim + element);
            score += f64::from(query) * cached(key, 2 * kv_head, element);
        }
        score *= f64::from(options.sm_scale);
        if let Some(cap) = options.soft_cap {
            score = f64::from(cap) * (score / f64::from(cap)).tanh();
        }
        numerator += score.exp() * cached(key, 2 * kv_head + 1, d);
        denominator += score.exp();
    }
    numerator / denominator
}

fn options() -> impl Strategy<Value = Options> {
    let scale = prop_oneof![Just(1.0f32), Just(0.3), Just(-0.2)];
    let window = prop_oneof![Just(None), (1i32..30).prop_map(Some)];
    let cap = prop_oneof![Just(None), Just(Some(2.0f32)), Just(Some(-30.0))];
    (scale, window, cap).prop_map(|(sm_scale, sliding_window, soft_cap)| Options {
        sm_scale,
        sliding_window,
        soft_cap,
        ..PLAIN
    })
}

fn dtype() -> impl Strategy<Value = DType> {
    prop_oneof![Just(DType::F32), Just(DType::Bf16)]
}

/// Rows of q of one sequence, and its batch on its own.
fn alone(batch: &Batch, sequence: usize) -> (std::ops::Range<usize>, Batch) {
    let metadata = &batch.metadata;
    let (start, end) = (metadata.cu_q_lens[sequence] as usize, metadata.cu_q_lens[sequence + 1] as usize);
    let row_bytes = batch.q.bytes.len() / batch.q.shape[0];
    let mut single = batch.clone();
    single.metadata.kv_lens = vec![metadata.kv_lens[sequence]];
    let columns = metadata.pages_per_seq;
    single.metadata.page_indices =
        metadata.page_indices[sequence * columns..(sequence + 1) * columns].to_vec();
    single.metadata.cu_q_lens = vec![0, (end - start) as i32];
    single.metadata.num_seqs = 1;
    single.q.shape[0] = end - start;
    single.q.bytes = batch.q.bytes[start * row_bytes..end * row_bytes].to_vec();
    (start..end, single)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::with_cases(64) })]

    #[test]
    fn agrees_with_a_second_derivation(seed: u64, options in options(), dtype in dtype()) {
        let batch = normal_batch(seed, dtype);
        let reference = exact(&batch, &options);
        let total = *batch.metadata.cu_q_lens.last().unwrap() as usize;
        let row_len = batch.q.len() / batch.q.shape[0];
        for (row, status) in reference.rows.iter().enumerate() {
            prop_assert_eq!(matches!(status, RowStatus::Value { .. }), row < total);
        }
        for index in 0..batch.q.len() {
            if index / row_len >= total {
                prop_assert!(reference.values[index].is_nan() && reference.bounds[index].is_nan());
                continue;
            }
            let expected = second_derivation(&batch, &options, index);
            let (value, bound) = (reference.values[index], reference.bounds[index]);
            prop_assert!((value - expected).abs() <= 1e-5 * bound, "{} {} {}", value, expected, bound);
        }
    }

    #[test]
    fn a_sequence_alone_is_the_same(seed: u64, options in options(), dtype in dtype()) {
        let batch = normal_batch(seed, dtype);
        let reference = exact(&batch, &options);
        let row_len = batch.q.len() / batch.q.shape[0];
        for sequence in 0..batch.metadata.num_seqs as usize {
            let (rows, single) = alone(&batch, sequence);
            let of_one = exact(&single, &options);
            let elements = rows.start * row_len..rows.end * row_len;
            prop_assert_eq!(bits(&of_one.values), bits(&reference.values[elements.clone()]));
            prop_assert_eq!(bits(&of_one.bounds), bits(&reference.bounds[elements]));
        }
    }

    #[test]
    fn physical_pages_may_be_permuted(seed: u64, options in options()) {
        let batch = normal_batch(seed, DType::F32);
        let pages = batch.kv_pages.shape[0];
        let page_bytes = batch.kv_pages.bytes.len() / pages;
        let mut moved = batch.clone();
        for page in 0..pages {
            let target = pages - 1 - page;
            moved.kv_pages.bytes[target * page_bytes..(target + 1) * page_bytes]
                .copy_from_slice(&batch.kv_pages.bytes[page * page_bytes..(page + 1) * page_bytes]);
        }
        moved.metadata.page_indices.iter_mut().for_each(|page| *page = pages as i32 - 1 - *page);
        let (before, after) = (exact(&batch, &options), exact(&moved, &options));
        prop_assert_eq!(bits(&before.values), bits(&after.values));
        prop_assert_eq!(bits(&before.bounds), bits(&after.bounds));
    }

    #[test]
    fn a_window_over_everything_is_none(seed: u64) {
        let batch = normal_batch(seed, DType::F32);
        let longest = *batch.metadata.kv_lens.iter().max().unwrap();
        let none = exact(&batch, &PLAIN);
        for window in [longest, longest + 1, i32::MAX] {
            let windowed = exact(&batch, &Options { sliding_window: Some(window), ..PLAIN });
            prop_assert_eq!(bits(&none.values), bits(&windowed.values));
        }
    }

    #[test]
    fn ones_give_ones(seed: u64, options in options()) {
        let mut batch = normal_batch(seed, DType::F32);
        let shape = batch.shape().unwrap();
        for slot in 0..shape.pages * shape.page_size * shape.kv_heads {
            for element in 0..shape.head_dim {
                let index = (2 * slot + 1) * shape.head_dim + element;
                if !batch.kv_pages.get_f32(index).is_nan() {
                    batch.kv_pages.set_f32(index, 1.0);
                }
            }
        }
        for value in exact(&batch, &options).values.iter().filter(|value| !value.is_nan()) {
            prop_assert!((value - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn a_used_reference_gives_the_same(first: u64, second: u64, options in options()) {
        let (large, batch) = (normal_batch(first, DType::F32), normal_batch(second, DType::Bf16));
        let mut used = exact(&large, &PLAIN);
        attend_into(&mut used, &batch, &options, &BLOCKING, &Profile::EXACT);
        let fresh = exact(&batch, &options);
        prop_assert_eq!(&used.rows, &fresh.rows);
        prop_assert_eq!(bits(&used.values), bits(&fresh.values));
        prop_assert_eq!(bits(&used.bounds), bits(&fresh.bounds));
    }
}

#[test]
fn packed_types_are_read_where_they_lie() {
    // The same numbers as f32, int8 and int4 give the same attention.
    let extents = |kv_dtype| Extents {
        tokens: 4,
        q_heads: 4,
        kv_heads: 4,
        head_dim: 8,
        page_size: 2,
        pages_per_seq: 4,
        q_dtype: DType::F32,
        kv_dtype,
    };
    let of = |kv_dtype: DType| {
        let mut fill = |role: Role, _: usize, _: usize, stream: &mut Stream| match role {
            Role::Query => stream.normal(),
            _ => stream.between(0, 15) as f32 - 8.0,
        };
        let batch = extents(kv_dtype).batch(&[(2, 7)], &mut Stream(3), &mut fill);
        bits(&exact(&batch, &PLAIN).values[..2 * 32])
    };
    assert_eq!(of(DType::F32), of(DType::I8));
    assert_eq!(of(DType::F32), of(DType::I4));
    assert_eq!(of(DType::F32), of(DType::Bf16));
}

#[test]
fn misfits_are_undefined_not_a_panic() {
    let batch = normal_batch(1, DType::F32);
    let all = |batch: &Batch, options: &Options| {
        let reference = exact(batch, options);
        assert!(reference.values.iter().all(|value| value.is_nan()));
        match reference.rows[0] {
            RowStatus::Undefined { rule, .. } => {
                assert!(reference.rows.iter().all(|row| *row == reference.rows[0]));
                rule
            }
            RowStatus::Value { .. } => "none",
        }
    };
    let mut narrow = batch.clone();
    narrow.q = Array::zeros(DType::F32, &[16, 4, 5]);
    assert_eq!(all(&narrow, &PLAIN), "shapes-fit");
    let mut odd_heads = batch.clone();
    odd_heads.q = Array::zeros(DType::F32, &[16, 3, batch.q.shape[2]]);
    assert_eq!(all(&odd_heads, &PLAIN), "shapes-fit");
    assert_eq!(all(&batch, &Options { sliding_window: Some(0), ..PLAIN }), "options-defined");
    assert_eq!(all(&batch, &Options { soft_cap: Some(0.0), ..PLAIN }), "options-defined");
    assert_eq!(all(&batch, &Options { sm_scale: f32::NAN, ..PLAIN }), "options-defined");
}
