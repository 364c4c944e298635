//! Matrix products with f32 accumulation.
//!
//! Invariant: each element is one chain of fused multiply-adds, k ascending, starting from the accumulator; so the result
//! doesn't depend on vector width or tiling. `f32::mul_add` is exact everywhere (in software where the hardware has none).
//! An undefined operand lane
//! makes its whole row or column undefined: 0 times undefined is undefined, as 0 times NaN is NaN on hardware. Where
//! denormals flush, operands do on their way in (before they are rounded) and the sum does after every step.

mod kernel;
mod pack;

use crate::program::Matmul;
use crate::value::{Dims, Grid, Pool, Row, Rows, Vector};

use super::arithmetic::Arithmetic;
use super::scalar::spread;
use pack::{Entry, Operand};

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
    let flush = arithmetic.flush_denormals;
    let round = arithmetic.matmul == MatmulMode::Bf16x1 && !op.exact;
    let (rows, columns, depth) = (op.to.get(0), op.to.get(1), op.lhs_dims.get(op.lhs_contracts));
    let entry = |integers| Entry { integers, flush, round };
    let a = Operand::new(&lhs.lanes, op.lhs_contracts, [rows, depth], entry(op.lhs_integers), pool);
    let b = Operand::new(&rhs.lanes, op.rhs_contracts, [columns, depth], entry(op.rhs_integers), pool);
    let mut out = pool.take(op.to.len());
    let mut start = None;
    if accumulator.lanes.is_splat() {
        start = Some(f32::from_bits(accumulator.lanes.lanes[0]));
    } else {
        let sums = accumulator.lanes.expand(&op.to, pool);
        out.slots().copy_from_slice(&sums.lanes);
        pool.give(sums.lanes);
    }
    let mut buffers = [pool.take(if a.is_by_lines() { 0 } else { rows * depth }), pool.take(b.panel_len())];
    {
        let [lines, panel] = buffers.each_mut().map(|lanes| bytemuck::cast_slice_mut(lanes.slots()));
        let sums = bytemuck::cast_slice_mut(out.slots());
        let lines = a.by_lines(lines);
        match flush {
            true => kernel::product::<true>(lines, &b, start, sums, [depth, columns], panel),
            false => kernel::product::<false>(lines, &b, start, sums, [depth, columns], panel),
        }
    }
    buffers.into_iter().for_each(|lanes| pool.give(lanes));
    let undefined = undefined(op, lhs, rhs, accumulator, pool);
    Vector { lanes: Grid::new(op.to, out), undefined }
}

/// What undefined operands spoil: whole rows, whole columns, single sums; stored no wider than that.
fn undefined(op: &Matmul, lhs: &Vector, rhs: &Vector, accumulator: &Vector, pool: &mut Pool) -> Option<Grid> {
    let rows = lhs.undefined.as_ref().map(|masks| lines(masks, &op.lhs_dims, op.lhs_contracts, 0, pool));
    let columns = rhs.undefined.as_ref().map(|masks| lines(masks, &op.rhs_dims, op.rhs_contracts, 1, pool));
    let sums = accumulator.undefined.as_ref().map(|masks| masks.map(pool, spread));
    let either = |a: Option<Grid>, b: Option<Grid>, pool: &mut Pool| match (a, b) {
        (Some(a), Some(b)) => Some(a.zip(&b, pool, |a, b| a | b)),
        (a, b) => a.or(b),
    };
    let lines = either(rows, columns, pool);
    either(lines, sums, pool)
}

/// Which rows of the product (`kept` 0) or columns (1) an operand of extents `dims` spoils.
fn lines(masks: &Grid, dims: &Dims, contracts: usize, kept: usize, pool: &mut Pool) -> Grid {
    let mut stored = Dims::ones(2);
    stored.set(kept, dims.get(1 - contracts));
    let mut lanes = pool.take(stored.len());
    let lines = lanes.slots();
    lines.fill(0);
    let mut rows = Rows::new(dims, [&masks.dims]);
    for line in 0..dims.get(0) {
        let [at] = rows.next();
        match (masks.row(at, dims.get(1)), contracts) {
            (Row::Same(0), _) => {}
            (Row::Same(_), 0) => lines.fill(u32::MAX),
            (Row::Same(_), _) => lines[line] = u32::MAX,
            (Row::Each(row), 0) => lines.iter_mut().zip(row).for_each(|(line, &mask)| *line |= spread(mask)),
            (Row::Each(row), _) => lines[line] = spread(row.iter().fold(0, |seen, &mask| seen | mask)),
        }
    }
    Grid::new(stored, lanes)
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
