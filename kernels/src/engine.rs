//! Engines: what executes a kernel on a batch. The VM is the one that every run uses.
//!
//! Invariant: an engine reports what happened as a value; it judges nothing, and the VM's answer is a function of
//! program, operands and policy alone.

use std::ops::Range;
use std::sync::Arc;

use countersign_dtype::{Array, DType};
use countersign_mosaic::{
    DmaOrder, End, ErrorSign, Fault, Machine, Operand, OutputSpec, Program, Sanitizers, Trace, trace,
};
use countersign_reference::Batch;

use crate::manifest::{self, Manifest};
use crate::profile::DeviceProfile;
use crate::rpa::bind::{self, Bound, Role};
use crate::variant::Variant;

/// What a run is free to choose, or a device decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Policy {
    /// The device: how f32 arithmetic is done, and what error it is allowed.
    pub profile: &'static DeviceProfile,
    /// Which way the device's functions err.
    pub errors: ErrorSign,
    /// When pending copies land.
    pub dma: DmaOrder,
    /// Whether kept batches are run under other orders too, which must change nothing.
    pub orders: bool,
    /// Which of the VM's checks are on.
    pub sanitizers: Sanitizers,
}

impl Policy {
    /// Late copies, and errors of either sign.
    pub fn of(profile: &'static DeviceProfile) -> Policy {
        Policy {
            profile,
            errors: ErrorSign::Hashed(0),
            dma: DmaOrder::Late,
            orders: false,
            sanitizers: Sanitizers::default(),
        }
    }
}

impl Default for Policy {
    /// Of the profile `exact`.
    fn default() -> Policy {
        Policy::of(DeviceProfile::exact())
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum EngineEnd {
    /// To its end.
    Finished,
    /// At a fault.
    Fault(Box<Fault>),
    /// Not within its fuel: a hang.
    OutOfFuel,
    /// The engine can't execute this kernel or call; in words.
    Unsupported(String),
}

/// What a run gave.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineRun {
    /// `[tokens, q_heads, head_dim]`, as far as it was written; `None` where nothing ran.
    pub output: Option<Array>,
    /// Undefined element ranges of the output, sorted and disjoint.
    pub undefined: Vec<Range<usize>>,
    /// How it ended.
    pub end: EngineEnd,
    /// Ops executed.
    pub fuel_used: u64,
}

/// Executes one kernel variant on batches.
pub trait Engine {
    /// Runs the kernel on `batch`, whose operands are `bound` (see [`bind::bind`]). An engine that isn't ours does as it does,
    /// whatever the policy.
    fn run(&mut self, batch: &Batch, bound: &[Bound<'_>; 6], policy: &Policy) -> EngineRun;

    /// Runs the kernel again and follows the values of its fault back; `None` where it doesn't fault, or where the engine
    /// can't see values on their way.
    fn trace(&mut self, _batch: &Batch, _bound: &[Bound<'_>; 6], _policy: &Policy) -> Option<Trace> {
        None
    }

    /// Coverage points hit since the engine was made or [`Engine::clear_coverage`]; bit i of word i / 64 is point i of the
    /// program.
    fn coverage(&self) -> &[u64];

    /// Forgets which points were hit. An engine that counts none has nothing to forget.
    fn clear_coverage(&mut self) {}
}

/// A program as it was lowered and with less to execute, shared by all engines that run it.
#[derive(Debug, Clone)]
pub struct Lowered {
    plain: Arc<Program>,
    optimized: Arc<Program>,
}

impl Lowered {
    /// Optimises `program`, once for all engines.
    pub fn new(program: Program) -> Lowered {
        let plain = Arc::new(program);
        let optimized = Arc::new(Program::clone(&plain).optimized());
        Lowered { plain, optimized }
    }

    /// To be run as it is: what optimisation is compared with.
    pub fn unoptimized(program: Program) -> Lowered {
        let plain = Arc::new(program);
        Lowered { optimized: Arc::clone(&plain), plain }
    }

    /// As it was lowered.
    pub fn plain(&self) -> &Program {
        &self.plain
    }

    /// With less to execute.
    pub fn optimized(&self) -> &Program {
        &self.optimized
    }
}

/// The Mosaic VM.
#[derive(Debug)]
pub struct VmEngine {
    machine: Machine,
    /// As it was lowered, for traces and fuel.
    plain: Arc<Program>,
    variant: Variant,
    operands: Vec<Source>,
    output: OutputSpec,
}

/// Where an operand of the custom call comes from.
#[derive(Debug)]
enum Source {
    Role(Role),
    Constant(Array),
}

impl VmEngine {
    /// An engine for a lowered program, whose optimised form it runs, and the manifest that it was exported with.
    ///
    /// # Errors
    /// In words, if the manifest wires operands in a way that we don't know.
    pub fn new(program: &Lowered, manifest: &Manifest, variant: &Variant) -> Result<VmEngine, String> {
        if !manifest.aliases.is_empty() {
            return Err("outputs that alias operands".to_owned());
        }
        let operands = manifest
            .operands
            .iter()
            .map(|operand| match &operand.role {
                manifest::Role::Parameter(name) => {
                    Role::from_name(name).map(Source::Role).ok_or_else(|| format!("operand {name}"))
                }
                manifest::Role::Constant(values) if operand.tensor.dtype == DType::I32 => {
                    let values: Vec<i32> = values.iter().map(|&value| value as i32).collect();
                    Ok(Source::Constant(Array::from_i32(&operand.tensor.shape, &values)))
                }
                manifest::Role::Constant(_) => Err("a constant operand that isn't int32".to_owned()),
            })
            .collect::<Result<Vec<Source>, String>>()?;
        Ok(VmEngine {
            machine: Machine::new(Arc::clone(&program.optimized)),
            plain: Arc::clone(&program.plain),
            variant: variant.clone(),
            operands,
            output: bind::output_spec(variant),
        })
    }
}

/// The operands in the order of the custom call.
fn operands<'a>(sources: &'a [Source], bound: &'a [Bound<'_>; 6]) -> Vec<Operand<'a>> {
    let operand = |source: &'a Source| match source {
        Source::Role(role) => bound[*role as usize].operand(),
        Source::Constant(array) => Operand { label: "constant", array, undefined: &[] },
    };
    sources.iter().map(operand).collect()
}

