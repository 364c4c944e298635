//! Constant folding: instructions whose operands are all constants, evaluated by the machine itself.
//!
//! Invariant: nothing that depends on the policy is folded, and nothing that faults; all folded values together hold at most
//! [`MAX_LANES`] lanes, and what comes after that is left to the machine.

use std::collections::HashSet;

use crate::machine::Folder;
use crate::ops::scalar::{Binary, Unary};

use super::super::Program;
use super::super::inst::{Block, Constant, Kind, Slot};

/// Most lanes of folded values in a program: 64 MB.
const MAX_LANES: usize = 1 << 24;

/// Takes constant instructions out of `body` and returns their values.
pub(super) fn fold(body: &mut Block, program: &Program) -> Vec<(Slot, Constant)> {
    let mut folding =
        Folding { folder: Folder::new(program), known: HashSet::new(), constants: Vec::new(), lanes: 0 };
    folding.block(body);
    folding.constants
}

struct Folding<'p> {
    folder: Folder<'p>,
    known: HashSet<Slot>,
    constants: Vec<(Slot, Constant)>,
    lanes: usize,
}

impl Folding<'_> {
    fn block(&mut self, block: &mut Block) {
        block.insts.retain_mut(|inst| {
            inst.kind.blocks_mut().into_iter().for_each(|nested| self.block(nested));
            let mut constant = is_foldable(&inst.kind) && self.lanes < MAX_LANES;
            inst.kind.reads(|slot| constant &= self.known.contains(&slot));
            let value = if constant { self.folder.evaluate(inst) } else { None };
            let Some(value) = value else { return true };
            if let Constant::Vector(vector) = &value {
                self.lanes += vector.lanes.len();
            }
            self.known.insert(inst.out);
            self.constants.push((inst.out, value));
            false
        });
    }
}

fn is_foldable(kind: &Kind) -> bool {
    match kind {
        Kind::ScalarConstant(_)
        | Kind::VectorConstant(_)
        | Kind::Iota { .. }
        | Kind::Select { .. }
        | Kind::Broadcast { .. }
        | Kind::ShapeCast { .. }
        | Kind::Concatenate { .. } => true,
        Kind::Unary { steps, .. } => !steps.iter().any(|step| matches!(step, Unary::Exp | Unary::Tanh)),
        Kind::Binary { op, .. } => !matches!(op, Binary::AddF | Binary::SubF | Binary::MulF | Binary::DivF),
        Kind::Reduce { .. }
        | Kind::Matmul(_)
        | Kind::MemSlice { .. }
        | Kind::MemSqueeze { .. }
        | Kind::MemReshape { .. }
        | Kind::MemBitcast { .. }
        | Kind::ScalarLoad { .. }
        | Kind::ScalarStore { .. }
        | Kind::Load { .. }
        | Kind::Store { .. }
        | Kind::Enqueue { .. }
        | Kind::Wait { .. }
        | Kind::If { .. }
        | Kind::While { .. }
        | Kind::Nop => false,
    }
}
