//! Ragged paged attention with a separate cache update: rules, upstream's checks, operands, and what the kernel may do.
//!
//! Invariant: knows metadata and shapes, never how attention is computed (the reference) or executed (the VM).

pub mod bind;
pub mod contract;
pub mod diagnose;
pub mod facts;
pub mod meaning;
mod model;
pub mod repro;
pub mod seeded;
pub mod sweep;
#[cfg(test)]
pub(crate) mod testing;
pub mod validator;

pub use model::Rpa;
