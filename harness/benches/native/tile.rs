//! Both matrix products, in register tiles of four lines by sixteen lanes.
//!
//! Invariant: an element is one chain of fused multiply-adds over ascending terms.

use super::{LANES, Lanes};

/// Lines of a tile: eight accumulators, as many as two units of four cycles' latency keep busy.
pub(super) const LINES: usize = 4;

/// `start` plus the sum over the terms of each of the four factors times the lanes.
#[inline(always)]
fn accumulate<'a>(
    start: [Lanes; LINES],
    terms: impl Iterator<Item = ([f32; LINES], &'a Lanes)>,
) -> [Lanes; LINES] {
    let mut tile = start;
    for (factors, lanes) in terms {
        for (line, factor) in tile.iter_mut().zip(factors) {
            for (sum, &lane) in line.iter_mut().zip(lanes) {
                *sum = factor.mul_add(lane, *sum);
            }
        }
    }
    tile
}

/// Query times key. `queries [row chunk][element]`, `keys [key][element]`, `scores [row chunk][key]`, whose chunks hold as
/// many keys as there is room for; `count` of them, rounded up to [`LINES`], are written.
#[inline(always)]
pub(super) fn scores(queries: &[Lanes], keys: &[f32], head_dim: usize, count: usize, scores: &mut [Lanes]) {
    let room = keys.len() / head_dim;
    for (queries, scores) in queries.chunks_exact(head_dim).zip(scores.chunks_exact_mut(room)) {
        let lines = keys.chunks_exact(LINES * head_dim).zip(scores.as_chunks_mut::<LINES>().0);
        for (keys, scores) in lines.take(count.div_ceil(LINES)) {
            let (a, rest) = keys.split_at(head_dim);
            let (b, rest) = rest.split_at(head_dim);
            let (c, d) = rest.split_at(head_dim);
            let factors = a.iter().zip(b).zip(c).zip(d).map(|(((a, b), c), d)| [*a, *b, *c, *d]);
            *scores = accumulate([[0.0; LANES]; LINES], factors.zip(queries));
        }
    }
}

/// Keys whose values and weights stay in the first cache while they meet all rows and columns.
const KEYS: usize = 128;

/// `sums = kept * sums + weights * values`. `weights [row chunk][key]`, `values [column chunk][key]` with room for `room` keys,
/// of which `count` take part; `sums [column chunk][row]`; `kept [row]`.
#[inline(always)]
pub(super) fn mix(
    weights: &[Lanes],
    values: &[Lanes],
    room: usize,
    count: usize,
    kept: &[Lanes],
    sums: &mut [Lanes],
) {
    let weights_room = weights.len() / kept.len();
    for first in (0..count).step_by(KEYS) {
        let keys = first..count.min(first + KEYS);
        for (values, sums) in values.chunks_exact(room).zip(sums.chunks_exact_mut(kept.len() * LANES)) {
            let values = &values[keys.clone()];
            let rows = sums.as_chunks_mut::<LANES>().0.iter_mut().zip(kept);
            for ((sums, kept), weights) in rows.zip(weights.chunks_exact(weights_room)) {
                let weights = &weights[keys.clone()];
                for (quarter, sums) in sums.as_chunks_mut::<LINES>().0.iter_mut().enumerate() {
                    let four = |lanes: &Lanes| lanes.as_chunks::<LINES>().0[quarter];
                    let mut start = *sums;
                    if first == 0 {
                        for (line, factor) in start.iter_mut().zip(four(kept)) {
                            for sum in line.iter_mut() {
                                *sum *= factor;
                            }
                        }
                    }
                    *sums = accumulate(start, weights.iter().map(four).zip(values));
                }
            }
        }
    }
}
