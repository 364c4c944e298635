//! Matrix products with f32 accumulation.
//!
//! Invariant: each element is one chain of fused multiply-adds, k ascending, starting from the accumulator; so the result
//! doesn't depend on vector width. `f32::mul_add` is exact everywhere (in software where the hardware has none); on
//! x86-64 the same code is compiled a second time with AVX2 and FMA and chosen at run time. An undefined operand lane
//! makes its whole row or column undefined: 0 times undefined is undefined, as 0 times NaN is NaN on hardware. Where
//! denormals flush, operands do on their way in (before they are rounded) and the sum does after every step.

use crate::program::Matmul;
use crate::value::{Grid, Pool, Vector};

use super::arithmetic::{Arithmetic, flushed};
use super::scalar::Unary;

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
    let (rows, columns, depth) = (op.to.get(0), op.to.get(1), op.lhs_dims.get(op.lhs_contracts));
    let mut prepare = |grid: &Grid, dims, integers: bool, transpose: bool| {
        let mut full = grid.expand(dims, pool);
        if integers {
            full = Unary::IntToFloat.grid(pool, &full);
        }
        if flush {
            full = flushed_grid(&full, pool);
        }
        if round {
            full = Unary::RoundBf16.grid(pool, &full);
        }
        if transpose { transposed(&full, dims.get(0), dims.get(1), pool) } else { full }
    };
    let a = prepare(&lhs.lanes, &op.lhs_dims, op.lhs_integers, op.lhs_contracts == 0);
    let b = prepare(&rhs.lanes, &op.rhs_dims, op.rhs_integers, op.rhs_contracts == 1);
    let mut start = accumulator.lanes.expand(&op.to, pool);
    if flush {
        start = flushed_grid(&start, pool);
    }
    let mut out = pool.take(op.to.len());
    out.slots().copy_from_slice(&start.lanes);
    {
        let (a, b) = (bytemuck::cast_slice(&a.lanes[..]), bytemuck::cast_slice(&b.lanes[..]));
        let c = bytemuck::cast_slice_mut(out.slots());
        if flush {
            product::<true>(a, b, c, rows, columns, depth);
        } else {
            product::<false>(a, b, c, rows, columns, depth);
        }
    }
    for grid in [a, b, start] {
        pool.give(grid.lanes);
    }
    let undefined = undefined(op, lhs, rhs, accumulator, pool);
    Vector { lanes: Grid::new(op.to, out), undefined }
}

fn flushed_grid(grid: &Grid, pool: &mut Pool) -> Grid {
    grid.map(pool, |lane| flushed(f32::from_bits(lane)).to_bits())
}

fn undefined(op: &Matmul, lhs: &Vector, rhs: &Vector, accumulator: &Vector, pool: &mut Pool) -> Option<Grid> {
    if lhs.undefined.is_none() && rhs.undefined.is_none() && accumulator.undefined.is_none() {
        return None;
    }
    let (rows, columns) = (op.to.get(0), op.to.get(1));
    let mut grid = pool.take(op.to.len());
    let masks = grid.slots();
    masks.fill(0);
    let lines = |grid: &Grid, dims: &crate::value::Dims, contracts: usize, pool: &mut Pool| {
        let full = grid.expand(dims, pool);
        let mut line = vec![false; dims.get(1 - contracts)];
        for (i, &mask) in full.lanes.iter().enumerate() {
            let at = if contracts == 1 { i / dims.get(1) } else { i % dims.get(1) };
            line[at] |= mask != 0;
        }
        line
    };
    if let Some(grid) = &lhs.undefined {
        for (row, _) in
            lines(grid, &op.lhs_dims, op.lhs_contracts, pool).iter().enumerate().filter(|(_, bad)| **bad)
        {
            masks[row * columns..(row + 1) * columns].fill(u32::MAX);
        }
    }
    if let Some(grid) = &rhs.undefined {
        for (column, _) in
            lines(grid, &op.rhs_dims, op.rhs_contracts, pool).iter().enumerate().filter(|(_, bad)| **bad)
        {
            for row in 0..rows {
                masks[row * columns + column] = u32::MAX;
            }
        }
    }
    if let Some(grid) = &accumulator.undefined {
        let full = grid.expand(&op.to, pool);
        for (mask, &lane) in masks.iter_mut().zip(full.lanes.iter()) {
            *mask |= u32::from(lane != 0).wrapping_neg();
        }
    }
    Some(Grid::new(op.to, grid))
}

fn transposed(grid: &Grid, rows: usize, columns: usize, pool: &mut Pool) -> Grid {
    let mut lanes = pool.take(rows * columns);
    let out = lanes.slots();
    const TILE: usize = 8;
    for row in (0..rows).step_by(TILE) {
        for column in (0..columns).step_by(TILE) {
            for i in row..(row + TILE).min(rows) {
                for j in column..(column + TILE).min(columns) {
                    out[j * rows + i] = grid.lanes[i * columns + j];
                }
            }
        }
    }
    let mut dims = grid.dims;
    dims.set(0, columns);
    dims.set(1, rows);
    Grid::new(dims, lanes)
}

