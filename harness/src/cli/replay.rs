//! `countersign replay`: cases against what they expect.
//!
//! Red for a finding that neither the case nor a known file expects, for an expected one that no longer shows, and for one
//! that was fixed and shows again.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use clap::ValueEnum;
use countersign_kernels::DeviceProfile;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::engine::Policy;
use countersign_kernels::env::Environment;
use countersign_kernels::worker::{Devices, Worker, WorkerError};
use countersign_reports::{FindingReport, FindingStatus, Report, Timing, to_json};

use super::console::{CaseProgress, Failure, print, today};
use super::fuzz::{cores, known, watch_interrupts, write_report};
use super::items::{self, Selection, TierName};
use super::report::{Format, render};
use super::session::{self, AskWorker};
use super::{OrdersArgument, ProfileArgument, PythonArgument};
use crate::campaign::{self, Subject};
use crate::interpreter::{JaxEngine, On};
use crate::loaded::Loaded;
use crate::replay::{Item, Look, Replay};
use crate::trial::run_trial;

const EXAMPLES: &str = "\
Examples:
  countersign replay builtin
  countersign replay builtin --tier full
  countersign replay countersign/findings
  countersign replay my-batch.toml --json
  countersign replay my-batch.toml --orders
  countersign replay corpus --kernel jax-rpa --junit out.xml --sarif out.sarif --summary summary.md
  countersign replay my-batch.toml --engine jax-interpret
  countersign replay my-batch.toml --engine tpu --python ~/jax/.venv   where that jax sees a TPU";

/// Arguments of `replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// A case file, a folder of them, or `builtin`: the corpus that comes with the program.
    cases: PathBuf,
    /// Which cases of a folder: those of small arrays, or those of large ones as well. A file named by itself is replayed
    /// whatever its size.
    #[arg(long, value_enum, default_value = "small")]
    tier: TierName,
    /// Threads [default: one per core]. A case of the full tier takes up to a gigabyte on each.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Known findings of your own, besides the built-in ones; may be repeated.
    #[arg(long, value_name = "FILE")]
    known: Vec<PathBuf>,
    /// What runs the kernel: our own machine, which sees every access, or JAX, for another opinion on values. (A new disagreement
    /// of our machine with the reference is always put to JAX's interpreter.)
    #[arg(long, value_enum, default_value = "vm")]
    engine: EngineName,
    /// Also write report.html, report.json and report.md to this folder.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write the report as JUnit XML, for CI systems.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Also write the findings as SARIF, for code hosts.
    #[arg(long, value_name = "FILE")]
    sarif: Option<PathBuf>,
    /// Also append the report as Markdown to this file, as GitHub's $GITHUB_STEP_SUMMARY wants it.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Only cases of this kernel of the catalogue.
    #[arg(long, value_name = "ID")]
    kernel: Option<String>,
    /// Print the report as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    profile: ProfileArgument,
    #[command(flatten)]
    orders: OrdersArgument,
    #[command(flatten)]
    python: PythonArgument,
}

/// `--engine`.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum EngineName {
    /// Our own machine.
    Vm,
    /// JAX's own TPU interpreter.
    #[value(alias = "interpreter")]
    JaxInterpret,
    /// The first TPU that JAX sees; `--python` names the environment whose jax does.
    Tpu,
}

impl EngineName {
    /// Where JAX runs it, if JAX does.
    const fn on(self) -> Option<On> {
        match self {
            EngineName::Vm => None,
            EngineName::JaxInterpret => Some(On::Interpreter),
            EngineName::Tpu => Some(On::Tpu),
        }
    }
}

