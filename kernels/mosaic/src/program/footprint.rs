//! How much on-chip memory a program asks for: an estimate from its windows, scratch and scalar operands.
//!
//! Counted: each window twice, as the runtime pipelines it (one copy is filled while the other is used), scratch once, scalar
//! operands once; in VMEM with the last dimension filled up to 128 lanes and the one before it to whole 32-bit words.
//! Not counted: values that the compiler spills, its own scratch, padding to whole tiles of 8 sublanes, and windows that it
//! keeps single because their index never changes. So the truth can be larger or smaller; the compiler has the last word.
//!
//! Invariant: a function of the program's parameters alone.

use countersign_dtype::DType;

use crate::ir::MemorySpace;
use crate::value::Dims;

use super::{Parameter, Program};

const LANES: u64 = 128;

/// Bytes of on-chip memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Of vector memory.
    pub vmem: u64,
    /// Of scalar memory.
    pub smem: u64,
}

impl Program {
    /// What the program asks for, by the estimate that this module describes.
    pub fn footprint(&self) -> Footprint {
        let mut footprint = Footprint::default();
        let mut add = |space: MemorySpace, dtype: DType, dims: &Dims, times: u64| match space {
            MemorySpace::Vmem => footprint.vmem += times * padded(dtype, dims),
            MemorySpace::Smem => footprint.smem += times * (dims.len() * dtype.bits()).div_ceil(8) as u64,
            MemorySpace::Any | MemorySpace::Hbm | MemorySpace::Semaphore => {}
        };
        for parameter in &self.parameters {
            match parameter {
                Parameter::Prefetch { dtype, dims, .. } => add(MemorySpace::Smem, *dtype, dims, 1),
                Parameter::Array { dtype, dims, space, window: Some(_), .. } => add(*space, *dtype, dims, 2),
                Parameter::Array { dtype, dims, space, window: None, .. }
                | Parameter::Scratch { dtype, dims, space, .. } => add(*space, *dtype, dims, 1),
                Parameter::Semaphores { .. } => {}
            }
        }
        footprint
    }
}

/// Bytes with the last two dimensions filled up.
fn padded(dtype: DType, dims: &Dims) -> u64 {
    let bits = dtype.bits() as u64;
    let packing = (32 / bits).max(1);
    let extent = |from_last: usize| match dims.rank().checked_sub(from_last) {
        Some(dim) => dims.get(dim) as u64,
        None => 1,
    };
    let outer: u64 = (0..dims.rank().saturating_sub(2)).map(|dim| dims.get(dim) as u64).product();
    outer * extent(2).next_multiple_of(packing) * extent(1).next_multiple_of(LANES) * bits / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_filled_up_to_lanes_and_words() {
        let bytes = |dtype, extents: &[usize]| padded(dtype, &Dims::new(extents).unwrap());
        assert_eq!(bytes(DType::F32, &[2, 8, 128]), 2 * 8 * 128 * 4);
        assert_eq!(bytes(DType::F32, &[3, 100]), 3 * 128 * 4);
        assert_eq!(bytes(DType::Bf16, &[3, 128]), 4 * 128 * 2);
        assert_eq!(bytes(DType::I4, &[1, 128]), 8 * 128 / 2);
        assert_eq!(bytes(DType::F32, &[5]), 128 * 4);
    }
}
