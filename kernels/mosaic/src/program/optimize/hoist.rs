//! Loop-invariant code: what a loop computes anew each time from values of outside is computed before it.
//!
//! Invariant: only pure instructions move, and only out of the blocks that every trip executes.

use std::collections::HashSet;

use super::super::inst::{Block, Inst, Kind, Slot};

/// Hoists out of every loop of `body`, the inner ones first.
pub(super) fn hoist(body: &mut Block) {
    let mut insts = Vec::with_capacity(body.insts.len());
    for mut inst in std::mem::take(&mut body.insts) {
        inst.kind.blocks_mut().into_iter().for_each(hoist);
        if let Kind::While { before, after, .. } = &mut inst.kind {
            let mut inside = HashSet::new();
            defined(before, &mut inside);
            defined(after, &mut inside);
            for block in [before, after] {
                insts.extend(invariant(block, &mut inside));
            }
        }
        insts.push(inst);
    }
    body.insts = insts;
}

/// Slots that a block or one nested in it defines.
fn defined(block: &Block, slots: &mut HashSet<Slot>) {
    slots.extend(&block.arguments);
    for inst in &block.insts {
        slots.insert(inst.out);
        if let Kind::If { outs, .. } | Kind::While { outs, .. } = &inst.kind {
            slots.extend(outs);
        }
        inst.kind.blocks().into_iter().for_each(|(nested, _)| defined(nested, slots));
    }
}

fn invariant(block: &mut Block, inside: &mut HashSet<Slot>) -> Vec<Inst> {
    let moved = |inst: &mut Inst| {
        let mut outside = inst.kind.is_pure();
        inst.kind.reads(|slot| outside &= !inside.contains(&slot));
        if outside {
            inside.remove(&inst.out);
        }
        outside
    };
    block.insts.extract_if(.., moved).collect()
}
