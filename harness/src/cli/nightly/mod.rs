//! `countersign nightly`: a night of fuzzing from arguments to report, whatever happens on the way.
//!
//! ```text
//! state (corpus, findings, history) ─► replay ─► search: kernel × target, worker processes ─► minimise findings ─► replay
//!                                            ─► minimise corpora ─► history, report
//! ```
//!
//! Invariant: an event is written after the file that it names, and what an event names stays, or a later event says that it
//! went. Only this process stores anything; workers tell it. Time is measured by a clock that never jumps, and the date is that of
//! the night's beginning, read once.

mod conclude;
pub(super) mod state;
mod supervisor;
pub(super) mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Environment;
use miette::Diagnostic as _;
use serde_json::{Value, json};

use super::console::{Failure, today};
use super::fuzz::{cores, known, parse_seed, parse_time, watch_interrupts};
use super::items::{self, Selection, TierName};
use super::{ProfileArgument, PythonArgument, session};
use crate::campaign::{EventLog, tool, write_whole};
use crate::case::Case;
use crate::corpus::{CorpusFile, Origin};
use crate::known::KnownFile;
use crate::loaded::Loaded;
use crate::night::Target;
use crate::replay::Item;
use crate::signature::Signature;
use state::State;

const EXAMPLES: &str = "\
Examples:
  countersign nightly
  countersign nightly --time 8h --out nightly
  countersign nightly --time 60m --corpus corpus/regressions --known corpus/known.toml --kernel jax-rpa

Run it again after an interruption: what it had stored is there. Exit codes: 0 nothing new; 1 a finding that nothing explains, an
expectation no longer met, or an entry of a known file that has expired; 2 usage, environment, or a fault of our own; 3 incomplete.";

/// Arguments of `nightly`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// How long to search, e.g. 10m, 8h; replays and minimising come on top.
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = parse_time)]
    time: Duration,
    /// Worker processes [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Only this kernel of the catalogue; may be repeated.
    #[arg(long, value_name = "ID")]
    kernel: Vec<String>,
    /// Seed [default: the night's number, so that each night searches elsewhere].
    #[arg(long, value_name = "N|random", value_parser = parse_seed)]
    seed: Option<u64>,
    /// The regressions that are replayed first: a folder, or `builtin`.
    #[arg(long, value_name = "DIR", default_value = "builtin")]
    corpus: PathBuf,
    /// Folder for the report, the event log and the findings.
    #[arg(long, value_name = "DIR", default_value = "countersign")]
    out: PathBuf,
    /// Folder of what nights leave to each other: grown corpus, findings, history [default: in the cache folder].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// A worker that says nothing for so long is killed, and its case kept as a suspect.
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = parse_time)]
    hang: Duration,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    python: PythonArgument,
}

/// A night under way.
struct Night<'a> {
    out: PathBuf,
    working: PathBuf,
    /// When the night began.
    date: String,
    state: State,
    log: EventLog,
    jobs: usize,
    hang: Duration,
    seed: u64,
    known: &'a KnownFile,
    policy: Policy,
    /// What workers are told besides their own.
    passed_on: Vec<OsString>,
    interrupted: &'a AtomicBool,
    /// Findings that nothing explains, tonight's and those of earlier nights, by signature.
    pending: BTreeMap<String, Pending>,
    /// Kernels whose findings were not replayed tonight.
    unreplayed: BTreeSet<String>,
    troubles: Vec<String>,
    panics: u64,
}

/// A finding that nothing explained when it was stored.
#[derive(Debug, Clone)]
struct Pending {
    kernel: String,
    signature: Signature,
    detail: String,
    /// Relative to the run's folder; also its name in the state's.
    file: String,
    case: Case,
    /// Whether its case still has to be minimised.
    raw: bool,
    minimised: Option<String>,
    /// Met tonight.
    tonight: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let started = Instant::now();
    let catalogue = session::catalogue(&arguments.python)?;
    let kernels = kernels(&catalogue, &arguments.kernel)?;
    let known = known(&arguments.known)?;
    let Selection { mut items, .. } = items::select(&arguments.corpus, &catalogue, TierName::Small)?;
    items.retain(|item| kernels.iter().any(|kernel| kernel.id == item.file.case.kernel));
    let interrupted = watch_interrupts()?;
    let out = std::path::absolute(&arguments.out).map_err(|error| Failure::file(&arguments.out, error))?;
    let log = EventLog::open(&out).map_err(|error| Failure::file(&out, error))?;
    let working = out.join("working");
    fs::create_dir_all(&working).map_err(|error| Failure::file(&working, error))?;
    let first =
        kernels.first().ok_or_else(|| Failure::new("no kernel to search", "name one with --kernel"))?;
    let environment = session::environment(arguments.python.python.clone(), first)?;
    let date = today();
    let (state, troubles) = State::open(arguments.state.as_deref(), environment.home(), &out, &date)?;
    let seed = arguments.seed.unwrap_or(state.number as u64);
    let mut night = Night {
        out,
        working,
        date,
        jobs: arguments.jobs.map_or_else(cores, usize::from),
        hang: arguments.hang,
        seed,
        known: &known,
        policy: Policy::of(arguments.profile.profile),
        passed_on: passed_on(arguments),
        interrupted,
        pending: BTreeMap::new(),
        unreplayed: BTreeSet::new(),
        troubles: Vec::new(),
        panics: 0,
        state,
        log,
    };
    let kernel_ids: Vec<&str> = kernels.iter().map(|kernel| kernel.id.as_str()).collect();
    let number = night.state.number;
    night.event("night", json!({ "number": number, "seed": seed, "kernels": kernel_ids, "tool": tool() }));
    troubles.into_iter().for_each(|trouble| night.trouble(trouble));
    night.take_up(&catalogue);
    eprintln!("night {number}, seed {seed}: {} regressions, {} worker(s)", items.len(), night.jobs);
    night.search_all(&environment, &kernels, items, arguments.time, started)
}

