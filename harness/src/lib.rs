//! The harness as a library: cases, generation, trials, judgement, campaigns.
//!
//! Invariant: two functions carry the product, `run_trial` and `judge`; everything else feeds or reports them.

pub mod campaign;
pub mod case;
pub mod cli;
pub mod compare;
pub mod compile;
pub mod confirm;
pub mod contract;
pub mod controls;
pub mod corpus;
pub mod diagnose;
pub mod dump;
pub mod evidence;
pub mod fuzzing;
pub mod generate;
pub mod interference;
pub mod interpreter;
pub mod judge;
pub mod known;
pub mod loaded;
pub mod metamorphic;
pub mod minimise;
pub mod mutants;
pub mod night;
pub mod options;
pub mod ordered;
pub mod orders;
pub mod payload;
pub mod releases;
pub mod replay;
pub mod repro;
pub mod show;
pub mod signature;
pub mod signoff;
mod statics;
pub mod suspects;
pub mod traced;
pub mod trial;
