//! What a program does, without where its ops stand in a text.
//!
//! Invariant: two programs of one essence run alike on any operands, but for the sites that faults name.

use std::collections::HashSet;

use super::Program;
use super::inst::{Block, Constant, Slot};
use super::window::Parameter;

/// What a run depends on.
#[derive(Debug, PartialEq)]
pub(super) struct Essence {
    grid: Vec<i64>,
    parameters: Vec<Parameter>,
    body: Block,
    /// Those that are read.
    constants: Vec<(Slot, Constant)>,
}

/// The essence of a program.
pub(super) fn essence(program: &Program) -> Essence {
    let (mut body, mut parameters) = (program.body.clone(), program.parameters.clone());
    let mut read = HashSet::new();
    strip(&mut body, &mut read);
    for parameter in &mut parameters {
        if let Parameter::Array { window: Some(window), .. } = parameter {
            strip(&mut window.transform.body, &mut read);
        }
    }
    let constants = program.constants.iter().filter(|(slot, _)| read.contains(slot)).cloned().collect();
    Essence { grid: program.grid.clone(), parameters, body, constants }
}

/// Forgets the sites and notes what is read.
fn strip(block: &mut Block, read: &mut HashSet<Slot>) {
    for inst in &mut block.insts {
        inst.site = 0;
        inst.kind.reads(|slot| {
            read.insert(slot);
        });
        read.extend(inst.kind.blocks().into_iter().filter_map(|(_, flag)| flag));
        inst.kind.blocks_mut().into_iter().for_each(|nested| strip(nested, read));
    }
    read.extend(&block.yields);
}