impl Night<'_> {
    /// Replays, searches, and concludes.
    fn search_all(
        mut self,
        environment: &Environment,
        kernels: &[&KernelEntry],
        items: Vec<Item>,
        time: Duration,
        started: Instant,
    ) -> Result<u8, Failure> {
        let known = self.known;
        let mut replay = crate::replay::Replay::new(known, self.policy);
        let mut reports = Vec::new();
        let mut targets = Vec::new();
        let share = time / (10 * kernels.len().max(1) as u32);
        for kernel in kernels {
            let mine: Vec<&Item> = items.iter().filter(|item| item.file.case.kernel == kernel.id).collect();
            let what = format!("the regressions of {} could not be replayed", kernel.id);
            self.twice(&what, |night| night.replay(&mut replay, environment, kernel, &mine, &mut reports));
        }
        for kernel in kernels {
            let small = || kernel.variants(Tier::Small).cloned().collect();
            let what = format!("{} could not be searched", kernel.id);
            let Some(loaded) = self.twice(&what, |_| session::load(environment, kernel, small())) else {
                self.unreplayed.insert(kernel.id.clone());
                continue;
            };
            let has_checks = kernel.family.model().has_checks();
            for (target, tenths) in Target::SHARES {
                if target == Target::Validators && !has_checks {
                    continue;
                }
                let store = match self.state.corpus(&kernel.id, target) {
                    Ok(store) => store,
                    Err(error) => {
                        self.trouble(format!("no corpus for {} {target}: {error}", kernel.id));
                        continue;
                    }
                };
                let before = store.names().map_or(0, |names| names.len());
                let searched = self.search(&kernel.id, target, &store, share * tenths);
                targets.push(self.grown(&loaded, target, &store, before, searched));
            }
            self.minimise(&loaded);
            let mine = self.pending_items(&loaded);
            let mine: Vec<&Item> = mine.iter().collect();
            let what = format!("the findings of {} could not be replayed, and stay", kernel.id);
            let replayed = self
                .twice(&what, |night| night.replay(&mut replay, environment, kernel, &mine, &mut Vec::new()));
            if replayed.is_none() {
                self.unreplayed.insert(kernel.id.clone());
            }
        }
        self.conclude(replay, reports, targets, started)
    }

    /// What takes Python may fail by chance (somebody killed it): it is tried once more, and then the rest goes on without.
    fn twice<T>(
        &mut self,
        what: &str,
        mut attempt: impl FnMut(&mut Self) -> Result<T, Failure>,
    ) -> Option<T> {
        for again in [" at the first attempt", ""] {
            match attempt(self) {
                Ok(value) => return Some(value),
                Err(failure) => {
                    let remedy = failure.help().map_or_else(String::new, |help| format!(" ({help})"));
                    self.trouble(format!("{what}{again}: {failure}{remedy}"));
                }
            }
        }
        None
    }

    fn event(&mut self, name: &str, fields: Value) {
        if let Err(error) = self.log.event(name, fields) {
            self.note(format!("the event log could not be written: {error}"));
        }
    }

    /// Something went wrong, and the night goes on.
    fn trouble(&mut self, what: String) {
        if self.troubles.contains(&what) {
            return; // on a full disk it would be told for every case
        }
        eprintln!("trouble: {what}");
        if let Err(error) = self.log.event("trouble", json!({ "what": what })) {
            self.note(format!("the event log could not be written: {error}"));
        }
        self.note(what);
    }

    fn note(&mut self, what: String) {
        if !self.troubles.contains(&what) {
            self.troubles.push(what);
        }
    }

    /// Findings of earlier nights, also of one that was killed.
    fn take_up(&mut self, catalogue: &Catalogue) {
        let texts = match crate::corpus::read_dir(&self.state.findings()) {
            Ok(texts) => texts,
            Err(error) => return self.trouble(format!("findings of earlier nights can't be read: {error}")),
        };
        for (name, text) in texts {
            let read = Item::read(&name, &text, catalogue).map_err(|error| error.to_string());
            match read.and_then(|item| Pending::of(&name, item.file)) {
                Ok(pending) => drop(self.pending.insert(pending.signature.to_string(), pending)),
                Err(why) => self.trouble(format!("{}: {why}", self.state.findings().join(&name).display())),
            }
        }
    }

    /// A worker met something new: stored at once where it isn't known already tonight, then announced.
    fn found(&mut self, kernel: &str, case: Case, signature: &str, detail: &str) {
        if self.pending.contains_key(signature) {
            return;
        }
        let parsed = match Signature::parse(signature) {
            Ok(parsed) => parsed,
            Err(why) => {
                return self.trouble(format!("a worker sent what is no signature ({why}): {signature}"));
            }
        };
        let pending = Pending {
            kernel: kernel.to_owned(),
            file: format!("findings/new-{}.toml", parsed.slug()),
            signature: parsed,
            detail: detail.to_owned(),
            case,
            raw: true,
            minimised: None,
            tonight: true,
        };
        eprintln!("new: {signature}");
        self.store(&pending);
        self.pending.insert(signature.to_owned(), pending);
    }

    /// Stores a finding in the run's folder and in the state's, then announces it.
    fn store(&mut self, pending: &Pending) {
        let text = pending.text(self.seed, &self.date);
        let mut stored = false;
        for path in [self.out.join(&pending.file), self.state.findings().join(pending.name())] {
            match write_whole(&path, text.as_bytes()) {
                Ok(()) => stored = true,
                Err(error) => {
                    self.trouble(format!("a finding could not be stored: {}: {error}", path.display()))
                }
            }
        }
        if stored {
            let signature = pending.signature.to_string();
            let name = if pending.raw { "finding" } else { "minimised" };
            self.event(name, json!({ "signature": signature, "file": pending.file, "known": false }));
        }
    }
}

