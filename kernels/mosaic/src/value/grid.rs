//! Lanes of a vector, stored only over the dimensions that they vary in.
//!
//! Invariant: `lanes.len() == dims.len()`; each stored extent is the logical one or 1 (the lanes don't vary there).
//! The logical shape is the op's static result type; grids of one op have equal rank and broadcast against each other.

use crate::simd;

use super::dims::{Dims, MAX_RANK};
use super::pool::{Lanes, Pool};

/// A broadcastable array of 32-bit lanes.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    pub(crate) dims: Dims,
    pub(crate) lanes: Lanes,
}

impl Grid {
    pub(crate) fn new(dims: Dims, lanes: impl Into<Lanes>) -> Grid {
        let lanes = lanes.into();
        debug_assert_eq!(dims.len(), lanes.len());
        Grid { dims, lanes }
    }

    /// The same lane everywhere.
    pub(crate) fn splat(rank: usize, lane: u32) -> Grid {
        Grid { dims: Dims::ones(rank), lanes: Lanes::one(lane) }
    }

    /// Whether every lane is the same stored one.
    pub(crate) fn is_splat(&self) -> bool {
        self.lanes.len() == 1
    }

    /// One result lane per lane.
    #[inline(always)]
    pub(crate) fn map(&self, pool: &mut Pool, f: impl Fn(u32) -> u32) -> Grid {
        let mut out = pool.take(self.lanes.len());
        for (slot, &lane) in out.slots().iter_mut().zip(self.lanes.iter()) {
            *slot = f(lane);
        }
        Grid::new(self.dims, out)
    }

    /// One result lane per pair of lanes, broadcasting.
    #[inline(always)]
    pub(crate) fn zip(&self, other: &Grid, pool: &mut Pool, f: impl Fn(u32, u32) -> u32) -> Grid {
        if self.dims == other.dims {
            let mut out = pool.take(self.lanes.len());
            for ((slot, &a), &b) in out.slots().iter_mut().zip(self.lanes.iter()).zip(other.lanes.iter()) {
                *slot = f(a, b);
            }
            return Grid::new(self.dims, out);
        }
        if other.is_splat() {
            let b = other.lanes[0];
            return self.map(pool, |a| f(a, b));
        }
        if self.is_splat() {
            let a = self.lanes[0];
            return other.map(pool, |b| f(a, b));
        }
        let dims = self.dims.broadcast(&other.dims);
        let mut out = pool.take(dims.len());
        let width = dims.last();
        let (a_wide, b_wide) = (self.dims.last() == width, other.dims.last() == width);
        let mut rows = Rows::new(&dims, [&self.dims, &other.dims]);
        for slots in out.slots().chunks_exact_mut(width) {
            let [a, b] = rows.next();
            match (a_wide, b_wide) {
                (true, true) => {
                    let (a, b) = (&self.lanes[a..a + width], &other.lanes[b..b + width]);
                    for ((slot, &a), &b) in slots.iter_mut().zip(a).zip(b) {
                        *slot = f(a, b);
                    }
                }
                (true, false) => {
                    let (a, b) = (&self.lanes[a..a + width], other.lanes[b]);
                    for (slot, &a) in slots.iter_mut().zip(a) {
                        *slot = f(a, b);
                    }
                }
                (false, _) => {
                    let (a, b) = (self.lanes[a], &other.lanes[b..b + width]);
                    for (slot, &b) in slots.iter_mut().zip(b) {
                        *slot = f(a, b);
                    }
                }
            }
        }
        Grid::new(dims, out)
    }

    /// Lanes of `on` where `self` is non-zero, of `off` elsewhere, broadcasting. Whole arms are shared, not copied.
    pub(crate) fn select(&self, on: &Grid, off: &Grid, pool: &mut Pool) -> Grid {
        simd::widest(
            #[inline(always)]
            || self.select_lanes(on, off, pool),
        )
    }

