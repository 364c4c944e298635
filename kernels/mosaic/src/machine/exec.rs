//! Execution of blocks: scalars, control flow, views, copies; vectors are in `vector`.
//!
//! Invariant: every executed instruction costs one unit of fuel. A slot holds the kind of value that its type says;
//! lowering guarantees it, so a mismatch here would be our own bug and reads as an undefined zero, never as a crash.

use std::borrow::Cow;

use crate::fault::{FaultClass, Stop, Trap};
use crate::mem::View;
use crate::ops::arithmetic::Arithmetic;
use crate::ops::scalar::{Binary, Unary, spread};
use crate::program::{Block, Inst, Kind, Slot};
use crate::value::{Dims, MAX_RANK, Scalar};

use super::{Cell, Execution, narrowing};

impl Execution<'_> {
    pub(super) fn block(&mut self, block: &Block) -> Result<(), Stop> {
        for inst in &block.insts {
            if self.fuel == 0 {
                return Err(Stop::OutOfFuel);
            }
            self.fuel -= 1;
            self.site = inst.site;
            self.inst(inst)?;
            for &slot in &inst.frees {
                self.free(slot);
            }
        }
        Ok(())
    }

    pub(super) fn set(&mut self, slot: Slot, cell: Cell) {
        let target = &mut self.cells[slot as usize];
        if let Cell::Vector(vector) = target {
            vector.release(self.pool);
        }
        *target = cell;
    }

    fn set_scalar(&mut self, slot: Slot, scalar: Scalar) {
        match &mut self.cells[slot as usize] {
            Cell::Scalar(target) => *target = scalar,
            _ => self.set(slot, Cell::Scalar(scalar)),
        }
    }

    fn free(&mut self, slot: Slot) {
        let target = &mut self.cells[slot as usize];
        if let Cell::Vector(vector) = target {
            vector.release(self.pool);
            *target = Cell::Empty;
        }
    }

    pub(super) fn scalar(&self, slot: Slot) -> Scalar {
        match &self.cells[slot as usize] {
            Cell::Scalar(scalar) => *scalar,
            Cell::Empty | Cell::Vector(_) | Cell::View(_) => Scalar { bits: 0, undefined: u32::MAX },
        }
    }

    /// A view; a slot that holds none would be our own bug and gives one that faults when it is accessed.
    pub(super) fn view(&self, slot: Slot) -> Cow<'_, View> {
        match &self.cells[slot as usize] {
            Cell::View(view) => Cow::Borrowed(view),
            Cell::Empty | Cell::Scalar(_) | Cell::Vector(_) => {
                let mut view = View::whole(0, countersign_dtype::DType::I32, Dims::ones(0));
                view.complaint =
                    Some(Box::new(crate::mem::Complaint::UndefinedIndex { dim: 0, site: self.site }));
                Cow::Owned(view)
            }
        }
    }

    pub(super) fn indices(&self, slots: &[Slot]) -> [Option<i64>; MAX_RANK] {
        let mut out = [Some(0); MAX_RANK];
        for (index, &slot) in out.iter_mut().zip(slots) {
            let scalar = self.scalar(slot);
            *index = scalar.is_defined().then(|| scalar.as_i64());
        }
        out
    }

    pub(super) fn inst(&mut self, inst: &Inst) -> Result<(), Stop> {
        match &inst.kind {
            Kind::ScalarConstant(bits) => self.set_scalar(inst.out, Scalar::defined(*bits)),
            Kind::Unary { steps, a } => match &self.cells[*a as usize] {
                Cell::Vector(_) => self.vector_unary(inst.out, steps, *a)?,
                _ => {
                    let arithmetic = &self.policy.arithmetic;
                    let value = steps
                        .iter()
                        .try_fold(self.scalar(*a), |value, step| unary(*step, value, arithmetic))?;
                    self.set_scalar(inst.out, value);
                }
            },
            Kind::Binary { op, a, b, then } => match &self.cells[*a as usize] {
                Cell::Vector(_) => self.vector_binary(inst.out, *op, *a, *b, *then)?,
                _ => {
                    let arithmetic = &self.policy.arithmetic;
                    let value = binary(*op, self.scalar(*a), self.scalar(*b), arithmetic)?;
                    let value = then.map_or(Ok(value), |then| unary(then, value, arithmetic))?;
                    self.set_scalar(inst.out, value);
                }
            },
            Kind::Select { condition, on, off } => self.select(inst, *condition, *on, *off),
            Kind::MemSlice { base, indices, sizes } => {
                let view = self.view(*base).slice(&self.indices(indices), sizes, inst.site);
                self.set(inst.out, Cell::View(view));
            }
            Kind::MemSqueeze { base, kept } => {
                let view = self.view(*base).squeeze(kept);
                self.set(inst.out, Cell::View(view));
            }
            Kind::MemReshape { base, dims } => {
                let view = self.view(*base);
                let reshaped = view.reshape(dims).ok_or_else(|| scattered(&view, "reshape"))?;
                self.set(inst.out, Cell::View(reshaped));
            }
            Kind::MemBitcast { base, dtype, dims } => {
                let view = self.view(*base);
                let cast = view.bitcast(*dtype, dims).ok_or_else(|| scattered(&view, "bitcast"))?;
                self.set(inst.out, Cell::View(cast));
            }
            Kind::ScalarLoad { base, indices } => {
                let value = self.memory.load_at(&self.view(*base), &self.indices(indices), inst.site)?;
                self.set_scalar(inst.out, value);
            }
            Kind::ScalarStore { value, base, indices } => {
                let base = self.view(*base);
                let element = base.slice(&self.indices(indices), &Dims::ones(base.dims.rank()), inst.site);
                self.memory.store_scalar(&element, self.scalar(*value))?;
            }
            Kind::Enqueue { source, target, semaphore, point } => {
                let [source, target, semaphore] =
                    [source, target, semaphore].map(|slot| self.view(*slot).into_owned());
                let rows = self.rows_copied(&source, &target);
                self.memory.start(source, target, &semaphore, inst.site)?;
                self.copied(*point, rows);
            }
            Kind::Wait { semaphore, target } => {
                let target = self.view(*target);
                let bytes = (target.dims.len() * target.dtype.bits()).div_ceil(8) as i64;
                let semaphore = self.view(*semaphore).into_owned();
                self.memory.wait(&semaphore, bytes)?;
            }
            Kind::If { condition, then, otherwise, outs, point } => {
                let taken = self.decide(*condition)?;
                self.hit(point + u32::from(!taken));
                let block = if taken { then } else { otherwise };
                self.block(block)?;
                self.forward(&block.yields, outs);
            }
            Kind::While { inits, before, flag, after, outs, point } => {
                self.forward(inits, &before.arguments);
                let mut trips = 0;
                loop {
                    self.block(before)?;
                    self.site = inst.site;
                    if !self.decide(*flag)? {
                        break;
                    }
                    trips = (trips + 1).min(3);
                    // A trip costs fuel by itself, so that a loop over nothing ends too.
                    self.fuel = self.fuel.checked_sub(1).ok_or(Stop::OutOfFuel)?;
                    self.forward(&before.yields, &after.arguments);
                    self.block(after)?;
                    self.forward(&after.yields, &before.arguments);
                }
                self.hit(point + trips);
                self.forward(&before.yields, outs);
            }
            Kind::Nop => {}
            Kind::VectorConstant(_)
            | Kind::Iota { .. }
            | Kind::Broadcast { .. }
            | Kind::ShapeCast { .. }
            | Kind::Reduce { .. }
            | Kind::Matmul(_)
            | Kind::Concatenate { .. }
            | Kind::Load { .. }
            | Kind::Store { .. } => self.vector(inst)?,
        }
        Ok(())
    }

    fn decide(&self, flag: Slot) -> Result<bool, Stop> {
        let flag = self.scalar(flag);
        if !flag.is_defined() {
            return Err(Trap::new(FaultClass::UndefinedUse, "a branch depends on an undefined value").into());
        }
        Ok(flag.bits != 0)
    }

    /// A parallel copy between slots.
    fn forward(&mut self, from: &[Slot], to: &[Slot]) {
        let mut moving = std::mem::take(&mut self.moving);
        moving.extend(from.iter().map(|&slot| self.cells[slot as usize].clone()));
        for (&slot, value) in to.iter().zip(moving.drain(..)) {
            self.set(slot, value);
        }
        self.moving = moving;
    }
}

