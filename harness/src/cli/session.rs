//! From a kernel's id and a list of variants to something that runs: environment, export, load. And the worker that asks
//! the real validators.
//!
//! Invariant: the environment is prepared here when it is first needed, whatever the command.

use std::path::PathBuf;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry};
use countersign_kernels::env::{Environment, Progress};
use countersign_kernels::export::export;
use countersign_kernels::worker::Worker;

use super::console::{Failure, SetupProgress};
use crate::case::Case;
use crate::confirm::{Answer, Validator};
use crate::contract::{Lowering, verdict};
use crate::loaded::Loaded;

/// The catalogue's kernel of that id.
pub(super) fn kernel<'c>(catalogue: &'c Catalogue, id: &str) -> Result<&'c KernelEntry, Failure> {
    catalogue.kernel(id).ok_or_else(|| {
        let known: Vec<&str> = catalogue.kernels.iter().map(|kernel| kernel.id.as_str()).collect();
        Failure::new(format!("no kernel `{id}` in the catalogue"), format!("known: {}", known.join(", ")))
    })
}

/// The catalogue that comes with the program.
pub(super) fn catalogue() -> Result<Catalogue, Failure> {
    Catalogue::builtin()
        .map_err(|error| Failure::new(error.to_string(), "this is a fault of countersign: please report it"))
}

/// `package.module:function`.
pub(super) fn entry_point(kernel: &KernelEntry) -> String {
    format!("{}:{}", kernel.python.module, kernel.python.entry_point)
}

/// Opens the environment, with progress.
pub(super) fn environment(python: Option<PathBuf>) -> Result<Environment, Failure> {
    Ok(Environment::open(None, python, &SetupProgress::new())?)
}

/// Exports and loads `variants` of `kernel`, with progress.
pub(super) fn load(
    environment: &Environment,
    kernel: &KernelEntry,
    variants: Vec<Variant>,
) -> Result<Loaded, Failure> {
    let progress = SetupProgress::new();
    let exports = export(environment, &entry_point(kernel), &variants, &progress)?;
    progress.step("loading the kernels");
    Ok(Loaded::new(kernel, variants, exports, environment.is_unpinned()))
}

/// Asks the real validators through the worker, which is started with the first question.
pub(super) struct AskWorker<'a> {
    environment: &'a Environment,
    kernel: &'a KernelEntry,
    worker: Option<Result<Worker, String>>,
}

impl<'a> AskWorker<'a> {
    pub(super) fn new(environment: &'a Environment, kernel: &'a KernelEntry) -> AskWorker<'a> {
        AskWorker { environment, kernel, worker: None }
    }
}

impl AskWorker<'_> {
    fn worker(&mut self) -> Result<&mut Worker, String> {
        let environment = self.environment;
        let worker =
            self.worker.get_or_insert_with(|| Worker::start(environment).map_err(|error| error.to_string()));
        worker.as_mut().map_err(|why| why.clone())
    }
}

impl Validator for AskWorker<'_> {
    fn lower(&mut self, variant: &Variant, case: &Case) -> Result<Lowering, String> {
        let call = case.python_call(self.kernel, variant);
        self.worker()?.trace(&call).map(Lowering::of).map_err(|error| error.to_string())
    }

    fn ask(&mut self, variant: &Variant, case: &Case) -> Result<Answer, String> {
        let call = case.python_call(self.kernel, variant);
        let worker = self.worker()?;
        // Values that don't fit an overridden operand can't be given; the static check doesn't look at values.
        let overridden = case.statics.as_ref().is_some_and(|statics| !statics.operands.is_empty());
        let asked = if overridden {
            worker.validate_values(&call, &[])
        } else {
            worker.validate(&call, &case.metadata)
        };
        let asked = asked.map_err(|error| error.to_string())?;
        Ok(Answer {
            static_verdict: verdict(asked.static_check),
            dynamic_verdict: if overridden { None } else { asked.dynamic_check.map(verdict) },
        })
    }
}
