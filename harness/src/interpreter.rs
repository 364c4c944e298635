//! JAX as an engine, in its own TPU interpreter or on a real TPU: blind to most faults, and another opinion on values.
//!
//! Invariant: what it can't say is unsupported, never right. Undefined memory shows in the interpreter as the NaN that it fills
//! with, and on a device as whatever was there, so that outputs have no undefined ranges.

use countersign_kernels::Variant;
use countersign_kernels::call::Call;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_kernels::worker::{InterpretOptions, Interpreted, Worker};
use countersign_reference::Batch;

use crate::case::Case;
use crate::judge::{Finding, judge};
use crate::signature::Kind;
use crate::trial::{Conduct, run_trial};

/// Where JAX runs a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// In its interpreter.
    Interpreter,
    /// On the first TPU that it sees.
    Tpu,
}

impl On {
    const fn name(self) -> &'static str {
        match self {
            On::Interpreter => "the interpreter",
            On::Tpu => "the TPU",
        }
    }
}

/// Runs one call in JAX.
pub struct JaxEngine<'w> {
    worker: &'w mut Worker,
    call: Call,
    on: On,
}

impl<'w> JaxEngine<'w> {
    /// An engine for `call`; a TPU needs a worker that looks for one.
    pub fn new(worker: &'w mut Worker, call: Call, on: On) -> JaxEngine<'w> {
        JaxEngine { worker, call, on }
    }
}

impl Engine for JaxEngine<'_> {
    fn run(&mut self, _batch: &Batch, bound: &[Bound<'_>; 6], _policy: &Policy) -> EngineRun {
        let is_taken = |operand: &&Bound<'_>| self.call.operand(operand.role.name()).is_some();
        let values: Vec<_> = bound
            .iter()
            .filter(is_taken)
            .map(|operand| (operand.role.name(), operand.array.as_ref()))
            .collect();
        let answer = match self.on {
            On::Interpreter => self.worker.interpret(&self.call, &values, InterpretOptions::default()),
            On::Tpu => self.worker.execute(&self.call, &values),
        };
        let (output, end) = match answer {
            Ok(Interpreted::Ran { outputs, .. }) => (outputs.into_iter().next(), EngineEnd::Finished),
            Ok(Interpreted::Raised(refusal)) => (
                None,
                EngineEnd::Unsupported(format!(
                    "{} raised {}: {}",
                    self.on.name(),
                    refusal.kind,
                    refusal.message
                )),
            ),
            Err(error) => (None, EngineEnd::Unsupported(error.to_string())),
        };
        EngineRun { output, undefined: Vec::new(), end, fuel_used: 0 }
    }

    fn coverage(&self) -> &[u64] {
        &[]
    }
}

/// Whether JAX's interpreter can tell who is right about `finding`: values that our machine and the reference disagree on.
pub fn is_disagreement(finding: &Finding) -> bool {
    finding.signature.kind == Kind::Divergence
}

/// What JAX's interpreter says where our machine and the reference disagree, in a sentence without its full stop.
pub fn third_opinion(
    worker: &mut Worker,
    kernel: &KernelEntry,
    variant: &Variant,
    case: &Case,
    finding: &Finding,
) -> String {
    let mut engine = JaxEngine::new(worker, case.python_call(kernel, variant), On::Interpreter);
    let policy = Policy::default();
    let trial = match run_trial(Some(&mut engine), kernel, variant, case, &policy) {
        Ok(trial) => trial,
        Err(error) => return format!("JAX's interpreter can't be given the case: {error}"),
    };
    if let Conduct::Unsupported(why) = &trial.conduct {
        return format!("JAX's interpreter can't say: {}", why.lines().next().unwrap_or_default());
    }
    let shown = judge(&trial).findings;
    if shown.iter().any(|shown| shown.signature == finding.signature) {
        return "JAX's interpreter shows the same, so that two machines stand against the reference"
            .to_owned();
    }
    match shown.iter().find(|shown| is_disagreement(shown)) {
        Some(other) => format!("JAX's interpreter disagrees with both: {}", other.detail),
        None => "JAX's interpreter agrees with the reference, so that our machine stands alone".to_owned(),
    }
}
