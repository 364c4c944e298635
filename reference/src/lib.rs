//! The truth: attention over a paged ragged batch in f64, row by row a value with its error bound, or undefined.
//!
//! Invariant: plain code without tricks that a reader can check against the definition; knows no kernel, no VM, no case.

mod batch;

pub use batch::{Batch, Metadata, Options};
