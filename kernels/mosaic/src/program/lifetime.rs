//! Dead code and last uses: what need not run, and when a value's buffers can be used again.
//!
//! Invariant: a value is freed in the block that defines it, after the last instruction there that reads it, itself or
//! in a nested block; so a value from outside a loop survives the whole loop. A load that nobody reads keeps its checks.

use super::inst::{Block, Kind, Slot};

/// Removes pure instructions without readers, turns loads without readers into checks, and fills `frees`.
pub(crate) fn finish(body: &mut Block, slots: usize) {
    let mut readers = vec![0u32; slots];
    count(body, &mut readers);
    sweep(body, &mut readers);
    let mut last = vec![u32::MAX; slots];
    free(body, None, &mut last);
}

fn count(block: &Block, readers: &mut [u32]) {
    for inst in &block.insts {
        inst.kind.reads(|slot| readers[slot as usize] += 1);
        for (nested, flag) in inst.kind.blocks() {
            count(nested, readers);
            flag.into_iter().for_each(|slot| readers[slot as usize] += 1);
        }
    }
    block.yields.iter().for_each(|&slot| readers[slot as usize] += 1);
}

fn sweep(block: &mut Block, readers: &mut [u32]) {
    for index in (0..block.insts.len()).rev() {
        for nested in block.insts[index].kind.blocks_mut() {
            sweep(nested, readers);
        }
        let inst = &mut block.insts[index];
        let unread = readers[inst.out as usize] == 0;
        if unread && inst.kind.is_pure() {
            inst.kind.reads(|slot| readers[slot as usize] -= 1);
            inst.kind = Kind::Nop;
        } else if let Kind::Load { unused, .. } = &mut inst.kind {
            *unused = unread;
        }
    }
    block.insts.retain(|inst| !matches!(inst.kind, Kind::Nop));
}

/// Returns the slots that the block reads, its nested blocks included.
fn free(block: &mut Block, flag: Option<Slot>, last: &mut [u32]) -> Vec<Slot> {
    let mut all = Vec::new();
    let mut per_inst = Vec::with_capacity(block.insts.len());
    for inst in &mut block.insts {
        inst.frees.clear();
        let mut reads = Vec::new();
        inst.kind.reads(|slot| reads.push(slot));
        // Only the first block of a `while` ends in a flag.
        let flags: Vec<Slot> = inst.kind.blocks().into_iter().filter_map(|(_, flag)| flag).collect();
        reads.extend(&flags);
        for (index, nested) in inst.kind.blocks_mut().into_iter().enumerate() {
            reads.extend(free(nested, flags.get(index).copied(), last));
        }
        reads.sort_unstable();
        reads.dedup();
        per_inst.push(reads);
    }
    // Values defined here: results of instructions (arguments are overwritten at the next entry and hold little).
    let mut local: Vec<Slot> = Vec::new();
    for inst in &block.insts {
        if !matches!(inst.kind, Kind::If { .. } | Kind::While { .. }) {
            local.push(inst.out);
        }
    }
    for &slot in &local {
        last[slot as usize] = u32::MAX - 1;
    }
    for (index, reads) in per_inst.iter().enumerate() {
        for &slot in reads {
            if last[slot as usize] != u32::MAX {
                last[slot as usize] = index as u32;
            }
        }
    }
    for &slot in block.yields.iter().chain(&flag) {
        last[slot as usize] = u32::MAX;
    }
    for &slot in &local {
        let at = last[slot as usize] as usize;
        if at < block.insts.len() {
            block.insts[at].frees.push(slot);
        }
        last[slot as usize] = u32::MAX;
    }
    for reads in per_inst {
        all.extend(reads);
    }
    all.extend_from_slice(&block.yields);
    all
}
