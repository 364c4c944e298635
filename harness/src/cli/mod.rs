//! The command line: arguments in, exit code out.
//!
//! Exit codes, everywhere: 0 clean; 1 a new or stale finding; 2 usage, environment, unreadable input, no case selected, or a
//! fault of our own; 3 incomplete. 2 beats 1 beats 3.
//!
//! Invariant: decides nothing about cases; every command is arguments, a call of the library, and its result shown.

mod bench;
mod compare;
mod compile;
mod console;
mod contract;
mod controls;
mod corpus;
mod diagnose;
mod fuzz;
mod guidance;
mod init;
mod items;
mod kernels;
mod merge;
mod minimize;
mod mutants;
mod nightly;
mod relations;
mod replay;
mod report;
mod session;
mod setup;
mod shard;
mod show;
mod signoff;
mod sweep;
mod table;
mod variant;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use countersign_kernels::DeviceProfile;

pub use console::Failure;

#[derive(Debug, Parser)]
#[command(name = "countersign", version, about, long_about = None, after_help = EXAMPLES, max_term_width = 110)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  countersign fuzz                     fuzz JAX's ragged paged attention for a minute, on all cores
  countersign replay builtin           replay the built-in corpus
  countersign minimize my-batch.toml   the smallest batch that shows the same
  countersign report countersign       the last run's report as a page
  countersign diagnose batch.npz       what is wrong with a batch that you dumped from a server
  countersign show my-batch.toml       a batch as a table, and what the validators say about it

Exit codes: 0 clean; 1 a new or stale finding; 2 usage, environment or unreadable input; 3 incomplete.";

#[derive(Debug, Subcommand)]
enum Command {
    /// Fuzz a kernel: generate ragged batches, run kernel and reference, report what differs.
    Fuzz(fuzz::Arguments),
    /// Merge the shards of a campaign that ran on several machines: the report of the whole.
    Merge(merge::Arguments),
    /// A night: replay, search every kernel with processes on all cores, minimise, and say what is new since the last one.
    Nightly(nightly::Arguments),
    #[command(hide = true)]
    NightlyWorker(nightly::worker::Arguments),
    /// Replay cases and compare with what they expect.
    Replay(replay::Arguments),
    /// Make a case that shows a finding as small as it gets.
    Minimize(minimize::Arguments),
    /// Render a run's report as a page, Markdown or JSON.
    Report(report::Arguments),
    /// Run what must be right: kept batches aimed at the error bound, under every device profile.
    Controls(controls::Arguments),
    /// Make small faults in the kernel's own IR, and count how many are noticed.
    Mutants(mutants::Arguments),
    /// Measure what it is worth that the search is guided by the kernel's coverage.
    Guidance(guidance::Arguments),
    /// Run batches changed in ways whose effect is known, and compare: an oracle without a reference.
    Relations(relations::Arguments),
    /// Sign a kernel off: all evidence, judged by a policy; or check such a document again.
    Signoff(Box<signoff::Arguments>),
    /// Show a case: its batch as a table, the rules that it breaks, and what the validators say.
    Show(show::Arguments),
    /// Diagnose a dumped batch: which rules it breaks, how it was probably built, how to build it right.
    Diagnose(diagnose::Arguments),
    /// Time the VM, JAX's interpreter, our reference and JAX's on the same cases.
    Bench(bench::Arguments),
    /// Run two releases of a kernel on the same cases: findings gained and lost, and what else differs.
    Compare(compare::Arguments),
    /// Compile a kernel with the TPU's own compiler, without a TPU: what it refuses, what doesn't fit, and how large the code is.
    Compile(compile::Arguments),
    /// List, show and export the kernels of the catalogue.
    Kernels(kernels::Arguments),
    /// Write CI workflows and an empty corpus into a repository of your own.
    Init(init::Arguments),
    /// Look after folders of cases.
    Corpus(corpus::Arguments),
    /// Prepare the Python environment now; otherwise it is prepared when first needed.
    Setup(setup::Arguments),
}

