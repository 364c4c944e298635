//! `countersign replay`: cases against what they expect.
//!
//! Red for a finding that neither the case nor a known file expects, for an expected one that no longer shows, and for one
//! that was fixed and shows again.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::ValueEnum;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::{Engine, Policy};
use countersign_kernels::env::Environment;
use countersign_kernels::worker::Worker;
use countersign_kernels::{DeviceProfile, Variant};
use countersign_reports::{FindingReport, FindingStatus, Report, Timing, to_json};

use super::console::{Failure, print};
use super::fuzz::{known, watch_interrupts, write_report};
use super::session::{self, AskWorker};
use super::{ProfileArgument, PythonArgument};
use crate::campaign::Subject;
use crate::corpus::{self, CorpusFile, Expect};
use crate::interpreter::InterpreterEngine;
use crate::loaded::Loaded;
use crate::replay::{Item, Replay};
use crate::signature::Signature;

const EXAMPLES: &str = "\
Examples:
  countersign replay builtin
  countersign replay countersign/findings
  countersign replay my-batch.toml --json
  countersign replay my-batch.toml --engine interpreter";

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file, a folder of them, or `builtin`: the corpus that comes with the program.
    cases: PathBuf,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// What runs the kernel: our own machine, which sees every access, or JAX's interpreter, for a second opinion on values.
    #[arg(long, value_enum, default_value = "vm")]
    engine: EngineName,
    /// Also write report.json and report.md to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    python: PythonArgument,
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue()?;
    let known = known(&arguments.known)?;
    let items = read(&arguments.cases, &catalogue)?;
    if items.is_empty() {
        let message = format!("{}: no case there", arguments.cases.display());
        return Err(Failure::new(message, "name a case file, a folder with *.toml case files, or `builtin`"));
    }
    let profile = arguments.profile.profile;
    if matches!(arguments.engine, EngineName::Interpreter) && profile != DeviceProfile::exact() {
        let message = format!("JAX's interpreter computes as it does, not as {}", profile.name);
        return Err(Failure::new(message, "leave out --profile, or run on the VM"));
    }
    let environment = session::environment(arguments.python.python.clone())?;
    let interrupted = watch_interrupts()?;
    let started = Instant::now();
    let mut replay = Replay::new(&known, Policy::of(profile));
    let mut kernels = Vec::new();
    for kernel in &catalogue.kernels {
        let mine: Vec<&Item> = items.iter().filter(|item| item.file.case.kernel == kernel.id).collect();
        if !mine.is_empty() {
            match arguments.engine {
                EngineName::Vm => {
                    let loaded = load(&environment, kernel, &mine)?;
                    let coverage = replay_kernel(&mut replay, &loaded, &mine, &environment, interrupted);
                    kernels.push(loaded.report(&coverage));
                }
                EngineName::Interpreter => interpret(&mut replay, kernel, &mine, &environment, interrupted)?,
            }
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let timing = Timing {
        seconds,
        cases_per_second: items.len() as f64 / seconds.max(1e-9),
        jobs: 1,
        out: arguments.out.as_deref().map(super::fuzz::absolute),
    };
    let report = replay.finish(kernels, interrupted.load(Ordering::Relaxed), timing);
    let json = match &arguments.out {
        Some(out) => write_report(out, &report)?,
        None => to_json(&report).map_err(|error| Failure::new(error.to_string(), "please report this"))?,
    };
    let text = describe(&report);
    if arguments.json {
        eprint!("{text}");
        print(&json)?;
    } else {
        print(&text)?;
    }
    Ok(report.exit_code)
}

/// `--engine`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EngineName {
    Vm,
    Interpreter,
}

/// Reads all cases; every file that can't be read is named.
fn read(path: &Path, catalogue: &Catalogue) -> Result<Vec<Item>, Failure> {
    let is_builtin = path == Path::new("builtin") && !path.exists();
    let texts: Vec<(String, String)> = if is_builtin {
        corpus::builtin().iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    } else {
        corpus::read_dir(path).map_err(|error| Failure::file(path, error))?
    };
    let mut items = Vec::new();
    let mut wrong = Vec::new();
    for (name, text) in texts {
        match item(&name, &text, catalogue) {
            Ok(item) => items.push(item),
            Err(message) => wrong.push(format!("{name}: {message}")),
        }
    }
    if wrong.is_empty() {
        Ok(items)
    } else {
        Err(Failure::new(wrong.join("\n"), "a case file is described in corpus/README.md"))
    }
}

