//! What the kernel function's arguments are: operands, windows onto them, scratch.
//!
//! Invariant: follows the order of the function's arguments after the grid indices.

use countersign_dtype::DType;

use crate::ir::MemorySpace;
use crate::value::Dims;

use super::inst::{Block, Slot};

/// A block pipelined by the runtime.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Window {
    /// Extents of the block.
    pub(crate) block: Dims,
    /// Computes the block's index from grid indices and scalars.
    pub(crate) transform: Transform,
}

/// An index map: a function of grid indices and scalar-prefetch operands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Transform {
    pub(crate) grid_slots: Vec<Slot>,
    pub(crate) scalar_slots: Vec<Slot>,
    pub(crate) body: Block,
}

/// One argument of the kernel function after the grid indices.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Parameter {
    /// A scalar-prefetch operand, whole in scalar memory.
    Prefetch { slot: Slot, dtype: DType, dims: Dims },
    /// An input or output that the kernel sees whole (`window: None`) or block by block.
    Array {
        slot: Slot,
        dtype: DType,
        dims: Dims,
        space: MemorySpace,
        output: bool,
        window: Option<Box<Window>>,
    },
    /// Scratch data.
    Scratch { slot: Slot, dtype: DType, dims: Dims, space: MemorySpace },
    /// Scratch semaphores.
    Semaphores { slot: Slot, dims: Dims },
}

impl Parameter {
    pub(crate) fn is_operand(&self) -> bool {
        matches!(self, Parameter::Prefetch { .. } | Parameter::Array { output: false, .. })
    }

    /// The index map of a pipelined array.
    pub(crate) fn transform(&self) -> Option<&Transform> {
        match self {
            Parameter::Array { window: Some(window), .. } => Some(&window.transform),
            _ => None,
        }
    }

    /// The same, to be changed.
    pub(crate) fn transform_mut(&mut self) -> Option<&mut Transform> {
        match self {
            Parameter::Array { window: Some(window), .. } => Some(&mut window.transform),
            _ => None,
        }
    }

    pub(crate) fn is_output(&self) -> bool {
        matches!(self, Parameter::Array { output: true, .. })
    }
}
