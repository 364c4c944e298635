//! The contract of a kernel as measured: what upstream's checks say on both sides of each rule, and what the kernel does.
//!
//! ```text
//! probes (kernels) ─┬─ batches ─ VM ──────────────┐
//!                   └─ calls ─ worker, exporter ──┼─ table ─ published ─ effect_of
//! generated batches ─ slips ──────────────────────┤
//!                   └─ gallery ─ minimiser ─ gaps ─┴─ report
//! ```
//!
//! Invariant: nothing here says what a kernel or a check does that no run showed.

mod attribution;
mod batches;
mod calls;
mod gallery;
mod lowering;
mod published;
mod regressions;
mod report;
mod slips;
mod sweep;

pub use attribution::{Harm, harms, sentences};
pub use batches::{Batches, batches, probe_case};
pub(crate) use calls::verdict;
pub use calls::{CallsError, calls};
pub use gallery::{Exhibit, Gallery};
pub use lowering::{Lowering, judge_lowering};
pub use published::{RuleEffect, effect_of, published};
pub use regressions::Regressions;
pub use report::{Effort, Subjects, report, table};
pub use slips::slips;
pub use sweep::{Swept, calls_of, sweep};

use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::Scope;
use countersign_reports::{Counts, Side};

/// Adds one to a count.
fn count(counts: &mut Counts, name: &str) {
    *counts.entry(name.to_owned()).or_default() += 1;
}

/// `accepts`, the refusing check's id, or `crashes`.
fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Accepts => "accepts",
        Verdict::Refuses { check, .. } => check,
        Verdict::Crashes { .. } => "crashes",
    }
}

/// Adds one probe to a side of its rule; `checks` are the verdicts of a kernel that has checks.
fn tally(side: &mut Side, checks: Option<(&Verdict, Option<&Verdict>)>, effect: &str) {
    side.tried += 1;
    if let Some((static_verdict, dynamic_verdict)) = checks {
        count(&mut side.r#static, verdict_name(static_verdict));
        if let (Verdict::Accepts, Some(verdict)) = (static_verdict, dynamic_verdict) {
            count(&mut side.dynamic, verdict_name(verdict));
        }
    }
    count(&mut side.effects, effect);
}

fn scope_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Static => "static",
        Scope::Batch => "batch",
        Scope::Sequence => "sequence",
    }
}
