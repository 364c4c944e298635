//! Small kernels of our own (`kernels/python/tests/micro`) in the VM and in JAX's TPU interpreter, element by element.
//!
//! Equal means equal bits; a NaN equals any NaN, since XLA and IEEE 754 leave its payload open. XLA's CPU code flushes denormals
//! of f32 (and of bf16, which it computes in f32), so an element may instead equal what the VM gives with denormals flushed, in its
//! arithmetic alone or in its operands too; such elements are counted apart. Else only the ops of [`INEXACT`] may differ,
//! by what stands there.
//!
//! Invariant: which ops and types a kernel exercises is read off its lowered module, never off its name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_mosaic::{Arithmetic, DmaOrder, End, Machine, Operand, OutputSpec, Policy, Program, parse};
use serde::Deserialize;

use crate::kernel::environment;
use crate::page::{self, Section};
use crate::table;
use crate::ulps::{absolute, distance, scaled_distance, without_denormals};
use crate::uses::{Use, uses, uses_by_output};

/// Sets of values a kernel.
fn runs() -> usize {
    std::env::var("COUNTERSIGN_MICRO_RUNS").map_or(2, |text| text.parse().unwrap())
}

/// An op whose result may differ from the interpreter's.
pub(crate) struct Inexact {
    op: &'static str,
    /// Ends the type of its uses; empty for any.
    kind: &'static str,
    /// How far apart the two may be.
    ulps: f64,
    /// Whether in units of the last place of what the result would be if all operands were positive, since a sum can cancel to
    /// nothing; else of the result.
    of_magnitude: bool,
    /// A word for the table; the page explains it.
    pub(crate) reason: &'static str,
}

/// XLA's CPU code approximates exp and tanh by polynomials of its own, and JAX states no bound on them that is as small as what is
/// measured here. Sums and products are taken in another order. For products of k terms either side is at most k roundings off, so
/// they could be k ulps apart; errors that add up like a random walk give the square root: 16 for the k of at most 256 here.
const INEXACT: [Inexact; 4] = [
    Inexact { op: "math.exp", kind: "", ulps: 2.0, of_magnitude: false, reason: "approximation" },
    Inexact { op: "math.tanh", kind: "", ulps: 6.0, of_magnitude: false, reason: "approximation" },
    Inexact {
        op: "vector.multi_reduction",
        kind: "add",
        ulps: 2.0,
        of_magnitude: true,
        reason: "order of the sum",
    },
    Inexact { op: "tpu.matmul", kind: "", ulps: 16.0, of_magnitude: true, reason: "order of the sums" },
];

impl Inexact {
    /// Why results of this use may differ.
    pub(crate) fn of(of: &Use) -> Option<&'static Inexact> {
        INEXACT.iter().find(|inexact| inexact.op == of.op && of.dtype.ends_with(inexact.kind))
    }
}

/// What the exporter says of one kernel.
#[derive(Debug, Deserialize)]
struct Line {
    name: String,
    outcome: Outcome,
    /// Why it differs, isn't supported or was refused.
    reason: String,
}

#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ran,
    Unsupported,
    Refused,
    Failed,
}

/// `case.json`: what `data.bin` holds, run after run, arguments then outputs, and how the module's operands are fed.
#[derive(Debug, Deserialize)]
struct Case {
    runs: usize,
    arguments: Vec<Tensor>,
    outputs: Vec<Tensor>,
    operands: Vec<Source>,
}

#[derive(Debug, Deserialize)]
struct Tensor {
    dtype: String,
    shape: Vec<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Source {
    Argument { argument: usize },
    Constant { constant: Vec<i64>, shape: Vec<usize> },
}

impl Tensor {
    fn read(&self, data: &mut &[u8]) -> Array {
        let mut array = Array::zeros(self.dtype(), &self.shape);
        let (bytes, rest) = data.split_at(array.bytes.len());
        array.bytes.copy_from_slice(bytes);
        *data = rest;
        array
    }

