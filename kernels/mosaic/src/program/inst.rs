//! Instructions: one per op, operands as slots, types and attributes resolved.
//!
//! Invariant: plain data, no text; `frees` lists the slots whose last use the instruction is.

use countersign_dtype::DType;

use crate::ops::scalar::{Binary, Unary};
use crate::value::{Dims, MAX_RANK, Vector};

/// Where a value lives while a program runs; one per SSA value.
pub(crate) type Slot = u32;

/// A straight line of instructions with its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Block {
    pub(crate) arguments: Vec<Slot>,
    pub(crate) insts: Vec<Inst>,
    /// Operands of the terminator (`yield`, `return`, and `condition` after its flag).
    pub(crate) yields: Vec<Slot>,
}

/// One instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Inst {
    pub(crate) kind: Kind,
    /// First result; ops with several results list them in their kind.
    pub(crate) out: Slot,
    pub(crate) site: u32,
    pub(crate) frees: Vec<Slot>,
}

/// Reductions over lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Reduction {
    /// Sum: eight partial sums by lane index modulo 8, ascending, then added pairwise, then added to the accumulator.
    AddF,
    /// Larger, NaN if any is NaN.
    MaximumF,
}

/// What an instruction does.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    ScalarConstant(u32),
    /// A splat or dense constant.
    VectorConstant(SharedVector),
    /// Functions applied one after the other; the result is a scalar where the operand is one.
    Unary {
        steps: Vec<Unary>,
        a: Slot,
    },
    /// `then` rounds or wraps a narrow result.
    Binary {
        op: Binary,
        a: Slot,
        b: Slot,
        then: Option<Unary>,
    },
    Select {
        condition: Slot,
        on: Slot,
        off: Slot,
    },
    Iota {
        dims: Dims,
        dimension: usize,
    },
    Broadcast {
        a: Slot,
        rank: usize,
    },
    ShapeCast {
        a: Slot,
        from: Dims,
        to: Dims,
    },
    /// Over the last dimension.
    Reduce {
        reduction: Reduction,
        a: Slot,
        accumulator: Slot,
        from: Dims,
        to: Dims,
    },
    Matmul(Box<Matmul>),
    Concatenate {
        parts: Vec<(Slot, Dims)>,
        dimension: usize,
        to: Dims,
    },

    MemSlice {
        base: Slot,
        indices: Vec<Slot>,
        sizes: Dims,
    },
    MemSqueeze {
        base: Slot,
        kept: Vec<usize>,
    },
    MemReshape {
        base: Slot,
        dims: Dims,
    },
    MemBitcast {
        base: Slot,
        dtype: DType,
        dims: Dims,
    },
    ScalarLoad {
        base: Slot,
        indices: Vec<Slot>,
    },
    ScalarStore {
        value: Slot,
        base: Slot,
        indices: Vec<Slot>,
    },
    Load {
        base: Slot,
        indices: Vec<Slot>,
        window: Dims,
        steps: [i64; MAX_RANK],
        to: Dims,
        unused: bool,
    },
    Store {
        value: Slot,
        base: Slot,
        indices: Vec<Slot>,
        window: Dims,
        mask: Option<Slot>,
        point: u32,
    },
    Enqueue {
        source: Slot,
        target: Slot,
        semaphore: Slot,
        point: u32,
    },
    Wait {
        semaphore: Slot,
        target: Slot,
    },

    If {
        condition: Slot,
        then: Block,
        otherwise: Block,
        outs: Vec<Slot>,
        point: u32,
    },
    /// `flag` is the operand of the terminator of `before`.
    While {
        inits: Vec<Slot>,
        before: Block,
        flag: Slot,
        after: Block,
        outs: Vec<Slot>,
        point: u32,
    },
    /// No effect here (`tpu.trace_start`).
    Nop,
}

/// A matrix product `[m, k] x [k, n] + [m, n]`, either operand possibly transposed in storage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Matmul {
    pub(crate) lhs: Slot,
    pub(crate) rhs: Slot,
    pub(crate) accumulator: Slot,
    pub(crate) lhs_dims: Dims,
    pub(crate) rhs_dims: Dims,
    /// The contracted dimension of each operand (0 or 1).
    pub(crate) lhs_contracts: usize,
    pub(crate) rhs_contracts: usize,
    /// An operand of integers of at most 16 bits meets one of floats: its values enter as f32, exactly.
    pub(crate) lhs_integers: bool,
    pub(crate) rhs_integers: bool,
    /// Operands of the product are exact in f32 whatever the mode (asked for by the module).
    pub(crate) exact: bool,
    pub(crate) to: Dims,
}

/// A constant that threads share: plain lanes, turned into a grid by the machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SharedVector {
    pub(crate) dims: Dims,
    pub(crate) lanes: Vec<u32>,
}

/// A value that no run changes, in its slot from the start.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constant {
    Scalar(u32),
    Vector(SharedVector),
}

impl SharedVector {
    pub(crate) fn to_vector(&self) -> Vector {
        Vector::defined(crate::value::Grid::new(self.dims, self.lanes.clone()))
    }
}

