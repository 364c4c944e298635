//! The model of a benchmark: times of several sides on the same cases, and the ratios between them.
//!
//! Times are in milliseconds, absent where a side could not run or wasn't asked. A ratio is of two times of one case in
//! one run; over several cases their geometric mean.
//!
//! Invariant: ratios are computed here and nowhere else, so that table, JSON and page agree.

mod page;
mod plot;
mod summary;

use std::collections::BTreeMap;

use serde::Serialize;

pub use page::bench_to_html;
pub use summary::{RATIOS, Spread};

/// Version of the JSON form.
pub const BENCH_VERSION: u32 = 2;

/// What was measured.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bench {
    /// [`BENCH_VERSION`].
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// The kernel's id.
    pub kernel: String,
    /// Python packages of JAX's side.
    pub packages: BTreeMap<String, String>,
    /// Whether each side was held on one core.
    pub pinned: bool,
    /// Cores that the process may use.
    pub cores: usize,
    /// The figures to watch, every key of [`RATIOS`]; `None` where it wasn't measured.
    pub ratios: BTreeMap<&'static str, Option<f64>>,
    /// The same over cases: mean, extremes, and where they are.
    pub spreads: BTreeMap<&'static str, Spread>,
    /// The batch of the interpreter's probe: the yardstick of the speed aims.
    pub probe: Option<TimedCase>,
    /// In the order of the catalogue.
    pub variants: Vec<TimedVariant>,
    /// What each sanitizer costs, and all of them.
    pub sanitizers: Vec<SanitizerCost>,
    /// Whole trials of generated cases, as `fuzz` runs them.
    pub throughput: Vec<Throughput>,
    /// How times grow.
    pub growth: Vec<Growth>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// The cases of a variant.
#[derive(Debug, Clone, Serialize)]
pub struct TimedVariant {
    /// Its name.
    pub name: String,
    /// Ratios over its cases.
    pub ratios: BTreeMap<&'static str, f64>,
    /// Its cases.
    pub cases: Vec<TimedCase>,
}

/// One case.
#[derive(Debug, Clone, Serialize)]
pub struct TimedCase {
    /// What it is: a place in a campaign, or words.
    pub name: String,
    /// Its times.
    #[serde(flatten)]
    pub times: Times,
}

/// Times of one case in milliseconds.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Times {
    /// The VM, all sanitizers on.
    pub vm_ms: Option<f64>,
    /// The VM with a new kernel: reading and lowering its module, and the first run.
    pub vm_new_ms: Option<f64>,
    /// The VM, all sanitizers off.
    pub vm_unwatched_ms: Option<f64>,
    /// The algorithm by hand, tiles computed whole as the kernel does.
    pub native_ms: Option<f64>,
    /// The same without keys past a sequence's end.
    pub native_filled_ms: Option<f64>,
    /// The reference, with its bound.
    pub reference_ms: Option<f64>,
    /// JAX's interpreter, first run of a shape.
    pub interpreter_new_ms: Option<f64>,
    /// JAX's interpreter, a later run.
    pub interpreter_warm_ms: Option<f64>,
    /// JAX's reference, first run of a batch's lengths.
    pub jax_reference_fresh_ms: Option<f64>,
    /// JAX's reference, a later run of the same lengths.
    pub jax_reference_warm_ms: Option<f64>,
}

/// What a sanitizer costs: time with it over time without, everything else on.
#[derive(Debug, Clone, Serialize)]
pub struct SanitizerCost {
    /// The sanitizer, or `all`.
    pub name: String,
    /// Geometric mean over the variants.
    pub on_over_off: f64,
    /// The largest of a variant.
    pub largest: f64,
}

/// Cases a second.
#[derive(Debug, Clone, Serialize)]
pub struct Throughput {
    /// Threads.
    pub jobs: usize,
    /// Cases run.
    pub cases: u64,
    /// In so many seconds.
    pub seconds: f64,
    /// Their quotient.
    pub cases_per_second: f64,
}

/// Times along one axis, everything else the same.
#[derive(Debug, Clone, Serialize)]
pub struct Growth {
    /// What grows, e.g. `kv length`.
    pub axis: String,
    /// What stays.
    pub fixed: String,
    /// In ascending order.
    pub points: Vec<GrowthPoint>,
}

/// One size.
#[derive(Debug, Clone, Serialize)]
pub struct GrowthPoint {
    /// The size.
    pub size: usize,
    /// Times there.
    #[serde(flatten)]
    pub times: Times,
}

/// The benchmark as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which times are never.
pub fn bench_to_json(bench: &Bench) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(bench)?;
    text.push('\n');
    Ok(text)
}