    fn dtype(&self) -> DType {
        DType::from_name(&self.dtype).unwrap()
    }
}

/// What was measured of one op at one type, or of one kernel's output.
#[derive(Debug, Default, Clone)]
pub(crate) struct Measured {
    pub(crate) kernels: usize,
    pub(crate) cases: usize,
    pub(crate) elements: usize,
    /// Elements that agree only once denormals are flushed.
    pub(crate) flushed: usize,
    /// Largest difference.
    pub(crate) ulps: f64,
}

/// Everything that the kernels showed.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) ran: usize,
    pub(crate) cases: usize,
    pub(crate) elements: usize,
    pub(crate) measured: BTreeMap<Use, Measured>,
    /// Where Pallas' lowering departs from JAX: the reason, and the kernels that show it.
    pub(crate) differing: BTreeMap<String, BTreeSet<String>>,
    /// What the VM refuses by name, and what Pallas doesn't lower: the reason, and the kernels.
    pub(crate) unsupported: BTreeMap<String, BTreeSet<String>>,
    pub(crate) refused: BTreeMap<String, BTreeSet<String>>,
}

/// Writes all kernels into `folder` with as many processes as there are cores, at most four.
fn produce(folder: &Path) -> Vec<Line> {
    const START: &str = "import runpy, sys\n\
        sys.path[:0] = [sys.argv.pop(1), sys.argv.pop(1)]\n\
        runpy.run_module('micro', run_name='__main__', alter_sys=True)\n";
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/python");
    let parts = std::thread::available_parallelism().map_or(1, usize::from).min(4);
    let children: Vec<_> = (0..parts)
        .map(|part| {
            let mut command = Command::new(environment().python());
            for (name, _) in std::env::vars_os() {
                if name.to_str().is_some_and(|name| name.starts_with("JAX_") || name.starts_with("XLA_")) {
                    command.env_remove(name);
                }
            }
            command.args(["-I", "-B", "-c", START]).arg(&python).arg(python.join("tests")).arg(folder);
            command.args(["--runs", &runs().to_string(), "--part", &format!("{part}/{parts}")]);
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
        })
        .collect();
    let mut lines = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{:?}", output.status);
        let text = String::from_utf8(output.stdout).unwrap();
        lines.extend(text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap()));
    }
    lines.sort_by(|one, other| one.name.cmp(&other.name));
    lines
}

#[test]
fn micro_kernels_agree_with_the_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let lines = produce(folder.path());
    let mut failures = Vec::new();
    let mut results = Results::default();
    for line in &lines {
        let folder = folder.path().join(&line.name);
        let note = |notes: &mut BTreeMap<String, BTreeSet<String>>| {
            notes.entry(line.reason.clone()).or_default().insert(line.name.clone());
        };
        let outcome = match line.outcome {
            Outcome::Ran if line.reason.is_empty() => compare(&folder, &mut results),
            Outcome::Ran => {
                note(&mut results.differing);
                differs_everywhere(&folder)
            }
            Outcome::Unsupported => {
                note(&mut results.unsupported);
                is_refused(&folder, &line.reason)
            }
            Outcome::Refused => {
                note(&mut results.refused);
                Ok(())
            }
            Outcome::Failed => Err(line.reason.clone()),
        };
        if let Err(error) = outcome {
            failures.push(format!("{}: {error}", line.name));
        }
    }
    assert!(failures.is_empty(), "{} of {} kernels:\n{}", failures.len(), lines.len(), failures.join("\n"));
    assert_eq!(table::without_kernel(&results), table::WITHOUT_KERNEL.map(|(op, _)| op.to_owned()));
    page::publish(Section::Ops, &table::text(&results));
}

/// A kernel as it was exported.
struct Exported {
    case: Case,
    data: Vec<u8>,
    /// Of the plain program and of the optimized one.
    machines: [Machine; 2],
    /// By output.
    used: Vec<BTreeSet<Use>>,
}

impl Exported {
    fn open(folder: &Path) -> Result<Exported, String> {
        let case: Case =
            serde_json::from_str(&std::fs::read_to_string(folder.join("case.json")).unwrap()).unwrap();
        let data = std::fs::read(folder.join("data.bin")).unwrap();
        let text = std::fs::read_to_string(folder.join("kernel.mlir")).unwrap();
        let module = parse(&text).map_err(|error| error.to_string())?;
        let program = Program::lower(&module, case.outputs.len()).map_err(|error| error.to_string())?;
        let used = uses_by_output(&module, case.outputs.len());
        let machines = [program.clone(), program.optimized()].map(|program| Machine::new(Arc::new(program)));
        Ok(Exported { case, data, machines, used })
    }