    #[inline(always)]
    fn select_lanes(&self, on: &Grid, off: &Grid, pool: &mut Pool) -> Grid {
        let any = self.lanes.iter().fold(0, |seen, &lane| seen | lane) != 0;
        if !any {
            return off.clone();
        }
        if self.lanes.iter().fold(true, |all, &lane| all & (lane != 0)) {
            return on.clone();
        }
        let dims = self.dims.broadcast(&on.dims).broadcast(&off.dims);
        let width = dims.last();
        let mut out = pool.take(dims.len());
        let mut rows = Rows::new(&dims, [&self.dims, &on.dims, &off.dims]);
        for slots in out.slots().chunks_exact_mut(width) {
            let [c, a, b] = rows.next();
            let (on, off) = (on.row(a, width), off.row(b, width));
            match self.row(c, width) {
                Row::Same(0) => off.copy_to(slots),
                Row::Same(_) => on.copy_to(slots),
                Row::Each(flags) => match (on, off) {
                    (Row::Same(x), Row::Same(y)) => {
                        slots
                            .iter_mut()
                            .zip(flags)
                            .for_each(|(slot, &flag)| *slot = if flag != 0 { x } else { y });
                    }
                    (Row::Each(x), Row::Same(y)) => {
                        for ((slot, &flag), &x) in slots.iter_mut().zip(flags).zip(x) {
                            *slot = if flag != 0 { x } else { y };
                        }
                    }
                    (Row::Same(x), Row::Each(y)) => {
                        for ((slot, &flag), &y) in slots.iter_mut().zip(flags).zip(y) {
                            *slot = if flag != 0 { x } else { y };
                        }
                    }
                    (Row::Each(x), Row::Each(y)) => {
                        for (((slot, &flag), &x), &y) in slots.iter_mut().zip(flags).zip(x).zip(y) {
                            *slot = if flag != 0 { x } else { y };
                        }
                    }
                },
            }
        }
        Grid::new(dims, out)
    }

    /// [`Grid::select`] where the arm `on` isn't needed any more: it keeps its lanes where nobody else refers to them.
    pub(crate) fn select_over(&self, mut on: Grid, off: &Grid, pool: &mut Pool) -> Grid {
        if self.lanes.iter().fold(true, |all, &lane| all & (lane != 0)) {
            return on;
        }
        let dims = self.dims.broadcast(&on.dims).broadcast(&off.dims);
        if on.dims != dims || !on.lanes.is_unique() {
            let selected = self.select(&on, off, pool);
            pool.give(on.lanes);
            return selected;
        }
        let width = dims.last();
        let mut rows = Rows::new(&dims, [&self.dims, &off.dims]);
        simd::widest(
            #[inline(always)]
            || {
                for slots in on.lanes.slots().chunks_exact_mut(width.max(1)) {
                    let [c, at] = rows.next();
                    let off = off.row(at, width);
                    match (self.row(c, width), off) {
                        (Row::Same(0), off) => off.copy_to(slots),
                        (Row::Same(_), _) => {}
                        (Row::Each(flags), Row::Same(y)) => {
                            for (slot, &flag) in slots.iter_mut().zip(flags) {
                                *slot = if flag != 0 { *slot } else { y };
                            }
                        }
                        (Row::Each(flags), Row::Each(y)) => {
                            for ((slot, &flag), &y) in slots.iter_mut().zip(flags).zip(y) {
                                *slot = if flag != 0 { *slot } else { y };
                            }
                        }
                    }
                }
            },
        );
        on
    }

    /// The same grid stored over `dims`.
    pub(crate) fn expand(&self, dims: &Dims, pool: &mut Pool) -> Grid {
        if self.dims == *dims {
            return self.clone();
        }
        let mut out = pool.take(dims.len());
        let width = dims.last();
        if self.is_splat() {
            out.slots().fill(self.lanes[0]);
            return Grid::new(*dims, out);
        }
        let wide = self.dims.last() == width;
        let mut rows = Rows::new(dims, [&self.dims]);
        for slots in out.slots().chunks_exact_mut(width.max(1)) {
            let [at] = rows.next();
            if wide {
                slots.copy_from_slice(&self.lanes[at..at + width]);
            } else {
                slots.fill(self.lanes[at]);
            }
        }
        Grid::new(*dims, out)
    }

