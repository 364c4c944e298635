//! Corruption: a program in which every instruction of one op does something slightly wrong, to see who notices.
//!
//! Invariant: a rewrite of the plain program like any other. The machine knows nothing of it, so it costs nothing where it
//! isn't asked for.

use countersign_dtype::DType;

use crate::op;
use crate::ops::scalar::Unary;
use crate::value::Dims;

use super::Program;
use super::inst::{Block, Inst, Kind, Slot};
use super::window::Parameter;

impl Program {
    /// Makes every instruction that came from `op` (by name, e.g. `arith.addi`) slightly wrong, and says how many were
    /// changed. For tests, and for measuring what tests notice:
    ///
    /// - a value has the lowest bit of each lane flipped, in the lane's own type where the instruction knows it (the last
    ///   bit of a significand or an integer changes, a mask is inverted); so has the value that a store writes;
    /// - `arith.select` takes the other arm, `scf.if` the other block, `scf.while` decides the other way;
    /// - a slice starts at its neighbour in the last dimension; another view is one of memory one element further;
    /// - a copy is never started, a wait never waits.
    ///
    /// Ops that compute nothing (`tpu.trace_start`), and loads that nobody reads, stay as they are.
    pub fn corrupt(&mut self, op: &str) -> usize {
        let mut corruption = Corruption {
            wanted: self.sites.iter().map(|site| site.op == op).collect(),
            views: vec![None; self.slots],
            slots: self.slots,
            changed: 0,
        };
        for parameter in &mut self.parameters {
            corruption.parameter(parameter);
        }
        corruption.block(&mut self.body);
        self.slots = corruption.slots;
        corruption.changed
    }
}

/// What a slot that holds a view shows; semaphores have no element type.
#[derive(Debug, Clone, Copy)]
struct Shown {
    dtype: Option<DType>,
    dims: Dims,
}

struct Corruption {
    /// By site.
    wanted: Vec<bool>,
    /// By slot.
    views: Vec<Option<Shown>>,
    slots: usize,
    changed: usize,
}

impl Corruption {
    fn parameter(&mut self, parameter: &mut Parameter) {
        let (slot, dtype, dims) = match parameter {
            Parameter::Prefetch { slot, dtype, dims } | Parameter::Scratch { slot, dtype, dims, .. } => {
                (*slot, Some(*dtype), *dims)
            }
            Parameter::Semaphores { slot, dims } => (*slot, None, *dims),
            Parameter::Array { slot, dtype, dims, window, .. } => {
                if let Some(window) = window {
                    self.block(&mut window.transform.body);
                }
                (*slot, Some(*dtype), *dims)
            }
        };
        self.views[slot as usize] = Some(Shown { dtype, dims });
    }

    fn block(&mut self, block: &mut Block) {
        for mut inst in std::mem::take(&mut block.insts) {
            for nested in inst.kind.blocks_mut() {
                self.block(nested);
            }
            self.note_view(&inst);
            if self.wanted[inst.site as usize] {
                self.inst(inst, &mut block.insts);
            } else {
                block.insts.push(inst);
            }
        }
    }

    fn shown(&self, slot: Slot) -> Option<Shown> {
        self.views.get(slot as usize).copied().flatten()
    }

    fn note_view(&mut self, inst: &Inst) {
        let shown = match &inst.kind {
            Kind::MemSlice { base, sizes, .. } => {
                self.shown(*base).map(|base| Shown { dims: *sizes, ..base })
            }
            Kind::MemReshape { base, dims } => self.shown(*base).map(|base| Shown { dims: *dims, ..base }),
            Kind::MemBitcast { dtype, dims, .. } => Some(Shown { dtype: Some(*dtype), dims: *dims }),
            Kind::MemSqueeze { base, kept } => self.shown(*base).and_then(|base| {
                let extents: Vec<usize> = kept.iter().map(|&dim| base.dims.get(dim)).collect();
                Some(Shown { dims: Dims::new(&extents)?, ..base })
            }),
            _ => return,
        };
        self.views[inst.out as usize] = shown;
    }

    fn fresh(&mut self) -> Slot {
        self.slots += 1;
        (self.slots - 1) as Slot
    }

