//! Walking over all ops of a module, and room for new values: what edits of a kernel need.
//!
//! Invariant: pre-order, an op before the ops in its regions; depth 0 is the module's own ops.

use super::{Module, Op, ValueId};

impl Module {
    /// Calls `visit` with every op and its depth: the number of ops that it is nested in.
    pub fn walk<'m>(&'m self, mut visit: impl FnMut(&'m Op, usize)) {
        fn inside<'m>(ops: &'m [Op], depth: usize, visit: &mut impl FnMut(&'m Op, usize)) {
            for op in ops {
                visit(op, depth);
                for region in &op.regions {
                    inside(&region.ops, depth + 1, visit);
                }
            }
        }
        inside(&self.ops, 0, &mut visit);
    }

    /// Like [`Module::walk`], with leave to change each op; ops that `visit` puts inside are visited too.
    pub fn walk_mut(&mut self, mut visit: impl FnMut(&mut Op, usize)) {
        fn inside(ops: &mut [Op], depth: usize, visit: &mut impl FnMut(&mut Op, usize)) {
            for op in ops {
                visit(op, depth);
                for region in &mut op.regions {
                    inside(&mut region.ops, depth + 1, visit);
                }
            }
        }
        inside(&mut self.ops, 0, &mut visit);
    }

    /// A value that nothing defines yet.
    pub fn next_value(&mut self) -> ValueId {
        self.values += 1;
        ValueId(self.values - 1)
    }
}
