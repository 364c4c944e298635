//! Everything about the kernels under test: catalogue, exporter, engines, and a folder per family.
//!
//! Invariant: what is particular to one kernel lives here and nowhere else.

pub mod variant;

pub use variant::{Generation, Variant};