impl VmEngine {
    fn policy(&self, batch: &Batch, policy: &Policy) -> countersign_mosaic::Policy {
        let model = self.variant.family.model();
        let fuel = model.fuel(&self.variant, &batch.metadata, self.plain.op_count());
        let arithmetic = policy.profile.arithmetic(policy.errors);
        countersign_mosaic::Policy { dma: policy.dma, arithmetic, fuel, sanitizers: policy.sanitizers }
    }
}

impl Engine for VmEngine {
    fn trace(&mut self, batch: &Batch, bound: &[Bound<'_>; 6], policy: &Policy) -> Option<Trace> {
        let (operands, policy) = (operands(&self.operands, bound), self.policy(batch, policy));
        trace(&self.plain, &operands, std::slice::from_ref(&self.output), &policy).ok().flatten()
    }

    fn run(&mut self, batch: &Batch, bound: &[Bound<'_>; 6], policy: &Policy) -> EngineRun {
        let (operands, policy) = (operands(&self.operands, bound), self.policy(batch, policy));
        match self.machine.run(&operands, std::slice::from_ref(&self.output), &policy) {
            Ok(mut run) => {
                let end = match run.end {
                    End::Finished => EngineEnd::Finished,
                    End::Fault(fault) => EngineEnd::Fault(fault),
                    End::OutOfFuel => EngineEnd::OutOfFuel,
                };
                let output = run.outputs.pop();
                let (output, undefined) =
                    output.map_or((None, Vec::new()), |output| (Some(output.array), output.undefined));
                EngineRun { output, undefined, end, fuel_used: run.fuel_used }
            }
            Err(error) => EngineRun {
                output: None,
                undefined: Vec::new(),
                end: EngineEnd::Unsupported(error.to_string()),
                fuel_used: 0,
            },
        }
    }

    fn coverage(&self) -> &[u64] {
        self.machine.coverage()
    }

    fn clear_coverage(&mut self) {
        self.machine.clear_coverage();
    }
}
