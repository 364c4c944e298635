//! `countersign compile`: what the TPU's own compiler makes of a kernel, without a TPU.
//!
//! Invariant: never installs the compiler; 1 for a refusal that nobody explained, 3 where the compiler gave no answer.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use countersign_kernels::call::Call;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::compile::{Compilation, Effort, compile_calls};
use countersign_kernels::env::Environment;
use countersign_kernels::export::NamedCall;
use countersign_kernels::{Generation, Variant};
use countersign_reports::{
    COMPILED_VERSION, CompileReport, CompileVerdict, CompiledRow, compiled_to_html, compiled_to_json,
};

use super::console::{CaseProgress, Failure, SetupProgress, print};
use super::fuzz::{cores, parse_time};
use super::table::{self, row};
use super::variant::VariantArgument;
use super::{PythonArgument, session};
use crate::campaign;
use crate::compile::{Border, KnownRefusals, borders, cell, matrix};

const EXAMPLES: &str = "\
Examples:
  countersign setup --with-libtpu            the compiler, once; it says under which terms
  countersign compile                        every small variant for v4, v5e, v5p, v6e and v7x
  countersign compile --generation v5e --variant q_heads=64,kv_heads=8,page_size=128
  countersign compile --sweep --html borders.html   where the options stop compiling, drawn";

/// Time for one call, unless another is asked for.
pub(super) const TIME_LIMIT: Duration = Duration::from_secs(180);

/// Arguments of `compile`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    /// Only this generation; may be repeated [default: all five, or v5e with --sweep].
    #[arg(long, value_name = "NAME", value_parser = generation)]
    generation: Vec<Generation>,
    /// Change one option at a time over its range, from the first variant, and show where it stops compiling.
    #[arg(long)]
    sweep: bool,
    /// Time for one call [default: 3m].
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    time_limit: Option<Duration>,
    /// Processes [default: one per core].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    variant: VariantArgument,
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    /// Print the result as JSON on standard output.
    #[arg(long)]
    json: bool,
    /// Also write it as a page.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    #[command(flatten)]
    python: PythonArgument,
}

fn generation(name: &str) -> Result<Generation, String> {
    Generation::from_name(name)
        .ok_or_else(|| format!("known: {}", Generation::ALL.map(Generation::name).join(", ")))
}

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue(&arguments.python)?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let variants = arguments.variant.variants(kernel, Tier::Small)?;
    let ours = |why: String| Failure::new(why, "this is a fault of countersign: please report it");
    let unswept = |why: String| Failure::new(why, "sweep from a variant of the catalogue, or another shape");
    let known = KnownRefusals::builtin().map_err(ours)?;
    let environment = session::environment(arguments.python.python.clone(), kernel)?;
    let compiler = environment.libtpu().ok_or_else(|| {
        Failure::new(
            "the TPU's compiler isn't installed",
            "`countersign setup --with-libtpu` installs it, and says under which terms it stands",
        )
    })?;
    if kernel.is_other_release() {
        return Err(Failure::new(
            format!("{} is of another release than the compiler that is pinned here", kernel.id),
            format!("compile {} itself", countersign_kernels::catalogue::kernel_name(&kernel.id)),
        ));
    }
    let jobs = arguments.jobs.map_or_else(cores, usize::from);
    let effort = Effort { jobs, time_limit: arguments.time_limit.unwrap_or(TIME_LIMIT) };
    let asked = Asked { kernel, environment: &environment, compiler: &compiler, effort };
    let among = |default: &[Generation]| match arguments.generation.as_slice() {
        [] => default.to_vec(),
        named => named.to_vec(),
    };
    let mut report = asked.report();
    if arguments.sweep {
        let generations = among(&[Generation::V5e]);
        let Some(base) = variants.first() else { return Ok(0) };
        for &generation in &generations {
            for Border { name, steps } in borders(kernel, base).map_err(unswept)? {
                let steps: Vec<(String, Variant)> = steps
                    .into_iter()
                    .map(|(value, variant)| (value, Variant { generation, ..variant }))
                    .collect();
                let answers = asked.compile(steps.iter().map(|(_, variant)| variant))?;
                let cells = steps
                    .iter()
                    .zip(&answers)
                    .map(|((value, variant), answer)| cell(kernel, variant, value, answer, &known));
                let name = format!("{name} of {} on {}", base.name, generation.name());
                report.borders.push(CompiledRow { name, cells: cells.collect() });
            }
        }
    } else {
        let generations = among(&Generation::ALL);
        report.generations = generations.iter().map(|generation| generation.name().to_owned()).collect();
        let compile = |all: &[Variant]| asked.compile(all.iter());
        report.variants = matrix(kernel, &variants, &generations, &known, compile)?;
    }
    if let Some(path) = &arguments.html {
        campaign::write_whole(path, compiled_to_html(&report).as_bytes())
            .map_err(|error| Failure::file(path, error))?;
    }
    if arguments.json {
        let json = compiled_to_json(&report).map_err(|error| ours(error.to_string()))?;
        print(&json)?;
    } else {
        print(&describe(&report))?;
    }
    Ok(code(&report))
}

