//! The program: a module lowered once to instructions with resolved types, attributes and lifetimes.
//!
//! Invariant: everything that the machine doesn't know is named here, at lowering, and never met while running.
//! A program is immutable and shared between threads.

mod corrupt;
mod counted;
mod coverage;
mod footprint;
mod inst;
mod lifetime;
mod lower;
mod narrowing;
mod optimize;
mod read;
mod same;
mod scope;
mod verify;
mod window;

use crate::ir::{Frame, MemRefType};
use crate::value::Dims;

pub use coverage::{CopyPlace, CopyStep, Coverage, CoverageKind, CoveragePoint, LineHits};
pub(crate) use coverage::{Reach, reach};
pub use footprint::Footprint;
pub(crate) use inst::{Block, Constant, Inst, Kind, Matmul, Reduction, SharedVector, Slot};
pub use lower::{LowerError, Unsupported};
pub(crate) use window::{Parameter, Window};

/// A place in the module: the op and the kernel's Python stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    /// Op name, e.g. `tpu.enqueue_dma`.
    pub op: String,
    /// Python stack, innermost frame first.
    pub stack: Vec<Frame>,
    /// Line of the op in the module's text, from 1.
    pub line: u32,
}

/// A lowered module, ready to run.
#[derive(Debug, Clone)]
pub struct Program {
    /// The kernel's name in the module.
    pub name: String,
    pub(crate) grid: Vec<i64>,
    pub(crate) prefetch: usize,
    pub(crate) grid_slots: Vec<Slot>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) body: Block,
    /// Logical extents of the values that the body returns.
    pub(crate) returns: Vec<Dims>,
    pub(crate) slots: usize,
    /// Values that no run changes (see `optimize`).
    pub(crate) constants: Vec<(Slot, Constant)>,
    pub(crate) sites: Vec<Site>,
    pub(crate) points: Vec<CoveragePoint>,
    pub(crate) ops: usize,
    /// Ops that are executed at all, in the order of execution, and when.
    pub(crate) reach: Vec<(u32, Reach)>,
}

impl Program {
    /// Number of ops, nested ones included: the unit of fuel is one executed op.
    pub fn op_count(&self) -> u64 {
        self.ops as u64
    }

    /// Whether both have the same instructions, on the same constants, wherever these come from in their texts. Of optimised
    /// programs that is an argument that their modules mean the same; the other way round nothing follows.
    pub fn does_the_same(&self, other: &Program) -> bool {
        same::essence(self) == same::essence(other)
    }

    /// Coverage points in a fixed order; bit i of [`crate::Machine::coverage`] is point i.
    pub fn coverage_points(&self) -> &[CoveragePoint] {
        &self.points
    }

    /// Sites of the ops, in the order of the module.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Site of the last op of `block` whose place in the source is known.
    pub(crate) fn last_line(&self, block: &Block) -> Option<u32> {
        let has_line = |site: &u32| self.sites.get(*site as usize).is_some_and(|site| !site.stack.is_empty());
        block.insts.iter().rev().map(|inst| inst.site).find(has_line)
    }

    /// Number of grid steps.
    pub fn grid_steps(&self) -> u64 {
        self.grid.iter().map(|&extent| extent.max(0) as u64).product()
    }

    /// Extents of the blocks that the runtime pipelines, in the order of inputs, then outputs.
    pub fn windows(&self) -> impl Iterator<Item = Vec<usize>> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Array { window: Some(window), .. } => Some(extents(&window.block)),
            _ => None,
        })
    }

    /// Extents of the scratch buffers, semaphores apart, in the order of the kernel's parameters.
    pub fn scratch(&self) -> impl Iterator<Item = Vec<usize>> {
        self.parameters.iter().filter_map(|parameter| match parameter {
            Parameter::Scratch { dims, .. } => Some(extents(dims)),
            _ => None,
        })
    }

    /// Number of operands: scalar-prefetch operands, then inputs.
    pub fn operand_count(&self) -> usize {
        self.parameters.iter().filter(|parameter| parameter.is_operand()).count()
    }

    /// Number of outputs.
    pub fn output_count(&self) -> usize {
        self.parameters.iter().filter(|parameter| parameter.is_output()).count()
    }
}

fn extents(dims: &Dims) -> Vec<usize> {
    dims.as_slice().iter().map(|&extent| extent as usize).collect()
}

/// Static extents of a memref, if it has no `?` and no more dimensions than we handle.
pub(crate) fn static_dims(ty: &MemRefType) -> Option<Dims> {
    let extents: Option<Vec<usize>> = ty.shape.iter().copied().collect();
    Dims::new(&extents?)
}
