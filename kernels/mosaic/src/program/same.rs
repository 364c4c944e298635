//! What a program does, without where its ops stand in a text.
//!
//! Invariant: two programs of one essence run alike on any operands, but for the sites that faults name.

use std::collections::{HashMap, HashSet};

use super::Program;
use super::inst::{Block, Constant, Kind, Slot};
use super::window::Parameter;

/// What a run depends on.
#[derive(Debug, PartialEq)]
pub(super) struct Essence {
    grid: Vec<i64>,
    parameters: Vec<Parameter>,
    body: Block,
    /// Those that are read, each value once.
    constants: Vec<(Slot, Constant)>,
}

/// The essence of a program.
pub(super) fn essence(program: &Program) -> Essence {
    let (mut body, mut parameters) = (program.body.clone(), program.parameters.clone());
    let mut stripping = Stripping { first: HashMap::new(), read: HashSet::new() };
    for (index, (slot, constant)) in program.constants.iter().enumerate() {
        let equal = program.constants[..index].iter().find(|(_, other)| other == constant);
        stripping.first.insert(*slot, equal.map_or(*slot, |(first, _)| *first));
    }
    stripping.block(&mut body);
    for parameter in &mut parameters {
        if let Parameter::Array { window: Some(window), .. } = parameter {
            stripping.block(&mut window.transform.body);
        }
    }
    let is_read = |(slot, _): &&(Slot, Constant)| stripping.read.contains(slot);
    let constants = program.constants.iter().filter(is_read).cloned().collect();
    Essence { grid: program.grid.clone(), parameters, body, constants }
}

struct Stripping {
    /// Of each constant, the first that is equal.
    first: HashMap<Slot, Slot>,
    read: HashSet<Slot>,
}

impl Stripping {
    fn slot(&mut self, slot: &mut Slot) {
        *slot = *self.first.get(slot).unwrap_or(slot);
        self.read.insert(*slot);
    }

    /// Forgets the sites, reads equal constants from one slot, and notes what is read.
    fn block(&mut self, block: &mut Block) {
        for inst in &mut block.insts {
            inst.site = 0;
            inst.kind.reads_mut(|slot| self.slot(slot));
            inst.kind.blocks_mut().into_iter().for_each(|nested| self.block(nested));
            if let Kind::While { flag, .. } = &mut inst.kind {
                self.slot(flag);
            }
        }
        block.yields.iter_mut().for_each(|slot| self.slot(slot));
    }
}
