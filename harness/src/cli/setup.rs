//! `countersign setup`: the Python environment, prepared or looked at.

use countersign_kernels::env::{CheckState, Environment, LIBTPU_TERMS};

use super::PythonArgument;
use super::console::{Failure, SetupProgress, print};
use super::table::{self, row};

const EXAMPLES: &str = "\
Examples:
  countersign setup
  countersign setup --check
  countersign setup --with-libtpu        also the TPU's compiler, for `countersign compile`
  COUNTERSIGN_HOME=/data/countersign countersign setup";

/// Arguments of `setup`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Say what is there, and change nothing.
    #[arg(long)]
    check: bool,
    /// Also install libtpu, the TPU's compiler. It is Google's and not free software: its terms are printed first.
    #[arg(long, conflicts_with = "check")]
    with_libtpu: bool,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let python = arguments.python.python.clone();
    if !arguments.check {
        let progress = SetupProgress::new();
        let environment = Environment::open(None, python, &progress)?;
        if arguments.with_libtpu {
            eprintln!("{LIBTPU_TERMS}");
            environment.install_libtpu(&progress)?;
        }
        drop(progress);
        let versions = environment.versions();
        let packages: Vec<String> =
            versions.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        print(&format!("ready: Python {}, {}\n", versions.python, packages.join(", ")))?;
        return Ok(0);
    }
    let check = Environment::check(None, python)?;
    let state = |state: CheckState| match state {
        CheckState::Ready => "ready",
        CheckState::Missing => "missing",
        CheckState::Optional => "optional",
        CheckState::Broken => "broken",
    };
    let rows: Vec<_> =
        check.items.iter().map(|item| row![item.name, state(item.state), item.detail]).collect();
    print(&table::render(&rows))?;
    if check.is_ready() {
        Ok(0)
    } else {
        eprintln!("Not ready; `countersign setup` prepares what is missing.");
        Ok(2)
    }
}
