//! The targets that run no kernel, and the one that minimises.
//!
//! Invariant: a panic is a broken law of ours, or a finding that no known entry explains. Input that is no case is rejected.

use std::cell::RefCell;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::{StaticCall, Verdict, dynamic_check, static_check};
use countersign_kernels::contract;
use countersign_kernels::engine::Policy;
use countersign_kernels::rpa::diagnose::{State, explain};

use super::{Fuzzer, Taken, decode, mutate, position, with_fuzzer};
use crate::case::Case;
use crate::judge::{Finding, judge};
use crate::known::{Facts, KnownFile};
use crate::minimise::{Draft, Minimiser};
use crate::trial::{Conduct, Trial};

/// Executions that the target `minimize_keeps` may spend on an input.
const BUDGET: u64 = 300;

thread_local! {
    static KNOWN: RefCell<Option<KnownFile>> = const { RefCell::new(None) };
}

/// What the checks' own words show of a case, without a run and beyond what is known: a message about something else, a
/// crash; and how many findings are known. `None` of a case that names no variant or doesn't fit it.
pub fn structural(
    case: &Case,
    kernel: &KernelEntry,
    variants: &[Variant],
    known: &KnownFile,
) -> Option<(Vec<Finding>, u64)> {
    let trial = structural_trial(case, kernel, variants)?;
    Some(new_findings(&trial, case, known))
}

/// What of a trial no known entry explains, and how many findings one does.
pub(super) fn new_findings(trial: &Trial, case: &Case, known: &KnownFile) -> (Vec<Finding>, u64) {
    let mut findings = judge(trial).findings;
    let shown = findings.len();
    if shown > 0 {
        let facts = Facts::of(&trial.variant, &case.metadata);
        findings.retain(|finding| known.explain(&finding.signature, &facts).is_none());
    }
    let explained = (shown - findings.len()) as u64;
    (findings, explained)
}

/// The checks' verdicts beside the contract's, without a run.
pub(super) fn structural_trial(case: &Case, kernel: &KernelEntry, variants: &[Variant]) -> Option<Trial> {
    let variant = case.variant(variants).ok()?;
    case.check(variant).ok().filter(|_| case.statics.is_none())?;
    let static_verdict = static_check(&StaticCall::of(variant));
    let dynamic_verdict = match &static_verdict {
        Verdict::Accepts => dynamic_check(variant, &case.metadata),
        Verdict::Refuses { .. } | Verdict::Crashes { .. } => Verdict::Accepts,
    };
    Some(Trial {
        kernel: kernel.id.clone(),
        source_file: String::new(),
        variant: variant.clone(),
        contract: contract::check_metadata(variant, &case.metadata),
        static_verdict,
        dynamic_verdict,
        conduct: Conduct::NotRun,
        orders: None,
    })
}

/// The target `validators`: the ports against the contract, by structure ([`structural`]).
///
/// # Panics
/// If the checks' words show something new.
pub fn validators(data: &[u8]) -> Taken {
    mutate::with_kernel(|kernel, variants| {
        KNOWN.with_borrow_mut(|known| {
            let known = known.get_or_insert_with(|| match KnownFile::builtin() {
                Ok(known) => known,
                Err(error) => panic!("can't fuzz: {error}"),
            });
            let found = decode(data, &kernel.id, variants)
                .and_then(|case| Some((structural(&case, kernel, variants, known)?, case)));
            let Some(((new, known), case)) = found else { return Taken::Rejected };
            if let Some(finding) = new.first() {
                panic!("new finding: {}\n{}\n\n{}", finding.signature, finding.detail, case.to_toml());
            }
            Taken::Tried { known }
        })
    })
}

/// The target `diagnose`: a batch that keeps the contract has no cause to name.
///
/// # Panics
/// If one is named.
pub fn diagnose(data: &[u8]) -> Taken {
    mutate::with_kernel(|kernel, variants| {
        let Some(case) = decode(data, &kernel.id, variants) else { return Taken::Rejected };
        let Ok(variant) = case.variant(variants).cloned() else { return Taken::Rejected };
        if case.statics.is_some() || case.check(&variant).is_err() {
            return Taken::Rejected;
        }
        let kept = contract::check_metadata(&variant, &case.metadata).breaches.is_empty();
        let call = StaticCall::with_metadata(&variant, &case.metadata);
        let explained = explain(Vec::new(), State { call, variant, metadata: case.metadata.clone() });
        assert!(!kept || explained.steps.is_empty(), "a kept batch has a cause: {}", case.to_toml());
        Taken::Tried { known: 0 }
    })
}

/// The target `case_codec`: a case survives both forms.
///
/// # Panics
/// If it comes back otherwise.
pub fn case_codec(data: &[u8]) -> Taken {
    mutate::with_kernel(|kernel, variants| {
        let Some(case) = decode(data, &kernel.id, variants) else { return Taken::Rejected };
        let Ok(bytes) = case.to_bytes() else { panic!("no binary form: {case:?}") };
        assert_eq!(Case::from_bytes(&bytes).as_ref(), Ok(&case), "the binary form changes it");
        Taken::Tried { known: 0 }
    })
}

/// The target `minimize_keeps`: what a case shows, its minimised case shows; and minimising that changes nothing.
///
/// # Panics
/// If not.
pub fn minimize_keeps(data: &[u8]) -> Taken {
    with_fuzzer(None, |fuzzer| kept(fuzzer, data).map_or(Taken::Rejected, |()| Taken::Tried { known: 0 }))
}

fn kept(fuzzer: &Fuzzer, data: &[u8]) -> Option<()> {
    let subject = fuzzer.subject.as_ref();
    let case = decode(data, &subject.kernel().id, subject.variants())?;
    let draft = Draft { position: position(&case, subject.variants())?, case };
    let mut minimiser = Minimiser::new(subject, &fuzzer.known, Policy::default());
    let target = minimiser.target(&draft).ok()?;
    if target.0.is_empty() {
        return Some(());
    }
    let go_on = || true;
    let minimal = minimiser.minimise(draft, &target, BUDGET, &go_on).ok()?;
    let shown = minimiser.target(&minimal.draft).ok()?;
    let lost = target.0.iter().find(|wanted| !shown.0.contains(wanted));
    assert!(lost.is_none(), "lost {lost:?}: {}", minimal.draft.case.to_toml());
    if minimal.complete {
        let again = minimiser.minimise(minimal.draft.clone(), &target, BUDGET, &go_on).ok()?;
        assert!(
            !again.complete || again.draft == minimal.draft,
            "smaller still: {}",
            again.draft.case.to_toml()
        );
    }
    Some(())
}
