//! `countersign bench`: the VM beside JAX's interpreter, and our reference beside JAX's, on the same cases.
//!
//! Everything runs on one core, the Python process included. VM and reference: the smallest of several runs of a case.
//! JAX's side is timed inside its process, without the encoding of arrays: the first run of a shape (`new`: tracing and
//! compiling included) apart from the smaller of two more (`warm`).
//!
//! Invariant: each ratio is of two times of one case in one run.

#[path = "../../../benches/native/mod.rs"]
mod native;

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::{Duration, Instant};

use countersign_dtype::{Array, DType};
use countersign_kernels::Variant;
use countersign_kernels::call::Call;
use countersign_kernels::catalogue::{KernelEntry, Tier};
use countersign_kernels::engine::{EngineEnd, Policy};
use countersign_kernels::env::Progress;
use countersign_kernels::rpa::bind::{Bound, Role, bind};
use countersign_kernels::rpa::contract::Keeping;
use countersign_kernels::rpa::facts;
use countersign_kernels::worker::{InterpretOptions, Interpreted, Worker, WorkerError};
use countersign_reference::{Blocking, Profile, attend};
use native::{Native, Tiles};
use serde::Serialize;

use super::console::{Failure, SetupProgress, print};
use super::table::{self, row};
use super::variant::VariantArgument;
use super::{PythonArgument, session};
use crate::campaign::{Subject, tool};
use crate::case::Case;
use crate::compare::compare;
use crate::generate::generate;
use crate::loaded::Loaded;

const EXAMPLES: &str = "\
Examples:
  countersign bench
  countersign bench --variant f32-q4-kv4 --cases 3
  countersign bench --json > bench.json

The times of one machine say little; the ratios say more, since both sides ran on the same cases and core.";

/// Version of the JSON form.
const VERSION: u32 = 1;
/// Runs of VM and reference, of which the smallest counts.
const REPEATS: usize = 9;
/// Generated cases of which the longest are taken: short ones measure only the set-up.
const DRAWN: u64 = 8;
const SEED: u64 = 7;

/// Arguments of `bench`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(flatten)]
    variant: VariantArgument,
    /// Cases of each variant: the longest of a few that keep all rules.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=DRAWN))]
    cases: u64,
    /// The kernel's id in the catalogue.
    #[arg(long, value_name = "ID", default_value = "jax-rpa")]
    kernel: String,
    /// Leave out JAX's interpreter and reference.
    #[arg(long)]
    no_jax: bool,
    /// Print the times and ratios as JSON on standard output.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    python: PythonArgument,
}

/// What was measured.
#[derive(Debug, Serialize)]
struct Bench {
    version: u32,
    tool: String,
    kernel: String,
    packages: BTreeMap<String, String>,
    /// Whether everything was held on one core.
    pinned: bool,
    /// Over all cases.
    ratios: BTreeMap<&'static str, Ratio>,
    /// In the order of the catalogue.
    cases: Vec<Timed>,
}

/// Ratios over several cases.
#[derive(Debug, Clone, Copy, Serialize)]
struct Ratio {
    cases: usize,
    geometric_mean: f64,
    smallest: f64,
    largest: f64,
}

