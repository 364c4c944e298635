//! Conformance of the VM to JAX: the real kernel and small kernels of our own, in the VM and in JAX's TPU interpreter.
//!
//! Invariant: a difference is explained by a stated cause with a stated size, or it is a failure. What is measured is published in
//! `reports/published/conformance.md` (CONTRIBUTING.md says how).

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

mod attention;
#[path = "../real/kernel.rs"]
mod kernel;
mod micro;
mod page;
mod table;
mod ulps;
mod uses;
