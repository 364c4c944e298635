//! Operands of a product, laid out for its inner loops.
//!
//! Invariant: a line is a row of the left operand or a column of the right one, along the contracted dimension. What lies as
//! the loops want it and enters unchanged is borrowed; else it is copied once, by its strides.

use std::borrow::Cow;

use crate::ops::arithmetic::flushed;
use crate::ops::square::{SIDE, transposed};
use crate::value::{Grid, Pool};

use super::kernel::{COLUMNS, Panel};

/// What happens to an operand's lanes on their way in.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) integers: bool,
    pub(super) flush: bool,
    pub(super) round: bool,
}

impl Entry {
    fn is_plain(self) -> bool {
        !self.integers && !self.flush && !self.round
    }

    #[inline(always)]
    fn value(self, lane: u32) -> f32 {
        let value = if self.integers { lane as i32 as f32 } else { f32::from_bits(lane) };
        let value = if self.flush { flushed(value) } else { value };
        if self.round {
            countersign_dtype::bf16_bits_to_f32(countersign_dtype::f32_to_bf16_bits(value))
        } else {
            value
        }
    }
}

/// An operand: `lines` along the contracted dimension, each of `depth` entries.
pub(super) struct Operand<'a> {
    lanes: Cow<'a, Grid>,
    lines: usize,
    depth: usize,
    line_stride: usize,
    step: usize,
}

impl<'a> Operand<'a> {
    /// `contracts` is the contracted dimension of the two.
    pub(super) fn new(
        grid: &'a Grid,
        contracts: usize,
        [lines, depth]: [usize; 2],
        entry: Entry,
        pool: &mut Pool,
    ) -> Operand<'a> {
        let strides = grid.dims.broadcast_strides();
        let lanes = match entry.is_plain() {
            true => Cow::Borrowed(grid),
            false => Cow::Owned(grid.map(pool, |lane| entry.value(lane).to_bits())),
        };
        Operand { lanes, lines, depth, line_stride: strides[1 - contracts], step: strides[contracts] }
    }

    fn values(&self) -> &[f32] {
        bytemuck::cast_slice(&self.lanes.lanes)
    }

    #[inline(always)]
    fn value(&self, line: usize, k: usize) -> f32 {
        self.values()[line * self.line_stride + k * self.step]
    }

    /// Whether the lines lie one after the other.
    pub(super) fn is_by_lines(&self) -> bool {
        self.step == 1 && self.line_stride == self.depth
    }

    /// The lines one after the other: `[lines, depth]`; `out` is used where they don't lie so.
    pub(super) fn by_lines<'b>(&'b self, out: &'b mut [f32]) -> &'b [f32] {
        if self.is_by_lines() {
            return self.values();
        }
        for (line, slots) in out.chunks_exact_mut(self.depth.max(1)).enumerate() {
            slots.iter_mut().enumerate().for_each(|(k, slot)| *slot = self.value(line, k));
        }
        out
    }

    /// Elements of a buffer that [`Operand::panel`] may need.
    pub(super) fn panel_len(&self) -> usize {
        COLUMNS * self.depth
    }

    /// The [`COLUMNS`] lines from `first` on side by side, those past the last as zeros; in `out` unless they lie so.
    #[inline(always)]
    pub(super) fn panel<'b>(&'b self, first: usize, out: &'b mut [f32]) -> Panel<'b> {
        let count = COLUMNS.min(self.lines - first);
        if self.line_stride == 1 && self.step == COLUMNS && count == COLUMNS {
            return self.values().as_chunks().0;
        }
        let slots = out.as_chunks_mut::<COLUMNS>().0;
        if self.line_stride == 1 && self.step != 0 && count == COLUMNS {
            for (slots, row) in slots.iter_mut().zip(self.values().chunks(self.step)) {
                if let Some(lanes) = row[first..].first_chunk() {
                    *slots = *lanes;
                }
            }
        } else if self.step == 1 && self.line_stride != 0 {
            self.transpose(first, count, slots);
        } else {
            for (k, slots) in slots.iter_mut().enumerate() {
                for (i, slot) in slots.iter_mut().enumerate() {
                    *slot = if i < count { self.value(first + i, k) } else { 0.0 };
                }
            }
        }
        slots
    }

    /// In squares, which stay in registers.
    #[inline(always)]
    fn transpose(&self, first: usize, count: usize, slots: &mut [[f32; COLUMNS]]) {
        let lines: [&[f32]; COLUMNS] = std::array::from_fn(|i| match i < count {
            true => &self.values()[(first + i) * self.line_stride..][..self.depth],
            false => &[],
        });
        let (squares, rest) = slots.as_chunks_mut::<SIDE>();
        let whole = squares.len();
        for half in (0..COLUMNS).step_by(SIDE) {
            let lines: [&[[f32; SIDE]]; SIDE] = std::array::from_fn(|i| lines[half + i].as_chunks().0);
            // All lines at hand: one length, so that no place is checked.
            if let [a, b, c, d, e, f, g, h] = lines
                && lines.iter().all(|line| line.len() == whole)
            {
                let pairs = a.iter().zip(b).zip(c.iter().zip(d));
                let others = e.iter().zip(f).zip(g.iter().zip(h));
                for (slots, (((a, b), (c, d)), ((e, f), (g, h)))) in squares.iter_mut().zip(pairs.zip(others))
                {
                    put(slots, half, [*a, *b, *c, *d, *e, *f, *g, *h]);
                }
            } else {
                for (square, slots) in squares.iter_mut().enumerate() {
                    put(
                        slots,
                        half,
                        std::array::from_fn(|i| lines[i].get(square).copied().unwrap_or_default()),
                    );
                }
            }
        }
        for (k, slots) in rest.iter_mut().enumerate() {
            *slots = std::array::from_fn(|i| lines[i].get(whole * SIDE + k).copied().unwrap_or_default());
        }
    }
}

/// Transposes a square into half of a panel's columns.
#[inline(always)]
fn put(slots: &mut [[f32; COLUMNS]; SIDE], half: usize, rows: [[f32; SIDE]; SIDE]) {
    for (slots, column) in slots.iter_mut().zip(transposed(rows)) {
        slots[half..half + SIDE].copy_from_slice(&column);
    }
}
