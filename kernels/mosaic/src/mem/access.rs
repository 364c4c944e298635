//! The one door to memory: loads and stores with their checks.
//!
//! Invariant: every byte that an op reads or writes passes `checked`, which faults on a complaint (undefined index, out
//! of bounds) or a copy in flight. Loading undefined memory is no fault: definedness travels with the lanes.

use crate::fault::{FaultClass, INDEX_APPLIED, Trap};
use crate::simd;
use crate::value::{Dims, Grid, MAX_RANK, Pool, Row, Rows, Scalar, Vector};

use super::allocation::Allocation;
use super::codec;
use super::dma::{Copies, DmaOrder};
use super::rows;
use super::shadow::Element;
use super::view::{AllocationId, Complaint, View};

/// All allocations of a run and the copies in flight between them.
#[derive(Debug, Default)]
pub(crate) struct Memory<'r> {
    pub(crate) allocations: Vec<Allocation<'r>>,
    pub(super) copies: Copies,
}

/// What an access does, for checks and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl<'r> Memory<'r> {
    /// Memory without allocations; `races` says whether accesses are checked against copies in flight.
    pub(crate) fn new(order: DmaOrder, races: bool) -> Memory<'r> {
        Memory { allocations: Vec::new(), copies: Copies::new(order, races) }
    }

    pub(crate) fn add(&mut self, allocation: Allocation<'r>) -> AllocationId {
        self.allocations.push(allocation);
        (self.allocations.len() - 1) as AllocationId
    }

    pub(super) fn of(&self, view: &View) -> &Allocation<'r> {
        &self.allocations[view.allocation as usize]
    }

    /// Faults unless `view` may be accessed now.
    pub(super) fn checked(&self, view: &View, access: Access) -> Result<(), Trap> {
        if let Some(complaint) = &view.complaint {
            return Err(self.complain(view, complaint));
        }
        self.copies.check(view, access, &self.allocations)
    }

    pub(super) fn complain(&self, view: &View, complaint: &Complaint) -> Trap {
        let allocation = self.of(view);
        let shape = allocation.dims.as_slice();
        let (class, indices, message, site) = match complaint {
            Complaint::Outside { dim, index, size, extent, site } => {
                let what = match size {
                    1 => format!("index {index}"),
                    _ => format!("indices {index}..{}", index + size),
                };
                let message = format!(
                    "{what} in dimension {dim} of {} {shape:?} lies outside 0..{extent}",
                    allocation.label
                );
                (FaultClass::OutOfBounds, vec![*index], message, *site)
            }
            Complaint::UndefinedIndex { dim, site } => {
                let message =
                    format!("the index in dimension {dim} of {} {shape:?} is undefined", allocation.label);
                (FaultClass::UndefinedUse, Vec::new(), message, *site)
            }
        };
        let other = Some((INDEX_APPLIED, site));
        Trap { allocation: Some(view.allocation), indices, other, ..Trap::new(class, message) }
    }

    /// Checks a load whose result nobody uses.
    pub(crate) fn probe(&self, view: &View) -> Result<(), Trap> {
        self.checked(view, Access::Read)
    }

    /// Loads the whole view.
    pub(crate) fn load(&mut self, view: &View, pool: &mut Pool) -> Result<Vector, Trap> {
        self.checked(view, Access::Read)?;
        let allocation = &mut self.allocations[view.allocation as usize];
        if let Some(rows) = allocation.rows_of(view) {
            let (lanes, seen) = rows::read(view, &rows, allocation, pool);
            let undefined = match seen.mixed {
                true => self.load_shadow(view, pool),
                false if seen.undefined => Some(rows::undefined(view, &rows, self.of(view), pool)),
                false => None,
            };
            return Ok(Vector { lanes, undefined });
        }
        allocation.settle(view);
        let mut lanes = pool.take(view.dims.len());
        codec::read(view, allocation.dtype, allocation.bytes(), lanes.slots());
        let undefined = self.load_shadow(view, pool);
        Ok(Vector { lanes: Grid::new(view.dims, lanes), undefined })
    }

    /// The undefined bits of a view's lanes, if any.
    fn load_shadow(&self, view: &View, pool: &mut Pool) -> Option<Grid> {
        let allocation = self.of(view);
        if allocation.is_defined() {
            return None;
        }
        // One run is looked through at once; of several each is looked at anyway.
        let one_run = view.runs().0 == 0;
        let by_rows = view.dims.rank() > 0 && view.last_stride() == 1;
        if (one_run || !by_rows) && !allocation.any_undefined_in(view) {
            return None;
        }
        match by_rows.then(|| self.uniform_shadow(view, pool)).flatten() {
            Some(masks) => masks.lanes.iter().any(|&mask| mask != 0).then_some(masks),
            None => Some(self.lane_shadow(view, pool)),
        }
    }

    /// Masks of a view whose rows are each defined or undefined as a whole, as the rows of a page are.
    fn uniform_shadow(&self, view: &View, pool: &mut Pool) -> Option<Grid> {
        let width = view.dims.last();
        let allocation = self.of(view);
        let part = u32::MAX >> (32 - allocation.dtype.bits());
        let mut dims = view.dims;
        dims.set(dims.rank() - 1, 1);
        let mut grid = pool.take(dims.len());
        let mut uniform = true;
        let mut masks = grid.slots().iter_mut();
        simd::widest(
            #[inline(always)]
            || {
                view.rows(|offset| {
                    let mut mask = 0;
                    for packed in 0..view.pack {
                        let first = offset as usize + packed * view.pack_stride as usize;
                        match allocation.uniformly_undefined(first, width) {
                            Some(true) => mask |= part << (packed * allocation.dtype.bits() % 32),
                            Some(false) => {}
                            None => uniform = false,
                        }
                    }
                    if let Some(slot) = masks.next() {
                        *slot = widen_mask(view, mask);
                    }
                });
            },
        );
        uniform.then(|| Grid::new(dims, grid))
    }

    fn lane_shadow(&self, view: &View, pool: &mut Pool) -> Grid {
        let allocation = self.of(view);
        let bits = allocation.dtype.bits();
        let (width, stride) = (view.dims.last(), view.last_stride() as usize);
        let mut grid = pool.take(view.dims.len());
        let mut masks = grid.slots();
        masks.fill(0);
        let mut shadow = vec![0; if width == 0 { 0 } else { (width - 1) * stride + 1 }];
        view.rows(|offset| {
            let (row, rest) = std::mem::take(&mut masks).split_at_mut(width);
            masks = rest;
            for packed in 0..view.pack {
                allocation.shadow_into(offset as usize + packed * view.pack_stride as usize, &mut shadow);
                let undefined = (u32::MAX >> (32 - bits)) << (packed * bits % 32);
                let mark = |mask: &mut u32, byte: u8| *mask |= undefined & u32::from(byte).wrapping_neg();
                if stride == 1 {
                    row.iter_mut().zip(&shadow).for_each(|(mask, &byte)| mark(mask, byte));
                } else {
                    row.iter_mut()
                        .zip(shadow.iter().step_by(stride))
                        .for_each(|(mask, &byte)| mark(mask, byte));
                }
            }
            // Lanes hold floats widened and integers sign-extended: one undefined bit spoils what it is spread over.
            if view.dtype.bits() < 32 || view.dtype.is_float() {
                row.iter_mut().for_each(|mask| *mask = widen_mask(view, *mask));
            }
        });
        Grid::new(view.dims, grid).compact_rows(pool)
    }

    /// Stores the whole view, or the lanes under `mask`. An undefined mask lane leaves the element undefined.
    pub(crate) fn store(&mut self, view: &View, value: &Vector, mask: Option<&Vector>) -> Result<(), Trap> {
        self.checked(view, Access::Write)?;
        let dims = view.dims;
        let allocation = &mut self.allocations[view.allocation as usize];
        if store_repeated(view, value, mask, allocation) {
            return Ok(());
        }
        let (outer, run, stride) = view.runs();
        let simple = stride == 1 && view.dtype.bits() >= 8 && view.pack == 1;
        let simple = simple && mask.is_none_or(|mask| mask.undefined.is_none());
        if simple && mask.is_none() && value.undefined.is_none() && value.lanes.dims == dims {
            let mut into = allocation.writable();
            let mut rest = &value.lanes.lanes[..];
            simd::widest(
                #[inline(always)]
                || {
                    view.outer(outer, |offset| {
                        let (row, tail) = rest.split_at(run);
                        rest = tail;
                        into.mark(offset as usize, run, Row::Same(0));
                        codec::write_elements(view.dtype, into.bytes(), offset as usize, row);
                    });
                },
            );
            return Ok(());
        }
        // Lanes, their undefined bits, the mask and its undefined bits, row by row; what is missing is the same everywhere.
        let (none, all) = (Grid::splat(dims.rank(), 0), Grid::splat(dims.rank(), 1));
        let grids = [
            &value.lanes,
            value.undefined.as_ref().unwrap_or(&none),
            mask.map_or(&all, |mask| &mask.lanes),
            mask.and_then(|mask| mask.undefined.as_ref()).unwrap_or(&none),
        ];
        let mut rows = Rows::new(&dims, grids.map(|grid| &grid.dims));
        let width = dims.last();
        if simple {
            let whole = allocation.rows_of(view).filter(|rows| rows.whole);
            let mut into = allocation.writable();
            let walked = whole.as_ref().map_or(view, |rows| &rows.view);
            simd::widest(
                #[inline(always)]
                || {
                    walked.rows(|place| {
                        let at = rows.next();
                        let [lanes, undefined, on] = std::array::from_fn(|i| grids[i].row(at[i], width));
                        let first = if whole.is_some() { place as usize * width } else { place as usize };
                        if on.is(0) {
                        } else if on.all_on() {
                            match whole.is_some() {
                                true => into.mark_row(place as usize, undefined),
                                false => into.mark(first, width, undefined),
                            }
                            match lanes {
                                Row::Each(lanes) => {
                                    codec::write_elements(view.dtype, into.bytes(), first, lanes)
                                }
                                Row::Same(lane) => {
                                    let raw = codec::raw(view.dtype, lane);
                                    codec::fill_row(view.dtype, into.bytes(), first, width, raw);
                                }
                            }
                        } else {
                            for i in (0..width).filter(|&i| on.lane(i) != 0) {
                                let raw = codec::raw(view.dtype, lanes.lane(i));
                                into.mark(first + i, 1, Row::Same(undefined.lane(i)));
                                codec::write_raw(view.dtype, into.bytes(), first + i, raw);
                            }
                        }
                    })
                },
            );
            return Ok(());
        }
        let stride = view.last_stride() as usize;
        view.rows(|offset| {
            let at = rows.next();
            let [lanes, undefined, on, doubt] = std::array::from_fn(|i| grids[i].row(at[i], width));
            for i in 0..width {
                let doubt = doubt.lane(i) != 0;
                if doubt || on.lane(i) != 0 {
                    let undefined = if doubt { u32::MAX } else { undefined.lane(i) };
                    let raw = codec::raw(view.dtype, lanes.lane(i));
                    put(view, allocation, offset as usize + i * stride, raw, undefined);
                }
            }
        });
        Ok(())
    }

    /// Stores the lanes of a window that `mask` leaves on, each checked by itself: the window may reach outside `base`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn store_lanes(
        &mut self,
        base: &View,
        start: &[Option<i64>],
        window: &Dims,
        value: &Vector,
        mask: &Vector,
        site: u32,
        pool: &mut Pool,
    ) -> Result<(), Trap> {
        let lanes = value.lanes.expand(window, pool);
        let undefined = value.undefined.as_ref().map(|grid| grid.expand(window, pool));
        let on = mask.lanes.expand(window, pool);
        let doubtful = mask.undefined.as_ref().map(|grid| grid.expand(window, pool));
        let one = Dims::ones(window.rank());
        for at in 0..window.len() {
            let doubt = doubtful.as_ref().is_some_and(|grid| grid.lanes[at] != 0);
            if on.lanes[at] == 0 && !doubt {
                continue;
            }
            let mut index = [Some(0); MAX_RANK];
            let mut rest = at;
            for dim in (0..window.rank()).rev() {
                index[dim] = start[dim].map(|start| start + (rest % window.get(dim)) as i64);
                rest /= window.get(dim);
            }
            let mask = if doubt { u32::MAX } else { undefined.as_ref().map_or(0, |grid| grid.lanes[at]) };
            self.store_scalar(
                &base.slice(&index, &one, site),
                Scalar { bits: lanes.lanes[at], undefined: mask },
            )?;
        }
        Ok(())
    }

    /// Loads the element of `base` at an index; `site` is blamed where that lies outside.
    pub(crate) fn load_at(
        &self,
        base: &View,
        index: &[Option<i64>; MAX_RANK],
        site: u32,
    ) -> Result<Scalar, Trap> {
        let mut offset = base.offset;
        let mut inside = base.complaint.is_none() && base.pack == 1 && self.copies.is_empty();
        for dim in 0..base.dims.rank() {
            let place = index[dim].filter(|place| (0..base.dims.get(dim) as i64).contains(place));
            inside &= place.is_some();
            offset += place.unwrap_or(0) * base.strides[dim];
        }
        if !inside {
            return self.load_scalar(&base.slice(index, &Dims::ones(base.dims.rank()), site));
        }
        let (raw, undefined) = get(base, self.of(base), offset as usize);
        Ok(Scalar { bits: codec::lane(base.dtype, raw), undefined: widen_mask(base, undefined) })
    }

    /// Loads one element.
    fn load_scalar(&self, view: &View) -> Result<Scalar, Trap> {
        self.checked(view, Access::Read)?;
        let (raw, undefined) = get(view, self.of(view), view.offset as usize);
        Ok(Scalar { bits: codec::lane(view.dtype, raw), undefined: widen_mask(view, undefined) })
    }

    /// Stores one element.
    pub(crate) fn store_scalar(&mut self, view: &View, value: Scalar) -> Result<(), Trap> {
        self.checked(view, Access::Write)?;
        let allocation = &mut self.allocations[view.allocation as usize];
        let raw = codec::raw(view.dtype, value.bits);
        put(view, allocation, view.offset as usize, raw, value.undefined);
        Ok(())
    }
}