/// What is compiled with what.
pub(super) struct Asked<'a> {
    pub(super) kernel: &'a KernelEntry,
    pub(super) environment: &'a Environment,
    pub(super) compiler: &'a Path,
    pub(super) effort: Effort,
}

impl Asked<'_> {
    /// A report without answers.
    pub(super) fn report(&self) -> CompileReport {
        CompileReport {
            version: COMPILED_VERSION,
            tool: campaign::tool(),
            kernel: self.kernel.id.clone(),
            packages: self.environment.versions().packages.clone(),
            compiler: Environment::libtpu_version(),
            generations: Vec::new(),
            variants: Vec::new(),
            borders: Vec::new(),
        }
    }

    /// The answers, in order.
    pub(super) fn compile<'v>(
        &self,
        variants: impl Iterator<Item = &'v Variant>,
    ) -> Result<Vec<Compilation>, Failure> {
        let entry_point = self.kernel.python.call();
        let named = |variant: &Variant| NamedCall {
            name: format!("{} on {}", variant.name, variant.generation.name()),
            call: Call::of(&entry_point, variant),
        };
        let calls: Vec<NamedCall> = variants.map(named).collect();
        let progress = Mutex::new(CaseProgress::new(calls.len()));
        let done = |call: &NamedCall| {
            progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner).done(&call.name);
        };
        let setup = SetupProgress::new();
        Ok(compile_calls(self.environment, self.compiler, &calls, self.effort, &setup, &done)?)
    }
}

/// The exit code.
fn code(report: &CompileReport) -> u8 {
    let swept = report.borders.iter().flat_map(|row| &row.cells);
    let unanswered =
        report.cells().map(|(_, cell)| cell).chain(swept).any(|cell| cell.verdict.is_unanswered());
    match report.cells().any(|(_, cell)| cell.is_news()) {
        true => 1,
        false if unanswered => 3,
        false => 0,
    }
}

fn describe(report: &CompileReport) -> String {
    let mut text = format!("{} by {}\n", report.kernel, report.compiler);
    if !report.variants.is_empty() {
        let heading = [vec!["variant".to_owned()], report.generations.clone()].concat();
        let mut rows = vec![heading];
        for CompiledRow { name, cells } in &report.variants {
            let mut line = vec![name.clone()];
            line.extend(cells.iter().map(|cell| match cell.code_bytes {
                Some(bytes) => bytes.to_string(),
                None => cell.verdict.words().to_owned(),
            }));
            rows.push(line);
        }
        text += &table::render(&rows);
        let count = |verdict: &dyn Fn(CompileVerdict) -> bool| {
            report.cells().filter(|(_, cell)| verdict(cell.verdict)).count()
        };
        text += &format!(
            "bytes of code where it compiles. {} calls: {} compile, {} are accepted by the check and refused by the compiler \
             ({} of them new), {} are refused earlier, {} got no answer\n",
            report.cells().count(),
            count(&|verdict| verdict == CompileVerdict::Compiles),
            count(&CompileVerdict::is_accepted_and_refused),
            report.cells().filter(|(_, cell)| cell.is_news()).count(),
            count(&|verdict| {
                matches!(verdict, CompileVerdict::RefusedByCheck | CompileVerdict::DoesNotLower)
            }),
            count(&CompileVerdict::is_unanswered),
        );
        for (name, cell) in report.cells().filter(|(_, cell)| cell.verdict != CompileVerdict::Compiles) {
            let standing = if cell.is_news() { "new" } else { "known" };
            let standing = if cell.verdict.is_accepted_and_refused() { standing } else { "-" };
            text += &format!("{standing}: {name} on {}: {}\n", cell.label, cell.words());
            if let Some(cause) = &cell.cause {
                text += &format!("  {}\n", cause.replace('\n', "\n  "));
            }
        }
    }
    for CompiledRow { name, cells } in &report.borders {
        text += &format!("{name}\n");
        let rows: Vec<_> = cells
            .iter()
            .map(|cell| match cell.code_bytes {
                Some(bytes) => row![cell.label, format!("compiles, {bytes} bytes of code")],
                None => row![cell.label, cell.words()],
            })
            .collect();
        text += &table::render(&rows);
    }
    text
}
