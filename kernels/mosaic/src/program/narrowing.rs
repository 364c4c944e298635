//! Which narrow integer results are positions, so that a value that doesn't fit is a fault: narrowing overflow.
//!
//! Kernels cut words apart on purpose (packed K and V: `trunci` of loaded data), so wrapping is no fault by itself. It is one
//! where the value is a position: computed from iota, grid indices or other scalars, and read by a compare or as an index. This
//! decides it once, by data flow over the lowered blocks, forwards from where values come from and backwards from who
//! reads them, and turns `Unary::Wrap…` into the checked `Unary::Fit…` there.
//!
//! Not followed: values that pass through memory, floats, or bitwise ops (a mask of the low bits is right whatever was cut
//! off), and those read as unsigned only (`extui`, unsigned compares), which use the bits that a signed reading calls lost.
//! A lane that a later select or mask drops is judged like the others.
//!
//! Invariant: changes which of two equal lane functions an instruction names, and nothing else: no instruction, site or fuel.

use crate::ops::scalar::{Binary, Unary};

use super::inst::{Block, Kind, Slot};

/// Where a value comes from; the larger of two decides for what is computed from both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Origin {
    /// Constants alone, or not yet met.
    Constant,
    /// Iota, grid indices, scalars from memory.
    Position,
    /// Lanes loaded from memory, floats.
    Data,
}

/// What is known of each slot.
struct Flow {
    origins: Vec<Origin>,
    /// Whether a compare or an index depends on the slot's value.
    wanted: Vec<bool>,
    changed: bool,
}

/// Marks the narrowings of `body` and of the index maps `transforms` that are to be checked. The grid's and the index maps'
/// arguments are positions already, in `positions`; an index map's results are indices.
pub(super) fn mark(body: &mut Block, transforms: &mut [&mut Block], positions: &[Slot], slots: usize) {
    let mut flow = Flow { origins: vec![Origin::Constant; slots], wanted: vec![false; slots], changed: true };
    for &slot in positions {
        flow.raise(slot, Origin::Position);
    }
    for transform in transforms.iter() {
        transform.yields.iter().for_each(|&slot| flow.want(slot));
    }
    while std::mem::take(&mut flow.changed) {
        for block in transforms.iter().map(|block| &**block).chain([&*body]) {
            flow.forwards(block);
            flow.backwards(block);
        }
    }
    for block in transforms.iter_mut().map(|block| &mut **block).chain([body]) {
        flow.rewrite(block);
    }
}

impl Flow {
    fn raise(&mut self, slot: Slot, origin: Origin) {
        let old = &mut self.origins[slot as usize];
        self.changed |= *old < origin;
        *old = origin.max(*old);
    }

    fn want(&mut self, slot: Slot) {
        self.changed |= !std::mem::replace(&mut self.wanted[slot as usize], true);
    }

    fn origin(&self, slots: &[Slot]) -> Origin {
        slots.iter().map(|&slot| self.origins[slot as usize]).max().unwrap_or(Origin::Constant)
    }

    fn raise_all(&mut self, from: &[Slot], to: &[Slot]) {
        for (&from, &to) in from.iter().zip(to) {
            self.raise(to, self.origins[from as usize]);
        }
    }

    fn want_all(&mut self, from: &[Slot], to: &[Slot]) {
        for (&from, &to) in from.iter().zip(to) {
            if self.wanted[to as usize] {
                self.want(from);
            }
        }
    }

    fn forwards(&mut self, block: &Block) {
        for inst in &block.insts {
            let origin = match &inst.kind {
                Kind::ScalarConstant(_) | Kind::VectorConstant(_) => Origin::Constant,
                Kind::Iota { .. } | Kind::ScalarLoad { .. } => Origin::Position,
                Kind::If { then, otherwise, outs, .. } => {
                    for side in [then, otherwise] {
                        self.forwards(side);
                        self.raise_all(&side.yields, outs);
                    }
                    continue;
                }
                Kind::While { inits, before, after, outs, .. } => {
                    self.raise_all(inits, &before.arguments);
                    self.forwards(before);
                    self.raise_all(&before.yields, &after.arguments);
                    self.raise_all(&before.yields, outs);
                    self.forwards(after);
                    self.raise_all(&after.yields, &before.arguments);
                    continue;
                }
                kind => match operands(kind) {
                    Some(operands) => self.origin(&operands),
                    None => Origin::Data,
                },
            };
            self.raise(inst.out, origin);
        }
    }