/// One case; times in milliseconds, absent where that side could not run it.
#[derive(Debug, Serialize)]
struct Timed {
    variant: String,
    /// Index in the campaign with this seed over this variant alone.
    seed: u64,
    case: u64,
    vm_ms: f64,
    /// The hand-written version, tiles computed whole as the kernel does.
    native_ms: Option<f64>,
    /// The same without keys past a sequence's end.
    native_filled_ms: Option<f64>,
    reference_ms: f64,
    #[serde(flatten)]
    jax: Jax,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

#[derive(Debug, Default, Serialize)]
struct Jax {
    interpreter_new_ms: Option<f64>,
    interpreter_warm_ms: Option<f64>,
    jax_reference_new_ms: Option<f64>,
    jax_reference_warm_ms: Option<f64>,
}

/// Name of a ratio and its two times.
type Measure = (&'static str, fn(&Timed) -> Option<f64>);

const MEASURES: [Measure; 7] = [
    ("vm_over_native", |case| Some(case.vm_ms / case.native_ms?)),
    ("vm_over_native_filled", |case| Some(case.vm_ms / case.native_filled_ms?)),
    ("interpreter_warm_over_vm", |case| Some(case.jax.interpreter_warm_ms? / case.vm_ms)),
    ("interpreter_new_over_vm", |case| Some(case.jax.interpreter_new_ms? / case.vm_ms)),
    ("jax_reference_new_over_reference", |case| Some(case.jax.jax_reference_new_ms? / case.reference_ms)),
    ("jax_reference_warm_over_reference", |case| Some(case.jax.jax_reference_warm_ms? / case.reference_ms)),
    ("reference_over_vm", |case| Some(case.reference_ms / case.vm_ms)),
];

pub(super) fn run(arguments: &Arguments) -> Result<u8, Failure> {
    let catalogue = session::catalogue()?;
    let kernel = session::kernel(&catalogue, &arguments.kernel)?;
    let variants = arguments.variant.variants(kernel, Tier::Small)?;
    let environment = session::environment(arguments.python.python.clone())?;
    let loaded = session::load(&environment, kernel, variants)?;
    // Before the worker starts, so that it inherits the core.
    let pinned = core_affinity::get_core_ids()
        .and_then(|cores| cores.last().copied())
        .is_some_and(core_affinity::set_for_current);
    let mut worker = match arguments.no_jax {
        true => None,
        false => Some(Worker::start(&environment).map_err(worker_failure)?),
    };
    let progress = SetupProgress::new();
    let mut cases = Vec::new();
    for (position, variant) in loaded.variants().iter().enumerate() {
        progress.step(&format!("{} ({} of {})", variant.name, position + 1, loaded.variants().len()));
        for (index, case) in longest(kernel, variant, arguments.cases) {
            cases.push(time(&loaded, position, index, &case, worker.as_mut())?);
        }
    }
    progress.done(&format!("timed {} cases", cases.len()));
    let ratios = MEASURES.iter().filter_map(|(name, of)| Some((*name, ratio(cases.iter().filter_map(of))?)));
    let bench = Bench {
        version: VERSION,
        tool: tool(),
        kernel: kernel.id.clone(),
        packages: worker
            .as_ref()
            .and_then(Worker::versions)
            .map(|versions| versions.packages.clone())
            .unwrap_or_default(),
        pinned,
        ratios: ratios.collect(),
        cases,
    };
    if arguments.json {
        let json = serde_json::to_string_pretty(&bench)
            .map_err(|error| Failure::new(error.to_string(), "please report this"))?;
        print(&format!("{json}\n"))?;
    } else {
        print(&describe(&bench))?;
    }
    Ok(0)
}

fn worker_failure(error: WorkerError) -> Failure {
    Failure::new(error.to_string(), "`countersign setup --check` looks at the environment")
}

/// The `count` cases with the longest caches among the first few kept ones, each with its index.
fn longest(kernel: &KernelEntry, variant: &Variant, count: u64) -> Vec<(u64, Case)> {
    let draw =
        |index| generate(SEED, index, &kernel.id, std::slice::from_ref(variant), Some(Keeping::Kept)).case;
    let mut drawn: Vec<(u64, Case)> = (0..DRAWN).map(|index| (index, draw(index))).collect();
    let tokens = |case: &Case| -> i64 {
        let sequences = case.metadata.sequences_in_table();
        case.metadata.kv_lens.iter().take(sequences).map(|&len| i64::from(len)).sum()
    };
    drawn.sort_by_key(|(index, case)| (-tokens(case), *index));
    drawn.truncate(count as usize);
    drawn
}

fn time(
    loaded: &Loaded,
    position: usize,
    index: u64,
    case: &Case,
    worker: Option<&mut Worker>,
) -> Result<Timed, Failure> {
    let (kernel, variant) = (loaded.kernel(), &loaded.variants()[position]);
    let unsound = |error: String| Failure::new(error, "this is a fault of countersign: please report it");
    let batch = case.batch(variant).map_err(|error| unsound(error.to_string()))?;
    let bound = bind(variant, &batch);
    let mut engine = loaded.engine(position);
    let end = engine.run(&batch, &bound, &Policy::default()).end;
    if end != EngineEnd::Finished {
        return Err(unsound(format!("{}: case {index} doesn't end: {end:?}", variant.name)));
    }
    let vm = smallest(REPEATS, || drop(black_box(engine.run(&batch, &bound, &Policy::default()))));
    let kv_per_block = facts::kv_block(variant).unwrap_or(variant.page_size);
    let blocking = Blocking { kv_per_block, weights: DType::F32 };
    let expected = attend(&batch, &variant.options, &blocking, &Profile::EXACT);
    let native = |tiles| match Native::new(variant, tiles) {
        Some(mut native) => {
            if !compare(&native.run(&batch), &[], &expected).wrong_rows.is_empty() {
                return Err(unsound(format!(
                    "{}: the native version is wrong on case {index}",
                    variant.name
                )));
            }
            Ok(Some(milliseconds(smallest(REPEATS, || drop(black_box(native.run(&batch)))))))
        }
        None => Ok(None),
    };
    let (native_ms, native_filled_ms) = (native(Tiles::Whole)?, native(Tiles::Filled)?);
    let reference =
        smallest(REPEATS, || drop(black_box(attend(&batch, &variant.options, &blocking, &Profile::EXACT))));

    let mut notes = Vec::new();
    let jax = match worker {
        Some(worker) => time_jax(kernel, variant, &bound, worker, &mut notes)?,
        None => Jax::default(),
    };
    Ok(Timed {
        variant: variant.name.clone(),
        seed: SEED,
        case: index,
        vm_ms: milliseconds(vm),
        native_ms,
        native_filled_ms,
        reference_ms: milliseconds(reference),
        jax,
        notes,
    })
}

fn time_jax(
    kernel: &KernelEntry,
    variant: &Variant,
    bound: &[Bound<'_>; 6],
    worker: &mut Worker,
    notes: &mut Vec<String>,
) -> Result<Jax, Failure> {
    let call = Call::ragged_paged_attention(&session::entry_point(kernel), variant);
    let values: Vec<(&str, &Array)> =
        Role::ALL.iter().map(|&role| (role.name(), &*bound[role as usize].array)).collect();
    let mut thrice = |what: &str, run: &mut dyn FnMut() -> Result<Interpreted, WorkerError>| {
        let mut times = [None; 3];
        for time in &mut times {
            match run().map_err(worker_failure)? {
                Interpreted::Ran { elapsed, .. } => *time = Some(milliseconds(elapsed)),
                Interpreted::Raised(refusal) => {
                    notes.push(format!("{what} raised {}: {}", refusal.kind, first_line(&refusal.message)));
                    break;
                }
            }
        }
        let warm = times[1].zip(times[2]).map(|(a, b)| f64::min(a, b));
        Ok::<_, Failure>((times[0], warm))
    };
    let (interpreter_new_ms, interpreter_warm_ms) =
        thrice("JAX's interpreter", &mut || worker.interpret(&call, &values, InterpretOptions::default()))?;
    let (jax_reference_new_ms, jax_reference_warm_ms) = match &kernel.python.reference {
        Some(function) => thrice("JAX's reference", &mut || worker.reference(&call, function, &values))?,
        None => (None, None),
    };
    Ok(Jax { interpreter_new_ms, interpreter_warm_ms, jax_reference_new_ms, jax_reference_warm_ms })
}

fn smallest(times: usize, mut run: impl FnMut()) -> Duration {
    let timed = (0..times).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// `None` over no cases.
fn ratio(ratios: impl Iterator<Item = f64>) -> Option<Ratio> {
    let ratios: Vec<f64> = ratios.filter(|ratio| ratio.is_finite() && *ratio > 0.0).collect();
    let sum: f64 = ratios.iter().map(|ratio| ratio.ln()).sum();
    (!ratios.is_empty()).then(|| Ratio {
        cases: ratios.len(),
        geometric_mean: (sum / ratios.len() as f64).exp(),
        smallest: ratios.iter().copied().fold(f64::INFINITY, f64::min),
        largest: ratios.iter().copied().fold(0.0, f64::max),
    })
}

fn describe(bench: &Bench) -> String {
    let head =
        ["variant", "VM", "native", "reference", "interpreter", "new", "JAX's ref.", "new", "interp./VM"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let time = |time: Option<f64>| time.map_or_else(|| "-".to_owned(), |time| format!("{time:.2}"));
    for case in &bench.cases {
        let Jax { interpreter_new_ms, interpreter_warm_ms, jax_reference_new_ms, jax_reference_warm_ms } =
            case.jax;
        let over = interpreter_warm_ms.map_or_else(|| "-".to_owned(), |ms| format!("{:.0}", ms / case.vm_ms));
        rows.push(row![
            case.variant,
            time(Some(case.vm_ms)),
            time(case.native_ms),
            time(Some(case.reference_ms)),
            time(interpreter_warm_ms),
            time(interpreter_new_ms),
            time(jax_reference_warm_ms),
            time(jax_reference_new_ms),
            over,
        ]);
    }
    let mut text = format!("times in ms, {}\n", if bench.pinned { "on one core" } else { "on any core" });
    text += &table::render(&rows);
    for case in &bench.cases {
        for note in &case.notes {
            text += &format!("  {}: {note}\n", case.variant);
        }
    }
    let mut rows = vec![row!["ratio", "cases", "geometric mean", "smallest", "largest"]];
    for (name, ratio) in &bench.ratios {
        let Ratio { cases, geometric_mean, smallest, largest } = ratio;
        let shown = [geometric_mean, smallest, largest].map(|value| format!("{value:.2}"));
        rows.push(row![name.replace('_', " "), cases, shown[0], shown[1], shown[2]]);
    }
    text + "\n" + &table::render(&rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_summed_up_by_their_geometric_mean() {
        let ratio = ratio([2.0, 8.0, f64::NAN].into_iter()).unwrap();
        assert!((ratio.geometric_mean - 4.0).abs() < 1e-12);
        assert_eq!((ratio.cases, ratio.smallest, ratio.largest), (2, 2.0, 8.0));
        assert!(super::ratio(std::iter::empty()).is_none());
    }
}
