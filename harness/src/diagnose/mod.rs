//! `diagnose`: a dumped batch, what it breaks of the contract, how it was probably built, and how to build it right.
//!
//! Invariant: what is particular to a kernel's arrays is its family's business (`kernels/src/rpa/diagnose`); here files become arrays,
//! and findings become a report, a corrected file or a case. No kernel runs here.

pub mod cut;
pub mod effect;
pub mod fix;
pub mod names;
mod report;
pub mod save;
pub mod stand_in;

use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::contract::{Breach, Rule};
use countersign_kernels::custom::CustomError;
use countersign_kernels::rpa::diagnose::{Explanation, Subject, Verdicts, explain, read};

use crate::dump::{Dump, DumpError};
use names::{Naming, Operands, operands};

pub use report::{report, with_payload};

/// A dump, read and explained.
#[derive(Debug)]
pub struct Examined<'d> {
    /// Its operands.
    pub operands: Operands<'d>,
    /// The batch.
    pub subject: Subject,
    /// The rules that it breaks as it was dumped, of what can be judged, in the order of their first breach.
    pub broken: Vec<Broken>,
    /// What upstream's checks say.
    pub verdicts: Verdicts,
    /// How that came about.
    pub explanation: Explanation,
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// Which.
    pub rule: &'static Rule,
    /// How often.
    pub count: usize,
    /// Where, the first few times.
    pub places: Vec<String>,
}

/// Places of a broken rule that are kept.
const PLACES: usize = 4;

/// One entry a rule: of a large batch, every sequence may break one.
fn summed(breaches: Vec<Breach>) -> Vec<Broken> {
    let mut broken: Vec<Broken> = Vec::new();
    for Breach { rule, detail, .. } in breaches {
        let same = broken.iter().position(|broken| broken.rule.id == rule.id);
        let at = same.unwrap_or_else(|| {
            broken.push(Broken { rule, count: 0, places: Vec::new() });
            broken.len() - 1
        });
        broken[at].count += 1;
        if broken[at].places.len() < PLACES {
            broken[at].places.push(detail);
        }
    }
    broken
}

/// Why a dump can't be examined.
#[derive(Debug, thiserror::Error)]
pub enum DiagnoseError {
    /// The file.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// `--variant`.
    #[error("{}", .0.message)]
    Variant(CustomError),
}

/// Examines a dump as a batch of `kernel`; `variant` says what the arrays don't (`tokens=1024,page_size=16`).
///
/// # Errors
/// [`DiagnoseError`].
pub fn examine<'d>(
    dump: &'d Dump,
    kernel: &KernelEntry,
    naming: &Naming,
    variant: &str,
) -> Result<Examined<'d>, DiagnoseError> {
    let mut operands = operands(dump, naming, kernel.family)?;
    let subject = read(kernel, &operands.given, variant).map_err(DiagnoseError::Variant)?;
    // The subject has its own copy; page tables may be large.
    operands.given.clear();
    let broken = summed(subject.breaches());
    let verdicts = subject.verdicts();
    let explanation = explain(subject.form.clone(), subject.state.clone());
    Ok(Examined { operands, subject, broken, verdicts, explanation })
}
