//! JAX's own TPU interpreter as an engine: slow, blind to most faults, and a second opinion on values.
//!
//! Invariant: what it can't say is unsupported, never right. Undefined memory shows there as the NaN that it fills with, so
//! its outputs have no undefined ranges.

use countersign_kernels::call::Call;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_kernels::worker::{InterpretOptions, Interpreted, Worker};
use countersign_reference::Batch;

/// Runs one call in the interpreter of a worker.
pub struct InterpreterEngine<'w> {
    worker: &'w mut Worker,
    call: Call,
}

impl<'w> InterpreterEngine<'w> {
    /// An engine for `call`.
    pub fn new(worker: &'w mut Worker, call: Call) -> InterpreterEngine<'w> {
        InterpreterEngine { worker, call }
    }
}

impl Engine for InterpreterEngine<'_> {
    fn run(&mut self, _batch: &Batch, bound: &[Bound<'_>; 6], _policy: &Policy) -> EngineRun {
        let is_taken = |operand: &&Bound<'_>| self.call.operand(operand.role.name()).is_some();
        let values: Vec<_> = bound
            .iter()
            .filter(is_taken)
            .map(|operand| (operand.role.name(), operand.array.as_ref()))
            .collect();
        let (output, end) = match self.worker.interpret(&self.call, &values, InterpretOptions::default()) {
            Ok(Interpreted::Ran { outputs, .. }) => (outputs.into_iter().next(), EngineEnd::Finished),
            Ok(Interpreted::Raised(refusal)) => (
                None,
                EngineEnd::Unsupported(format!(
                    "the interpreter raised {}: {}",
                    refusal.kind, refusal.message
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
