//! Cases, payloads and generation from outside: forms, golden hashes, coverage of classes.

mod forms;
mod generated;
mod patterns;
mod samples;
mod shown;
