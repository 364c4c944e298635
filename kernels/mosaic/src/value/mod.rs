//! Run-time values: scalars, vectors with definedness, views of memory.
//!
//! Invariant: a lane is 32 bits whatever its type: floats as f32 bits (every narrow float embeds exactly), integers
//! sign-extended, masks 0 or 1. Definedness is a second grid of bit masks: a set bit of it is an undefined bit of the lane.

mod dims;
mod grid;
mod pool;

pub(crate) use dims::{Dims, MAX_RANK};
pub(crate) use grid::{Grid, Row, Rows};
pub(crate) use pool::Pool;

/// A vector's lanes and, where not all is defined, which bits aren't.
#[derive(Debug, Clone)]
pub(crate) struct Vector {
    pub(crate) lanes: Grid,
    pub(crate) undefined: Option<Grid>,
}

impl Vector {
    pub(crate) fn defined(lanes: Grid) -> Vector {
        Vector { lanes, undefined: None }
    }

    /// Gives the buffers back.
    pub(crate) fn recycle(mut self, pool: &mut Pool) {
        self.release(pool);
    }

    /// Gives the buffers back and holds nothing from then on.
    pub(crate) fn release(&mut self, pool: &mut Pool) {
        pool.give(self.lanes.lanes.take());
        if let Some(undefined) = &mut self.undefined {
            pool.give(undefined.lanes.take());
        }
    }
}

/// A scalar: an integer, index, mask bit or float as f32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scalar {
    pub(crate) bits: u32,
    pub(crate) undefined: u32,
}

impl Scalar {
    pub(crate) fn defined(bits: u32) -> Scalar {
        Scalar { bits, undefined: 0 }
    }

    pub(crate) fn is_defined(self) -> bool {
        self.undefined == 0
    }

    pub(crate) fn as_i64(self) -> i64 {
        i64::from(self.bits as i32)
    }
}
