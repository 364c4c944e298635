//! Other values of K and V, in batches whose metadata stay as they are.
//!
//! Invariant: only what the batch owns is changed.

use countersign_dtype::{Array, DType, round_to};
use countersign_kernels::Variant;
use countersign_reference::Batch;

use super::{Expectation, Follow};
use crate::payload::{Stream, kv_slots, sequences};

/// Query tokens of a kept batch.
pub(super) fn total(batch: &Batch) -> usize {
    let meta = &batch.metadata;
    let end = meta.cu_q_lens.get(meta.sequences_in_table()).copied().unwrap_or(0);
    usize::try_from(end).unwrap_or(0)
}

fn identity(batch: &Batch) -> Vec<(usize, usize)> {
    (0..total(batch)).map(|row| (row, row)).collect()
}

/// Elements of the cache that the batch owns: those of K if `odd` is 0, of V if it is 1; each once.
fn owned(variant: &Variant, batch: &Batch, odd: usize) -> Vec<usize> {
    let slots =
        (0..sequences(&batch.metadata)).flat_map(|sequence| kv_slots(variant, &batch.metadata, sequence));
    let mut slots: Vec<usize> = slots.collect();
    slots.sort_unstable();
    slots.dedup();
    let dim = variant.head_dim;
    let rows = slots
        .iter()
        .flat_map(|slot| (0..variant.kv_heads).map(move |head| 2 * (slot * variant.kv_heads + head) + odd));
    rows.flat_map(|row| row * dim..(row + 1) * dim).collect()
}

fn wide(dtype: DType) -> bool {
    matches!(dtype, DType::F32 | DType::Bf16)
}

fn edited(array: &mut Array, elements: &[usize], change: impl Fn(usize, f32) -> f32) {
    for &element in elements {
        let value = array.get_f32(element);
        array.set_f32(element, change(element, value));
    }
}

/// V times 2: exact where no value comes near the ends of the exponent's range.
pub(super) fn doubled(variant: &Variant, batch: &Batch, _stream: &mut Stream) -> Option<Follow> {
    let elements = owned(variant, batch, 1);
    let middling = |value: f32| value == 0.0 || (2f32.powi(-60)..2f32.powi(60)).contains(&value.abs());
    if !wide(variant.kv_dtype) || !elements.iter().all(|&element| middling(batch.kv_pages.get_f32(element))) {
        return None;
    }
    let mut second = batch.clone();
    edited(&mut second.kv_pages, &elements, |_, value| 2.0 * value);
    let heads = (0..variant.q_heads).collect();
    let expectation = Expectation::Rows { pairs: identity(batch), heads, factor: 2.0 };
    Some(Follow { first: None, second, expectation })
}

/// Every V is 1, and so is every row: times the scale, as q's type holds it.
pub(super) fn ones(variant: &Variant, batch: &Batch, _stream: &mut Stream) -> Option<Follow> {
    let mut second = batch.clone();
    edited(&mut second.kv_pages, &owned(variant, batch, 1), |_, _| 1.0);
    let value = variant.options.v_scale.map_or(1.0, |scale| round_to(variant.q_dtype, scale));
    let expectation = Expectation::Constant { rows: total(batch), value: f64::from(value) };
    Some(Follow { first: None, second, expectation })
}

/// The last query token of a sequence, with its K and V, is another one: no earlier row may see that.
pub(super) fn last_token(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    let meta = &batch.metadata;
    let several = |&sequence: &usize| meta.cu_q_lens[sequence + 1] - meta.cu_q_lens[sequence] > 1;
    let candidates: Vec<usize> = (0..sequences(meta)).filter(several).collect();
    if candidates.is_empty() {
        return None;
    }
    let chosen = candidates[stream.below(candidates.len() as u64) as usize];
    let slots: Vec<usize> = kv_slots(variant, meta, chosen).collect();
    let (first, last) = (*slots.first()?, *slots.last()?);
    let shared = (0..sequences(meta))
        .filter(|sequence| *sequence != chosen)
        .any(|sequence| kv_slots(variant, meta, sequence).any(|slot| slot == last));
    if shared || first == last {
        return None;
    }
    let mut second = batch.clone();
    let copy = |bytes: &mut [u8], rows: usize, from: usize, to: usize| {
        let row = bytes.len() / rows;
        bytes.copy_within(from * row..(from + 1) * row, to * row);
    };
    copy(&mut second.kv_pages.bytes, variant.pages * variant.page_size, first, last);
    let start = usize::try_from(meta.cu_q_lens[chosen]).ok()?;
    let end = usize::try_from(meta.cu_q_lens[chosen + 1]).ok()?;
    copy(&mut second.q.bytes, variant.tokens, start, end - 1);
    let pairs = identity(batch).into_iter().filter(|(row, _)| *row != end - 1).collect();
    Some(Follow::same_rows(variant, second, pairs))
}

/// One vector added to every K moves all scores of a row by one number. So that the sums are exact, K is first rounded to
/// sixteenths below 4, in both batches.
pub(super) fn shifted_keys(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    let options = &variant.options;
    if !wide(variant.kv_dtype) || options.k_scale.is_some() || options.soft_cap.is_some() {
        return None;
    }
    let elements = owned(variant, batch, 0);
    let offsets: Vec<f32> = (0..variant.head_dim).map(|_| stream.below(3) as f32 * 0.5 - 0.5).collect();
    let mut first = batch.clone();
    edited(&mut first.kv_pages, &elements, |_, value| (value.clamp(-3.5, 3.5) * 16.0).round() / 16.0);
    let mut second = first.clone();
    edited(&mut second.kv_pages, &elements, |element, value| value + offsets[element % variant.head_dim]);
    let follow = Follow::same_rows(variant, second, identity(batch));
    Some(Follow { first: Some(first), ..follow })
}
