//! The program: a module lowered once to instructions with resolved types, attributes and lifetimes.
//!
//! Invariant: everything that the machine doesn't know is named here, at lowering, and never met while running.
//! A program is immutable and shared between threads.

mod corrupt;
mod inst;
mod lifetime;
mod lower;
mod optimize;
mod read;
mod scope;
mod verify;
mod window;

use std::ops::Range;

use crate::ir::{Frame, MemRefType};
use crate::value::Dims;

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

/// What a coverage point stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CoverageKind {
    /// `scf.if` took this side.
    Branch(bool),
    /// A loop ran this often at one entry: 0, 1, 2, or 3 for more.
    Trips(u8),
    /// A masked store with no lane, some lanes, all lanes.
    Mask(u8),
}

/// One thing that an execution can reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoveragePoint {
    /// Index into [`Program::sites`].
    pub site: u32,
    /// What happened there.
    pub kind: CoverageKind,
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

/// When a block is entered: where its branch or loop says so.
#[derive(Debug, Clone)]
pub(crate) enum Reach {
    Always,
    /// Where any of these coverage points was hit.
    Any(Range<u32>),
}

/// The instructions of a block, nested ones included, each with when it is reached.
pub(crate) fn reach(block: &Block, reached: &Reach, out: &mut Vec<(u32, Reach)>) {
    for inst in &block.insts {
        out.push((inst.site, reached.clone()));
        match &inst.kind {
            Kind::If { then, otherwise, point, .. } => {
                reach(then, &Reach::Any(*point..point + 1), out);
                reach(otherwise, &Reach::Any(point + 1..point + 2), out);
            }
            Kind::While { before, after, point, .. } => {
                reach(before, &Reach::Any(*point..point + 4), out);
                reach(after, &Reach::Any(point + 1..point + 4), out);
            }
            _ => {}
        }
    }
}

impl Program {
    /// Number of ops, nested ones included: the unit of fuel is one executed op.
    pub fn op_count(&self) -> u64 {
        self.ops as u64
    }

    /// Coverage points in a fixed order; bit i of [`crate::Machine::coverage`] is point i.
    pub fn coverage_points(&self) -> &[CoveragePoint] {
        &self.points
    }

    /// Sites of the ops, in the order of the module.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Which of the ops that are executed at all lie in a block that was entered, given coverage bits: pairs of site and
    /// whether it was reached, in the order of execution. A block is entered where its branch or loop says so.
    pub fn reached(&self, coverage: &[u64]) -> Vec<(u32, bool)> {
        let hit =
            |point: u32| coverage.get(point as usize / 64).is_some_and(|word| word >> (point % 64) & 1 == 1);
        let ran = coverage.iter().any(|&word| word != 0);
        let reached = |reach: &Reach| match reach {
            Reach::Always => ran,
            Reach::Any(points) => points.clone().any(hit),
        };
        self.reach.iter().map(|(site, reach)| (*site, reached(reach))).collect()
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