    /// Puts `inst`, corrupted, at the end of `insts`, with what must stand before and after it.
    fn inst(&mut self, mut inst: Inst, insts: &mut Vec<Inst>) {
        self.changed += 1;
        match &mut inst.kind {
            Kind::ScalarConstant(bits) => *bits ^= 1,
            Kind::VectorConstant(constant) => constant.lanes.iter_mut().for_each(|lane| *lane ^= 1),
            Kind::Unary { steps, .. } => {
                let flip = flipped_as(steps.last().copied());
                steps.extend(flip);
            }
            Kind::Binary { then, .. } => {
                let flip = flipped_as(*then);
                return self.after(inst, flip, insts);
            }
            Kind::Iota { .. }
            | Kind::Broadcast { .. }
            | Kind::ShapeCast { .. }
            | Kind::Reduce { .. }
            | Kind::Matmul(_)
            | Kind::Concatenate { .. } => return self.after(inst, vec![Unary::FlipLowest], insts),
            Kind::Load { unused: true, .. } | Kind::Nop => self.changed -= 1,
            Kind::ScalarLoad { base, .. } | Kind::Load { base, .. } => {
                let flip = flipped(self.shown(*base).and_then(|base| base.dtype));
                return self.after(inst, flip, insts);
            }
            Kind::ScalarStore { value, base, .. } | Kind::Store { value, base, .. } => {
                let steps = flipped(self.shown(*base).and_then(|base| base.dtype));
                let kind = Kind::Unary { steps, a: *value };
                *value = self.before(inst.site, kind, &mut inst.frees, insts);
            }
            Kind::Select { on, off, .. } => std::mem::swap(on, off),
            Kind::MemSlice { indices, .. } => match indices.last_mut() {
                Some(index) => {
                    let kind = Kind::Unary { steps: vec![Unary::FlipLowest], a: *index };
                    *index = self.before(inst.site, kind, &mut inst.frees, insts);
                }
                None => self.changed -= 1,
            },
            Kind::MemSqueeze { base, .. } | Kind::MemReshape { base, .. } | Kind::MemBitcast { base, .. } => {
                match self.shown(*base).filter(|base| base.dims.rank() > 0) {
                    Some(Shown { dims, .. }) => {
                        let mut constant = |bits, frees: &mut Vec<Slot>| {
                            self.before(inst.site, Kind::ScalarConstant(bits), frees, insts)
                        };
                        let zero = constant(0, &mut inst.frees);
                        let mut indices = vec![zero; dims.rank() - 1];
                        indices.push(constant(1, &mut inst.frees));
                        let kind = Kind::MemSlice { base: *base, indices, sizes: dims };
                        *base = self.before(inst.site, kind, &mut inst.frees, insts);
                    }
                    None => self.changed -= 1,
                }
            }
            Kind::Enqueue { .. } | Kind::Wait { .. } => inst.kind = Kind::Nop,
            Kind::If { then, otherwise, .. } => std::mem::swap(then, otherwise),
            Kind::While { before, flag, .. } => {
                let kind = Kind::Unary { steps: vec![Unary::FlipLowest], a: *flag };
                let mut kept = Vec::new();
                *flag = self.before(inst.site, kind, &mut kept, &mut before.insts);
            }
        }
        insts.push(inst);
    }

    /// An instruction of its own before the corrupted one, which then frees its result.
    fn before(&mut self, site: u32, kind: Kind, frees: &mut Vec<Slot>, insts: &mut Vec<Inst>) -> Slot {
        let out = self.fresh();
        insts.push(Inst { kind, out, site, frees: Vec::new() });
        frees.push(out);
        out
    }

    /// Applies `steps` to the result of `inst`.
    fn after(&mut self, mut inst: Inst, steps: Vec<Unary>, insts: &mut Vec<Inst>) {
        let (site, out) = (inst.site, inst.out);
        let a = self.fresh();
        inst.out = a;
        insts.push(inst);
        insts.push(Inst { kind: Kind::Unary { steps, a }, out, site, frees: vec![a] });
    }
}

/// Flips the lowest bit of a lane of that type; of the lane itself where the type isn't known.
fn flipped(dtype: Option<DType>) -> Vec<Unary> {
    let to_bits = dtype.and_then(op::to_bits);
    let from_bits = dtype.and_then(op::from_bits);
    to_bits.into_iter().chain([Unary::FlipLowest]).chain(from_bits).collect()
}

/// The same for a lane that `last` gave.
fn flipped_as(last: Option<Unary>) -> Vec<Unary> {
    flipped(match last {
        Some(Unary::RoundBf16 | Unary::Bf16FromBits) => Some(DType::Bf16),
        Some(Unary::RoundF16 | Unary::F16FromBits) => Some(DType::F16),
        Some(Unary::RoundF8E4M3FN | Unary::F8E4M3FNFromBits) => Some(DType::F8E4M3FN),
        Some(Unary::RoundF8E5M2 | Unary::F8E5M2FromBits) => Some(DType::F8E5M2),
        _ => None,
    })
}