impl Pending {
    const MINIMISED: &'static str = "; minimised: ";

    /// From the file that [`Pending::text`] wrote.
    fn of(name: &str, file: CorpusFile) -> Result<Pending, String> {
        let origin = file.origin.ok_or("it has no [origin]")?;
        let (signature, detail) = origin
            .cause
            .strip_prefix("shows ")
            .and_then(|text| text.split_once(": "))
            .ok_or("its cause names no signature")?;
        let minimised = origin.from.split_once(Pending::MINIMISED).map(|(_, how)| how.to_owned());
        Ok(Pending {
            kernel: file.case.kernel.clone(),
            signature: Signature::parse(signature)?,
            detail: detail.to_owned(),
            file: format!("findings/{name}"),
            case: file.case,
            raw: minimised.is_none(),
            minimised,
            tonight: false,
        })
    }

    fn name(&self) -> &str {
        self.file.rsplit('/').next().unwrap_or(&self.file)
    }

    fn text(&self, seed: u64, date: &str) -> String {
        let from = format!("a night, seed {seed}");
        let from = match &self.minimised {
            Some(how) => from + Pending::MINIMISED + how,
            None => from,
        };
        let cause = format!("shows {}: {}", self.signature, self.detail);
        let origin = Some(Origin { when: date.to_owned(), from, cause });
        CorpusFile { case: self.case.clone(), origin, expect: None }.to_toml()
    }
}

/// The kernels to search.
fn kernels<'c>(catalogue: &'c Catalogue, ids: &[String]) -> Result<Vec<&'c KernelEntry>, Failure> {
    match ids {
        [] => Ok(catalogue.kernels.iter().filter(|kernel| !kernel.is_other_release()).collect()),
        _ => ids.iter().map(|id| session::kernel(catalogue, id)).collect(),
    }
}

/// The arguments that a worker gets as they were given.
fn passed_on(arguments: &Arguments) -> Vec<OsString> {
    let mut all: Vec<OsString> = vec!["--profile".into(), arguments.profile.profile.name.into()];
    let mut pass = |flag: &str, value: OsString| all.extend([flag.into(), value]);
    arguments.known.iter().for_each(|file| pass("--known", file.into()));
    arguments.python.catalog.catalog.iter().for_each(|folder| pass("--catalog", folder.into()));
    if let Some(python) = &arguments.python.python {
        pass("--python", python.into());
    }
    if let Some(from) = &arguments.python.kernel_from {
        let mut value = from.file.clone().into_os_string();
        value.push(format!(":{}", from.function));
        pass("--kernel-from", value);
    }
    all
}

/// Whether the run was interrupted.
fn is_raised(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}

/// Versions of a kernel's packages, and whether they are pinned, in a line.
fn version_of(loaded: &Loaded) -> String {
    let report = loaded.report(&[]);
    let packages: Vec<String> =
        report.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
    if report.unpinned { format!("unpinned {}", report.source_hash) } else { packages.join(", ") }
}
