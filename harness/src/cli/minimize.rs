//! `countersign minimize`: the smallest case that still shows what a case shows.
//!
//! Invariant: the file that was given is never changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Progress as _;
use serde_json::json;

use super::console::{Failure, SetupProgress, print, today};
use super::fuzz::{known, watch_interrupts};
use super::{OrdersArgument, ProfileArgument, PythonArgument, items, session};
use crate::campaign::{Subject, write_whole};
use crate::case::{Case, CaseError};
use crate::corpus::{CorpusFile, Expect, Origin};
use crate::judge::{Finding, judge};
use crate::loaded::Loaded;
use crate::minimise::{BUDGET, Draft, Minimal, Minimiser, Target};
use crate::payload::sha256_of;
use crate::replay::Item;
use crate::repro::{self, Besides};
use crate::show;
use crate::signature::OptionNames;

const EXAMPLES: &str = "\
Examples:
  countersign minimize countersign/originals/new-divergence-jax-rpa-wrong-rows.toml
  countersign minimize my-batch.toml --out small.toml
  countersign minimize my-batch.toml --signature \"gap:refused-unseen|jax-rpa|total-q-within-rows|residue|-\"

Exit codes: 0 made as small as it gets; 1 the same, and what it shows is new; 2 it shows nothing, or can't be read or run;
3 the budget ran out, or you pressed Ctrl-C: the smallest case so far is kept.";

/// Arguments of `minimize`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file that shows a finding.
    file: PathBuf,
    /// Keep only this finding [default: everything that the case shows]; may be repeated.
    #[arg(long, value_name = "SIGNATURE")]
    signature: Vec<String>,
    /// Where the smaller case goes [default: beside the file, as NAME.min.toml].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Most cases that are executed on the way.
    #[arg(long, value_name = "N", default_value_t = BUDGET, value_parser = clap::value_parser!(u64).range(1..))]
    budget: u64,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// Print what was done as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    orders: OrdersArgument,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let path = &arguments.file;
    let unreadable = |error: CaseError| {
        Failure::new(format!("{}: {error}", path.display()), "a case file is described in corpus/README.md")
    };
    let catalogue = session::catalogue(&arguments.python)?;
    let known = known(&arguments.known)?;
    if !path.is_file() {
        return Err(Failure::new(format!("{}: no such file", path.display()), "name one case file"));
    }
    let mut found = items::read(path, &catalogue)?;
    let Some(item) = found.pop() else {
        return Err(Failure::new(format!("{}: no case there", path.display()), "name one case file"));
    };
    let kernel = session::kernel(&catalogue, &item.file.case.kernel)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let loaded = session::load(&environment, kernel, places(kernel, &item))?;
    if let Some((_, reason)) = loaded.failures().find(|(variant, _)| variant.same_call(&item.variant)) {
        return Err(Failure::new(
            format!("{}: it can't be run: {reason}", path.display()),
            "nothing to minimise",
        ));
    }

    let interrupted = watch_interrupts()?;
    let policy = Policy { orders: arguments.orders.orders, ..Policy::of(arguments.profile.profile) };
    let mut minimiser = Minimiser::new(&loaded, &known, policy);
    let draft = Draft { position: 0, case: item.file.case.clone() };
    let shown = minimiser.target(&draft).map_err(unreadable)?;
    let target = chosen(shown, &arguments.signature, path)?;
    let progress = SetupProgress::new();
    progress.step("making the case smaller");
    let minimal = minimiser
        .minimise(draft, &target, arguments.budget, &|| !interrupted.load(Ordering::Relaxed))
        .map_err(unreadable)?;
    drop(progress);

    let out = arguments.out.clone().unwrap_or_else(|| path.with_extension("min.toml"));
    let shows = minimiser.target(&minimal.draft).map_err(unreadable)?;
    let file = small_file(&loaded, &item, &minimal, &shows, path);
    keep_payload(&minimal.draft.case, path, &out)?;
    write_whole(&out, file.to_toml().as_bytes()).map_err(|error| Failure::file(&out, error))?;
    let repro = write_repro(&mut minimiser, kernel, &minimal.draft, &target, &out)?;
    tell(arguments, &loaded, &minimal, &shows, (&out, repro.as_deref()), &file)?;
    let is_new = |(_, entry): &(_, Option<usize>)| entry.is_none();
    Ok(match (shows.0.iter().any(is_new), minimal.complete) {
        (true, true | false) => 1,
        (false, false) => 3,
        (false, true) => 0,
    })
}

/// The case's own variant, then those of the catalogue that it may move to: small ones with the same options.
fn places(kernel: &KernelEntry, item: &Item) -> Vec<Variant> {
    let own = &item.variant;
    let others = kernel.variants(Tier::Small).filter(|other| {
        item.file.case.statics.is_none()
            && !other.same_call(own)
            && OptionNames::of(other) == OptionNames::of(own)
    });
    std::iter::once(own).chain(others).cloned().collect()
}

