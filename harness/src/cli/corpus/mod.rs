//! `countersign corpus`: folders of cases looked after.
//!
//! Invariant: a folder is changed by `add`, `pack` (its archive), `make`, `verify --fix` and `prune --yes` only.

mod add;
mod grown;
mod make;
mod pack;
mod prune;
mod stats;
mod verify;

use clap::Subcommand;

use super::console::Failure;

const EXAMPLES: &str = "\
Examples:
  countersign corpus verify corpus
  countersign corpus stats corpus
  countersign corpus add countersign/findings/x.toml --to corpus/regressions/jax-rpa --from \"seed 1, case 17\" --cause \"…\"
  countersign corpus prune corpus/regressions
  countersign corpus pack grown.zip        # what nights have grown here, to be added on another machine
  countersign corpus add grown.zip";

/// Arguments of `corpus`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look for what is wrong with the files of a corpus; nothing is run.
    Verify(verify::Arguments),
    /// Count what is in a corpus.
    Stats(stats::Arguments),
    /// Replay a case and put it into a corpus, with what it shows as its expectation; or take in an archive of `pack`.
    Add(add::Arguments),
    /// Find cases that add nothing to the others, and with --yes remove them.
    Prune(prune::Arguments),
    /// Pack the corpus that nights have grown into one archive.
    Pack(pack::Arguments),
    /// Write the generated part of the program's own corpus again: seeds and upstream's batches.
    #[command(hide = true)]
    Make(make::Arguments),
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    match &arguments.command {
        Command::Verify(arguments) => verify::run(arguments),
        Command::Stats(arguments) => stats::run(arguments),
        Command::Add(arguments) => add::run(arguments),
        Command::Prune(arguments) => prune::run(arguments),
        Command::Pack(arguments) => pack::run(arguments),
        Command::Make(arguments) => make::run(arguments),
    }
}