/// A view that can't be given another shape.
fn scattered(view: &View, what: &str) -> Trap {
    let shape = view.dims.as_slice();
    let message = format!("{what} of a view {shape:?} whose elements don't lie together");
    Trap::new(FaultClass::OutOfBounds, message)
}

/// Applies a lane function to a scalar with its definedness.
fn unary(op: Unary, a: Scalar, arithmetic: &Arithmetic) -> Result<Scalar, Trap> {
    if op.is_checked() && a.is_defined() && op.lane(a.bits) != a.bits {
        return Err(narrowing::trap(op, a.bits, &[]));
    }
    let undefined = if a.is_defined() { 0 } else { unary_mask(op, a.undefined) };
    Ok(Scalar { bits: arithmetic.unary(op, a.bits), undefined })
}

/// Undefined bits of a result: moved along by widening, narrowing and bit casts, spread over all bits by arithmetic.
pub(super) fn unary_mask(op: Unary, mask: u32) -> u32 {
    match op {
        Unary::Wrap16
        | Unary::Wrap8
        | Unary::Wrap4
        | Unary::Wrap1
        | Unary::Fit16
        | Unary::Fit8
        | Unary::Fit4
        | Unary::Zero16
        | Unary::Zero8
        | Unary::Zero4 => op.lane(mask),
        Unary::FlipLowest => mask,
        Unary::Negate
        | Unary::Exp
        | Unary::Tanh
        | Unary::RoundBf16
        | Unary::RoundF16
        | Unary::RoundF8E4M3FN
        | Unary::RoundF8E5M2
        | Unary::IntToFloat
        | Unary::FloatToInt
        | Unary::Clamp16
        | Unary::Clamp8
        | Unary::Clamp4
        | Unary::Bf16Bits
        | Unary::Bf16FromBits
        | Unary::F16Bits
        | Unary::F16FromBits
        | Unary::F8E4M3FNBits
        | Unary::F8E4M3FNFromBits
        | Unary::F8E5M2Bits
        | Unary::F8E5M2FromBits => spread(mask),
    }
}