    /// Calls `visit` with the run's number, its arguments and the interpreter's outputs.
    fn each(
        mut self,
        mut visit: impl FnMut(&mut Exported, usize, &[Array], &[Array]) -> Result<(), String>,
    ) -> Result<(), String> {
        let data = std::mem::take(&mut self.data);
        let mut rest = data.as_slice();
        for run in 0..self.case.runs {
            let arguments: Vec<Array> =
                self.case.arguments.iter().map(|tensor| tensor.read(&mut rest)).collect();
            let outputs: Vec<Array> = self.case.outputs.iter().map(|tensor| tensor.read(&mut rest)).collect();
            visit(&mut self, run, &arguments, &outputs)?;
        }
        assert!(rest.is_empty());
        Ok(())
    }

    /// The outputs, which must agree to the bit under every DMA order, plain and optimized.
    fn execute(&mut self, arguments: &[Array], arithmetic: Arithmetic) -> Result<Vec<Array>, String> {
        let constants: Vec<Array> = self
            .case
            .operands
            .iter()
            .filter_map(|source| match source {
                Source::Constant { constant, shape } => {
                    let values: Vec<i32> = constant.iter().map(|&value| value as i32).collect();
                    Some(Array::from_i32(shape, &values))
                }
                Source::Argument { .. } => None,
            })
            .collect();
        let mut constants = constants.iter();
        let operands: Vec<Operand> = self
            .case
            .operands
            .iter()
            .map(|source| {
                let array = match source {
                    Source::Argument { argument } => &arguments[*argument],
                    Source::Constant { .. } => constants.next().unwrap(),
                };
                Operand { label: "operand", array, undefined: &[] }
            })
            .collect();
        let outputs: Vec<OutputSpec> = self
            .case
            .outputs
            .iter()
            .map(|tensor| OutputSpec { dtype: tensor.dtype(), shape: tensor.shape.clone() })
            .collect();
        let mut first: Option<Vec<Array>> = None;
        for machine in &mut self.machines {
            for dma in [DmaOrder::Late, DmaOrder::Eager, DmaOrder::Seeded(1)] {
                let policy = Policy { dma, arithmetic, fuel: 1_000_000, ..Policy::default() };
                let run = machine.run(&operands, &outputs, &policy).map_err(|error| error.to_string())?;
                if run.end != End::Finished {
                    return Err(format!("{:?}", run.end));
                }
                if let Some(output) = run.outputs.iter().position(|output| !output.undefined.is_empty()) {
                    return Err(format!(
                        "output {output} is undefined in {:?}",
                        run.outputs[output].undefined
                    ));
                }
                let outputs: Vec<Array> = run.outputs.into_iter().map(|output| output.array).collect();
                match &first {
                    Some(first) if *first != outputs => return Err(format!("other bits with {policy:?}")),
                    _ => first = Some(outputs),
                }
            }
        }
        first.ok_or_else(|| "no run".to_owned())
    }
}

