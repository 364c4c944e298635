//! Matrix products with f32 accumulation.
//!
//! Invariant: each element is one chain of fused multiply-adds, k ascending, starting from the accumulator; so the result
//! doesn't depend on vector width or tiling. `f32::mul_add` is exact everywhere (in software where the hardware has none).
//! An undefined operand lane
//! makes its whole row or column undefined: 0 times undefined is undefined, as 0 times NaN is NaN on hardware. Where
//! denormals flush, operands do on their way in (before they are rounded) and the sum does after every step.

use crate::program::Matmul;
use crate::value::{Dims, Grid, Pool, Row, Rows, Vector};

use super::arithmetic::{Arithmetic, flushed};
use super::simd;

/// How f32 operands enter a product. Narrower operands are always exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatmulMode {
    /// As they are.
    #[default]
    Exact,
    /// Rounded to bf16, one pass: what a TPU does by default.
    Bf16x1,
}

/// The product of a lowered `tpu.matmul`.
pub(crate) fn matmul(
    op: &Matmul,
    lhs: &Vector,
    rhs: &Vector,
    accumulator: &Vector,
    arithmetic: &Arithmetic,
    pool: &mut Pool,
) -> Vector {
    let round = arithmetic.matmul == MatmulMode::Bf16x1 && !op.exact;
    let flush = arithmetic.flush_denormals;
    let shape = Shape { rows: op.to.get(0), columns: op.to.get(1), depth: op.lhs_dims.get(op.lhs_contracts) };
    let a = Operand::new(&lhs.lanes, op.lhs_contracts, Entry { integers: op.lhs_integers, flush, round });
    let b = Operand::new(&rhs.lanes, op.rhs_contracts, Entry { integers: op.rhs_integers, flush, round });
    let mut out = pool.take(op.to.len());
    let start = accumulator.lanes.expand(&op.to, pool);
    out.slots().copy_from_slice(&start.lanes);
    pool.give(start.lanes);
    let mut packed = [pool.take(shape.packed_rows()), pool.take(shape.packed_columns())];
    {
        let [rows, columns] = packed.each_mut().map(|lanes| bytemuck::cast_slice_mut(lanes.slots()));
        let sums = bytemuck::cast_slice_mut(out.slots());
        simd::widest(
            #[inline(always)]
            || {
                a.pack::<ROWS>(rows, shape.rows, shape.depth);
                b.pack::<COLUMNS>(columns, shape.columns, shape.depth);
                match flush {
                    true => product::<true>(rows, columns, sums, &shape),
                    false => product::<false>(rows, columns, sums, &shape),
                }
            },
        );
    }
    packed.into_iter().for_each(|lanes| pool.give(lanes));
    let undefined = undefined(op, lhs, rhs, accumulator, pool);
    Vector { lanes: Grid::new(op.to, out), undefined }
}

fn undefined(op: &Matmul, lhs: &Vector, rhs: &Vector, accumulator: &Vector, pool: &mut Pool) -> Option<Grid> {
    if lhs.undefined.is_none() && rhs.undefined.is_none() && accumulator.undefined.is_none() {
        return None;
    }
    let columns = op.to.get(1);
    let mut grid = pool.take(op.to.len());
    let masks = grid.slots();
    masks.fill(0);
    if let Some(lhs) = &lhs.undefined {
        let lines = undefined_lines(lhs, &op.lhs_dims, op.lhs_contracts);
        for (row, _) in masks.chunks_exact_mut(columns.max(1)).zip(lines).filter(|(_, undefined)| *undefined)
        {
            row.fill(u32::MAX);
        }
    }
    if let Some(rhs) = &rhs.undefined {
        let lines = undefined_lines(rhs, &op.rhs_dims, op.rhs_contracts);
        if lines.contains(&true) {
            for row in masks.chunks_exact_mut(columns.max(1)) {
                for (mask, &undefined) in row.iter_mut().zip(&lines) {
                    *mask |= u32::from(undefined).wrapping_neg();
                }
            }
        }
    }
    if let Some(start) = &accumulator.undefined {
        let full = start.expand(&op.to, pool);
        for (mask, &lane) in masks.iter_mut().zip(full.lanes.iter()) {
            *mask |= u32::from(lane != 0).wrapping_neg();
        }
    }
    Some(Grid::new(op.to, grid))
}