    /// The same lanes under another logical shape (row-major order kept): `from` and `to` are the logical shapes.
    pub(crate) fn reshape(&self, from: &Dims, to: &Dims, pool: &mut Pool) -> Grid {
        if self.is_splat() {
            return Grid { dims: Dims::ones(to.rank()), lanes: self.lanes.clone() };
        }
        if let Some(dims) = reshaped(&self.dims, from, to) {
            return Grid { dims, lanes: self.lanes.clone() };
        }
        let full = self.expand(from, pool);
        Grid { dims: *to, lanes: full.lanes }
    }

    /// The same grid with leading dimensions of extent 1 added up to `rank`.
    pub(crate) fn raise(&self, rank: usize) -> Grid {
        let mut dims = Dims::ones(rank);
        let lead = rank - self.dims.rank();
        for dim in 0..self.dims.rank() {
            dims.set(lead + dim, self.dims.get(dim));
        }
        Grid { dims, lanes: self.lanes.clone() }
    }

    /// The row of `width` lanes that is stored from `at` on (see [`Rows`]).
    pub(crate) fn row(&self, at: usize, width: usize) -> Row<'_> {
        match self.dims.last() == width {
            true => Row::Each(&self.lanes[at..at + width]),
            false => Row::Same(self.lanes[at]),
        }
    }

    /// Drops the last dimension's storage where each row is uniform. Gives up at the first row that isn't.
    pub(crate) fn compact_rows(self, pool: &mut Pool) -> Grid {
        let width = self.dims.last();
        if width <= 1 || !self.lanes.chunks_exact(width).all(uniform) {
            return self;
        }
        let mut dims = self.dims;
        dims.set(dims.rank() - 1, 1);
        let mut out = pool.take(dims.len());
        for (slot, row) in out.slots().iter_mut().zip(self.lanes.chunks_exact(width)) {
            *slot = row[0];
        }
        pool.give(self.lanes);
        Grid::new(dims, out)
    }
}

fn uniform(row: &[u32]) -> bool {
    let first = row[0];
    row[row.len() - 1] == first && row.iter().fold(0, |seen, &lane| seen | (lane ^ first)) == 0
}

/// Stored extents after a reshape, if the stored lanes can be kept as they are: the shapes split into runs of dimensions
/// with equal products, and each run must be stored whole or not at all.
fn reshaped(stored: &Dims, from: &Dims, to: &Dims) -> Option<Dims> {
    let mut out = Dims::ones(to.rank());
    let (mut i, mut j) = (0, 0);
    while i < from.rank() || j < to.rank() {
        let (run_i, run_j) = (i, j);
        let (mut left, mut right) = (1usize, 1usize);
        // A run starts with at least one dimension of each side where there is one.
        if i < from.rank() {
            left = from.get(i);
            i += 1;
        }
        if j < to.rank() {
            right = to.get(j);
            j += 1;
        }
        while left != right {
            if left < right {
                if i == from.rank() {
                    return None;
                }
                left *= from.get(i);
                i += 1;
            } else {
                if j == to.rank() {
                    return None;
                }
                right *= to.get(j);
                j += 1;
            }
        }
        let whole = (run_i..i).all(|dim| stored.get(dim) == from.get(dim));
        let none = (run_i..i).all(|dim| stored.get(dim) == 1);
        if whole {
            for dim in run_j..j {
                out.set(dim, to.get(dim));
            }
        } else if !none {
            return None;
        }
    }
    Some(out)
}

/// A row of lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row<'a> {
    Same(u32),
    Each(&'a [u32]),
}

impl Row<'_> {
    #[inline(always)]
    pub(crate) fn lane(self, index: usize) -> u32 {
        match self {
            Row::Same(lane) => lane,
            Row::Each(lanes) => lanes[index],
        }
    }

    fn copy_to(self, slots: &mut [u32]) {
        match self {
            Row::Same(lane) => slots.fill(lane),
            Row::Each(lanes) => slots.copy_from_slice(lanes),
        }
    }

    /// Whether every lane is `lane`, as far as that is known without looking at each.
    pub(crate) fn is(self, lane: u32) -> bool {
        matches!(self, Row::Same(same) if same == lane)
    }

    /// Whether no lane is 0.
    pub(crate) fn all_on(self) -> bool {
        match self {
            Row::Same(lane) => lane != 0,
            Row::Each(lanes) => lanes.iter().all(|&lane| lane != 0),
        }
    }
}

