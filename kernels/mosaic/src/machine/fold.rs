//! Evaluation of single instructions on constants, for the optimiser.
//!
//! Invariant: the value is the one that a run would compute; what can't be computed without memory isn't.

use crate::program::{Constant, Inst, Program, SharedVector};
use crate::value::{Pool, Scalar};

use super::{Cell, Execution, Policy};

/// Evaluates constant instructions of one program, each once its operands have been.
pub(crate) struct Folder<'p> {
    program: &'p Program,
    cells: Vec<Cell>,
    pool: Pool,
}

impl<'p> Folder<'p> {
    pub(crate) fn new(program: &'p Program) -> Folder<'p> {
        Folder { program, cells: vec![Cell::Empty; program.slots], pool: Pool::default() }
    }

    /// The result of `inst`, which stays known to later ones; `None` if it faults or is no constant.
    pub(crate) fn evaluate(&mut self, inst: &Inst) -> Option<Constant> {
        let policy = Policy::default();
        let mut execution = Execution::new(self.program, &mut self.cells, &mut self.pool, &mut [], &policy);
        let value = execution.inst(inst).ok().and_then(|()| match &self.cells[inst.out as usize] {
            Cell::Scalar(Scalar { bits, undefined: 0 }) => Some(Constant::Scalar(*bits)),
            Cell::Vector(vector) if vector.undefined.is_none() => Some(Constant::Vector(SharedVector {
                dims: vector.lanes.dims,
                lanes: vector.lanes.lanes.to_vec(),
            })),
            Cell::Empty | Cell::Scalar(_) | Cell::Vector(_) | Cell::View(_) => None,
        });
        if value.is_none() {
            self.cells[inst.out as usize] = Cell::Empty;
        }
        value
    }
}