/// What the case has to go on showing.
fn chosen(shown: Target, wanted: &[String], path: &Path) -> Result<Target, Failure> {
    let Target(shown) = shown;
    let list: Vec<String> = shown.iter().map(|(signature, _)| signature.to_string()).collect();
    if shown.is_empty() {
        return Err(Failure::new(
            format!("{} shows no finding, so there is nothing to keep", path.display()),
            "`countersign replay` says what the kernel does with it",
        ));
    }
    if let Some(missing) = wanted.iter().find(|signature| !list.contains(signature)) {
        return Err(Failure::new(
            format!("{} does not show {missing}", path.display()),
            format!("it shows {}", list.join(" and ")),
        ));
    }
    let is_wanted = |signature: &String| wanted.is_empty() || wanted.contains(signature);
    let kept = shown.into_iter().zip(list).filter(|(_, text)| is_wanted(text)).map(|(finding, _)| finding);
    Ok(Target(kept.collect()))
}

/// The smaller case with the origin of the larger, and what it shows.
fn small_file(loaded: &Loaded, item: &Item, minimal: &Minimal, shows: &Target, path: &Path) -> CorpusFile {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let (from, cause) = match &item.file.origin {
        Some(Origin { from, cause, .. }) => {
            let from = from.trim_end_matches('.').trim_end_matches("; minimised");
            (format!("{from}; minimised"), cause.clone())
        }
        None => (format!("{name}, minimised"), "It shows what the larger case showed.".to_owned()),
    };
    let signatures: BTreeSet<String> = shows.0.iter().map(|(signature, _)| signature.to_string()).collect();
    CorpusFile {
        case: minimal.draft.case.clone().self_contained(loaded.kernel(), loaded.variants()),
        origin: Some(Origin { when: today(), from, cause }),
        expect: Some(Expect::Signatures(signatures.into_iter().collect())),
    }
}

/// Copies the payload's file, where there is one, beside the smaller case: a case finds it in its own folder.
fn keep_payload(case: &Case, path: &Path, out: &Path) -> Result<(), Failure> {
    let Some(file) = &case.payload.file else { return Ok(()) };
    let (from, to) = (path.with_file_name(&file.name), out.with_file_name(&file.name));
    if !to.exists() {
        return fs::copy(&from, &to).map(drop).map_err(|error| Failure::file(&to, error));
    }
    let there = sha256_of(&to).map_err(|error| Failure::file(&to, error))?;
    if there == file.sha256 {
        return Ok(());
    }
    let message = format!("{}: another file of that name is there", to.display());
    Err(Failure::new(message, "name another folder with --out"))
}

/// Writes the script that shows the first kept finding beside the case; its path, where there is one.
fn write_repro(
    minimiser: &mut Minimiser<'_>,
    kernel: &KernelEntry,
    draft: &Draft,
    target: &Target,
    out: &Path,
) -> Result<Option<PathBuf>, Failure> {
    let unreadable =
        |error: CaseError| Failure::new(error.to_string(), "a case file is described in corpus/README.md");
    let trial = minimiser.trial(draft).map_err(unreadable)?;
    let is_kept = |finding: &Finding| target.0.iter().any(|(signature, _)| *signature == finding.signature);
    let Some(finding) = judge(&trial).findings.into_iter().find(is_kept) else { return Ok(None) };
    let others = minimiser.others(draft).map_err(unreadable)?.map(|others| others.to_string());
    let besides = Besides { others: others.as_deref(), ..Besides::default() };
    match repro::script(kernel, &draft.case, &trial, &finding, besides) {
        Ok(script) => {
            let path = out.with_extension("py");
            write_whole(&path, script.as_bytes()).map_err(|error| Failure::file(&path, error))?;
            Ok(Some(path))
        }
        Err(why) => {
            eprintln!("no Python script: {why}");
            Ok(None)
        }
    }
}

fn tell(
    arguments: &Arguments,
    loaded: &Loaded,
    minimal: &Minimal,
    shows: &Target,
    (out, repro): (&Path, Option<&Path>),
    file: &CorpusFile,
) -> Result<(), Failure> {
    let Minimal { draft, before, after, executions, complete } = minimal;
    let variant = &loaded.variants()[draft.position];
    let lines: Vec<String> = shows
        .0
        .iter()
        .map(|(signature, entry)| {
            format!("shows     {signature} ({})", if entry.is_some() { "known" } else { "new" })
        })
        .collect();
    let end = if *complete { "" } else { "; stopped early" };
    let text = format!(
        "{}\n{before}\n  became {after}\n  in {executions} executions{end}\n{}\n{}",
        show::table(&draft.case, variant, &lines),
        out.display(),
        repro.map_or_else(String::new, |repro| format!("{}\n", repro.display()))
    );
    if !arguments.json {
        return print(&text);
    }
    eprint!("{text}");
    let findings: Vec<_> = shows
        .0
        .iter()
        .map(|(signature, entry)| json!({ "signature": signature.to_string(), "known": entry.is_some() }))
        .collect();
    let document = json!({
        "file": out,
        "repro": repro,
        "shows": findings,
        "variant": variant.name,
        "before": before,
        "after": after,
        "executions": executions,
        "complete": complete,
        "case_file": file.to_toml(),
    });
    print(&format!("{document:#}\n"))
}
