//! Calls that are only lowered: what became of them, and what that means.
//!
//! Invariant: pure. A call that the static check refuses is never lowered, so [`judge`] alone speaks of it.

use std::fmt;

use countersign_kernels::checks::Verdict;
use countersign_kernels::contract::{Keeping, Rule};
use countersign_kernels::export::Refusal;
use countersign_kernels::worker::Traced;

use crate::judge::{Finding, judge};
use crate::signature::{Effect, Kind, Locus, OptionNames, Signature};
use crate::trial::Trial;

/// What became of a call that the static check accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lowering {
    /// It lowers.
    Lowers,
    /// The entry point refuses it after its check, on purpose and with a message.
    Declined(Refusal),
    /// It fails by accident: in the entry point, in the kernel, or in what lowers it.
    Fails(Refusal),
}

impl Lowering {
    /// From the worker's word.
    pub fn of(traced: Traced) -> Lowering {
        match traced {
            Traced::Lowers => Lowering::Lowers,
            Traced::Refused(refusal) if refusal.deliberate => Lowering::Declined(refusal),
            Traced::Refused(refusal) => Lowering::Fails(refusal),
        }
    }

    /// One or a few words for tallies.
    pub const fn name(&self) -> &'static str {
        match self {
            Lowering::Lowers => "lowers",
            Lowering::Declined(_) => "refused by the entry point",
            Lowering::Fails(_) => "lowering-crash",
        }
    }
}

/// A sentence without its full stop.
impl fmt::Display for Lowering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Lowering::Lowers => write!(f, "The call lowers; such a call isn't run here"),
            Lowering::Declined(refusal) => write!(f, "The entry point refuses it after its check: {refusal}"),
            Lowering::Fails(refusal) => write!(f, "It fails to lower: {refusal}"),
        }
    }
}

/// The line of the kernel's source at which it failed, with the exception.
pub(super) fn line_of(trial: &Trial, refusal: &Refusal) -> Option<Locus> {
    let line = refusal.line?;
    Some(Locus::Source { file: trial.source_file.clone(), line, op: refusal.kind.clone() })
}

/// Findings of a call of static overrides: those of its trial, and what the lowering adds.
pub fn judge_lowering(trial: &Trial, lowering: &Lowering) -> Vec<Finding> {
    let mut findings = judge(trial).findings;
    let rules = trial.contract.rules();
    let rule: Option<&'static Rule> = match rules.as_slice() {
        [rule] => Some(rule),
        [] | [_, _, ..] => None,
    };
    let breach = || {
        let details: Vec<&str> =
            trial.contract.breaches.iter().map(|breach| breach.detail.as_str()).collect();
        details.join("; ")
    };
    let mut add = |kind: Kind, locus: Locus, effect: Effect, detail: String| {
        let options = OptionNames::of(&trial.variant);
        let signature = Signature { kind, kernel: trial.kernel.clone(), locus, effect, options };
        findings.push(Finding { signature, detail, stack: Vec::new() });
    };
    match (trial.contract.keeping(), lowering, rule) {
        (Keeping::Kept | Keeping::Disputed | Keeping::Broken, Lowering::Declined(_), Some(_) | None)
        | (Keeping::Kept | Keeping::Disputed, Lowering::Lowers, Some(_) | None)
        | (Keeping::Broken, Lowering::Lowers, None)
        | (Keeping::Disputed | Keeping::Broken, Lowering::Fails(_), None) => {}
        (Keeping::Kept, Lowering::Fails(refusal), Some(_) | None) => {
            let locus = line_of(trial, refusal).unwrap_or(Locus::Kernel);
            let detail = format!("the call keeps every rule and the static check accepts it. {lowering}");
            add(Kind::DoesNotLower, locus, Effect::LoweringCrash, detail);
        }
        (Keeping::Disputed | Keeping::Broken, Lowering::Fails(_), Some(rule)) => {
            let detail =
                format!("breaks {} ({}), which the static check accepts. {lowering}", rule.id, breach());
            add(Kind::DoesNotLower, Locus::Rule(rule.id.to_owned()), Effect::LoweringCrash, detail);
        }
        (Keeping::Broken, Lowering::Lowers, Some(rule)) => {
            let kind = match trial.dynamic_verdict {
                Verdict::Accepts => Kind::AcceptsInvalid,
                Verdict::Refuses { .. } | Verdict::Crashes { .. } => Kind::RefusedUnseen,
            };
            let detail =
                format!("breaks {} ({}), which the static check accepts. {lowering}", rule.id, breach());
            add(kind, Locus::Rule(rule.id.to_owned()), Effect::Lowers, detail);
        }
    }
    findings
}