fn item(name: &str, text: &str, catalogue: &Catalogue) -> Result<Item, String> {
    let file = CorpusFile::from_toml(text).map_err(|error| error.to_string())?;
    let kernel = catalogue.kernel(&file.case.kernel);
    let kernel = kernel.ok_or_else(|| format!("no kernel `{}` in the catalogue", file.case.kernel))?;
    let variants: Vec<Variant> = kernel.variants(Tier::Full).cloned().collect();
    let variant = file.case.variant(&variants).map_err(|error| error.to_string())?.clone();
    if let Some(Expect::Signatures(signatures)) = &file.expect {
        for signature in signatures {
            Signature::parse(signature).map_err(|error| format!("[expect]: {error}"))?;
        }
    }
    Ok(Item { name: name.to_owned(), file, variant })
}

/// Loads the variants that the cases run on; a case with static overrides is never run.
fn load(environment: &Environment, kernel: &KernelEntry, items: &[&Item]) -> Result<Loaded, Failure> {
    let mut variants: Vec<Variant> = Vec::new();
    for item in items {
        if item.file.case.statics.is_none() && !variants.contains(&item.variant) {
            variants.push(item.variant.clone());
        }
    }
    session::load(environment, kernel, variants)
}

/// Replays the cases of one kernel; its coverage, per loaded variant.
fn replay_kernel(
    replay: &mut Replay<'_>,
    loaded: &Loaded,
    items: &[&Item],
    environment: &Environment,
    interrupted: &AtomicBool,
) -> Vec<Vec<u64>> {
    let mut validator = AskWorker::new(environment, loaded.kernel());
    let mut engines: Vec<_> = (0..loaded.variants().len()).map(|variant| loaded.engine(variant)).collect();
    for item in items {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let position = loaded.position(&item.variant);
        let mut item = (*item).clone();
        if let Some(position) = position {
            item.variant = loaded.variants()[position].clone();
        }
        let engine: Option<&mut dyn Engine> = match position.and_then(|position| engines.get_mut(position)) {
            Some(engine) => Some(engine.as_mut()),
            None => None,
        };
        replay.case(loaded.kernel(), &item, engine, &mut validator);
    }
    engines.iter().map(|engine| engine.coverage().to_vec()).collect()
}

/// Replays the cases of one kernel in JAX's interpreter.
fn interpret(
    replay: &mut Replay<'_>,
    kernel: &KernelEntry,
    items: &[&Item],
    environment: &Environment,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut validator = AskWorker::new(environment, kernel);
    let mut worker = Worker::start(environment).map_err(|error| {
        Failure::new(error.to_string(), "`countersign setup --check` looks at the environment")
    })?;
    for item in items {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let call = item.file.case.python_call(kernel, &item.variant);
        replay.case(kernel, item, Some(&mut InterpreterEngine::new(&mut worker, call)), &mut validator);
    }
    Ok(())
}

fn describe(report: &Report) -> String {
    let mut text = String::new();
    for case in &report.cases {
        let asked = if case.validators.asked { "" } else { " (port; the real one wasn't asked)" };
        text += &format!("{}: {}\n  batch    {}\n", case.name, case.outcome, case.keeping);
        for breach in &case.breaches {
            text += &format!("           breaks {breach}\n");
        }
        text += &format!(
            "  static   {}{asked}\n  dynamic  {}{asked}\n",
            case.validators.r#static, case.validators.dynamic
        );
        text += &format!("  kernel   {}\n", case.kernel);
        for signature in &case.shows {
            text += &format!("  shows    {signature}\n");
        }
        text.push('\n');
    }
    for finding in report.findings.iter().filter(|finding| finding.status != FindingStatus::Known) {
        text += &news(finding);
    }
    for error in &report.internal_errors {
        text += &format!(
            "fault of countersign itself: {} in case {}: {}\n",
            error.kind, error.case, error.message
        );
    }
    let summary = &report.summary;
    text + &format!(
        "{} cases: {} new, {} known, {} stale, {} unsupported, {} unasked\n",
        summary.cases,
        summary.findings_new,
        summary.findings_known,
        summary.findings_stale,
        summary.unsupported,
        summary.unasked
    )
}

fn news(finding: &FindingReport) -> String {
    let mut text = format!("new: {}\n  {}\n  {}\n", finding.signature, finding.title, finding.detail);
    for frame in &finding.stack {
        text += &format!("    {frame}\n");
    }
    text
}
