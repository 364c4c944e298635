//! The one door to memory: loads and stores with their checks.
//!
//! Invariant: every byte that an op reads or writes passes `checked`, which faults on a complaint (undefined index, out
//! of bounds) or a copy in flight. Loading undefined memory is no fault: definedness travels with the lanes.

use crate::fault::{FaultClass, Trap};
use crate::value::{Dims, Grid, MAX_RANK, Pool, Scalar, Vector};

use super::allocation::Allocation;
use super::codec;
use super::dma::{Copies, DmaOrder};
use super::view::{AllocationId, Complaint, View};

/// All allocations of a run and the copies in flight between them.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) allocations: Vec<Allocation>,
    pub(super) copies: Copies,
}

/// What an access does, for checks and messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

impl Memory {
    /// Forgets all copies and sets the policy for the next run; allocations stay.
    pub(crate) fn begin(&mut self, order: DmaOrder) {
        self.copies.begin(order);
    }

    pub(crate) fn add(&mut self, allocation: Allocation) -> AllocationId {
        self.allocations.push(allocation);
        (self.allocations.len() - 1) as AllocationId
    }

    pub(super) fn of(&self, view: &View) -> &Allocation {
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
        Trap { space: Some(allocation.space), indices, other: Some(site), ..Trap::new(class, message) }
    }

    /// Checks a load whose result nobody uses.
    pub(crate) fn probe(&self, view: &View) -> Result<(), Trap> {
        self.checked(view, Access::Read)
    }

    /// Loads the whole view.
    pub(crate) fn load(&self, view: &View, pool: &mut Pool) -> Result<Vector, Trap> {
        self.checked(view, Access::Read)?;
        let allocation = self.of(view);
        let (dtype, width, stride) = (allocation.dtype, view.dims.last(), view.last_stride() as usize);
        let mut lanes = pool.take(view.dims.len());
        let mut undefined = false;
        let mut at = 0;
        view.rows(|offset| {
            let row = &mut lanes[at..at + width];
            at += width;
            let offset = offset as usize;
            if view.pack == 1 {
                codec::read(view.dtype, &allocation.bytes, offset, stride, row);
                undefined |= codec::any_undefined(dtype, &allocation.shadow, offset, stride, width);
            } else {
                undefined |= read_packed(view, allocation, offset, stride, row);
            }
        });
        let undefined = undefined.then(|| self.load_shadow(view, pool));
        let lanes = Grid::new(view.dims, lanes).compact_rows(pool);
        Ok(Vector { lanes, undefined })
    }

    fn load_shadow(&self, view: &View, pool: &mut Pool) -> Grid {
        let allocation = self.of(view);
        let (dtype, width, stride) = (allocation.dtype, view.dims.last(), view.last_stride() as usize);
        let mut masks = pool.take(view.dims.len());
        let mut part = vec![0; width];
        let mut at = 0;
        view.rows(|offset| {
            let row = &mut masks[at..at + width];
            at += width;
            row.fill(0);
            for packed in 0..view.pack {
                let first = offset as usize + packed * view.pack_stride as usize;
                codec::read_shadow(dtype, &allocation.shadow, first, stride, &mut part);
                for (mask, &bits) in row.iter_mut().zip(&part) {
                    *mask |= bits << (packed * dtype.bits() % 32);
                }
            }
            // Lanes hold floats widened and integers sign-extended: one undefined bit spoils what it is spread over.
            for mask in row.iter_mut() {
                *mask = widen_mask(view, *mask);
            }
        });
        Grid::new(view.dims, masks).compact_rows(pool)
    }

