//! How near a batch comes to where f32 itself ends, and the bound says nothing.
//!
//! # Where attention by blocks leaves f32
//!
//! The kernel masks by adding, and computes with every key of a sequence, seen or not. So all rows and all keys count:
//!
//! - a dot product may overflow in a partial sum or when it is scaled: `dot` must stay below 2^127;
//! - a masked score is score + mask_value. It must not reach -inf (a leading block of -inf gives exp(-inf + inf) = NaN), so
//!   |score| < f32::MAX - |mask_value|; and it must lie so far below any score that its weight is 0 (exp(-104) is, in f32),
//!   so 2 |score| < |mask_value| - 104. Both: [`Magnitudes::score_limit`];
//! - block sums x_b are finite if sum |v| over a block is, also where all its keys are masked (weights are 1 there).
//!   The rescaled sum (alpha l) o carries *all* earlier blocks, so what must stay below 2^127 is the sum over the whole
//!   sequence: `v_sum`. Blocks that are each below the limit can overflow together.
//!
//! Invariant: these are upper bounds: a batch below the limits keeps the kernel inside f32.

use countersign_dtype::read_f32;

use crate::lanes::{LANES, Lanes, dot, fill_lanes, groups};
use crate::quant::HeadCache;
use crate::ragged::{Sequence, sequences};
use crate::{Batch, Options};

/// The largest magnitudes that a batch makes a kernel compute with, over the sequences that break no rule of metadata.
/// Values that aren't finite are infinite here.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Magnitudes {
    /// sum_k |q_k k_jk| max(1, |scale|), at any row, head and key of one sequence. Never too small; exact from 2^96 on.
    pub dot: f64,
    /// |score| as it meets the mask: `dot` scaled, or the soft cap if that is less.
    pub score: f64,
    /// sum_j |v_jd| over all keys of a sequence, at any head and element.
    pub v_sum: f64,
}

impl Magnitudes {
    /// Where dot products and sums of values must stay below: 2^127.
    pub const SUM_LIMIT: f64 = (1u128 << 127) as f64;

    /// Where scores must stay below, given a finite mask value (see the module's text).
    pub fn score_limit(options: &Options) -> f64 {
        let mask = f64::from(options.mask_value).abs();
        (f64::from(f32::MAX) - mask).min((mask - 104.0) / 2.0)
    }
}

/// Computes [`Magnitudes`]. Costs a pass over q and the owned cache, and more only where values are enormous.
pub fn magnitudes(batch: &Batch, options: &Options) -> Magnitudes {
    const ENORMOUS: f64 = (1u128 << 96) as f64;
    let mut largest = Magnitudes::default();
    let Some(shape) = batch.shape() else { return largest };
    let scale = f64::from(options.sm_scale).abs();
    let queries_per_key = shape.q_heads / shape.kv_heads;
    let groups = groups(shape.head_dim);
    let mut cache = HeadCache::default();
    let mut stored = vec![0.0; shape.head_dim];
    let mut queries: Vec<Lanes> = Vec::new();
    let mut products = 0.0f64; // sum |q k|
    for sequence in sequences(batch, &shape).filter(Sequence::has_values) {
        for kv_head in 0..shape.kv_heads {
            cache.gather(batch, &shape, options, &sequence, kv_head);
            let heads = kv_head * queries_per_key..(kv_head + 1) * queries_per_key;
            let vectors = sequence.rows.clone().flat_map(|row| heads.clone().map(move |head| (row, head)));
            queries.resize(sequence.rows.len() * queries_per_key * groups, [0.0; LANES]);
            for (query, (row, head)) in queries.chunks_mut(groups).zip(vectors) {
                let first = (row * shape.q_heads + head) * shape.head_dim;
                read_f32(batch.q.dtype, &batch.q.bytes, first, &mut stored);
                fill_lanes(&stored, query);
            }
            let norms = longest(&queries, groups) * longest(&cache.keys, groups);
            products = products.max(if norms < ENORMOUS {
                norms
            } else {
                let keys = || cache.keys.chunks(groups);
                let pairs = queries.chunks(groups).flat_map(|query| keys().map(move |key| dot(query, key).1));
                pairs.map(finite_or_infinite).fold(0.0, f64::max)
            });
            for group in cache.values.chunks(sequence.kv_len) {
                let mut sum = [0.0; LANES];
                for value in group {
                    for lane in 0..LANES {
                        sum[lane] += value[lane].abs();
                    }
                }
                largest.v_sum = sum.into_iter().map(finite_or_infinite).fold(largest.v_sum, f64::max);
            }
        }
    }
    largest.dot = finite_or_infinite(products * scale.max(1.0));
    let cap = options.soft_cap.map_or(f64::INFINITY, |cap| f64::from(cap).abs());
    largest.score = finite_or_infinite(products * scale).min(cap);
    largest
}

/// The largest Euclidean norm of a vector, so that sum |q_k k_k| <= |q| |k|.
fn longest(vectors: &[Lanes], groups: usize) -> f64 {
    let norm = |vector: &[Lanes]| finite_or_infinite(dot(vector, vector).1.sqrt());
    vectors.chunks(groups).map(norm).fold(0.0, f64::max)
}

fn finite_or_infinite(value: f64) -> f64 {
    if value.is_nan() { f64::INFINITY } else { value }
}
