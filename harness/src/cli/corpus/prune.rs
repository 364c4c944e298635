//! `countersign corpus prune`: cases that add nothing to the others, named with the reason, removed on request.
//!
//! Invariant: without `--yes`, after an interruption, or for a case that didn't run, nothing is removed.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

use serde_json::json;

use super::super::console::{CaseProgress, Failure, print};
use super::super::fuzz::{cores, watch_interrupts};
use super::super::items::{self, Selection, TierName, Tried};
use super::super::{PythonArgument, session};
use super::grown::{self, StateArgument};
use crate::corpus::{Verdict, Worth, prune};
use crate::judge::judge;
use crate::replay::Item;
use crate::trial::{Conduct, Trial};
use countersign_kernels::engine::Policy;

const EXAMPLES: &str = "\
Examples:
  countersign corpus prune corpus/regressions
  countersign corpus prune corpus/regressions --yes
  countersign corpus prune grown --yes     # what nights have grown, in the cache folder or --state";

/// Arguments of `corpus prune`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A folder of case files, or `grown`: the corpus of nights, where a case stays that reaches something smaller ones don't.
    folder: PathBuf,
    /// Remove the files; otherwise they are named only.
    #[arg(long)]
    yes: bool,
    /// Only name the files (the default).
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Which cases are looked at: those of small arrays, or those of large ones as well.
    #[arg(long, value_enum, default_value = "small")]
    tier: TierName,
    /// Print the verdicts as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let folder = &arguments.folder;
    if grown::is_meant(folder) {
        let Arguments { yes, json, state, python, .. } = arguments;
        return grown::prune(state, python, *yes, *json);
    }
    if !folder.is_dir() {
        return Err(Failure::new(
            format!("{}: no such folder", folder.display()),
            "name a folder of case files, or `grown`",
        ));
    }
    let catalogue = session::catalogue(&arguments.python)?;
    let Selection { items, left_out } = items::select(folder, &catalogue, arguments.tier)?;
    let interrupted = watch_interrupts()?;
    let mut worths = Vec::new();
    let mut untried = Vec::new();
    for (kernel, mine) in items::by_kernel(&catalogue, &items) {
        let environment = session::environment(arguments.python.python.clone(), kernel)?;
        let loaded = items::load(&environment, kernel, &mine)?;
        let mut progress = CaseProgress::new(mine.len());
        items::try_all(&loaded, &mine, cores(), &Policy::default(), interrupted, &mut |item, tried| {
            match worth(item, tried) {
                Ok(worth) => worths.push(worth),
                Err(why) => untried.push(format!("{}: {why}", item.name)),
            }
            progress.done(&item.name);
        });
    }
    if interrupted.load(Ordering::Relaxed) {
        eprintln!("interrupted: nothing is removed");
        return Ok(3);
    }
    let verdicts: Vec<(String, Verdict)> =
        worths.iter().map(|worth| worth.name.clone()).zip(prune(&worths)).collect();
    let text = describe(&verdicts, &untried, left_out, arguments.yes);
    if arguments.yes {
        for (name, _) in verdicts.iter().filter(|(_, verdict)| matches!(verdict, Verdict::Drop(_))) {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(|error| Failure::file(&path, error))?;
        }
    }
    if arguments.json {
        eprint!("{text}");
        let verdict = |(name, verdict): &(String, Verdict)| match verdict {
            Verdict::Keep(why) => json!({ "file": name, "keep": true, "why": why }),
            Verdict::Drop(by) => json!({ "file": name, "keep": false, "shown_by": by }),
        };
        let cases: Vec<_> = verdicts.iter().map(verdict).collect();
        print(&format!(
            "{:#}\n",
            json!({ "removed": arguments.yes, "cases": cases, "untried": untried, "left_out": left_out })
        ))?;
    } else {
        print(&text)?;
    }
    Ok(if untried.is_empty() { 0 } else { 3 })
}

/// What a case is worth, or why nobody can say.
fn worth(item: &Item, tried: Result<Tried, String>) -> Result<Worth, String> {
    let Tried { trial, coverage, .. } = tried?;
    let trial: Trial = trial.map_err(|error| error.to_string())?;
    if let Conduct::Unsupported(what) = &trial.conduct {
        return Err(what.clone());
    }
    let signatures: BTreeSet<String> =
        judge(&trial).findings.iter().map(|finding| finding.signature.to_string()).collect();
    Ok(Worth::new(item, item.file.to_toml().len(), signatures, coverage))
}

fn describe(verdicts: &[(String, Verdict)], untried: &[String], left_out: usize, remove: bool) -> String {
    let mut text = String::new();
    let mut dropped = 0;
    for (name, verdict) in verdicts {
        match verdict {
            Verdict::Keep(why) => text += &format!("keep  {name}: {why}\n"),
            Verdict::Drop(by) => {
                dropped += 1;
                text += &format!(
                    "drop  {name}: {by} is smaller, shows the same findings on the same variant and pattern, and reaches \
                     all its points and classes\n"
                );
            }
        }
    }
    for why in untried {
        text += &format!("keep  {why}\n");
    }
    let done = if remove { "removed" } else { "to remove (--yes removes them)" };
    text += &format!("{} cases, {dropped} {done}\n", verdicts.len() + untried.len());
    if left_out > 0 {
        text += &format!("{left_out} cases of the full tier were left out; --tier full looks at them, too\n");
    }
    text
}
