//! The real kernel of the installed jax, exported and executed: what the harness claims of it, shown.
//!
//! Invariant: no made-up kernel here. One environment and one export serve all tests of this binary.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

mod command;
mod compiler;
mod contract;
mod controls;
mod edits;
mod gather;
mod hunt;
mod kernel;
mod killed;
mod minimised;
mod mutants;
mod nightly;
mod optimized;
mod own_file;
mod releases;
mod reproduced;
mod seeded;
mod sentinels;
mod shapes;
mod signoff;
mod teeth;
mod threads;
mod unpinned;

use countersign::campaign::{Observer, Totals};
pub(crate) use kernel::{Kernel, real};

/// Hears nothing.
pub struct Deaf;

impl Observer for Deaf {
    fn case(&mut self, _totals: &Totals, _fresh: &[usize]) {}

    fn panicked(&mut self, totals: &Totals) {
        panic!("{:?}", totals.internal_errors);
    }
}
