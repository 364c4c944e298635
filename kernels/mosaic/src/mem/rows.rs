//! Loads of views by the rows that an allocation's shadow keeps.
//!
//! Kernels load rows nearly always, and what holds of a row holds of each of its elements: so definedness costs one look a
//! row, rows that all repeat an element give one lane each, and lent rows are read where they lie.
//!
//! Invariant: the lanes and undefined bits are those that a load element by element would give.

use crate::value::{Grid, Pool};

use super::access::widen_mask;
use super::allocation::Allocation;
use super::codec;
use super::shadow::{Seen, Shadow};
use super::view::{InRows, View};

/// The lanes of `view`, which `rows` says by rows, and what its rows are.
pub(super) fn read(view: &View, rows: &InRows, allocation: &mut Allocation, pool: &mut Pool) -> (Grid, Seen) {
    let element = allocation.dtype;
    let Some((shadow, mut contents)) = allocation.rows() else {
        return (Grid::splat(view.dims.rank(), 0), Seen::default());
    };
    let seen = shadow.seen(rows);
    if seen.repeat && seen.all_repeat && view.pack == 1 {
        let mut dims = view.dims;
        dims.set(dims.rank() - 1, 1);
        let mut lanes = pool.take(dims.len());
        let mut slots = lanes.slots().iter_mut();
        rows.each(|row| {
            if let (Some(lane), Some(repeated)) = (slots.next(), shadow.repeated_row(row)) {
                *lane = codec::lane(view.dtype, repeated.raw);
            }
        });
        return (Grid::new(dims, lanes), seen);
    }
    if seen.repeat {
        rows.each(|row| shadow.settle_repeated(row, &mut contents));
    }
    let mut lanes = pool.take(view.dims.len());
    let source = Lines { shadow, own: contents.own, lender: contents.lender, column: rows.column };
    codec::read(&rows.view, element, &source, lanes.slots());
    (Grid::new(view.dims, lanes), seen)
}

/// The undefined bits of a view of which no row mixes.
pub(super) fn undefined(view: &View, rows: &InRows, allocation: &Allocation, pool: &mut Pool) -> Grid {
    let bits = allocation.dtype.bits();
    let part = u32::MAX >> (32 - bits);
    let mut dims = view.dims;
    dims.set(dims.rank() - 1, 1);
    let mut masks = pool.take(dims.len());
    let mut slots = masks.slots().iter_mut();
    rows.view.rows(|row| {
        let mut mask = 0;
        for packed in 0..view.pack {
            if allocation.is_undefined_row(row as usize + packed * rows.view.pack_stride as usize) {
                mask |= part << (packed * bits % 32);
            }
        }
        if let Some(slot) = slots.next() {
            *slot = widen_mask(view, mask);
        }
    });
    Grid::new(dims, masks)
}

/// Rows of which none repeats an element.
struct Lines<'a> {
    shadow: &'a Shadow,
    own: &'a [u8],
    lender: &'a [u8],
    column: usize,
}

impl codec::Source for Lines<'_> {
    fn runs(&self, view: &View) -> (usize, usize, usize) {
        (view.dims.rank() - 1, view.dims.last(), 1)
    }

    /// `first` is a row.
    #[inline(always)]
    fn run<const N: usize>(&self, first: usize, count: usize) -> &[u8] {
        let (bytes, at) = match self.shadow.lent_row(first) {
            Some(at) => (self.lender, at),
            None => (self.own, first * self.shadow.width()),
        };
        &bytes[N * (at + self.column)..][..N * count]
    }
}

#[cfg(test)]
mod tests {
    use countersign_dtype::{Array, DType};

    use super::super::access::Memory;
    use super::super::dma::DmaOrder;
    use super::*;
    use crate::fault::Origin;
    use crate::ir::MemorySpace;
    use crate::mem::Buffers;
    use crate::value::{Dims, MAX_RANK, Vector};

    const HEIGHT: usize = 8;
    const WIDTH: usize = 32;