    fn backwards(&mut self, block: &Block) {
        for inst in block.insts.iter().rev() {
            match &inst.kind {
                Kind::If { then, otherwise, outs, .. } => {
                    for side in [then, otherwise] {
                        self.want_all(&side.yields, outs);
                        self.backwards(side);
                    }
                }
                Kind::While { inits, before, after, outs, .. } => {
                    self.want_all(&after.yields, &before.arguments);
                    self.backwards(after);
                    self.want_all(&before.yields, &after.arguments);
                    self.want_all(&before.yields, outs);
                    self.backwards(before);
                    self.want_all(inits, &before.arguments);
                }
                Kind::MemSlice { indices, .. }
                | Kind::ScalarLoad { indices, .. }
                | Kind::ScalarStore { indices, .. }
                | Kind::Load { indices, .. }
                | Kind::Store { indices, .. } => indices.iter().for_each(|&slot| self.want(slot)),
                Kind::Binary { op, a, b, .. } if is_signed_compare(*op) => {
                    self.want(*a);
                    self.want(*b);
                }
                kind if self.wanted[inst.out as usize] => {
                    for slot in operands(kind).unwrap_or_default() {
                        self.want(slot);
                    }
                }
                _ => {}
            }
        }
    }

    fn rewrite(&self, block: &mut Block) {
        for inst in &mut block.insts {
            for nested in inst.kind.blocks_mut() {
                self.rewrite(nested);
            }
            let at = inst.out as usize;
            if self.origins[at] != Origin::Position || !self.wanted[at] {
                continue;
            }
            match &mut inst.kind {
                Kind::Unary { steps, .. } => steps.iter_mut().for_each(|step| *step = checked(*step)),
                Kind::Binary { then: Some(then), .. } => *then = checked(*then),
                _ => {}
            }
        }
    }
}

/// The operands that the result is computed from as an integer, `None` for what is not followed.
fn operands(kind: &Kind) -> Option<Vec<Slot>> {
    match kind {
        Kind::Unary { steps, a } if steps.iter().all(|step| is_integer(*step)) => Some(vec![*a]),
        Kind::Binary { op, a, b, .. } if is_arithmetic(*op) => Some(vec![*a, *b]),
        Kind::Select { on, off, .. } => Some(vec![*on, *off]),
        Kind::Broadcast { a, .. } | Kind::ShapeCast { a, .. } => Some(vec![*a]),
        Kind::Concatenate { parts, .. } => Some(parts.iter().map(|part| part.0).collect()),
        _ => None,
    }
}

/// The lane function that is checked in its stead.
fn checked(step: Unary) -> Unary {
    match step {
        Unary::Wrap16 => Unary::Fit16,
        Unary::Wrap8 => Unary::Fit8,
        Unary::Wrap4 => Unary::Fit4,
        other => other,
    }
}

/// Conversions between signed integers.
fn is_integer(step: Unary) -> bool {
    matches!(step, Unary::Wrap16 | Unary::Wrap8 | Unary::Wrap4 | Unary::Negate)
}

fn is_arithmetic(op: Binary) -> bool {
    matches!(
        op,
        Binary::AddI
            | Binary::SubI
            | Binary::MulI
            | Binary::DivSI
            | Binary::RemSI
            | Binary::ShlI
            | Binary::MinSI
            | Binary::MaxSI
    )
}

fn is_signed_compare(op: Binary) -> bool {
    matches!(
        op,
        Binary::CmpEq | Binary::CmpNe | Binary::CmpSlt | Binary::CmpSle | Binary::CmpSgt | Binary::CmpSge
    )
}
