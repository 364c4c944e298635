//! One case on JAX's sides: its interpreter, and the kernel's own reference.
//!
//! Invariant: times are the worker's own, encoding apart; what can't run becomes a note, never a time.

use countersign_dtype::Array;
use countersign_kernels::call::Call;
use countersign_kernels::env::Environment;
use countersign_kernels::rpa::bind::bind;
use countersign_kernels::worker::{InterpretOptions, Interpreted, Worker, WorkerError};
use countersign_reports::Times;

use super::super::console::Failure;
use super::clock::milliseconds;
use super::parts::{Part, Parts};
use super::subjects::Subjects;
use super::unsound;
use crate::campaign::Subject;
use crate::case::Case;

/// Starts the worker, on the core that this thread is held on.
pub(super) fn start(environment: &Environment) -> Result<Worker, Failure> {
    Worker::start(environment).map_err(|error| failure(&error))
}

fn failure(error: &WorkerError) -> Failure {
    Failure::new(error.to_string(), "`countersign setup --check` looks at the environment")
}

/// Adds JAX's times of `case`.
pub(super) fn time(
    subjects: &Subjects,
    position: usize,
    case: &Case,
    parts: Parts,
    worker: &mut Worker,
    times: &mut Times,
    notes: &mut Vec<String>,
) -> Result<(), Failure> {
    let variant = &subjects.loaded.variants()[position];
    let python = &subjects.loaded.kernel().python;
    let batch = case.batch(variant).map_err(|error| unsound(error.to_string()))?;
    let bound = bind(variant, &batch);
    let call = Call::of(&subjects.loaded.kernel().python.call(), variant);
    let values: Vec<(&str, &Array)> = variant
        .family
        .model()
        .roles()
        .iter()
        .map(|&role| (role.name(), &*bound[role as usize].array))
        .collect();
    let mut thrice = |what: &str, run: &mut dyn FnMut() -> Result<Interpreted, WorkerError>| {
        let mut times = [None; 3];
        for time in &mut times {
            match run().map_err(|error| failure(&error))? {
                Interpreted::Ran { elapsed, .. } => *time = Some(milliseconds(elapsed)),
                Interpreted::Raised(refusal) => {
                    let first = refusal.message.lines().next().unwrap_or_default();
                    notes.push(format!("{}: {what} raised {}: {first}", variant.name, refusal.kind));
                    break;
                }
            }
        }
        Ok::<_, Failure>((times[0], times[1].zip(times[2]).map(|(a, b)| f64::min(a, b))))
    };
    if parts.has(Part::Interpreter) {
        (times.interpreter_new_ms, times.interpreter_warm_ms) = thrice("JAX's interpreter", &mut || {
            worker.interpret(&call, &values, InterpretOptions::default())
        })?;
    }
    if let Some(function) = python.reference.as_ref().filter(|_| parts.has(Part::Reference)) {
        (times.jax_reference_fresh_ms, times.jax_reference_warm_ms) =
            thrice("JAX's reference", &mut || worker.reference(&call, function, &values))?;
    }
    Ok(())
}
