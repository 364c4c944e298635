//! Value functions of the ops: lanes in, lanes out, no memory.

pub(crate) mod arithmetic;
mod functions;
pub(crate) mod matmul;
pub(crate) mod reduce;
pub(crate) mod scalar;
pub(crate) mod square;