impl Kind {
    /// Calls `f` with every slot that the instruction itself reads (not those of nested blocks).
    pub(crate) fn reads(&self, mut f: impl FnMut(Slot)) {
        match self {
            Kind::ScalarConstant(_) | Kind::VectorConstant(_) | Kind::Iota { .. } | Kind::Nop => {}
            Kind::Unary { a, .. } | Kind::Broadcast { a, .. } | Kind::ShapeCast { a, .. } => f(*a),
            Kind::Binary { a, b, .. } => [*a, *b].into_iter().for_each(f),
            Kind::Select { condition, on, off } => [*condition, *on, *off].into_iter().for_each(f),
            Kind::Reduce { a, accumulator, .. } => [*a, *accumulator].into_iter().for_each(f),
            Kind::Matmul(matmul) => [matmul.lhs, matmul.rhs, matmul.accumulator].into_iter().for_each(f),
            Kind::Concatenate { parts, .. } => parts.iter().for_each(|part| f(part.0)),
            Kind::MemSlice { base, indices, .. }
            | Kind::ScalarLoad { base, indices }
            | Kind::Load { base, indices, .. } => {
                f(*base);
                indices.iter().copied().for_each(f);
            }
            Kind::MemSqueeze { base, .. } | Kind::MemReshape { base, .. } | Kind::MemBitcast { base, .. } => {
                f(*base)
            }
            Kind::ScalarStore { value, base, indices } => {
                f(*value);
                f(*base);
                indices.iter().copied().for_each(f);
            }
            Kind::Store { value, base, indices, mask, .. } => {
                f(*value);
                f(*base);
                indices.iter().copied().for_each(&mut f);
                mask.iter().copied().for_each(f);
            }
            Kind::Enqueue { source, target, semaphore, .. } => {
                [*source, *target, *semaphore].into_iter().for_each(f)
            }
            Kind::Wait { semaphore, target } => [*semaphore, *target].into_iter().for_each(f),
            Kind::If { condition, .. } => f(*condition),
            Kind::While { inits, .. } => inits.iter().copied().for_each(f),
        }
    }

    /// [`Kind::reads`], to be replaced.
    pub(crate) fn reads_mut(&mut self, mut f: impl FnMut(&mut Slot)) {
        match self {
            Kind::ScalarConstant(_) | Kind::VectorConstant(_) | Kind::Iota { .. } | Kind::Nop => {}
            Kind::Unary { a, .. } | Kind::Broadcast { a, .. } | Kind::ShapeCast { a, .. } => f(a),
            Kind::Binary { a, b, .. } => [a, b].into_iter().for_each(f),
            Kind::Select { condition, on, off } => [condition, on, off].into_iter().for_each(f),
            Kind::Reduce { a, accumulator, .. } => [a, accumulator].into_iter().for_each(f),
            Kind::Matmul(matmul) => {
                let Matmul { lhs, rhs, accumulator, .. } = &mut **matmul;
                [lhs, rhs, accumulator].into_iter().for_each(f)
            }
            Kind::Concatenate { parts, .. } => parts.iter_mut().for_each(|part| f(&mut part.0)),
            Kind::MemSlice { base, indices, .. }
            | Kind::ScalarLoad { base, indices }
            | Kind::Load { base, indices, .. } => {
                f(base);
                indices.iter_mut().for_each(f);
            }
            Kind::MemSqueeze { base, .. } | Kind::MemReshape { base, .. } | Kind::MemBitcast { base, .. } => {
                f(base)
            }
            Kind::ScalarStore { value, base, indices } => {
                f(value);
                f(base);
                indices.iter_mut().for_each(f);
            }
            Kind::Store { value, base, indices, mask, .. } => {
                f(value);
                f(base);
                indices.iter_mut().for_each(&mut f);
                mask.iter_mut().for_each(f);
            }
            Kind::Enqueue { source, target, semaphore, .. } => {
                [source, target, semaphore].into_iter().for_each(f)
            }
            Kind::Wait { semaphore, target } => [semaphore, target].into_iter().for_each(f),
            Kind::If { condition, .. } => f(condition),
            Kind::While { inits, .. } => inits.iter_mut().for_each(f),
        }
    }

    /// The nested blocks, with slots that their terminator reads besides `yields`.
    pub(crate) fn blocks(&self) -> Vec<(&Block, Option<Slot>)> {
        match self {
            Kind::If { then, otherwise, .. } => vec![(then, None), (otherwise, None)],
            Kind::While { before, flag, after, .. } => vec![(before, Some(*flag)), (after, None)],
            _ => Vec::new(),
        }
    }

    pub(crate) fn blocks_mut(&mut self) -> Vec<&mut Block> {
        match self {
            Kind::If { then, otherwise, .. } => vec![then, otherwise],
            Kind::While { before, after, .. } => vec![before, after],
            _ => Vec::new(),
        }
    }

    /// Whether the instruction only computes its result, so that it may go when nobody reads it.
    pub(crate) fn is_pure(&self) -> bool {
        match self {
            Kind::ScalarConstant(_)
            | Kind::VectorConstant(_)
            | Kind::Select { .. }
            | Kind::Iota { .. }
            | Kind::Broadcast { .. }
            | Kind::ShapeCast { .. }
            | Kind::Reduce { .. }
            | Kind::Matmul(_)
            | Kind::Concatenate { .. }
            | Kind::MemSlice { .. }
            | Kind::MemSqueeze { .. }
            | Kind::MemReshape { .. }
            | Kind::MemBitcast { .. }
            | Kind::Nop => true,
            // Division can fault, and so can a checked narrowing.
            Kind::Unary { steps, .. } => !steps.iter().any(|step| step.is_checked()),
            Kind::Binary { op, then, .. } => {
                !matches!(op, Binary::DivSI | Binary::RemSI) && !then.is_some_and(Unary::is_checked)
            }
            Kind::ScalarLoad { .. }
            | Kind::ScalarStore { .. }
            | Kind::Load { .. }
            | Kind::Store { .. }
            | Kind::Enqueue { .. }
            | Kind::Wait { .. }
            | Kind::If { .. }
            | Kind::While { .. } => false,
        }
    }
}