/// Runs all cases of one kernel; `Err` describes the first element of each output that can't be explained.
fn compare(folder: &Path, results: &mut Results) -> Result<(), String> {
    let exported = Exported::open(folder)?;
    let used = exported.used.clone();
    let mut by_output = vec![Measured::default(); used.len()];
    let mut unexplained: BTreeMap<usize, String> = BTreeMap::new();
    exported.each(|exported, run, arguments, expected| {
        let flush = Arithmetic { flush_denormals: true, ..Arithmetic::default() };
        let changed = |change: fn(&Array) -> Array| -> Vec<Array> { arguments.iter().map(change).collect() };
        let plain = exported.execute(arguments, Arithmetic::default())?;
        let flushed =
            [exported.execute(arguments, flush)?, exported.execute(&changed(without_denormals), flush)?];
        let inexact: Vec<Option<&Inexact>> =
            used.iter().map(|used| used.iter().find_map(Inexact::of)).collect();
        let magnitude = match inexact.iter().flatten().any(|inexact| inexact.of_magnitude) {
            true => exported.execute(&changed(absolute), Arithmetic::default())?,
            false => plain.clone(),
        };
        results.cases += 1;
        for (output, expected) in expected.iter().enumerate() {
            let measured = &mut by_output[output];
            measured.cases += 1;
            measured.elements += expected.len();
            if plain[output] == *expected {
                continue; // the same bits throughout
            }
            for element in 0..expected.len() {
                let apart = |found: &[Array]| match inexact[output] {
                    Some(inexact) if inexact.of_magnitude => {
                        scaled_distance(&found[output], expected, &magnitude[output], element)
                    }
                    _ => distance(&found[output], expected, element),
                };
                let exact = apart(&plain);
                let best = flushed.iter().map(|found| apart(found)).fold(exact, f64::min);
                measured.flushed += usize::from(best < exact);
                measured.ulps = measured.ulps.max(best);
                if best > inexact[output].map_or(0.0, |inexact| inexact.ulps) {
                    unexplained.entry(output).or_insert_with(|| {
                        let (found, expected) = (plain[output].get_f32(element), expected.get_f32(element));
                        let same = arguments.iter().filter(|argument| argument.len() == plain[output].len());
                        let operands: Vec<f32> = same.map(|argument| argument.get_f32(element)).collect();
                        format!(
                            "run {run}, output {output}, element {element}: VM {found:?}, interpreter {expected:?}, {best} \
                             ulp apart, operands there {operands:?}"
                        )
                    });
                }
            }
        }
        Ok(())
    })?;
    results.ran += 1;
    results.elements += by_output.iter().map(|measured| measured.elements).sum::<usize>();
    let all: BTreeSet<&Use> = used.iter().flatten().collect();
    for of in all {
        let total = results.measured.entry(of.clone()).or_default();
        total.kernels += 1;
        total.cases += by_output[0].cases;
        for (used, measured) in used.iter().zip(&by_output).filter(|(used, _)| used.contains(of)) {
            total.elements += measured.elements;
            // A difference comes from the op that may differ, where there is one.
            if Inexact::of(of).is_some() || !used.iter().any(|of| Inexact::of(of).is_some()) {
                total.flushed += measured.flushed;
                total.ulps = total.ulps.max(measured.ulps);
            }
        }
    }
    match unexplained.is_empty() {
        true => Ok(()),
        false => Err(unexplained.into_values().collect::<Vec<_>>().join("\n    ")),
    }
}

/// A kernel whose lowering means something else than JAX: no element agrees, or the reason no longer holds.
fn differs_everywhere(folder: &Path) -> Result<(), String> {
    Exported::open(folder)?.each(|exported, run, arguments, expected| {
        let found = exported.execute(arguments, Arithmetic::default())?;
        for (found, expected) in found.iter().zip(expected) {
            if let Some(element) =
                (0..expected.len()).find(|&element| distance(found, expected, element) == 0.0)
            {
                return Err(format!("run {run}, element {element}: it agrees, and should differ"));
            }
        }
        Ok(())
    })
}

/// A kernel that the VM can't run, because of `op`.
fn is_refused(folder: &Path, op: &str) -> Result<(), String> {
    let module = parse(&std::fs::read_to_string(folder.join("kernel.mlir")).unwrap()).unwrap();
    if !uses(&module).iter().any(|of| of.op == op) {
        return Err(format!("it has no {op}"));
    }
    let outputs = module_outputs(folder);
    match Program::lower(&module, outputs) {
        Err(error) if error.unsupported.iter().all(|unsupported| unsupported.op == op) => Ok(()),
        Err(error) => Err(error.to_string()),
        Ok(_) => Err("the VM takes it now: compare it".to_owned()),
    }
}

fn module_outputs(folder: &Path) -> usize {
    let case: Case =
        serde_json::from_str(&std::fs::read_to_string(folder.join("case.json")).unwrap()).unwrap();
    case.outputs.len()
}
