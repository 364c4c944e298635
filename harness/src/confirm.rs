//! What happens to a finding before it is reported: its case is run again, then the smaller one that was made of it, and the
//! real Python validator is asked about what will be shown.
//!
//! Invariant: the real validator has the last word on what a report says that validators say; where it can't be asked, the
//! report says so, and the run is incomplete.

use std::panic::{AssertUnwindSafe, catch_unwind};

use countersign_kernels::Variant;
use countersign_kernels::checks::Verdict;
use countersign_kernels::family::Family;
use countersign_reports::{InternalError, ValidatorWords};

use crate::campaign::{Found, Plan, Subject, draw, panic_message};
use crate::case::Case;
use crate::contract::Lowering;
use crate::evidence::Evidence;
use crate::interference::{Interference, interference};
use crate::interpreter::is_disagreement;
use crate::judge::{Finding, judge};
use crate::minimise::{Draft, Tried};
use crate::traced::{Followed, follow};
use crate::trial::{Conduct, Trial, run_trial};

/// The real static and dynamic validators. The dynamic one isn't asked where the static one refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The static check's verdict.
    pub static_verdict: Verdict,
    /// The dynamic check's verdict, if it was asked.
    pub dynamic_verdict: Option<Verdict>,
}

/// Someone who can ask the real validators, and what else needs a process.
pub trait Validator {
    /// Asks about a case.
    ///
    /// # Errors
    /// A sentence, if no answer can be had: no worker, or a time-out.
    fn ask(&mut self, variant: &Variant, case: &Case) -> Result<Answer, String>;

    /// Whether the real entry point lowers a case's call.
    ///
    /// # Errors
    /// As [`Validator::ask`]; always, for one that can't tell.
    fn lower(&mut self, _variant: &Variant, _case: &Case) -> Result<Lowering, String> {
        Err("nobody to ask whether it lowers".to_owned())
    }

    /// What a third machine says of a case on whose values ours and the reference disagree; `None` where there is none.
    fn third(&mut self, _variant: &Variant, _case: &Case, _finding: &Finding) -> Option<String> {
        None
    }
}

/// A finding after its second run.
#[derive(Debug, Clone, PartialEq)]
pub struct Confirmation {
    /// What the validators say.
    pub words: ValidatorWords,
    /// Why the real validator wasn't asked.
    pub unasked: Option<String>,
    /// Faults of ours that the second look brought up.
    pub errors: Vec<InternalError>,
    /// What the second run showed, if it showed the finding again.
    pub evidence: Option<Evidence>,
    /// The finding in the words of the case that is shown.
    pub finding: Finding,
    /// The case that is shown: the one that was found, or a smaller one.
    pub shown: Draft,
    /// Its trial, if it showed the finding.
    pub trial: Option<Trial>,
}

/// The first case that showed a finding.
pub fn first_case(subject: &dyn Subject, plan: &Plan<'_>, found: &Found) -> Draft {
    Draft { position: found.variant, case: draw(subject, plan, found.index).case }
}

/// Runs the first case of `found` again on a fresh engine, then what was made of it, and asks `validator` about that.
pub fn confirm(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    found: &Found,
    tried: &Tried,
    validator: &mut dyn Validator,
) -> Confirmation {
    let mut errors = Vec::new();
    let mut error = |kind: &str, message: String| {
        errors.push(InternalError { kind: kind.to_owned(), case: found.index, message });
    };
    let signature = &found.finding.signature;
    let first = first_case(subject, plan, found);
    let again = run(subject, plan, &first).and_then(|(trial, followed)| {
        let same = judge(&trial).findings.contains(&found.finding);
        let differs = || format!("{signature} did not show again, or showed differently");
        if same { Ok((found.finding.clone(), trial, followed)) } else { Err(differs()) }
    });
    if let Some(Err(message)) = tried {
        error("panic", format!("while its case was made smaller: {message}"));
    }
    let minimal = tried.as_ref().and_then(|tried| tried.as_ref().ok());
    let smaller = minimal.map(|minimal| &minimal.draft).filter(|draft| again.is_ok() && **draft != first);
    let smaller = smaller.and_then(|draft| {
        let shown = run(subject, plan, draft).and_then(|(trial, followed)| {
            let finding = judge(&trial).findings.into_iter().find(|finding| finding.signature == *signature);
            let lost = || format!("{signature} does not show in the smaller case");
            finding.map(|finding| (finding, trial, followed)).ok_or_else(lost)
        });
        match shown {
            Ok(shown) => Some((draft.clone(), shown)),
            Err(message) => {
                error("not reproducible", message);
                None
            }
        }
    });
    let (shown, finding, trial, followed) = match (smaller, again) {
        (Some((draft, (finding, trial, followed))), _) => (draft, finding, Some(trial), followed),
        (None, Ok((finding, trial, followed))) => (first, finding, Some(trial), followed),
        (None, Err(message)) => {
            error("not reproducible", message);
            (first, found.finding.clone(), None, None)
        }
    };
    let variant = &subject.variants()[shown.position];
    let others = catch_unwind(AssertUnwindSafe(|| others(subject, plan, &shown))).unwrap_or_else(|panic| {
        error("panic", format!("without the sequences that break a rule: {}", panic_message(&*panic)));
        None
    });
    let is_asked = trial.is_some() && is_disagreement(&finding);
    let third = is_asked.then(|| validator.third(variant, &shown.case, &finding)).flatten();
    let evidence = trial.as_ref().map(|trial| Evidence {
        others: others.as_ref().map(ToString::to_string),
        third,
        ..Evidence::of(trial, &shown.case, followed.as_ref())
    });
    let port = match &trial {
        Some(trial) => (&trial.static_verdict, &trial.dynamic_verdict),
        None => (&found.static_verdict, &found.dynamic_verdict),
    };
    let family = variant.family;
    let (words, unasked) = match validator.ask(variant, &shown.case) {
        Err(why) => (words(family, port.0, Some(port.1), false), Some(why)),
        Ok(answer) => {
            if let Some(message) = disagreement(port, &answer) {
                error("validator port disagreement", message);
            }
            (words(family, &answer.static_verdict, answer.dynamic_verdict.as_ref(), true), None)
        }
    };
    Confirmation { words, unasked, errors, evidence, finding, shown, trial }
}

