//! The harness as a library: cases, generation, trials, judgement, campaigns.
//!
//! Invariant: two functions carry the product, `run_trial` and `judge`; everything else feeds or reports them.

pub mod case;
pub mod corpus;
pub mod payload;
