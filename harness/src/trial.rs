//! One case through contract, validators, reference and engine, up to but excluding judgement.
//!
//! Invariant: pure with the VM: the same case and policy give the same trial on any machine and thread.

use std::fmt;

use countersign_kernels::engine::{Engine, EngineEnd};
use countersign_kernels::rpa::bind;
use countersign_kernels::rpa::contract::{self, Contract, Keeping};
use countersign_kernels::rpa::facts;
use countersign_kernels::rpa::validator::{self, StaticCall, Verdict};
use countersign_kernels::{KernelEntry, Variant};
use countersign_mosaic::Fault;
use countersign_reference::{Blocking, Profile, attend};

use crate::case::{Case, CaseError};
use crate::compare::{Comparison, compare};

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
}

impl Conduct {
    /// One word for tallies.
    pub fn name(&self) -> &'static str {
        match self {
            Conduct::NotRun => "refused at trace time",
            Conduct::Finished(comparison) if comparison.wrong_rows.is_empty() => "right",
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

/// Tries one case.
///
/// # Errors
/// If the case is inconsistent in itself ([`Case::batch`]).
pub fn run_trial(
    engine: &mut dyn Engine,
    kernel: &KernelEntry,
    variant: &Variant,
    case: &Case,
) -> Result<Trial, CaseError> {
    let batch = case.batch(variant)?;
    let call = case.static_call(variant);
    let contract = contract::check(variant, &batch);
    let static_verdict = validator::static_check(&call);
    let (dynamic_verdict, reached) = match &static_verdict {
        Verdict::Accepts => (validator::dynamic_check(variant, &batch.metadata), true),
        Verdict::Refuses { .. } | Verdict::Crashes { .. } => {
            (Verdict::Accepts, contract.keeping() != Keeping::Broken)
        }
    };
    let conduct = if case.statics.is_some() && static_verdict == Verdict::Accepts {
        Conduct::Unsupported(
            "the static overrides pass the check, and such a call isn't lowered here".to_owned(),
        )
    } else if case.statics.is_some() || !reached {
        Conduct::NotRun
    } else {
        let bound = bind::bind(variant, &batch);
        let run = engine.run(&batch, &bound);
        match run.end {
            EngineEnd::Finished => {
                let blocking = Blocking { kv_per_block: facts::kv_block(variant) };
                let reference = attend(&batch, &variant.options, &blocking, &Profile::EXACT);
                match run.output {
                    Some(output) => Conduct::Finished(compare(&output, &run.undefined, &reference)),
                    None => Conduct::Unsupported("the engine gave no output".to_owned()),
                }
            }
            EngineEnd::Fault(fault) => Conduct::Fault(fault),
            EngineEnd::OutOfFuel => Conduct::Hang,
            EngineEnd::Unsupported(what) => Conduct::Unsupported(what),
        }
    };
    Ok(Trial {
        kernel: kernel.id.clone(),
        source_file: source_file(kernel),
        variant: variant.clone(),
        contract,
        static_verdict,
        dynamic_verdict,
        conduct,
    })
}

/// The file that the kernel's module is in, without folders.
fn source_file(kernel: &KernelEntry) -> String {
    let module = kernel.python.module.rsplit('.').next().unwrap_or(&kernel.python.module);
    format!("{module}.py")
}
