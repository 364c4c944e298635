//! Everything about the kernels under test: catalogue, exporter, engines, and a folder per family.
//!
//! Invariant: what is particular to one kernel lives here and nowhere else.

pub mod call;
pub mod catalogue;
pub mod checks;
pub mod compile;
pub mod contract;
pub mod custom;
pub mod engine;
pub mod env;
pub mod export;
pub mod family;
pub mod gather;
pub mod manifest;
pub mod memory;
pub mod operand_type;
pub mod profile;
pub mod rpa;
pub mod variant;
pub mod worker;

pub use profile::DeviceProfile;
pub use variant::{Blocks, Generation, Variant};
