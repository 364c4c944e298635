//! The `countersign` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    countersign::cli::main()
}
