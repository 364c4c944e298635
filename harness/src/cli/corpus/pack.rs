//! `countersign corpus pack`: the corpus that nights have grown, as one archive.
//!
//! Invariant: the archive appears whole or not at all, and the same corpus gives the same bytes.

use std::path::PathBuf;

use serde_json::json;

use super::super::console::{Failure, print};
use super::super::nightly::state::Grown;
use super::grown::StateArgument;
use crate::campaign::write_whole;
use crate::night::{Packed, pack};

const EXAMPLES: &str = "\
Examples:
  countersign corpus pack grown.zip
  countersign corpus pack grown.zip --state /data/nights

On the other machine: `countersign corpus add grown.zip`. Exit codes: 0 packed; 2 nothing to pack, or it can't be; 3 damaged files were
left out.";

/// Arguments of `corpus pack`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// The archive to write; one that is there is replaced.
    #[arg(value_name = "OUT.zip")]
    out: PathBuf,
    #[command(flatten)]
    state: StateArgument,
    /// Print the counts as JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let Arguments { out, state, json } = arguments;
    if out.extension().is_none_or(|ending| ending != "zip") {
        return Err(Failure::new(
            format!("{}: an archive is named *.zip", out.display()),
            "`countersign corpus add` tells archives by it",
        ));
    }
    let grown = Grown::open(state.folder(), false)?;
    let Packed { bytes, cases, damaged } = pack(&grown.corpus).map_err(|error| {
        Failure::new(format!("{}: {error}", grown.corpus.display()), "check the folder and its permissions")
    })?;
    for file in &damaged {
        eprintln!("left out, damaged: {}", grown.corpus.join(file).display());
    }
    if cases == 0 {
        return Err(Failure::new(
            format!("{}: no case there", grown.corpus.display()),
            "`countersign nightly` grows a corpus; --state names its folder",
        ));
    }
    write_whole(out, &bytes).map_err(|error| Failure::file(out, error))?;
    if *json {
        let counts = json!({ "file": out, "cases": cases, "bytes": bytes.len(), "damaged": damaged });
        print(&format!("{counts:#}\n"))?;
    } else {
        print(&format!("{}: {cases} cases, {} bytes\n", out.display(), bytes.len()))?;
    }
    Ok(if damaged.is_empty() { 0 } else { 3 })
}
