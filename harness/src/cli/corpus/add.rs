//! `countersign corpus add`: a case becomes a member of a corpus.
//!
//! With an archive of `corpus pack`, the cases in it become members of the grown corpus.
//!
//! Invariant: nothing is written unless the case ran, and an existing file is never overwritten; nor is anything of an archive
//! that isn't sound.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::super::console::{Failure, print, today};
use super::super::items::{self, Tried};
use super::super::{PythonArgument, session};
use super::grown::{self, StateArgument};
use crate::campaign::write_whole;
use crate::corpus::{Expect, Origin, expectation, free_name, name_for, same_case, slug};
use crate::replay::Item;
use crate::trial::Trial;
use countersign_kernels::engine::Policy;

const EXAMPLES: &str = "\
Examples:
  countersign corpus add countersign/findings/x.toml --to corpus/regressions/jax-rpa \\
      --from \"seed 1, case 17\" --cause \"An empty sequence's block is never waited for.\"
  countersign corpus add my-batch.toml --to corpus --from \"issue 12\" --cause \"…\" --name two-prefills
  countersign corpus add grown.zip";

/// Arguments of `corpus add`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file; or an archive of `corpus pack` (*.zip), which goes to the grown corpus and needs nothing else.
    file: PathBuf,
    /// The corpus folder that the case goes to; made if it doesn't exist.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// What the case came from: a campaign's seed and index, an issue, a person.
    #[arg(long, value_name = "TEXT")]
    from: Option<String>,
    /// Why the case matters, in plain words.
    #[arg(long, value_name = "TEXT")]
    cause: Option<String>,
    /// Its file's name [default: from the rules that it breaks and what the kernel does].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Print path and expectation as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    state: StateArgument,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let Arguments { file, to, from, cause, name, json, state, python } = arguments;
    if file.extension().is_some_and(|ending| ending == "zip") {
        return grown::take_in(file, state, *json);
    }
    let (Some(to), Some(from), Some(cause)) = (to, from, cause) else {
        let needed = "a case of a corpus has a folder, an origin and a cause: give --to, --from and --cause";
        return Err(Failure::new(needed, "only an archive of `countersign corpus pack` needs none of them"));
    };
    let catalogue = session::catalogue(python)?;
    if !file.is_file() {
        return Err(Failure::new(format!("{}: no such file", file.display()), "name one case file"));
    }
    let mut found = items::read(file, &catalogue)?;
    let Some(mut item) = found.pop() else {
        return Err(Failure::new(format!("{}: no case there", file.display()), "name one case file"));
    };
    for (what, text) in [("--from", from), ("--cause", cause)] {
        if text.trim().is_empty() {
            return Err(Failure::new(
                format!("{what} says nothing"),
                "a person will want to know it in a year",
            ));
        }
    }
    let members = if to.exists() { items::read(to, &catalogue)? } else { Vec::new() };
    if let Some(other) = members.iter().find(|other| same_case(other, &item)) {
        return Err(Failure::new(
            format!("{} already holds this case", to.join(&other.name).display()),
            "a case is kept once; edit that file's [origin] if there is more to say",
        ));
    }
    let trial = try_one(&item, &catalogue, python.python.clone())?;
    let expect = expectation(&trial).map_err(|why| {
        Failure::new(format!("{}: {why}", file.display()), "only what a replay can show is kept")
    })?;
    let name = name
        .as_deref()
        .map_or_else(|| name_for(&item, &trial), |name| slug(name.strip_suffix(".toml").unwrap_or(name)));
    let name = free_name(&name, &|name| to.join(format!("{name}.toml")).exists());
    item.file.origin = Some(Origin { when: today(), from: from.clone(), cause: cause.clone() });
    item.file.expect = Some(expect.clone());
    let path = to.join(format!("{name}.toml"));
    fs::create_dir_all(to).map_err(|error| Failure::file(to, error))?;
    if let Some(payload) = &mut item.file.case.payload.file {
        let beside = to.join(format!("{name}.npz"));
        let source = items::folder(file).join(&payload.name);
        fs::copy(&source, &beside).map_err(|error| Failure::file(&source, error))?;
        payload.name = format!("{name}.npz");
    }
    write_whole(&path, item.file.to_toml().as_bytes()).map_err(|error| Failure::file(&path, error))?;
    show(&path, &expect, *json)?;
    Ok(0)
}

fn try_one(
    item: &Item,
    catalogue: &countersign_kernels::catalogue::Catalogue,
    python: Option<PathBuf>,
) -> Result<Trial, Failure> {
    let kernel = session::kernel(catalogue, &item.file.case.kernel)?;
    let environment = session::environment(python, kernel)?;
    let loaded = items::load(&environment, kernel, &[item])?;
    let mut outcome = None;
    items::try_all(&loaded, &[item], 1, &Policy::default(), &AtomicBool::new(false), &mut |_, tried| {
        outcome = Some(tried)
    });
    match outcome {
        Some(Ok(Tried { trial: Ok(trial), .. })) => Ok(trial),
        Some(Ok(Tried { trial: Err(error), .. })) => {
            Err(Failure::new(error.to_string(), "a case file is described in corpus/README.md"))
        }
        Some(Err(panic)) => Err(Failure::new(panic, "this is a fault of countersign: please report it")),
        None => {
            Err(Failure::new("the case was not tried", "this is a fault of countersign: please report it"))
        }
    }
}

fn show(path: &Path, expect: &Expect, as_json: bool) -> Result<(), Failure> {
    let signatures: &[String] = match expect {
        Expect::Clean => &[],
        Expect::Signatures(signatures) => signatures,
    };
    if as_json {
        return print(&format!("{:#}\n", json!({ "file": path, "shows": signatures })));
    }
    for signature in signatures {
        eprintln!("shows {signature}");
    }
    print(&format!("{}\n", path.display()))
}