/// Which kernels there are and which Python lowers them: of every command that needs either.
#[derive(Debug, Clone, clap::Args)]
struct PythonArgument {
    /// Test a kernel of your own: the function of a Python file in the place of the catalogue's kernel, whichever is used, with
    /// its variants, rules and known findings. The file may import its neighbours, also by their place in its package.
    #[arg(long, value_name = "FILE.py:FUNCTION", value_parser = kernel_from)]
    kernel_from: Option<KernelFrom>,
    #[command(flatten)]
    catalog: CatalogArgument,
    /// Use this Python environment (interpreter or virtual environment) as it is: nothing is pinned or installed, and
    /// reports say `unpinned`.
    #[arg(long, value_name = "PATH")]
    python: Option<PathBuf>,
}

/// `--catalog`, of every command that reads cases.
#[derive(Debug, Clone, clap::Args)]
struct CatalogArgument {
    /// Add the kernels of a folder's catalogue files; may be repeated.
    #[arg(long, value_name = "DIR")]
    catalog: Vec<PathBuf>,
}

/// `--kernel-from`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KernelFrom {
    file: PathBuf,
    function: String,
}

fn kernel_from(text: &str) -> Result<KernelFrom, String> {
    match text.rsplit_once(':') {
        Some((file, function)) if file.ends_with(".py") && !function.is_empty() => {
            Ok(KernelFrom { file: file.into(), function: function.to_owned() })
        }
        _ => Err("write FILE.py:FUNCTION".to_owned()),
    }
}

/// `--profile`, of the commands that run kernels.
#[derive(Debug, Clone, clap::Args)]
struct ProfileArgument {
    /// The device whose arithmetic is imitated and allowed for: exact, v4, v5e, v5p, v6e or v7x; `@1` names a version.
    #[arg(long, value_name = "NAME", default_value = "exact", value_parser = profile_named)]
    profile: &'static DeviceProfile,
}

/// `--orders`, of the commands that run kernels.
#[derive(Debug, Clone, clap::Args)]
struct OrdersArgument {
    /// Also run each kept batch with its copies landing at other times, three times over: what a kernel does must not depend on
    /// it.
    #[arg(long)]
    orders: bool,
}

fn profile_named(name: &str) -> Result<&'static DeviceProfile, String> {
    DeviceProfile::named(name).ok_or_else(|| {
        let known: Vec<&str> = DeviceProfile::all().iter().map(|profile| profile.name).collect();
        format!("known: {}", known.join(", "))
    })
}

/// Runs the command that the process was started with.
pub fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_env("COUNTERSIGN_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
    // A message stays on its line, so that it can be found in a log; terminals wrap by themselves.
    let unwrapped = |_: &_| -> Box<dyn miette::ReportHandler> {
        Box::new(miette::MietteHandlerOpts::new().wrap_lines(false).build())
    };
    let _ = miette::set_hook(Box::new(unwrapped)); // set already only where a test runs this twice
    let arguments = Arguments::parse();
    let run = std::panic::catch_unwind(|| match arguments.command {
        Command::Fuzz(arguments) => fuzz::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Nightly(arguments) => nightly::run(&arguments),
        Command::NightlyWorker(arguments) => nightly::worker::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Minimize(arguments) => minimize::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Controls(arguments) => controls::run(&arguments),
        Command::Mutants(arguments) => mutants::run(&arguments),
        Command::Guidance(arguments) => guidance::run(&arguments),
        Command::Relations(arguments) => relations::run(&arguments),
        Command::Signoff(arguments) => signoff::run(&arguments),
        Command::Show(arguments) => show::run(&arguments),
        Command::Diagnose(arguments) => diagnose::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Compile(arguments) => compile::run(&arguments),
        Command::Kernels(arguments) => kernels::run(&arguments),
        Command::Init(arguments) => init::run(&arguments),
        Command::Corpus(arguments) => corpus::run(&arguments),
        Command::Setup(arguments) => setup::run(&arguments),
    });
    match run {
        Ok(Ok(code)) => ExitCode::from(code),
        Ok(Err(failure)) => {
            eprintln!("{:?}", miette::Report::new(failure));
            ExitCode::from(2)
        }
        // The hook has told where.
        Err(_) => {
            eprintln!(
                "This is a fault of countersign itself: please report it with the command that you ran."
            );
            ExitCode::from(2)
        }
    }
}
