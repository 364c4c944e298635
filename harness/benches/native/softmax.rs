//! Masks, the running maximum and the running sum, sixteen rows at a time.
//!
//! Invariant: after a block, `sum` belongs to weights relative to `max`, and `kept` is what the sums of earlier blocks count
//! for relative to it.

use countersign_reference::Options;

use super::functions::{exp, tanh};
use super::{LANES, Lanes};

/// Per row of a query block.
#[derive(Debug)]
pub(super) struct Rows {
    /// Place of the row's token among its sequence's keys.
    positions: Vec<[i32; LANES]>,
    max: Vec<Lanes>,
    sum: Vec<Lanes>,
    kept: Vec<Lanes>,
}

impl Rows {
    pub(super) fn new(chunks: usize) -> Rows {
        let lanes = vec![[0.0; LANES]; chunks];
        Rows { positions: vec![[0; LANES]; chunks], max: lanes.clone(), sum: lanes.clone(), kept: lanes }
    }

    /// Starts a sequence: row r is of the token at `first_position` + r / `group`.
    #[inline(always)]
    pub(super) fn begin(&mut self, first_position: i32, group: usize) {
        for (row, position) in self.positions.as_flattened_mut().iter_mut().enumerate() {
            *position = first_position + (row / group) as i32;
        }
        self.max.fill([f32::NEG_INFINITY; LANES]);
        self.sum.fill([0.0; LANES]);
    }

    /// Factors for the sums of earlier blocks, by row.
    pub(super) fn kept(&self) -> &[Lanes] {
        &self.kept
    }

    /// A row's sum of weights.
    pub(super) fn sum(&self, row: usize) -> f32 {
        self.sum[row / LANES][row % LANES]
    }

    /// From products of query and key to weights, in place; `count` keys, the first of them at position `first`.
    #[inline(always)]
    pub(super) fn weigh(&mut self, scores: &mut [Lanes], first: i32, count: usize, options: &Options) {
        let room = scores.len() / self.max.len();
        for (chunk, scores) in scores.chunks_exact_mut(room).enumerate() {
            let scores = &mut scores[..count];
            let positions = &self.positions[chunk];
            let before = self.max[chunk];
            let mut max = before;
            for (key, scores) in (first..).zip(scores.iter_mut()) {
                for score in scores.iter_mut() {
                    *score *= options.sm_scale;
                }
                if let Some(cap) = options.soft_cap {
                    for score in scores.iter_mut() {
                        *score = cap * tanh(*score / cap);
                    }
                }
                let oldest = options.sliding_window.map_or(i32::MIN, |window| key.saturating_add(window));
                for lane in 0..LANES {
                    let position = positions[lane];
                    let masked = (position < key) | (options.sliding_window.is_some() & (position >= oldest));
                    scores[lane] += if masked { options.mask_value } else { 0.0 };
                    max[lane] = max[lane].max(scores[lane]);
                }
            }
            let mut sum = [0.0; LANES];
            for scores in scores.iter_mut() {
                for lane in 0..LANES {
                    scores[lane] = exp(scores[lane] - max[lane]);
                    sum[lane] += scores[lane];
                }
            }
            for lane in 0..LANES {
                let kept = exp(before[lane] - max[lane]);
                self.kept[chunk][lane] = kept;
                self.sum[chunk][lane] = kept.mul_add(self.sum[chunk][lane], sum[lane]);
            }
            self.max[chunk] = max;
        }
    }
}
