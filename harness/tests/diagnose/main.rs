//! `countersign diagnose` on dumps that a Python script makes with NumPy, as a user would: right batches, one for each slip, several
//! slips at once.
//!
//! Invariant: the command is run as a user runs it; the environment serves only to make the files.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

mod dumped;
mod generated;
mod large;
mod readme;
mod saved;

use std::path::Path;
use std::process::{Command, Output};

use countersign_kernels::env::{Environment, Silent};

/// Runs a Python script of this folder, or code, with arguments.
fn python(arguments: &[&str]) {
    let environment = Environment::open(None, None, &Silent).unwrap();
    let done = Command::new(environment.python()).args(arguments).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Runs `countersign diagnose`.
fn diagnose(file: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_countersign"))
        .arg("diagnose")
        .arg(file)
        .args(arguments)
        .output()
        .unwrap()
}