/// What the sequences of a case that break a rule do to the others.
fn others(subject: &dyn Subject, plan: &Plan<'_>, draft: &Draft) -> Option<Interference> {
    let Draft { position, case } = draft;
    let mut engine = subject.engine(*position);
    interference(engine.as_mut(), &subject.variants()[*position], case, &plan.policy).ok().flatten()
}

/// One trial on a fresh engine, with the path to its fault.
fn run(subject: &dyn Subject, plan: &Plan<'_>, draft: &Draft) -> Result<(Trial, Option<Followed>), String> {
    let Draft { position, case } = draft;
    let variant = &subject.variants()[*position];
    let mut engine = subject.engine(*position);
    let trial = run_trial(Some(engine.as_mut()), subject.kernel(), variant, case, &plan.policy)
        .map_err(|refused| refused.to_string())?;
    let followed = matches!(trial.conduct, Conduct::Fault(_))
        .then(|| follow(engine.as_mut(), variant, case, &plan.policy, &trial.source_file))
        .flatten();
    Ok((trial, followed))
}

/// How the port's verdicts differ from the real ones: in the verdict, or in the check that fails.
pub fn disagreement(port: (&Verdict, &Verdict), answer: &Answer) -> Option<String> {
    let gist = |verdict: &Verdict| match verdict {
        Verdict::Accepts => "accepts".to_owned(),
        Verdict::Refuses { check, .. } => format!("refuses by {check}"),
        Verdict::Crashes { .. } => "crashes".to_owned(),
    };
    let differ = |which: &str, port: &Verdict, real: &Verdict| {
        (gist(port) != gist(real)).then(|| {
            format!("{which} check: the port {}, the real one {} ({})", gist(port), gist(real), say(real))
        })
    };
    let dynamic = || answer.dynamic_verdict.as_ref().and_then(|real| differ("dynamic", port.1, real));
    differ("static", port.0, &answer.static_verdict).or_else(dynamic)
}

/// The words for a report on a kernel of `family`.
pub fn words(
    family: Family,
    static_verdict: &Verdict,
    dynamic_verdict: Option<&Verdict>,
    asked: bool,
) -> ValidatorWords {
    if !family.model().has_checks() {
        return ValidatorWords { r#static: NO_CHECK.to_owned(), dynamic: NO_CHECK.to_owned(), asked };
    }
    let dynamic = match (static_verdict, dynamic_verdict) {
        (Verdict::Accepts, Some(verdict)) => say(verdict),
        (Verdict::Accepts, None) => "none".to_owned(),
        (Verdict::Refuses { .. } | Verdict::Crashes { .. }, Some(_) | None) => "not reached".to_owned(),
    };
    ValidatorWords { r#static: say(static_verdict), dynamic, asked }
}

/// What a check says that a kernel doesn't have.
pub const NO_CHECK: &str = "the kernel has none";

/// `accepts`, or the verdict with its message.
pub fn say(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Accepts => "accepts".to_owned(),
        Verdict::Refuses { message, .. } => format!("refuses: {message}"),
        Verdict::Crashes { message } => format!("crashes: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuses(check: &'static str) -> Verdict {
        Verdict::Refuses { check, message: "no".to_owned() }
    }

    #[test]
    fn the_port_must_name_the_same_check() {
        let answer =
            |dynamic: Verdict| Answer { static_verdict: Verdict::Accepts, dynamic_verdict: Some(dynamic) };
        let accepts = Verdict::Accepts;
        assert_eq!(disagreement((&accepts, &accepts), &answer(Verdict::Accepts)), None);
        assert_eq!(disagreement((&accepts, &refuses("a")), &answer(refuses("a"))), None);
        assert!(disagreement((&accepts, &refuses("a")), &answer(refuses("b"))).is_some());
        assert!(disagreement((&accepts, &refuses("a")), &answer(Verdict::Accepts)).is_some());
        let unasked = Answer { static_verdict: refuses("a"), dynamic_verdict: None };
        assert_eq!(disagreement((&refuses("a"), &accepts), &unasked), None);
        assert!(disagreement((&accepts, &accepts), &unasked).is_some());
    }

    #[test]
    fn a_static_refusal_leaves_the_dynamic_check_unreached() {
        assert_eq!(words(Family::Rpa, &refuses("a"), None, true).dynamic, "not reached");
        let accepts = &Verdict::Accepts;
        assert_eq!(words(Family::Rpa, accepts, Some(&refuses("a")), true).dynamic, "refuses: no");
        assert_eq!(words(Family::ExampleGather, accepts, Some(accepts), true).dynamic, NO_CHECK);
    }
}
