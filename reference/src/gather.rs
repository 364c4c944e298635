//! A gather from a paged cache: the last tokens of each sequence, as many as it has rows, widened and scaled, in consecutive rows.
//!
//! Row r of a sequence with rows `start..end` and `kv_len` tokens holds token `kv_len - (end - r)`: its combined heads, K at even and V
//! at odd places, each times its scale.
//!
//! The bound: a stored value widens to f32 exactly, so one product is rounded, by at most 2^-24 of its magnitude, or by half of the
//! smallest denormal; where a device flushes denormals, by at most the smallest normal number instead. The output is f32. Without a
//! scale nothing is rounded, and a flush is all that may happen.
//!
//! Invariant: a row depends on its own token's values; on nothing else of the cache.

use countersign_dtype::read_f32;

use crate::ragged::{Sequence, row_statuses, sequences};
use crate::{Batch, Options, Profile, Reference, RowStatus, Shape, paging, rule};

/// The gather of a batch, whose q has the output's shape. Rows without a value have NaN as value and bound.
pub fn gather(batch: &Batch, options: &Options, profile: &Profile) -> Reference {
    let mut reference = Reference {
        rows: Vec::new(),
        values: vec![f64::NAN; batch.q.len()],
        bounds: vec![f64::NAN; batch.q.len()],
    };
    let shape = batch.shape().filter(|shape| shape.q_heads == 2 * shape.kv_heads);
    let Some(shape) = shape else {
        let rows = batch.q.shape.first().copied().unwrap_or(0);
        let undefined = RowStatus::Undefined { rule: rule::SHAPES_FIT, sequence: None };
        reference.rows.resize(rows, undefined);
        return reference;
    };
    row_statuses(batch, &shape, &mut reference.rows);
    for sequence in sequences(batch, &shape).filter(Sequence::has_values) {
        for row in sequence.rows.clone() {
            if reference.rows[row] == (RowStatus::Value { sequence: sequence.index })
                && !fill(batch, &shape, options, profile, &sequence, row, &mut reference)
            {
                reference.rows[row] =
                    RowStatus::Undefined { rule: rule::OWNED_VALUES_FINITE, sequence: Some(sequence.index) };
            }
        }
    }
    reference
}

/// One row; false, and nothing written, where a value isn't finite.
fn fill(
    batch: &Batch,
    shape: &Shape,
    options: &Options,
    profile: &Profile,
    sequence: &Sequence,
    row: usize,
    reference: &mut Reference,
) -> bool {
    let position = sequence.first_position + (row - sequence.rows.start);
    let pages = paging::pages_in_use(&batch.metadata, sequence.index, sequence.kv_len, shape.page_size);
    let slot = pages[position / shape.page_size] as usize * shape.page_size + position % shape.page_size;
    let width = shape.q_heads * shape.head_dim;
    let mut stored = vec![0.0f32; width];
    read_f32(batch.kv_pages.dtype, &batch.kv_pages.bytes, slot * width, &mut stored);
    let scale = |lane: usize| {
        if (lane / shape.head_dim).is_multiple_of(2) { options.k_scale } else { options.v_scale }
    };
    let scaled = |(lane, value): (usize, &f32)| f64::from(*value) * f64::from(scale(lane).unwrap_or(1.0));
    let values: Vec<f64> = stored.iter().enumerate().map(scaled).collect();
    if !values.iter().all(|value| (*value as f32).is_finite()) {
        return false;
    }
    for (lane, value) in values.into_iter().enumerate() {
        let rounding = match scale(lane) {
            Some(_) => value.abs() * 2f64.powi(-24) + 2f64.powi(-150),
            None => 0.0,
        };
        let flush = if profile.flush_denormals { f64::from(f32::MIN_POSITIVE) } else { 0.0 };
        reference.values[row * width + lane] = value;
        // A stored denormal that is flushed before a large scale is as far off as the product is large.
        let lost = flush * f64::from(scale(lane).unwrap_or(1.0)).abs().max(1.0);
        reference.bounds[row * width + lane] = rounding + lost;
    }
    true
}