/// `c += a b` for row-major `a [rows, depth]`, `b [depth, columns]`, `c [rows, columns]`; with `FLUSH`, denormal sums become 0.
fn product<const FLUSH: bool>(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    rows: usize,
    columns: usize,
    depth: usize,
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        #[target_feature(enable = "avx2,fma")]
        fn wide<const FLUSH: bool>(
            a: &[f32],
            b: &[f32],
            c: &mut [f32],
            rows: usize,
            columns: usize,
            depth: usize,
        ) {
            tiled::<FLUSH>(a, b, c, rows, columns, depth);
        }
        // SAFETY: the two features that `wide` is compiled for were detected on this processor just above; the function
        // is safe code otherwise.
        #[allow(unsafe_code)]
        unsafe {
            wide::<FLUSH>(a, b, c, rows, columns, depth);
        }
        return;
    }
    tiled::<FLUSH>(a, b, c, rows, columns, depth);
}

/// Register tiles of 4 rows by 16 columns; the edges element by element. Every element's chain is the same.
#[inline(always)]
fn tiled<const FLUSH: bool>(a: &[f32], b: &[f32], c: &mut [f32], rows: usize, columns: usize, depth: usize) {
    const R: usize = 4;
    const C: usize = 16;
    let (full_rows, full_columns) = (rows / R * R, columns / C * C);
    for row in (0..full_rows).step_by(R) {
        for column in (0..full_columns).step_by(C) {
            let mut tile = [[0.0f32; C]; R];
            for (i, line) in tile.iter_mut().enumerate() {
                let at = (row + i) * columns + column;
                line.copy_from_slice(&c[at..at + C]);
            }
            for k in 0..depth {
                let at = k * columns + column;
                let Some(right) = b[at..].first_chunk::<C>() else { break };
                for (i, line) in tile.iter_mut().enumerate() {
                    let left = a[(row + i) * depth + k];
                    for (sum, &right) in line.iter_mut().zip(right) {
                        *sum = step::<FLUSH>(left, right, *sum);
                    }
                }
            }
            for (i, line) in tile.iter().enumerate() {
                let at = (row + i) * columns + column;
                c[at..at + C].copy_from_slice(line);
            }
        }
    }
    edge::<FLUSH>(a, b, c, 0..full_rows, full_columns..columns, columns, depth);
    edge::<FLUSH>(a, b, c, full_rows..rows, 0..columns, columns, depth);
}

/// One link of a chain.
#[inline(always)]
fn step<const FLUSH: bool>(left: f32, right: f32, sum: f32) -> f32 {
    let sum = left.mul_add(right, sum);
    if FLUSH { flushed(sum) } else { sum }
}

#[inline(always)]
fn edge<const FLUSH: bool>(
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    rows: std::ops::Range<usize>,
    columns: std::ops::Range<usize>,
    width: usize,
    depth: usize,
) {
    for row in rows {
        for k in 0..depth {
            let left = a[row * depth + k];
            let right = &b[k * width + columns.start..k * width + columns.end];
            let sums = &mut c[row * width + columns.start..row * width + columns.end];
            for (sum, &right) in sums.iter_mut().zip(right) {
                *sum = step::<FLUSH>(left, right, *sum);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `scale` moves the products towards denormals.
    fn check<const FLUSH: bool>(scale: f32) -> bool {
        let mut flushes = false;
        for (rows, columns, depth) in [(1, 1, 1), (4, 16, 7), (5, 17, 32), (9, 40, 128), (16, 2, 128)] {
            let value = |i: usize| ((i * 2_654_435_761) % 1000) as f32 / 997.0 - 0.5;
            let a: Vec<f32> = (0..rows * depth).map(|i| value(i) * scale).collect();
            let b: Vec<f32> = (0..depth * columns).map(|i| value(i + 17)).collect();
            let start = 0.25 * scale;
            let mut c = vec![start; rows * columns];
            product::<FLUSH>(&a, &b, &mut c, rows, columns, depth);
            for row in 0..rows {
                for column in 0..columns {
                    let chain = (0..depth).fold(start, |sum, k| {
                        let sum = a[row * depth + k].mul_add(b[k * columns + column], sum);
                        flushes |= sum.is_subnormal();
                        if FLUSH && sum.is_subnormal() { 0.0 * sum } else { sum }
                    });
                    assert_eq!(c[row * columns + column].to_bits(), chain.to_bits());
                }
            }
        }
        flushes
    }

    #[test]
    fn tiles_edges_and_dispatch_agree_to_the_bit_with_the_plain_chain() {
        for scale in [1.0, f32::MIN_POSITIVE * 4.0] {
            check::<false>(scale);
            let flushes = check::<true>(scale);
            assert_eq!(flushes, scale < 1.0, "the test must meet denormal sums");
        }
    }
}
