//! Copies in flight, the semaphores that count their bytes, and the races they can have.
//!
//! Invariant: a copy is in flight from its start until a wait that its semaphore satisfies, whether or not its bytes have
//! landed; landing time is the policy's, visibility the wait's. So an eager policy hides no race.

use super::access::{self, Access, Memory};
use super::allocation::Allocation;
use super::view::View;
use crate::fault::{FaultClass, Trap};

/// When the bytes of a pending copy land. A right kernel gives the same bits under every order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DmaOrder {
    /// At the wait that needs them, oldest copy first.
    #[default]
    Late,
    /// At once.
    Eager,
    /// At a time drawn from this seed, waits completing copies in a drawn order.
    Seeded(u64),
}

#[derive(Debug, Clone)]
struct Copy {
    source: View,
    target: View,
    semaphore: (u32, i64),
    bytes: i64,
    landed: bool,
    site: u32,
}

/// All copies in flight.
#[derive(Debug, Default)]
pub(crate) struct Copies {
    pending: Vec<Copy>,
    order: DmaOrder,
    /// Whether accesses are checked.
    races: bool,
    draws: u64,
}

impl Copies {
    pub(super) fn new(order: DmaOrder, races: bool) -> Copies {
        Copies { pending: Vec::new(), order, races, draws: 0 }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Faults if the access disturbs a copy in flight.
    pub(super) fn check(
        &self,
        view: &View,
        access: Access,
        allocations: &[Allocation<'_>],
    ) -> Result<(), Trap> {
        let pending = if self.races { self.pending.as_slice() } else { &[] };
        for copy in pending {
            let (hit, role) = if overlap(view, &copy.target) {
                (&copy.target, "writes")
            } else if access == Access::Write && overlap(view, &copy.source) {
                (&copy.source, "reads")
            } else {
                continue;
            };
            let allocation = &allocations[hit.allocation as usize];
            let verb = match access {
                Access::Read => "reads",
                Access::Write => "writes",
            };
            let label = |view: &View| &allocations[view.allocation as usize].label;
            let (from, to) = (label(&copy.source), label(&copy.target));
            let message =
                format!("{verb} {}, which a copy in flight from {from} to {to} {role}", allocation.label);
            return Err(Trap {
                allocation: Some(hit.allocation),
                other: Some(("the copy in flight was started", copy.site)),
                ..Trap::new(FaultClass::Race, message)
            });
        }
        Ok(())
    }

    /// A number below `bound` from the seed and the count of draws (splitmix64).
    fn draw(&mut self, seed: u64, bound: usize) -> usize {
        self.draws += 1;
        let mut z = seed.wrapping_add(self.draws.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound.max(1) as u64) as usize
    }
}

impl Memory<'_> {
    /// Starts a copy.
    pub(crate) fn start(
        &mut self,
        source: View,
        target: View,
        semaphore: &View,
        site: u32,
    ) -> Result<(), Trap> {
        self.checked(&source, Access::Read)?;
        self.checked(&target, Access::Write)?;
        if let Some(complaint) = &semaphore.complaint {
            return Err(self.complain(semaphore, complaint));
        }
        let bytes = (target.dims.len() * target.dtype.bits()).div_ceil(8) as i64;
        let copy = Copy {
            source,
            target,
            semaphore: (semaphore.allocation, semaphore.offset),
            bytes,
            landed: false,
            site,
        };
        self.copies.pending.push(copy);
        let now = match self.copies.order {
            DmaOrder::Late => false,
            DmaOrder::Eager => true,
            DmaOrder::Seeded(seed) => self.copies.draw(seed, 2) == 0,
        };
        if now {
            self.land(self.copies.pending.len() - 1);
        }
        Ok(())
    }

    /// Waits until the semaphore has received `bytes`, completing copies that signal it, and takes them.
    pub(crate) fn wait(&mut self, semaphore: &View, bytes: i64) -> Result<(), Trap> {
        if let Some(complaint) = &semaphore.complaint {
            return Err(self.complain(semaphore, complaint));
        }
        let key = (semaphore.allocation, semaphore.offset);
        loop {
            let received = self.allocations[key.0 as usize].counts[key.1 as usize];
            if received >= bytes {
                self.allocations[key.0 as usize].counts[key.1 as usize] -= bytes;
                return Ok(());
            }
            let signals = |copy: &Copy| copy.semaphore == key;
            let mine = self.copies.pending.iter().filter(|copy| signals(copy)).count();
            if mine == 0 {
                let message = format!(
                    "waits for {bytes} bytes on {}[{}], which holds {received} and no copy in flight signals it",
                    self.of(semaphore).label,
                    key.1
                );
                return Err(Trap {
                    allocation: Some(semaphore.allocation),
                    indices: vec![key.1],
                    ..Trap::new(FaultClass::Deadlock, message)
                });
            }
            let chosen = match self.copies.order {
                DmaOrder::Late | DmaOrder::Eager => 0,
                DmaOrder::Seeded(seed) => self.copies.draw(seed, mine),
            };
            let place = self.copies.pending.iter().enumerate().filter(|(_, copy)| signals(copy)).nth(chosen);
            let place = place.map_or(0, |(place, _)| place);
            self.land(place);
            let copy = self.copies.pending.remove(place);
            self.allocations[key.0 as usize].counts[key.1 as usize] += copy.bytes;
        }
    }

    /// Faults if the kernel left a copy in flight or a semaphore above zero. The site is that of the copy's start.
    pub(crate) fn finish(&self) -> Result<(), (Trap, Option<u32>)> {
        if let Some(copy) = self.copies.pending.first() {
            let (source, target) = (self.of(&copy.source), self.of(&copy.target));
            let message = format!(
                "{} cop{} still in flight at the kernel's end, the first from {} to {}",
                self.copies.pending.len(),
                if self.copies.pending.len() == 1 { "y is" } else { "ies are" },
                source.label,
                target.label
            );
            let trap = Trap::new(FaultClass::Residue, message);
            return Err((Trap { allocation: Some(copy.target.allocation), ..trap }, Some(copy.site)));
        }
        for (id, allocation) in self.allocations.iter().enumerate() {
            if let Some(at) = allocation.counts.iter().position(|&count| count != 0) {
                let message = format!(
                    "{}[{at}] holds {} bytes at the kernel's end",
                    allocation.label, allocation.counts[at]
                );
                let trap = Trap::new(FaultClass::Residue, message);
                let allocation = Some(id as u32);
                return Err((Trap { allocation, indices: vec![at as i64], ..trap }, None));
            }
        }
        Ok(())
    }

    fn land(&mut self, index: usize) {
        if self.copies.pending[index].landed {
            return;
        }
        self.copies.pending[index].landed = true;
        let (source, target) =
            (self.copies.pending[index].source.clone(), self.copies.pending[index].target.clone());
        self.copy(&source, &target);
    }

    /// Moves bytes and shadow; both views have been checked and have equal shape and type.
    pub(crate) fn copy(&mut self, source: &View, target: &View) {
        let (at, into) = (source.allocation as usize, target.allocation as usize);
        self.allocations[at].settle(source);
        if at == into {
            let from = self.allocations[at].clone();
            move_elements(&from, source, &mut self.allocations[into], target);
        } else if let Ok([from, into]) = self.allocations.get_disjoint_mut([at, into]) {
            move_elements(from, source, into, target);
        }
    }
}

fn move_elements<'r>(from: &Allocation<'r>, source: &View, into: &mut Allocation<'r>, target: &View) {
    let bits = into.dtype.bits();
    let ((outer, run, stride), (outer_to, run_to, stride_to)) = (source.runs(), target.runs());
    let (outer, run) = if outer >= outer_to { (outer, run) } else { (outer_to, run_to) };
    let whole_bytes = |offset: i64| (offset as usize * bits).is_multiple_of(8);
    let mut in_bytes = stride == 1 && stride_to == 1 && source.pack == 1 && target.pack == 1;
    if in_bytes && bits < 8 {
        in_bytes = whole_bytes(run as i64);
        source.outer_pair(target, outer, |at, to| in_bytes = in_bytes && whole_bytes(at) && whole_bytes(to));
    }
    if in_bytes {
        source.outer_pair(target, outer, |at, to| {
            let (at, to) = (at as usize, to as usize);
            if into.borrow(to, run, from, at) {
                return;
            }
            let mut into = into.writable();
            let (first, first_to, len) = (at * bits / 8, to * bits / 8, run * bits / 8);
            into.mark_like(to, run, from, at);
            into.bytes()[first_to..first_to + len].copy_from_slice(&from.bytes()[first..first + len]);
        });
        return;
    }
    let (stride, stride_to) = (source.last_stride() as usize, target.last_stride() as usize);
    source.outer_pair(target, source.dims.rank().saturating_sub(1), |at, to| {
        for i in 0..source.dims.last() {
            let (raw, undefined) = access::get(source, from, at as usize + i * stride);
            access::put(target, into, to as usize + i * stride_to, raw, undefined);
        }
    });
}

