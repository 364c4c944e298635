//! One case through contract, validators, reference and engine, up to but excluding judgement.
//!
//! Invariant: pure with the VM: the same case and policy give the same trial on any machine and thread.

use std::fmt;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::{self, Verdict};
use countersign_kernels::contract::{self, Contract, Keeping, Scope};
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind;
use countersign_mosaic::Fault;
use countersign_reference::{Batch, Reference};

use crate::case::{Case, CaseError};
use crate::compare::{Comparison, compare};
use crate::loaded::base_name;
use crate::orders::{self, Dependence};

/// What the kernel did with a batch.
#[derive(Debug, Clone, PartialEq)]
pub enum Conduct {
    /// The entry point refuses the call at trace time, so the kernel never sees it.
    NotRun,
    /// It ran to its end.
    Finished(Comparison),
    /// The machine caught it.
    Fault(Box<Fault>),
    /// It used up the fuel that its longest valid batch could need, several times over.
    Hang,
    /// The engine can't execute it: op or attribute.
    Unsupported(String),
}

/// One case, tried.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The kernel's id.
    pub kernel: String,
    /// File name of the kernel's own source, without folders.
    pub source_file: String,
    /// The static side of the call.
    pub variant: Variant,
    /// Rules broken.
    pub contract: Contract,
    /// What the static check says (port).
    pub static_verdict: Verdict,
    /// What the dynamic check says (port); `Accepts` where the static check refuses, since it is asked first.
    pub dynamic_verdict: Verdict,
    /// What the kernel did.
    pub conduct: Conduct,
    /// What it does otherwise when copies land in another order, where that was asked and differs.
    pub orders: Option<Dependence>,
}

impl Conduct {
    /// One word for tallies.
    pub fn name(&self) -> &'static str {
        match self {
            Conduct::NotRun => "refused at trace time",
            Conduct::Finished(Comparison { wrong_rows, owned_rows, compared_rows, .. })
                if wrong_rows.is_empty() =>
            {
                if compared_rows == owned_rows {
                    "right"
                } else {
                    "right where defined"
                }
            }
            Conduct::Finished(comparison) if comparison.undefined => "undefined-output",
            Conduct::Finished(_) => "wrong-rows",
            Conduct::Fault(fault) => fault.class.name(),
            Conduct::Hang => "hang",
            Conduct::Unsupported(_) => "unsupported",
        }
    }
}

/// A sentence without its full stop.
impl fmt::Display for Conduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conduct::NotRun => write!(f, "Refused at trace time: the kernel never runs"),
            Conduct::Finished(comparison) => finished(comparison, f),
            Conduct::Fault(fault) => {
                write!(f, "The kernel faults ({}) at {}", fault.class.name(), fault.op)?;
                let sites: Vec<String> = fault
                    .stack
                    .iter()
                    .map(|frame| format!("{}:{}", base_name(&frame.file), frame.line))
                    .collect();
                if !sites.is_empty() {
                    write!(f, " ({})", sites.join(" < "))?;
                }
                if !fault.grid.is_empty() {
                    write!(f, ", grid point {:?}", fault.grid)?;
                }
                write!(f, ": {}", fault.message)
            }
            Conduct::Hang => write!(f, "The kernel doesn't end: out of fuel"),
            Conduct::Unsupported(what) => write!(f, "Not run: unsupported: {what}"),
        }
    }
}

fn finished(comparison: &Comparison, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let undefined = comparison.owned_rows - comparison.compared_rows;
    match &comparison.worst {
        None if comparison.owned_rows == 0 => write!(f, "The kernel ends; the batch owns no row"),
        None if comparison.compared_rows == 0 => {
            write!(f, "The kernel ends silently; no row has a defined value to compare")
        }
        None => {
            write!(f, "The kernel ends; {} row(s) are right", comparison.compared_rows)?;
            if undefined > 0 {
                write!(f, ", {undefined} row(s) have no defined value and get some silently")?;
            }
            Ok(())
        }
        Some(worst) => {
            let rows: Vec<String> = comparison
                .wrong_rows
                .iter()
                .map(|(sequence, rows)| format!("{rows} of sequence {sequence}"))
                .collect();
            let memory = if comparison.undefined { " from undefined memory" } else { "" };
            write!(
                f,
                "The kernel ends silently with wrong rows{memory}: {}; worst at {worst}",
                rows.join(", ")
            )
        }
    }
}

