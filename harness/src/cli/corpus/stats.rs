//! `countersign corpus stats`: what is in a corpus.
//!
//! Invariant: counts all that is there or says what it couldn't count.

use std::path::PathBuf;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value, json};

use super::super::console::{CaseProgress, Failure, print};
use super::super::fuzz::{cores, watch_interrupts};
use super::super::table::{self, row};
use super::super::{CatalogArgument, items, session};
use super::grown::{self, StateArgument};
use crate::corpus::{AXES, Stats, contract_of};
use crate::ordered::in_order;

const EXAMPLES: &str = "\
Examples:
  countersign corpus stats builtin
  countersign corpus stats corpus --json
  countersign corpus stats grown           # what nights have grown, in the cache folder or --state";

/// Arguments of `corpus stats`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file, a folder of them, `builtin`, or `grown`: the corpus of nights.
    folder: PathBuf,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    catalog: CatalogArgument,
    /// Print the counts as JSON on standard output.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::extended(&arguments.catalog)?;
    let (items, left_out) = if grown::is_meant(&arguments.folder) {
        grown::items(&arguments.state, &catalogue)?
    } else {
        (items::read(&arguments.folder, &catalogue)?, 0)
    };
    if items.is_empty() {
        let message = format!("{}: no case there", arguments.folder.display());
        return Err(Failure::new(
            message,
            "name a case file, a folder with *.toml case files, `builtin`, or `grown`",
        ));
    }
    let interrupted = watch_interrupts()?;
    let mut stats = Stats::default();
    let mut wrong = Vec::new();
    let mut progress = CaseProgress::new(items.len());
    let go_on = || !interrupted.load(Ordering::Relaxed);
    in_order(items.len(), cores(), &go_on, &|index| contract_of(&items[index]), &mut |index, contract| {
        let item = &items[index];
        match contract {
            Ok(Ok(contract)) => stats.add(item, &contract),
            Ok(Err(error)) => wrong.push(format!("{}: {error}", item.name)),
            Err(panic) => wrong.push(format!("{}: a fault of countersign itself: {panic}", item.name)),
        }
        progress.done(&item.name);
    });
    drop(progress);
    if !wrong.is_empty() {
        return Err(Failure::new(wrong.join("\n"), "`countersign corpus verify` says all that is wrong"));
    }
    if arguments.json {
        let mut document = Map::from_iter([
            ("cases".to_owned(), json!(stats.cases)),
            ("left_out".to_owned(), json!(left_out)),
        ]);
        document
            .extend(AXES.iter().zip(&stats.counts).map(|(axis, counts)| ((*axis).to_owned(), json!(counts))));
        print(&format!("{:#}\n", Value::Object(document)))?;
    } else {
        print(&describe(&stats))?;
    }
    if left_out > 0 {
        eprintln!("{left_out} files left out: no cases of this version or of a kernel in the catalogue");
    }
    Ok(if stats.cases == items.len() && left_out == 0 { 0 } else { 3 })
}

fn describe(stats: &Stats) -> String {
    let mut rows = vec![row!["cases", "", stats.cases]];
    for (axis, counts) in AXES.iter().zip(&stats.counts) {
        for (position, (name, count)) in counts.iter().enumerate() {
            rows.push(row![if position == 0 { axis } else { "" }, name, count]);
        }
    }
    table::render(&rows)
}