/// Which rows (or columns) of the product an operand of extents `dims` spoils.
fn undefined_lines(masks: &Grid, dims: &Dims, contracts: usize) -> Vec<bool> {
    let mut lines = vec![false; dims.get(1 - contracts)];
    let mut rows = Rows::new(dims, [&masks.dims]);
    for line in 0..dims.get(0) {
        let [at] = rows.next();
        let row = masks.row(at, dims.get(1));
        match (row, contracts) {
            (Row::Same(0), _) => {}
            (Row::Same(_), 0) => lines.fill(true),
            (Row::Same(_), _) => lines[line] = true,
            (Row::Each(row), 0) => {
                lines.iter_mut().zip(row).for_each(|(line, &mask)| *line |= mask != 0);
            }
            (Row::Each(row), _) => lines[line] = row.iter().fold(0, |seen, &mask| seen | mask) != 0,
        }
    }
    lines
}

/// Rows and columns of a register tile: eight accumulators of eight lanes.
const ROWS: usize = 4;
const COLUMNS: usize = 16;

struct Shape {
    rows: usize,
    columns: usize,
    depth: usize,
}

impl Shape {
    fn packed_rows(&self) -> usize {
        self.rows.next_multiple_of(ROWS) * self.depth
    }

    fn packed_columns(&self) -> usize {
        self.columns.next_multiple_of(COLUMNS) * self.depth
    }
}

/// What happens to an operand's lanes on their way in.
#[derive(Clone, Copy)]
struct Entry {
    integers: bool,
    flush: bool,
    round: bool,
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
struct Operand<'a> {
    lanes: &'a [u32],
    line_stride: usize,
    step: usize,
    entry: Entry,
}