/// Walks the rows (all dimensions but the last) of a broadcast, yielding each operand's offset at the row's start.
pub(crate) struct Rows<const N: usize> {
    dims: Dims,
    strides: [[usize; MAX_RANK]; N],
    index: [usize; MAX_RANK],
    offset: [usize; N],
}

impl<const N: usize> Rows<N> {
    pub(crate) fn new(dims: &Dims, operands: [&Dims; N]) -> Rows<N> {
        Rows {
            dims: *dims,
            strides: operands.map(|operand| operand.broadcast_strides()),
            index: [0; MAX_RANK],
            offset: [0; N],
        }
    }

    /// Offsets of the current row; steps to the next one.
    pub(crate) fn next(&mut self) -> [usize; N] {
        let current = self.offset;
        for dim in (0..self.dims.rank().saturating_sub(1)).rev() {
            self.index[dim] += 1;
            for operand in 0..N {
                self.offset[operand] += self.strides[operand][dim];
            }
            if self.index[dim] < self.dims.get(dim) {
                break;
            }
            for operand in 0..N {
                self.offset[operand] -= self.strides[operand][dim] * self.dims.get(dim);
            }
            self.index[dim] = 0;
        }
        current
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(extents: &[usize], lanes: &[u32]) -> Grid {
        Grid::new(Dims::new(extents).unwrap(), lanes.to_vec())
    }

    #[test]
    fn zip_broadcasts_rows_against_columns() {
        let pool = &mut Pool::default();
        let sum = grid(&[2, 1], &[10, 20]).zip(&grid(&[1, 3], &[1, 2, 3]), pool, |a, b| a + b);
        assert_eq!((sum.dims, &sum.lanes[..]), (Dims::new(&[2, 3]).unwrap(), &[11, 12, 13, 21, 22, 23][..]));
        let sum = grid(&[2, 1, 2], &[1, 2, 3, 4]).zip(&grid(&[1, 2, 1], &[10, 20]), pool, |a, b| a + b);
        assert_eq!(&sum.lanes[..], &[11, 12, 21, 22, 13, 14, 23, 24]);
    }

    #[test]
    fn select_takes_rows_and_lanes() {
        let pool = &mut Pool::default();
        let picked = grid(&[2, 1], &[1, 0]).select(&grid(&[2, 2], &[1, 2, 3, 4]), &grid(&[1, 1], &[9]), pool);
        assert_eq!(&picked.lanes[..], &[1, 2, 9, 9]);
        let picked = grid(&[1, 2], &[0, 1]).select(&grid(&[2, 1], &[5, 6]), &grid(&[1, 1], &[9]), pool);
        assert_eq!(&picked.lanes[..], &[9, 5, 9, 6]);
    }

    #[test]
    fn reshape_keeps_storage_compact_where_it_can() {
        let pool = &mut Pool::default();
        let d = |extents: &[usize]| Dims::new(extents).unwrap();
        let rows = grid(&[2, 1], &[7, 8]);
        let cast = rows.reshape(&d(&[2, 4]), &d(&[1, 2, 1, 4]), pool);
        assert_eq!((cast.dims, cast.lanes.len()), (d(&[1, 2, 1, 1]), 2));
        let cast = rows.reshape(&d(&[2, 4]), &d(&[8]), pool);
        assert_eq!(&cast.lanes[..], &[7, 7, 7, 7, 8, 8, 8, 8]);
        let cast = grid(&[2, 4], &[0, 1, 2, 3, 4, 5, 6, 7]).reshape(&d(&[2, 4]), &d(&[4, 2]), pool);
        assert_eq!(cast.dims, d(&[4, 2]));
    }

    #[test]
    fn uniform_rows_are_compacted() {
        let pool = &mut Pool::default();
        assert_eq!(&grid(&[2, 3], &[4, 4, 4, 5, 5, 5]).compact_rows(pool).lanes[..], &[4, 5]);
        assert_eq!(grid(&[2, 3], &[4, 4, 4, 5, 6, 5]).compact_rows(pool).lanes.len(), 6);
    }
}