/// Whether two views touch an element in common, exactly.
fn overlap(a: &View, b: &View) -> bool {
    if a.allocation != b.allocation {
        return false;
    }
    let (Some((a_first, a_end)), Some((b_first, b_end))) = (a.span(), b.span()) else { return false };
    if a_first >= b_end || b_first >= a_end {
        return false;
    }
    let dense = |view: &View| view.is_contiguous() && view.pack == 1;
    if dense(a) && dense(b) {
        return true;
    }
    let (a, b) = (intervals(a), intervals(b));
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        if a[i].0 < b[j].1 && b[j].0 < a[i].1 {
            return true;
        }
        if a[i].1 <= b[j].1 {
            i += 1;
        } else {
            j += 1;
        }
    }
    false
}

/// The elements that a view touches, as sorted half-open intervals.
fn intervals(view: &View) -> Vec<(i64, i64)> {
    let mut out = Vec::new();
    let (width, stride) = (view.dims.last() as i64, view.last_stride());
    for packed in 0..view.pack as i64 {
        view.rows(|offset| {
            let first = offset + packed * view.pack_stride;
            if stride == 1 {
                out.push((first, first + width));
            } else {
                out.extend((0..width).map(|i| (first + i * stride, first + i * stride + 1)));
            }
        });
    }
    out.sort_unstable();
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Dims;
    use countersign_dtype::DType;

    #[test]
    fn overlap_is_exact_for_strided_views() {
        let whole = View::whole(0, DType::F32, Dims::new(&[4, 6]).unwrap());
        let left = whole.slice(&[Some(0), Some(0)], &Dims::new(&[4, 3]).unwrap(), 0);
        let right = whole.slice(&[Some(0), Some(3)], &Dims::new(&[4, 3]).unwrap(), 0);
        let row = whole.slice(&[Some(2), Some(0)], &Dims::new(&[1, 6]).unwrap(), 0);
        assert!(!overlap(&left, &right));
        assert!(overlap(&left, &row) && overlap(&right, &row) && overlap(&whole, &left));
        assert!(!overlap(&whole, &View::whole(1, DType::F32, Dims::new(&[4, 6]).unwrap())));
    }
}
