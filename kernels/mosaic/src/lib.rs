//! Mosaic, the IR that the TPU compiler takes: a parser, an immutable IR, and a virtual machine that sees every access.
//!
//! Invariant: knows memory, ops and semaphores; knows nothing of attention, batches or contracts.

pub mod ir;
mod parse;

pub use parse::{ParseError, parse};
