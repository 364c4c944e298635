//! From a kernel's id and a list of variants to something that runs: environment, export, load. And the worker that asks
//! the real validators and JAX's interpreter.
//!
//! Invariant: the environment is prepared here when it is first needed, whatever the command.

use std::path::PathBuf;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry};
use countersign_kernels::checks::Verdict;
use countersign_kernels::env::{Environment, Progress};
use countersign_kernels::export::export;
use countersign_kernels::worker::Worker;

use super::console::{Failure, SetupProgress};
use super::{CatalogArgument, KernelFrom, PythonArgument};
use crate::campaign::Subject as _;
use crate::case::Case;
use crate::confirm::{Answer, Validator};
use crate::contract::{Lowering, verdict};
use crate::interpreter::third_opinion;
use crate::judge::Finding;
use crate::loaded::Loaded;

/// The catalogue's kernel of that id.
pub(super) fn kernel<'c>(catalogue: &'c Catalogue, id: &str) -> Result<&'c KernelEntry, Failure> {
    catalogue.kernel(id).ok_or_else(|| {
        let known: Vec<&str> = catalogue.kernels.iter().map(|kernel| kernel.id.as_str()).collect();
        Failure::new(format!("no kernel `{id}` in the catalogue"), format!("known: {}", known.join(", ")))
    })
}

/// The catalogue that comes with the program, with what the user adds to it.
pub(super) fn catalogue(python: &PythonArgument) -> Result<Catalogue, Failure> {
    let mut catalogue = extended(&python.catalog)?;
    if let Some(KernelFrom { file, function }) = &python.kernel_from {
        catalogue
            .substitute(file, function)
            .map_err(|why| Failure::new(why, "--kernel-from takes FILE.py:FUNCTION"))?;
    }
    Ok(catalogue)
}

/// The catalogue that comes with the program, with the kernels of `--catalog`.
pub(super) fn extended(added: &CatalogArgument) -> Result<Catalogue, Failure> {
    let mut catalogue = builtin()?;
    for folder in &added.catalog {
        catalogue.extend(folder).map_err(|error| {
            Failure::new(error.to_string(), "kernels/catalog/jax-rpa.toml of the sources is an example")
        })?;
    }
    Ok(catalogue)
}

/// The catalogue that comes with the program.
pub(super) fn builtin() -> Result<Catalogue, Failure> {
    Catalogue::builtin()
        .map_err(|error| Failure::new(error.to_string(), "this is a fault of countersign: please report it"))
}

/// Opens the environment that `kernel` is lowered in, with progress.
pub(super) fn environment(python: Option<PathBuf>, kernel: &KernelEntry) -> Result<Environment, Failure> {
    Ok(Environment::open_for(None, python, &kernel.python.packages, &SetupProgress::new())?)
}

/// Exports and loads `variants` of `kernel`, with progress.
pub(super) fn load(
    environment: &Environment,
    kernel: &KernelEntry,
    variants: Vec<Variant>,
) -> Result<Loaded, Failure> {
    if !environment.holds(&kernel.python.packages) {
        return Err(Failure::new(
            format!("{} needs {}, which isn't what was opened", kernel.id, kernel.python.packages.join(", ")),
            "run the command for this kernel alone",
        ));
    }
    let progress = SetupProgress::new();
    let exports = export(environment, &kernel.python.call(), &variants, &progress)?;
    progress.step("loading the kernels");
    let unpinned = environment.is_unpinned() || kernel.python.file().is_some();
    let loaded = Loaded::new(kernel, variants, exports, unpinned);
    let (failed, first) = (loaded.failures().count(), loaded.failures().next());
    match first {
        Some((variant, reason)) if failed == loaded.variants().len() && kernel.python.file().is_some() => {
            Err(Failure::new(
                format!("no variant of {} lowers; {}: {reason}", kernel.python.call(), variant.name),
                format!(
                    "the function is called as {}'s family is: see `countersign kernels show {0}`",
                    kernel.id
                ),
            ))
        }
        _ => Ok(loaded),
    }
}

/// Asks the real validators through the worker, which is started with the first question.
pub(super) struct AskWorker<'a> {
    environment: &'a Environment,
    kernel: &'a KernelEntry,
    worker: Option<Result<Worker, String>>,
    /// Whether what runs here is what JAX would run.
    interprets: bool,
}

impl<'a> AskWorker<'a> {
    pub(super) fn new(environment: &'a Environment, kernel: &'a KernelEntry) -> AskWorker<'a> {
        AskWorker { environment, kernel, worker: None, interprets: true }
    }

    /// One for a kernel that JAX has not got: with a fault put into its IR, or run by JAX itself. It has no third opinion.
    pub(super) fn without_opinion(self) -> AskWorker<'a> {
        AskWorker { interprets: false, ..self }
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

    fn third(&mut self, variant: &Variant, case: &Case, finding: &Finding) -> Option<String> {
        if !self.interprets {
            return None;
        }
        let kernel = self.kernel;
        let said = self.worker().map(|worker| third_opinion(worker, kernel, variant, case, finding));
        Some(said.unwrap_or_else(|why| format!("JAX's interpreter couldn't be asked: {why}")))
    }

    fn ask(&mut self, variant: &Variant, case: &Case) -> Result<Answer, String> {
        if !self.kernel.family.model().has_checks() {
            return Ok(Answer { static_verdict: Verdict::Accepts, dynamic_verdict: None });
        }
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