    /// Stores the whole view, or the lanes under `mask`. An undefined mask lane leaves the element undefined.
    pub(crate) fn store(
        &mut self,
        view: &View,
        value: &Vector,
        mask: Option<&Vector>,
        pool: &mut Pool,
    ) -> Result<(), Trap> {
        self.checked(view, Access::Write)?;
        let dims = view.dims;
        let lanes = value.lanes.expand(&dims, pool);
        let masks = value.undefined.as_ref().map(|grid| grid.expand(&dims, pool));
        let on = mask.map(|mask| mask.lanes.expand(&dims, pool));
        let doubtful = mask.and_then(|mask| mask.undefined.as_ref()).map(|grid| grid.expand(&dims, pool));
        let allocation = &mut self.allocations[view.allocation as usize];
        let (dtype, width, stride) = (view.dtype, dims.last(), view.last_stride() as usize);
        let mut at = 0;
        view.rows(|offset| {
            let range = at..at + width;
            at += width;
            let row = &lanes.lanes[range.clone()];
            let plain = stride == 1 && masks.is_none() && doubtful.is_none();
            let all_on = on.as_ref().is_none_or(|on| on.lanes[range.clone()].iter().all(|&lane| lane != 0));
            if plain && all_on && dtype.bits() >= 8 && view.pack == 1 {
                codec::write_row(dtype, &mut allocation.bytes, offset as usize, row);
                let bytes = dtype.bits() / 8;
                allocation.shadow[offset as usize * bytes..(offset as usize + width) * bytes].fill(0);
                return;
            }
            for (i, &lane) in row.iter().enumerate() {
                let doubt = doubtful.as_ref().is_some_and(|grid| grid.lanes[range.start + i] != 0);
                if !doubt && on.as_ref().is_some_and(|on| on.lanes[range.start + i] == 0) {
                    continue;
                }
                let element = offset as usize + i * stride;
                let undefined = if doubt {
                    u32::MAX
                } else {
                    masks.as_ref().map_or(0, |grid| grid.lanes[range.start + i])
                };
                put(view, allocation, element, raw(view, lane), undefined);
            }
        });
        for grid in [Some(lanes), masks, on, doubtful].into_iter().flatten() {
            pool.give(grid.lanes);
        }
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

    /// Loads one element.
    pub(crate) fn load_scalar(&self, view: &View) -> Result<Scalar, Trap> {
        self.checked(view, Access::Read)?;
        let (raw, undefined) = get(view, self.of(view), view.offset as usize);
        let mut lane = [0];
        codec::read(view.dtype, &raw.to_le_bytes(), 0, 1, &mut lane);
        Ok(Scalar { bits: lane[0], undefined: widen_mask(view, undefined) })
    }

    /// Stores one element.
    pub(crate) fn store_scalar(&mut self, view: &View, value: Scalar) -> Result<(), Trap> {
        self.checked(view, Access::Write)?;
        let allocation = &mut self.allocations[view.allocation as usize];
        put(view, allocation, view.offset as usize, raw(view, value.bits), value.undefined);
        Ok(())
    }
}

/// An element's raw bits and undefined bits, in the width of the view's type; `first` is where its low part lies.
pub(super) fn get(view: &View, allocation: &Allocation, first: usize) -> (u32, u32) {
    let (mut raw, mut undefined) = (0, 0);
    for packed in 0..view.pack {
        let (mut bits, mut mask) = ([0], [0]);
        let at = first + packed * view.pack_stride as usize;
        codec::read_raw(allocation.dtype, &allocation.bytes, at, 1, &mut bits);
        codec::read_shadow(allocation.dtype, &allocation.shadow, at, 1, &mut mask);
        let shift = packed * allocation.dtype.bits();
        raw |= bits[0] << shift;
        undefined |= mask[0] << shift;
    }
    (raw, undefined)
}

/// The inverse of [`get`].
pub(super) fn put(view: &View, allocation: &mut Allocation, first: usize, raw: u32, undefined: u32) {
    for packed in 0..view.pack {
        let at = first + packed * view.pack_stride as usize;
        let bits = allocation.dtype.bits();
        let part = |word: u32| (word >> (packed * bits)) & (u32::MAX >> (32 - bits));
        codec::write_raw(allocation.dtype, &mut allocation.bytes, at, part(raw));
        codec::mark_one(allocation.dtype, &mut allocation.shadow, at, part(undefined) != 0);
    }
}

/// A lane's raw bits in the width of the view's type.
fn raw(view: &View, lane: u32) -> u32 {
    let mut bytes = [0; 4];
    codec::write_one(view.dtype, &mut bytes, 0, lane);
    u32::from_le_bytes(bytes)
}

/// Lanes of a view that packs several narrow elements into a word; says whether any bit is undefined.
fn read_packed(view: &View, allocation: &Allocation, offset: usize, stride: usize, row: &mut [u32]) -> bool {
    let mut undefined = false;
    let mut part = [0; 128];
    row.fill(0);
    for packed in 0..view.pack {
        let first = offset + packed * view.pack_stride as usize;
        for (chunk, lanes) in row.chunks_mut(part.len()).enumerate() {
            let first = first + chunk * part.len() * stride;
            let part = &mut part[..lanes.len()];
            codec::read_raw(allocation.dtype, &allocation.bytes, first, stride, part);
            undefined |=
                codec::any_undefined(allocation.dtype, &allocation.shadow, first, stride, lanes.len());
            for (lane, &bits) in lanes.iter_mut().zip(part.iter()) {
                *lane |= bits << (packed * allocation.dtype.bits());
            }
        }
    }
    undefined
}

fn widen_mask(view: &View, mask: u32) -> u32 {
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
