//! The probes that are batches, on every loaded variant, in the VM.
//!
//! Invariant: a function of subject and policy; what a check says here is the port's word.

use countersign_kernels::contract::probe::{Edge, Input, Of, Probe, Value, probe};
use countersign_kernels::contract::{Keeping, Rule, Scope, rules};
use countersign_kernels::engine::Policy;
use countersign_kernels::family::Family;
use countersign_reports::{ProbeRow, RuleRow};

use super::{Gallery, count, scope_name, tally};
use crate::campaign::Subject;
use crate::case::{Case, CaseError, Patch, PatchTarget, Payload, VariantRef};
use crate::confirm::words;
use crate::judge::{effect_name, judge};
use crate::trial::{Trial, run_trial};

/// What the batches showed.
#[derive(Debug, Default)]
pub struct Batches {
    /// The rules of metadata and payload.
    pub rules: Vec<RuleRow>,
    /// The smallest batch of each gap.
    pub gallery: Gallery,
}

/// The case of a probe that is a batch; `None` for a call.
pub fn probe_case(kernel: &str, variant: &str, edge: &Edge) -> Option<Case> {
    let Input::Batch(metadata, values) = &edge.input else { return None };
    let payload = Payload {
        pattern: "normal@1".to_owned(),
        seed: 1,
        patches: values.iter().map(patch).collect(),
        file: None,
    };
    Some(Case {
        kernel: kernel.to_owned(),
        variant: VariantRef::Named(variant.to_owned()),
        metadata: metadata.clone(),
        payload,
        checksum: None,
        statics: None,
    })
}

fn patch(value: &Value) -> Patch {
    let Value { of, sequence, token, head, lane, value } = *value;
    let target = match of {
        Of::Q => PatchTarget::Q,
        Of::K => PatchTarget::K,
        Of::V => PatchTarget::V,
    };
    Patch { target, sequence, token, head, lane, value }
}

/// A rule's row with nothing measured yet.
pub(super) fn empty_row(rule: &Rule) -> RuleRow {
    RuleRow {
        id: rule.id.to_owned(),
        sentence: rule.sentence.to_owned(),
        standing: rule.standing.name().to_owned(),
        scope: scope_name(rule.scope).to_owned(),
        arrays: rule.arrays.iter().map(|array| (*array).to_owned()).collect(),
        messages: rule.messages(),
        ..RuleRow::default()
    }
}

/// Runs every probe that is a batch.
///
/// # Errors
/// Only if a probe's case is inconsistent in itself, which a test of the probes excludes.
pub fn batches(subject: &dyn Subject, policy: &Policy) -> Result<Batches, CaseError> {
    let mut measured = Batches::default();
    let mut engines: Vec<_> = (0..subject.variants().len()).map(|at| subject.engine(at)).collect();
    for rule in rules(subject.kernel().family).iter().filter(|rule| rule.scope != Scope::Static) {
        let mut row = empty_row(rule);
        for (position, variant) in subject.variants().iter().enumerate() {
            let Probe { kept, broken } = probe(rule, variant);
            for (edge, is_kept) in kept.iter().map(|e| (e, true)).chain(broken.iter().map(|e| (e, false))) {
                let Some(case) = probe_case(&subject.kernel().id, &variant.name, edge) else { continue };
                let engine = engines[position].as_mut();
                let trial = run_trial(Some(engine), subject.kernel(), variant, &case, policy)?;
                add(&mut row, edge, is_kept, &trial, variant.family);
                measured.gallery.offer(&format!("the probe “{}” of {}", edge.name, rule.id), &case, &trial);
            }
        }
        measured.rules.push(row);
    }
    Ok(measured)
}

fn add(row: &mut RuleRow, edge: &Edge, kept: bool, trial: &Trial, family: Family) {
    let effect = effect_name(trial);
    let side = if kept { &mut row.kept } else { &mut row.broken };
    let has_checks = family.model().has_checks();
    let checks = has_checks.then_some((&trial.static_verdict, Some(&trial.dynamic_verdict)));
    tally(side, checks, effect);
    for finding in judge(trial).findings {
        count(&mut row.gaps, finding.signature.kind.name());
    }
    let position = row.probes.iter().position(|probe| probe.name == edge.name && probe.kept == kept);
    let position = position.unwrap_or_else(|| {
        let said = words(family, &trial.static_verdict, Some(&trial.dynamic_verdict), false);
        row.probes.push(ProbeRow {
            name: edge.name.clone(),
            kept,
            r#static: said.r#static,
            dynamic: said.dynamic,
            ..ProbeRow::default()
        });
        row.probes.len() - 1
    });
    let probe = &mut row.probes[position];
    count(&mut probe.effects, effect);
    let is_right = effect == trial.conduct.name() && effect.starts_with("right");
    if probe.example.is_empty() && !is_right && trial.contract.keeping() != Keeping::Kept {
        probe.example = trial.conduct.to_string();
    }
}