    fn dims(extents: &[usize]) -> Dims {
        Dims::new(extents).unwrap()
    }

    fn drawn(state: &mut u64, bound: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % bound
    }

    /// Some part of a matrix: where it begins, its extents, and every how many rows.
    fn part(state: &mut u64, height: usize) -> ([Option<i64>; 2], Dims, [i64; MAX_RANK]) {
        let step = 1 + drawn(state, 2);
        let rows = 1 + drawn(state, height.div_ceil(step));
        let first = drawn(state, height - (rows - 1) * step);
        let columns = if drawn(state, 2) == 0 { WIDTH } else { 1 + drawn(state, WIDTH) };
        let column = drawn(state, WIDTH - columns + 1);
        let mut steps = [1; MAX_RANK];
        steps[0] = step as i64;
        ([Some(first as i64), Some(column as i64)], dims(&[rows, columns]), steps)
    }

    /// Random stores and copies, then loads of random parts, also packed: each lane is what a load of it alone gives.
    #[test]
    fn what_is_loaded_by_rows_is_what_each_element_is() {
        let pool = &mut Pool::default();
        for (seed, (narrow, wide, ratio)) in
            (0..300).zip([(DType::I32, DType::I32, 1), (DType::I16, DType::I32, 2)].into_iter().cycle())
        {
            let mut state = seed;
            let bytes = (0..Array::byte_len(narrow, HEIGHT * WIDTH)).map(|at| at as u8 ^ 0x5A).collect();
            let array = Array { dtype: narrow, shape: vec![HEIGHT, WIDTH], bytes };
            let undefined = 3 * WIDTH - 5..4 * WIDTH + drawn(&mut state, 40);
            let (all, label) = (dims(&[HEIGHT, WIDTH]), String::new());
            let mut memory = Memory::new(DmaOrder::Late, true);
            let ranges = std::slice::from_ref(&undefined);
            let space = MemorySpace::Hbm;
            let lender = memory.add(Allocation::lent(label.clone(), space, all, &array, ranges, true));
            let (origin, buffers) = (Origin::Scratch, Buffers::default());
            let scratch = Allocation::undefined(label, origin, MemorySpace::Vmem, narrow, all, true, buffers);
            let scratch = memory.add(scratch);
            let [lender, scratch] = [lender, scratch].map(|id| View::whole(id, narrow, all));
            for step in 0..drawn(&mut state, 12) {
                let (start, extents, steps) = part(&mut state, HEIGHT);
                let target = scratch.window(&start, &extents, &steps, 0);
                if drawn(&mut state, 2) == 0 {
                    memory.copy(&lender.window(&start, &extents, &steps, 0), &target);
                } else {
                    let mask = (drawn(&mut state, 3) == 0).then(|| Grid::splat(2, u32::MAX));
                    let value = Vector { lanes: Grid::splat(2, step as u32), undefined: mask };
                    memory.store(&target, &value, None).unwrap();
                }
            }
            let height = HEIGHT / ratio;
            let seen = scratch.bitcast(wide, &dims(&[height, WIDTH])).unwrap();
            for _ in 0..8 {
                let (start, extents, steps) = part(&mut state, height);
                let view = seen.window(&start, &extents, &steps, 0);
                let alone: Vec<(u32, u32)> = (0..extents.len())
                    .map(|at| {
                        let mut index = [Some(0); MAX_RANK];
                        index[0] = Some((at / extents.last()) as i64);
                        index[1] = Some((at % extents.last()) as i64);
                        let scalar = memory.load_at(&view, &index, 0).unwrap();
                        (scalar.bits, scalar.undefined)
                    })
                    .collect();
                let Vector { lanes, undefined } = memory.load(&view, pool).unwrap();
                let masks = undefined.unwrap_or_else(|| Grid::splat(2, 0)).expand(&extents, pool);
                let lanes = lanes.expand(&extents, pool);
                let together = lanes.lanes.iter().copied().zip(masks.lanes.iter().copied());
                assert!(together.eq(alone), "seed {seed}");
            }
        }
    }
}
