//! The truth: attention over a paged ragged batch in f64, row by row a value with its error bound, or undefined.
//!
//! ```text
//! Batch ─► ragged (rows, rules) ─► paging, quant (one head's K and V) ─► attention (scores, weights, outputs)
//!                                                                         └─ mask, bound
//! ```
//!
//! Invariant: plain code without tricks that a reader can check against the definition; knows no kernel, no VM, no case.

mod attention;
mod batch;
mod bound;
mod gather;
mod lanes;
mod magnitude;
pub mod mask;
pub mod paging;
mod profile;
mod quant;
mod ragged;
pub mod rule;

pub use attention::{attend, attend_into};
pub use batch::{Batch, Metadata, Options, Shape};
pub use gather::gather;
pub use magnitude::{Magnitudes, magnitudes};
pub use profile::{Blocking, Matmul, Profile};

/// Whether attention is defined for a row of q.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowStatus {
    /// The row belongs to this sequence and has a value.
    Value {
        /// Place in the metadata.
        sequence: usize,
    },
    /// No value, for the first reason that was found.
    Undefined {
        /// Id of the rule, from [`rule`].
        rule: &'static str,
        /// The sequence that breaks it, where it is one sequence's doing.
        sequence: Option<usize>,
    },
}

/// Attention of a batch. Elements of rows without a value are NaN.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reference {
    /// Per row of q.
    pub rows: Vec<RowStatus>,
    /// `[tokens, q_heads, head_dim]`.
    pub values: Vec<f64>,
    /// Largest error of a right kernel's output, in the shape of `values`; derived in the module `bound`.
    pub bounds: Vec<f64>,
}