impl<'a> Operand<'a> {
    fn new(grid: &'a Grid, contracts: usize, entry: Entry) -> Operand<'a> {
        let strides = grid.dims.broadcast_strides();
        Operand { lanes: &grid.lanes, line_stride: strides[1 - contracts], step: strides[contracts], entry }
    }

    /// Packs `N` lines side by side: `[lines / N, depth, N]`, the last ones filled up with zeros.
    #[inline(always)]
    fn pack<const N: usize>(&self, out: &mut [f32], lines: usize, depth: usize) {
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

/// `sums += rows * columns` over packed operands; with `FLUSH`, denormal sums become 0.
#[inline(always)]
fn product<const FLUSH: bool>(rows: &[f32], columns: &[f32], sums: &mut [f32], shape: &Shape) {
    let depth = shape.depth;
    if depth == 0 {
        if FLUSH {
            sums.iter_mut().for_each(|sum| *sum = flushed(*sum));
        }
        return;
    }
    for (right_tile, right) in columns.chunks_exact(COLUMNS * depth).enumerate() {
        let column = right_tile * COLUMNS;
        let width = COLUMNS.min(shape.columns - column);
        for (left_tile, left) in rows.chunks_exact(ROWS * depth).enumerate() {
            let row = left_tile * ROWS;
            let height = ROWS.min(shape.rows - row);
            let mut tile = [[0.0f32; COLUMNS]; ROWS];
            for (i, line) in tile.iter_mut().enumerate().take(height) {
                let at = (row + i) * shape.columns + column;
                line[..width].copy_from_slice(&sums[at..at + width]);
            }
            let done = chains::<FLUSH>(&tile, left, right);
            for (i, line) in done.iter().enumerate().take(height) {
                let at = (row + i) * shape.columns + column;
                sums[at..at + width].copy_from_slice(&line[..width]);
            }
        }
    }
}

/// A tile of sums continued over packed lines.
#[inline(always)]
fn chains<const FLUSH: bool>(
    start: &[[f32; COLUMNS]; ROWS],
    left: &[f32],
    right: &[f32],
) -> [[f32; COLUMNS]; ROWS] {
    // Kept in registers: the loops have constant bounds and nothing indexes the tile by a variable.
    let mut tile = [[0.0f32; COLUMNS]; ROWS];
    for i in 0..ROWS {
        for j in 0..COLUMNS {
            tile[i][j] = if FLUSH { flushed(start[i][j]) } else { start[i][j] };
        }
    }
    for (left, right) in left.as_chunks::<ROWS>().0.iter().zip(right.as_chunks::<COLUMNS>().0) {
        for i in 0..ROWS {
            for j in 0..COLUMNS {
                tile[i][j] = step::<FLUSH>(left[i], right[j], tile[i][j]);
            }
        }
    }
    tile
}

/// One link of a chain.
#[inline(always)]
fn step<const FLUSH: bool>(left: f32, right: f32, sum: f32) -> f32 {
    let sum = left.mul_add(right, sum);
    if FLUSH { flushed(sum) } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::arithmetic::Arithmetic;

    /// `scale` moves the products towards denormals; says whether one occurred.
    fn check(scale: f32, flush: bool) -> bool {
        let mut flushes = false;
        for (rows, columns, depth) in
            [(1, 1, 1), (4, 16, 7), (5, 17, 32), (9, 40, 128), (16, 2, 128), (3, 3, 0)]
        {
            for (lhs_contracts, rhs_contracts) in [(1, 0), (1, 1), (0, 0)] {
                let value = |i: usize| ((i * 2_654_435_761) % 1000) as f32 / 997.0 - 0.5;
                let a = |row: usize, k: usize| value(row * depth + k) * scale;
                let b = |k: usize, column: usize| value(k * columns + column + 17);
                let (m, n, d) = (rows, columns, depth);
                let lhs_shape = if lhs_contracts == 1 { [m, d] } else { [d, m] };
                let rhs_shape = if rhs_contracts == 0 { [d, n] } else { [n, d] };
                let vector = |shape: [usize; 2], f: &dyn Fn(usize, usize) -> f32| {
                    let lanes: Vec<u32> =
                        (0..shape[0] * shape[1]).map(|i| f(i / shape[1], i % shape[1]).to_bits()).collect();
                    Vector::defined(Grid::new(Dims::new(&shape).unwrap(), lanes))
                };
                let lhs = vector(lhs_shape, &|i, j| if lhs_contracts == 1 { a(i, j) } else { a(j, i) });
                let rhs = vector(rhs_shape, &|i, j| if rhs_contracts == 0 { b(i, j) } else { b(j, i) });
                let start = 0.25 * scale;
                let accumulator = Vector::defined(Grid::splat(2, start.to_bits()));
                let op = Matmul {
                    lhs: 0,
                    rhs: 0,
                    accumulator: 0,
                    lhs_dims: lhs.lanes.dims,
                    rhs_dims: rhs.lanes.dims,
                    lhs_contracts,
                    rhs_contracts,
                    lhs_integers: false,
                    rhs_integers: false,
                    exact: false,
                    to: Dims::new(&[rows, columns]).unwrap(),
                };
                let arithmetic = Arithmetic { flush_denormals: flush, ..Arithmetic::default() };
                let product = matmul(&op, &lhs, &rhs, &accumulator, &arithmetic, &mut Pool::default());
                let zeroed = |sum: f32| if flush && sum.is_subnormal() { 0.0 * sum } else { sum };
                for row in 0..rows {
                    for column in 0..columns {
                        let chain = (0..depth).fold(zeroed(start), |sum, k| {
                            let sum = zeroed(a(row, k)).mul_add(zeroed(b(k, column)), sum);
                            flushes |= sum.is_subnormal();
                            zeroed(sum)
                        });
                        assert_eq!(product.lanes.lanes[row * columns + column], chain.to_bits());
                    }
                }
            }
        }
        flushes
    }

    #[test]
    fn tiles_edges_and_layouts_agree_to_the_bit_with_the_plain_chain() {
        for scale in [1.0, f32::MIN_POSITIVE * 4.0] {
            check(scale, false);
            let flushes = check(scale, true);
            assert_eq!(flushes, scale < 1.0, "the test must meet denormal sums");
        }
    }
}
