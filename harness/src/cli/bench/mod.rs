//! `countersign bench`: the VM beside JAX's interpreter and beside the same algorithm by hand, our reference beside JAX's, on
//! the same cases in one process.
//!
//! ```text
//! parts ─► subjects (what is loaded, which cases) ─► throughput ─► core ─┬─ sides (VM, native, reference) ─ clock
//!                                                                        ├─ jax
//!                                                                        └─ growth
//! ```
//!
//! Everything but throughput runs on one core, the Python process included. JAX's side is timed inside its process, without
//! the encoding of arrays: the first run of a shape apart from the smaller of two more.
//!
//! Invariant: each ratio is of two times of one case in one run, and every side that was timed was right. Files are written
//! whole, at the end.

mod clock;
mod growth;
mod jax;
#[path = "../../../benches/native/mod.rs"]
mod native;
mod parts;
mod sanitizers;
mod shown;
mod sides;
mod subjects;
mod throughput;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_kernels::env::Progress;
use countersign_kernels::worker::Worker;
use countersign_reports::{BENCH_VERSION, Bench, TimedCase, TimedVariant, bench_to_html, bench_to_json};

use super::console::{Failure, SetupProgress, print};
use super::fuzz::{cores, watch_interrupts};
use super::variant::VariantArgument;
use super::{PythonArgument, session};
use crate::campaign::{self, Subject, tool};
use parts::{Part, Parts};
use subjects::Subjects;

const EXAMPLES: &str = "\
Examples:
  countersign bench                                 everything, in some minutes
  countersign bench --no-jax                        without Python's side, in less than a minute
  countersign bench --only native --variant f32-q4-kv4
  countersign bench --only native,interpreter --probe
  countersign bench --json > bench.json
  countersign bench --html bench.html

The times of one machine say little; the ratios say more, since both sides ran on the same cases and core.";

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    variant: VariantArgument,
    /// The batch that JAX's interpreter was first timed with, and no variants but those of --variant. Without either, both.
    #[arg(long)]
    probe: bool,
    /// Cases of each variant: the longest of a few that keep all rules.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=subjects::DRAWN))]
    cases: u64,
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    /// Measure only these besides the VM itself; may be repeated or separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// Leave out JAX's interpreter and reference.
    #[arg(long)]
    no_jax: bool,
    /// Print times and ratios as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Write a page with tables and plots.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    python: PythonArgument,
}

/// Says what is being measured, and whether to go on.
struct Run {
    progress: SetupProgress,
    interrupted: &'static AtomicBool,
}

/// Ctrl-C: nothing is written.
struct Interrupted;

/// Why a measurement ended early.
enum Stop {
    Interrupted,
    Failed(Failure),
}

impl From<Interrupted> for Stop {
    fn from(_: Interrupted) -> Stop {
        Stop::Interrupted
    }
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Stop {
        Stop::Failed(failure)
    }
}

impl Run {
    /// To be called before each measurement.
    fn step(&self, what: &str) -> Result<(), Interrupted> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted);
        }
        self.progress.step(what);
        Ok(())
    }
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let run = Run { progress: SetupProgress::new(), interrupted: watch_interrupts()? };
    match measure(arguments, &run) {
        Ok(bench) => show(arguments, &run, &bench),
        Err(Stop::Failed(failure)) => Err(failure),
        Err(Stop::Interrupted) => {
            eprintln!("interrupted: nothing is written");
            Ok(3)
        }
    }
}

fn measure(arguments: &Arguments, run: &Run) -> Result<Bench, Stop> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    if kernel.variant(subjects::BASE).is_none() {
        return Err(Failure::new(
            format!("{} has no variant {} of which what is measured is made", kernel.id, subjects::BASE),
            "the algorithm by hand and the cases of growing size are those of ragged paged attention",
        )
        .into());
    }
    let parts = Parts::new(&arguments.only, arguments.no_jax);
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let subjects = Subjects::load(&environment, kernel, &arguments.variant, arguments.probe, parts)?;
    let mut bench = Bench {
        version: BENCH_VERSION,
        tool: tool(),
        kernel: kernel.id.clone(),
        cores: cores(),
        notes: subjects.notes(),
        ..Bench::default()
    };
    if parts.has(Part::Throughput) && !subjects.drawn_from.variants().is_empty() {
        bench.throughput = throughput::measure(&subjects, run)?;
    }
    // Before the worker starts, so that it inherits the core.
    bench.pinned = clock::pin();
    let mut worker = if parts.asks_jax() { Some(jax::start(&environment)?) } else { None };
    bench.packages =
        worker.as_ref().and_then(Worker::versions).map(|found| found.packages.clone()).unwrap_or_default();
    let chosen: Vec<usize> = if parts.times_cases() { subjects.chosen().collect() } else { Vec::new() };
    for (number, &position) in chosen.iter().enumerate() {
        let name = &subjects.loaded.variants()[position].name;
        let mut cases = Vec::new();
        for (index, case) in subjects.longest(position, arguments.cases) {
            run.step(&format!("{name} ({} of {})", number + 1, chosen.len()))?;
            let mut times = sides::time(&subjects, position, &case, parts)?;
            if let Some(worker) = &mut worker {
                jax::time(&subjects, position, &case, parts, worker, &mut times, &mut bench.notes)?;
            }
            cases.push(TimedCase { name: format!("seed {}, case {index}", subjects::SEED), times });
        }
        bench.variants.push(TimedVariant::new(name, cases));
    }
    if let Some((position, case)) = subjects.probe()? {
        run.step("the interpreter's probe")?;
        let mut times = sides::time(&subjects, position, &case, parts)?;
        if let Some(worker) = &mut worker {
            jax::time(&subjects, position, &case, parts, worker, &mut times, &mut bench.notes)?;
        }
        bench.probe = Some(TimedCase { name: subjects::PROBE.to_owned(), times });
    }
    if parts.has(Part::Sanitizers) {
        bench.sanitizers = sanitizers::measure(&subjects, run)?;
    }
    if parts.has(Part::Growth) {
        bench.growth = growth::measure(&subjects, run)?;
    }
    Ok(bench.summed_up())
}

fn show(arguments: &Arguments, run: &Run, bench: &Bench) -> Result<u8, Failure> {
    run.progress.done("measured");
    if let Some(path) = &arguments.html {
        campaign::write_whole(path, bench_to_html(bench).as_bytes())
            .map_err(|error| Failure::file(path, error))?;
    }
    if arguments.json {
        let json =
            bench_to_json(bench).map_err(|error| Failure::new(error.to_string(), "please report this"))?;
        print(&json)?;
    } else {
        print(&shown::describe(bench))?;
    }
    Ok(0)
}

/// A side that isn't right, or another thing that can't be: ours to mend.
fn unsound(error: impl Into<String>) -> Failure {
    Failure::new(error, "this is a fault of countersign: please report it")
}