/// Stores a value of equal lanes along each row under a mask of such, where the view consists of whole rows.
fn store_repeated(view: &View, value: &Vector, mask: Option<&Vector>, allocation: &mut Allocation) -> bool {
    let by_rows = |grid: &Grid| grid.dims.last() == 1;
    let rank = view.dims.rank();
    let grids = [Some(&value.lanes), value.undefined.as_ref(), mask.map(|mask| &mask.lanes)];
    let doubtful = mask.is_some_and(|mask| mask.undefined.is_some());
    if rank == 0 || doubtful || !grids.iter().flatten().all(|grid| by_rows(grid)) {
        return false;
    }
    let (none, all) = (Grid::splat(rank, 0), Grid::splat(rank, 1));
    let [lanes, undefined, on] = [&value.lanes, grids[1].unwrap_or(&none), grids[2].unwrap_or(&all)];
    let mut rows = Rows::new(&view.dims, [&lanes.dims, &undefined.dims, &on.dims]);
    allocation.repeat_rows(view, || {
        let [lane, mask, flag] = rows.next();
        let raw = codec::raw(view.dtype, lanes.lanes[lane]);
        (on.lanes[flag] != 0).then(|| Element { raw, undefined: undefined.lanes[mask] != 0 })
    })
}

/// An element's raw bits and undefined bits, in the width of the view's type; `first` is where its low part lies.
pub(super) fn get(view: &View, allocation: &Allocation, first: usize) -> (u32, u32) {
    let (mut raw, mut undefined) = (0, 0);
    let bits = allocation.dtype.bits();
    for packed in 0..view.pack {
        let at = first + packed * view.pack_stride as usize;
        raw |= allocation.raw(at) << (packed * bits);
        if allocation.any_undefined(at, 1, 1) {
            undefined |= (u32::MAX >> (32 - bits)) << (packed * bits);
        }
    }
    (raw, undefined)
}

