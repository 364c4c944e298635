//! Reductions over the last dimension.
//!
//! Invariant: the order of a sum is fixed: eight partial sums (lane i goes to i mod 8, ascending), folded as
//! ((0+4)+(2+6)) + ((1+5)+(3+7)), then added to the accumulator. MLIR leaves the order open; this one vectorises and has
//! the smaller error bound. A maximum's order decides only which NaN it is. Where denormals flush, lanes and partial sums do. An undefined lane makes its row's result undefined.

use crate::program::Reduction;
use crate::value::{Dims, Grid, Pool, Row, Rows, Vector};

use super::arithmetic::flushed;
use super::scalar::{maximum, spread};
use super::square::{SIDE, transposed};
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
            let (lanes, starts, slots) = (&full.lanes[..], &start.lanes[..], out.slots());
            match reduction {
                Reduction::AddF if flush => {
                    rows(lanes, starts, slots, |_| 0, zeroed, |a, b| zeroed(add(a, b)));
                }
                Reduction::AddF => rows(lanes, starts, slots, |_| 0, |lane| lane, add),
                Reduction::MaximumF => rows(lanes, starts, slots, |start| start, |lane| lane, maximum),
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

/// A denormal's zero.
#[inline(always)]
fn zeroed(lane: u32) -> u32 {
    flushed(f32::from_bits(lane)).to_bits()
}

#[inline(always)]
fn add(a: u32, b: u32) -> u32 {
    (f32::from_bits(a) + f32::from_bits(b)).to_bits()
}

/// Each row onto its start. `first` gives what a partial result begins with, `enter` is applied to every operand.
#[inline(always)]
fn rows(
    lanes: &[u32],
    starts: &[u32],
    slots: &mut [u32],
    first: impl Fn(u32) -> u32,
    enter: impl Fn(u32) -> u32,
    combine: impl Fn(u32, u32) -> u32,
) {
    let width = lanes.len() / starts.len().max(1);
    let row = |index: usize| (&lanes[index * width..(index + 1) * width], first(starts[index]));
    // Eight rows side by side; those that are left, one by one.
    let (blocks, rest) = slots.as_chunks_mut::<SIDE>();
    let left = blocks.len() * SIDE;
    for (block, slots) in blocks.iter_mut().enumerate() {
        // A loop: the compiler doesn't inline what makes an array of a function.
        let mut square = [[0; SIDE]; SIDE];
        for (i, line) in square.iter_mut().enumerate() {
            *line = parts(row(block * SIDE + i), &enter, &combine);
        }
        for (slot, &start) in slots.iter_mut().zip(&starts[block * SIDE..]) {
            *slot = enter(start);
        }
        let columns = bytemuck::cast(transposed(bytemuck::cast(square)));
        *slots = fold(columns, *slots, &combine);
    }
    for (i, slot) in rest.iter_mut().enumerate() {
        let columns = parts(row(left + i), &enter, &combine).map(|part| [part]);
        [*slot] = fold(columns, [enter(starts[left + i])], &combine);
    }
}

/// The partial results of a row, all of which begin with `first`.
#[inline(always)]
fn parts(
    (row, first): (&[u32], u32),
    enter: impl Fn(u32) -> u32,
    combine: impl Fn(u32, u32) -> u32,
) -> [u32; SIDE] {
    let mut parts = [first; SIDE];
    let (chunks, rest) = row.as_chunks::<SIDE>();
    for chunk in chunks {
        parts.iter_mut().zip(chunk).for_each(|(part, &lane)| *part = combine(*part, enter(lane)));
    }
    parts.iter_mut().zip(rest).for_each(|(part, &lane)| *part = combine(*part, enter(lane)));
    parts
}

/// The partial results of some rows, and their starts, to one result a row.
#[inline(always)]
fn fold<const ROWS: usize>(
    [a, b, c, d, e, f, g, h]: [[u32; ROWS]; SIDE],
    starts: [u32; ROWS],
    combine: impl Fn(u32, u32) -> u32,
) -> [u32; ROWS] {
    let both = |mut a: [u32; ROWS], b: [u32; ROWS]| {
        a.iter_mut().zip(b).for_each(|(a, b)| *a = combine(*a, b));
        a
    };
    both(both(both(both(a, e), both(c, g)), both(both(b, f), both(d, h))), starts)
}
