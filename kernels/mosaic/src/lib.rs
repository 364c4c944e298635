//! Mosaic, the IR that the TPU compiler takes: a parser, an immutable IR, and a virtual machine that sees every access.
//!
//! Invariant: knows memory, ops and semaphores; knows nothing of attention, batches or contracts.

mod fault;
pub mod fuzzing;
pub mod ir;
mod machine;
mod mem;
pub mod mutation;
mod op;
mod ops;
mod parse;
mod program;
mod simd;
mod value;

pub use fault::{Fault, FaultClass, Origin, OtherSite, Place};
pub use machine::{
    BindError, End, Machine, Operand, Output, OutputSpec, Policy, Returned, Run, Sanitizers, Step, Trace,
    trace,
};
pub use mem::DmaOrder;
pub use op::known_ops;
pub use ops::arithmetic::{Arithmetic, ErrorSign, FunctionErrors};
pub use ops::matmul::MatmulMode;
pub use parse::{ParseError, parse};
pub use program::{
    CopyPlace, CopyStep, Coverage, CoverageKind, CoveragePoint, Footprint, LineHits, LowerError, Program,
    Site, Unsupported,
};