/// The inverse of [`get`].
pub(super) fn put(view: &View, allocation: &mut Allocation, first: usize, raw: u32, undefined: u32) {
    let (dtype, bits) = (allocation.dtype, allocation.dtype.bits());
    let mut into = allocation.writable();
    for packed in 0..view.pack {
        let at = first + packed * view.pack_stride as usize;
        let part = |word: u32| (word >> (packed * bits)) & (u32::MAX >> (32 - bits));
        into.mark(at, 1, Row::Same(part(undefined)));
        codec::write_raw(dtype, into.bytes(), at, part(raw));
    }
}

pub(super) fn widen_mask(view: &View, mask: u32) -> u32 {
    match (view.dtype.is_float(), view.dtype.bits()) {
        (true, _) => u32::from(mask != 0).wrapping_neg(),
        (false, 16) => mask as i16 as i32 as u32,
        (false, 8) => mask as i8 as i32 as u32,
        (false, 4) => (((mask << 28) as i32) >> 28) as u32,
        (false, _) => mask,
    }
}

impl View {
    /// The window that a vector access of `dims` elements at `start`, `steps` apart, touches.
    pub(crate) fn window(
        &self,
        start: &[Option<i64>],
        dims: &Dims,
        steps: &[i64; MAX_RANK],
        site: u32,
    ) -> View {
        let mut reach = *dims;
        for dim in 0..dims.rank() {
            reach.set(dim, (dims.get(dim).saturating_sub(1)) * steps[dim] as usize + dims.get(dim).min(1));
        }
        let mut window = self.slice(start, &reach, site);
        for dim in 0..dims.rank() {
            window.strides[dim] *= steps[dim];
        }
        window.dims = *dims;
        window
    }
}
