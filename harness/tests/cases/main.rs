//! Cases, payloads and generation from outside: forms, golden hashes, coverage of classes.

mod files;
mod forms;
mod fuzzed;
mod generated;
mod patterns;
mod samples;
mod shown;
