//! Cases, payloads and generation from outside: forms, golden hashes, coverage of classes.

#![allow(clippy::unwrap_used)] // a panic is how a test fails, in its helpers as well

mod files;
mod forms;
mod fuzzed;
mod generated;
mod patterns;
mod samples;
mod shown;
