//! Reductions over the last dimension.
//!
//! Invariant: the order of a sum is fixed: eight partial sums (lane i goes to i mod 8, ascending), folded as
//! ((0+4)+(2+6)) + ((1+5)+(3+7)), then added to the accumulator. MLIR leaves the order open; this one vectorises and has
//! the smaller error bound. Where denormals flush, lanes and partial sums do. An undefined lane makes its row's result undefined.

use crate::program::Reduction;
use crate::value::{Dims, Grid, Pool, Row, Rows, Vector};

use super::arithmetic::flushed;
use super::scalar::{maximum, spread};
use crate::simd;

/// Reduces `a` of shape `from` over its last dimension onto `accumulator` of shape `to`.
pub(crate) fn last(
    reduction: Reduction,
    a: &Vector,
    accumulator: &Vector,
    from: &Dims,
    to: &Dims,
    flush: bool,
    pool: &mut Pool,
) -> Vector {
    let width = from.last();
    let full = a.lanes.expand(from, pool);
    let start = accumulator.lanes.expand(to, pool);
    let mut out = pool.take(to.len());
    simd::widest(
        #[inline(always)]
        || {
            let rows = full.lanes.chunks_exact(width.max(1)).zip(start.lanes.iter());
            for (slot, (row, &start)) in out.slots().iter_mut().zip(rows) {
                *slot = match reduction {
                    Reduction::AddF if flush => sum(row, f32::from_bits(start), flushed).to_bits(),
                    Reduction::AddF => sum(row, f32::from_bits(start), |value| value).to_bits(),
                    Reduction::MaximumF => largest(row, start),
                };
            }
        },
    );
    pool.give(full.lanes);
    let undefined = (a.undefined.is_some() || accumulator.undefined.is_some()).then(|| {
        let mut lanes = pool.take(to.len());
        let masks = lanes.slots();
        masks.fill(0);
        if let Some(grid) = &a.undefined {
            let mut rows = Rows::new(from, [&grid.dims]);
            for mask in masks.iter_mut() {
                let [at] = rows.next();
                *mask |= match grid.row(at, width) {
                    Row::Same(lane) => spread(lane),
                    Row::Each(row) => spread(row.iter().fold(0, |seen, &lane| seen | lane)),
                };
            }
        }
        if let Some(grid) = &accumulator.undefined {
            let grid = grid.expand(to, pool);
            masks.iter_mut().zip(grid.lanes.iter()).for_each(|(mask, &lane)| *mask |= spread(lane));
        }
        Grid::new(*to, lanes)
    });
    Vector { lanes: Grid::new(*to, out), undefined }
}

/// The largest of `start` and the row; the order doesn't matter but for which NaN it is.
#[inline(always)]
fn largest(row: &[u32], start: u32) -> u32 {
    let mut parts = [start; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for (part, &lane) in parts.iter_mut().zip(chunk) {
            *part = maximum(*part, lane);
        }
    }
    parts.iter().chain(rest).fold(start, |best, &lane| maximum(best, lane))
}

/// `start` plus the row; `rounded` is applied to every operand and result.
#[inline(always)]
fn sum(row: &[u32], start: f32, rounded: impl Fn(f32) -> f32) -> f32 {
    let add = |a, b| rounded(a + b);
    let mut parts = [0.0f32; 8];
    let (chunks, rest) = row.as_chunks::<8>();
    for chunk in chunks {
        for (part, &lane) in parts.iter_mut().zip(chunk) {
            *part = add(*part, rounded(f32::from_bits(lane)));
        }
    }
    for (part, &lane) in parts.iter_mut().zip(rest) {
        *part = add(*part, rounded(f32::from_bits(lane)));
    }
    let [a, b, c, d, e, f, g, h] = parts;
    add(add(add(add(a, e), add(c, g)), add(add(b, f), add(d, h))), rounded(start))
}