/// The case that took longest: seconds and name.
pub(super) type Slowest = Option<(f64, String)>;

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let known = known(&arguments.known)?;
    let Selection { mut items, left_out } = items::select(&arguments.cases, &catalogue, arguments.tier)?;
    if let Some(id) = &arguments.kernel {
        let kernel = session::kernel(&catalogue, id)?;
        items.retain(|item| item.file.case.kernel == kernel.id);
        if items.is_empty() {
            let message = format!("no case of {} in {}", kernel.id, arguments.cases.display());
            return Err(Failure::new(message, "leave out --kernel, or name another folder"));
        }
    }
    let profile = arguments.profile.profile;
    // The bound of a profile is a TPU's own; the interpreter computes as a CPU does.
    if matches!(arguments.engine, EngineName::JaxInterpret) && profile != DeviceProfile::exact() {
        let message = format!("JAX's interpreter computes as it does, not as {}", profile.name);
        return Err(Failure::new(message, "leave out --profile, or run on the VM"));
    }
    for entry in known.expired(&today()) {
        let day = entry.expires.as_deref().unwrap_or_default();
        eprintln!(
            "{} expired on {day}: nightly fails until its cause is gone or its date is renewed",
            entry.signature
        );
    }
    let interrupted = watch_interrupts()?;
    let jobs = match arguments.engine.on() {
        None => arguments.jobs.map_or_else(cores, usize::from),
        Some(_) => 1,
    };
    let started = Instant::now();
    let policy = Policy { orders: arguments.orders.orders, ..Policy::of(profile) };
    let mut replay = Replay::new(&known, policy);
    let mut kernels = Vec::new();
    let mut slowest: Slowest = None;
    for (kernel, mine) in items::by_kernel(&catalogue, &items) {
        let environment = session::environment(arguments.python.python.clone(), kernel)?;
        match arguments.engine.on() {
            None => {
                let loaded = items::load(&environment, kernel, &mine)?;
                let coverage =
                    replay_kernel(&mut replay, &loaded, &mine, &environment, jobs, interrupted, &mut slowest);
                kernels.push(loaded.report(&coverage));
            }
            Some(on) => ask_jax(&mut replay, on, kernel, &mine, &environment, interrupted)?,
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    let timing = Timing {
        seconds,
        cases_per_second: items.len() as f64 / seconds.max(1e-9),
        jobs,
        out: arguments.out.as_deref().map(super::fuzz::absolute),
    };
    let closing =
        slowest.map_or_else(String::new, |(seconds, name)| format!("slowest: {seconds:.1} s, {name}\n"));
    let report = replay.finish(kernels, interrupted.load(Ordering::Relaxed), timing);
    let json = match &arguments.out {
        Some(out) => write_report(out, &report)?,
        None => to_json(&report).map_err(|error| Failure::new(error.to_string(), "please report this"))?,
    };
    write_forms(&report, arguments)?;
    let mut text = describe(&report) + &errors_per_type(&report) + &closing + &sums(&report, left_out);
    if let Some(out) = &arguments.out {
        text += &format!("report: {}\n", out.join("report.html").display());
    }
    if arguments.json {
        eprint!("{text}");
        print(&json)?;
    } else {
        print(&text)?;
    }
    Ok(report.exit_code)
}

/// The forms that were asked for besides the report's own.
fn write_forms(report: &Report, arguments: &Arguments) -> Result<(), Failure> {
    for (file, format) in [(&arguments.junit, Format::Junit), (&arguments.sarif, Format::Sarif)] {
        if let Some(file) = file {
            let text = render(report, format)?;
            campaign::write_whole(file, text.as_bytes()).map_err(|error| Failure::file(file, error))?;
        }
    }
    if let Some(file) = &arguments.summary {
        let text = render(report, Format::Md)?;
        let opened = OpenOptions::new().create(true).append(true).open(file);
        let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(|error| Failure::file(file, error))?;
    }
    Ok(())
}

/// Replays the cases of one kernel; its coverage, per loaded variant.
pub(super) fn replay_kernel(
    replay: &mut Replay<'_>,
    loaded: &Loaded,
    items: &[&Item],
    environment: &Environment,
    jobs: usize,
    interrupted: &AtomicBool,
    slowest: &mut Slowest,
) -> Vec<Vec<u64>> {
    let mut validator = AskWorker::new(environment, loaded.kernel());
    let mut coverage = vec![Vec::new(); loaded.variants().len()];
    let mut progress = CaseProgress::new(items.len());
    let policy = replay.policy();
    items::try_all(loaded, items, jobs, &policy, interrupted, &mut |item, tried| {
        match tried {
            Ok(tried) => {
                let look = Look { followed: tried.followed.as_ref(), others: tried.others.as_deref() };
                replay.add(item, tried.trial, look, &mut validator);
                if slowest.as_ref().is_none_or(|(seconds, _)| tried.seconds > *seconds) {
                    *slowest = Some((tried.seconds, item.name.clone()));
                }
                if let Some(sums) = loaded.position(&item.variant).and_then(|at| coverage.get_mut(at)) {
                    unite(sums, &tried.coverage);
                }
            }
            Err(panic) => replay.fail(item, "panic", &panic),
        }
        progress.done(&item.name);
    });
    coverage
}

/// Adds the bits of `more` to `sums`.
fn unite(sums: &mut Vec<u64>, more: &[u64]) {
    sums.resize(sums.len().max(more.len()), 0);
    sums.iter_mut().zip(more).for_each(|(sum, bits)| *sum |= bits);
}

/// Replays the cases of one kernel in JAX.
fn ask_jax(
    replay: &mut Replay<'_>,
    on: On,
    kernel: &KernelEntry,
    items: &[&Item],
    environment: &Environment,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let mut validator = AskWorker::new(environment, kernel).without_opinion();
    let mut worker = started(on, environment)?;
    let mut progress = CaseProgress::new(items.len());
    let policy = replay.policy();
    for item in items {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        let call = item.file.case.python_call(kernel, &item.variant);
        let mut engine = JaxEngine::new(&mut worker, call, on);
        let trial = run_trial(Some(&mut engine), kernel, &item.variant, &item.file.case, &policy);
        replay.add(item, trial, Look::default(), &mut validator);
        progress.done(&item.name);
    }
    Ok(())
}

/// A worker that can run a kernel there.
fn started(on: On, environment: &Environment) -> Result<Worker, Failure> {
    let unstarted = |error: WorkerError| {
        Failure::new(error.to_string(), "`countersign setup --check` looks at the environment")
    };
    if on == On::Interpreter {
        return Worker::start(environment).map_err(unstarted);
    }
    let mut worker = Worker::start_on_devices(environment).map_err(unstarted)?;
    let Devices { platform, tpus } = worker.devices().map_err(unstarted)?;
    match tpus.first() {
        Some(kind) => {
            eprintln!("on a {kind}");
            Ok(worker)
        }
        None => Err(Failure::new(
            format!("JAX sees no TPU on this machine, only the platform `{platform}`"),
            "run it where there is one, with --python naming an environment whose jax sees it; --engine jax-interpret needs none",
        )),
    }
}

/// The largest errors of right rows, in parts of their bound.
fn errors_per_type(report: &Report) -> String {
    let mut text = String::new();
    for (dtypes, distribution) in &report.summary.r {
        let case = distribution.largest_at.as_ref().and_then(|place| report.cases.get(place.case as usize));
        let name = case.map_or("-", |case| case.name.as_str());
        text +=
            &format!("largest error / bound, q and cache {dtypes}: {:.4}, {name}\n", distribution.largest);
    }
    text
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
    text
}

fn sums(report: &Report, left_out: usize) -> String {
    let summary = &report.summary;
    let mut text = format!(
        "{} cases in {:.1} s: {} new, {} known, {} stale, {} unsupported, {} unasked\n",
        summary.cases,
        report.timing.seconds,
        summary.findings_new,
        summary.findings_known,
        summary.findings_stale,
        summary.unsupported,
        summary.unasked
    );
    if left_out > 0 {
        text += &format!("{left_out} cases of the full tier were left out; --tier full replays them, too\n");
    }
    text
}

fn news(finding: &FindingReport) -> String {
    let mut text = format!("new: {}\n  {}\n  {}\n", finding.signature, finding.title, finding.detail);
    for frame in finding.fault.iter().flat_map(|fault| &fault.stack) {
        text += &format!("    {frame}\n");
    }
    let meaning = finding.fault.iter().flat_map(|fault| &fault.meaning);
    for sentence in meaning.chain(&finding.others) {
        text += &format!("  {sentence}\n");
    }
    if let Some(third) = &finding.third {
        text += &format!("  third opinion: {third}\n");
    }
    text
}