/// What can be said of a case without running anything.
#[derive(Debug, Clone, PartialEq)]
pub struct Examined {
    /// Rules broken.
    pub contract: Contract,
    /// What the static check says (port).
    pub static_verdict: Verdict,
    /// What the dynamic check says (port); `Accepts` where the static check refuses, since it is asked first.
    pub dynamic_verdict: Verdict,
}

/// Asks contract and validators about `case`, whose batch is `batch`.
pub fn examine(variant: &Variant, case: &Case, batch: &Batch) -> Examined {
    let call = case.static_call(variant);
    let mut contract = contract::check(variant, batch);
    if case.statics.is_some() {
        // The overrides decide the static rules, not the variant that they depart from.
        contract.breaches.retain(|breach| breach.rule.scope != Scope::Static);
        contract.breaches.splice(0..0, contract::check_static(&call));
    }
    let static_verdict = checks::static_check(&call);
    let dynamic_verdict = match &static_verdict {
        Verdict::Accepts => checks::dynamic_check_call(&call, &batch.metadata),
        Verdict::Refuses { .. } | Verdict::Crashes { .. } => Verdict::Accepts,
    };
    Examined { contract, static_verdict, dynamic_verdict }
}

/// Tries one case on `engine`, which is of that variant; a case with static overrides is never run and needs none. The
/// policy's profile decides how the VM computes and what the bound allows.
///
/// # Errors
/// If the case is inconsistent in itself ([`Case::batch`]).
pub fn run_trial(
    engine: Option<&mut dyn Engine>,
    kernel: &KernelEntry,
    variant: &Variant,
    case: &Case,
    policy: &Policy,
) -> Result<Trial, CaseError> {
    let batch = case.batch(variant)?;
    let Examined { contract, static_verdict, dynamic_verdict } = examine(variant, case, &batch);
    // Kept and disputed batches are run even where the entry point refuses: that may be the finding.
    let reached = static_verdict == Verdict::Accepts || contract.keeping() != Keeping::Broken;
    // A wrong batch may well depend on anything.
    let policy = &Policy { orders: policy.orders && contract.keeping() == Keeping::Kept, ..*policy };
    let (conduct, orders) = if case.statics.is_some() && static_verdict == Verdict::Accepts {
        let why = "the static overrides pass the check, and such a call isn't lowered here";
        (Conduct::Unsupported(why.to_owned()), None)
    } else if case.statics.is_some() || !reached {
        (Conduct::NotRun, None)
    } else {
        engine.map_or_else(
            || (Conduct::Unsupported("no engine for this variant".to_owned()), None),
            |engine| run(engine, variant, &batch, policy),
        )
    };
    Ok(Trial {
        kernel: kernel.id.clone(),
        source_file: kernel.python.file_name(),
        variant: variant.clone(),
        contract,
        static_verdict,
        dynamic_verdict,
        conduct,
        orders,
    })
}

fn run(
    engine: &mut dyn Engine,
    variant: &Variant,
    batch: &Batch,
    policy: &Policy,
) -> (Conduct, Option<Dependence>) {
    let bound = bind::bind(variant, batch);
    let run = engine.run(batch, &bound, policy);
    let asked = policy.orders && run.end == EngineEnd::Finished;
    let orders = asked.then(|| orders::dependence(engine, batch, &bound, policy, &run)).flatten();
    (conduct(run, variant, batch, policy), orders)
}

fn conduct(run: EngineRun, variant: &Variant, batch: &Batch, policy: &Policy) -> Conduct {
    match (run.end, run.output) {
        (EngineEnd::Finished, Some(output)) => {
            let mut reference = Reference::default();
            let model = variant.family.model();
            model.reference(&mut reference, variant, batch, &policy.profile.accuracy);
            Conduct::Finished(compare(&output, &run.undefined, &reference))
        }
        (EngineEnd::Finished, None) => Conduct::Unsupported("the engine gave no output".to_owned()),
        (EngineEnd::Fault(fault), Some(_) | None) => Conduct::Fault(fault),
        (EngineEnd::OutOfFuel, Some(_) | None) => Conduct::Hang,
        (EngineEnd::Unsupported(what), Some(_) | None) => Conduct::Unsupported(what),
    }
}