fn binary(op: Binary, a: Scalar, b: Scalar, arithmetic: &Arithmetic) -> Result<Scalar, Trap> {
    if matches!(op, Binary::DivSI | Binary::RemSI) && a.is_defined() && b.is_defined() {
        check_division(a.bits, b.bits)?;
    }
    let undefined = if a.is_defined() && b.is_defined() {
        0
    } else {
        binary_mask(op, (a.bits, a.undefined), (b.bits, b.undefined))
    };
    Ok(Scalar { bits: arithmetic.binary(op, a.bits, b.bits), undefined })
}

/// Undefined bits of a result, given lanes and undefined bits of the operands.
pub(super) fn binary_mask(op: Binary, (a, ua): (u32, u32), (b, ub): (u32, u32)) -> u32 {
    match op {
        // A defined 0 decides an `and`, a defined 1 an `or`.
        Binary::AndI => (ua | ub) & (a | ua) & (b | ub),
        Binary::OrI => (ua | ub) & (!a | ua) & (!b | ub),
        Binary::XorI => ua | ub,
        Binary::ShlI | Binary::ShrUI if ub == 0 => op.lane(ua, b),
        _ => spread(ua | ub),
    }
}

pub(super) fn check_division(a: u32, b: u32) -> Result<(), Trap> {
    if b == 0 {
        return Err(Trap::new(FaultClass::Arithmetic, format!("division of {} by zero", a as i32)));
    }
    if a as i32 == i32::MIN && b as i32 == -1 {
        return Err(Trap::new(FaultClass::Arithmetic, "division of the smallest integer by -1"));
    }
    Ok(())
}
