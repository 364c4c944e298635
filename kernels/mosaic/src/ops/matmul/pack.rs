//! Operands of a product, laid out for its inner loops.
//!
//! Invariant: a line is a row of the left operand or a column of the right one, along the contracted dimension. Operands
//! stored over fewer dimensions than they have are read by their strides, without being spread out first.

use crate::ops::arithmetic::flushed;
use crate::value::Grid;

/// What happens to an operand's lanes on their way in.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) integers: bool,
    pub(super) flush: bool,
    pub(super) round: bool,
}

impl Entry {
    #[inline(always)]
    fn value(self, lane: u32) -> f32 {
        let value = if self.integers { lane as i32 as f32 } else { f32::from_bits(lane) };
        let value = if self.flush { flushed(value) } else { value };
        if self.round { round_to_bf16(value) } else { value }
    }
}

fn round_to_bf16(value: f32) -> f32 {
    countersign_dtype::bf16_bits_to_f32(countersign_dtype::f32_to_bf16_bits(value))
}

/// An operand as lines (rows of the left one, columns of the right one) along the contracted dimension.
pub(super) struct Operand<'a> {
    lanes: &'a [u32],
    line_stride: usize,
    step: usize,
    entry: Entry,
}

impl<'a> Operand<'a> {
    pub(super) fn new(grid: &'a Grid, contracts: usize, entry: Entry) -> Operand<'a> {
        let strides = grid.dims.broadcast_strides();
        Operand { lanes: &grid.lanes, line_stride: strides[1 - contracts], step: strides[contracts], entry }
    }

    /// Packs `N` lines side by side: `[lines / N, depth, N]`, the last ones filled up with zeros.
    #[inline(always)]
    pub(super) fn pack<const N: usize>(&self, out: &mut [f32], lines: usize, depth: usize) {
        let entry = self.entry;
        match (entry.integers, entry.flush || entry.round) {
            (false, false) => self.pack_as::<N>(out, lines, depth, |lane| f32::from_bits(lane)),
            _ => self.pack_as::<N>(out, lines, depth, |lane| entry.value(lane)),
        }
    }

    #[inline(always)]
    fn pack_as<const N: usize>(
        &self,
        out: &mut [f32],
        lines: usize,
        depth: usize,
        value: impl Fn(u32) -> f32 + Copy,
    ) {
        if depth == 0 {
            return;
        }
        for (tile, slots) in out.chunks_exact_mut(N * depth).enumerate() {
            let (first, count) = (tile * N, N.min(lines - tile * N));
            let slots = slots.as_chunks_mut::<N>().0;
            if count < N {
                slots.fill([0.0; N]);
            }
            if self.line_stride == 1 && count == N {
                for (k, slots) in slots.iter_mut().enumerate() {
                    if let Some(lanes) = self.lanes[k * self.step + first..].first_chunk::<N>() {
                        *slots = lanes.map(value);
                    }
                }
            } else if self.step == 1 {
                for i in 0..count {
                    let at = (first + i) * self.line_stride;
                    for (slots, &lane) in slots.iter_mut().zip(&self.lanes[at..at + depth]) {
                        slots[i] = value(lane);
                    }
                }
            } else {
                for (k, slots) in slots.iter_mut().enumerate() {
                    for (i, slot) in slots.iter_mut().enumerate().take(count) {
                        *slot = value(self.lanes[(first + i) * self.line_stride + k * self.step]);
                    }
                }
            }
        }
    }
}
