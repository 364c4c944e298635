//! Common subexpressions and copies: a value that exists already under another slot is read from there.
//!
//! Invariant: a slot is replaced only by one whose definition dominates: it stands earlier in the same block or in an
//! enclosing one.

use std::collections::HashMap;

use super::super::inst::{Block, Kind, Slot};

/// Merges equal pure instructions and removes copies.
pub(super) fn merge(body: &mut Block) {
    let mut merging = Merging { seen: HashMap::new(), instead: HashMap::new() };
    merging.block(body);
}

#[derive(Default)]
struct Merging {
    /// Pure instructions in scope, by what they compute.
    seen: HashMap<Kind, Slot>,
    instead: HashMap<Slot, Slot>,
}

impl Merging {
    fn now(&self, slot: &mut Slot) {
        if let Some(&other) = self.instead.get(slot) {
            *slot = other;
        }
    }

    fn block(&mut self, block: &mut Block) {
        let mut added: Vec<Kind> = Vec::new();
        block.insts.retain_mut(|inst| {
            inst.kind.reads_mut(|slot| self.now(slot));
            inst.kind.blocks_mut().into_iter().for_each(|nested| self.block(nested));
            // The flag is an operand of the terminator of the first block, which was visited just now.
            if let Kind::While { flag, .. } = &mut inst.kind {
                self.now(flag);
            }
            if let Some(source) = copied(&inst.kind) {
                self.instead.insert(inst.out, source);
                return false;
            }
            if !is_mergeable(&inst.kind) {
                return true;
            }
            if let Some(&slot) = self.seen.get(&inst.kind) {
                self.instead.insert(inst.out, slot);
                return false;
            }
            self.seen.insert(inst.kind.clone(), inst.out);
            added.push(inst.kind.clone());
            true
        });
        block.yields.iter_mut().for_each(|slot| self.now(slot));
        for kind in &added {
            self.seen.remove(kind);
        }
    }
}

/// The slot that an instruction merely copies.
fn copied(kind: &Kind) -> Option<Slot> {
    match kind {
        Kind::Unary { steps, a } if steps.is_empty() => Some(*a),
        Kind::ShapeCast { a, from, to } if from == to => Some(*a),
        _ => None,
    }
}

/// Views keep the site that a complaint names; of two equal divisions or narrowings only the first can fault.
fn is_mergeable(kind: &Kind) -> bool {
    let is_view = matches!(
        kind,
        Kind::MemSlice { .. } | Kind::MemSqueeze { .. } | Kind::MemReshape { .. } | Kind::MemBitcast { .. }
    );
    (kind.is_pure() && !is_view && !matches!(kind, Kind::Nop))
        || matches!(kind, Kind::Unary { .. } | Kind::Binary { .. })
}
