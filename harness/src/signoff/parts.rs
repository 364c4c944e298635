//! From results to evidence: what each part of the harness found, as the document keeps it.
//!
//! Invariant: adds no judgement but whether a known file explains a finding; nothing that depends on time or threads gets in.

use std::collections::BTreeMap;

use countersign_reports::{
    ControlsReport, Explained, FindingReport, FindingStatus, Fuzzed, KernelReport, MutantReport,
    MutationReport, RelationReport, RelationsReport, Replayed, Report, Timing,
};

use crate::campaign::{self, Plan, Subject, Totals};
use crate::confirm::{Validator, confirm};
use crate::controls::Controls;
use crate::known::{Facts, KnownFile, Status};
use crate::metamorphic::{ELSEWHERE, RELATIONS, Tallies};
use crate::mutants::{Counts, Fate, Mutant, Plan as MutationPlan, Score};
use crate::replay::Item;
use crate::signature::Signature;

/// A replay's report with what explains its findings; `items` are its cases, in order.
pub fn replayed(report: Report, items: &[&Item], known: &KnownFile) -> Replayed {
    let mut explained = Vec::new();
    for ((index, case), item) in (0..).zip(&report.cases).zip(items) {
        let facts = Facts::of(&item.variant, &item.file.case.metadata);
        for text in &case.shows {
            let Some(signature) = shown(text) else { continue };
            if let Some(entry) = known.explain(&signature, &facts) {
                explained.push(Explained { signature: text.clone(), entry, count: 1, case: index });
            }
        }
    }
    Replayed { report: Report { timing: Timing::default(), ..report }, explained }
}

/// The signature that a case shows; what is expected and no longer shown stands there too, as none.
pub fn shown(text: &str) -> Option<Signature> {
    Signature::parse(text).ok().filter(|signature| signature.to_string() == text)
}

/// A campaign's report. New findings are run again and told in full; those that a known file explains are counted.
pub fn fuzzed(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    totals: &Totals,
    kernel: KernelReport,
    validator: &mut dyn Validator,
) -> Fuzzed {
    let mut report = campaign::finish(subject, plan, totals, &[], kernel, false, Timing::default());
    let mut explained = Vec::new();
    for found in &totals.findings {
        let entry = found.known.and_then(|entry| plan.known.entries.get(entry).map(|known| (entry, known)));
        match entry {
            Some((entry, known)) if known.status != Status::Fixed => {
                let signature = found.finding.signature.to_string();
                explained.push(Explained { signature, entry, count: found.count, case: found.index });
            }
            entry => {
                let confirmation = confirm(subject, plan, found, &None, validator);
                report.summary.unasked += u64::from(confirmation.unasked.is_some());
                report.internal_errors.extend(confirmation.errors.iter().cloned());
                let variant = &subject.variants()[confirmation.shown.position];
                report.findings.push(FindingReport {
                    status: campaign::status(entry.map(|(_, known)| known.status)),
                    cause: entry.map(|(_, known)| known.cause.clone()),
                    count: found.count,
                    case: found.index,
                    ..campaign::described(
                        &confirmation.finding,
                        variant,
                        &confirmation.words,
                        confirmation.evidence,
                    )
                });
            }
        }
    }
    report.summary.findings_new = report.findings.len() as u64;
    report.summary.findings_known = explained.len() as u64;
    report.summary.internal_errors = report.internal_errors.len() as u64;
    report.exit_code = campaign::exit_code(&report.summary);
    Fuzzed { report, explained }
}

/// The control suite's result.
pub fn controlled(controls: &Controls) -> ControlsReport {
    let total = controls.total();
    ControlsReport {
        cases: total.cases,
        rows: total.rows,
        vacuous: total.vacuous,
        unsupported: controls.unsupported,
        largest_r: controls.largest(),
        alarms: controls.alarms.clone(),
    }
}

/// The relations' result.
pub fn related(tallies: &Tallies) -> RelationsReport {
    let relations = RELATIONS.iter().zip(tallies).map(|(relation, tally)| RelationReport {
        relation: relation.name.to_owned(),
        exactness: relation.exactness.name().to_owned(),
        held: tally.held,
        not_applicable: tally.not_applicable,
        neither_ended: tally.silent,
        failures: tally.failures.clone(),
    });
    RelationsReport { relations: relations.collect(), not_asked: ELSEWHERE.map(str::to_owned).to_vec() }
}

/// The mutation score.
pub fn scored(score: &Score, plan: &MutationPlan<'_>) -> MutationReport {
    let counts = score.counts();
    let Counts { killed, survived, equivalent, not_run } = counts;
    MutationReport {
        score: counts.score(),
        score_with_equivalents: killed as f64 / score.mutants.len().max(1) as f64,
        killed: killed as u64,
        survived: survived as u64,
        equivalent: equivalent as u64,
        not_run: not_run as u64,
        cases: plan.cases,
        controls: score.controls,
        false_alarms: score.alarms.clone(),
        mutants: score.mutants.iter().map(|(mutant, fate)| mutant_report(mutant, fate)).collect(),
    }
}

fn mutant_report(mutant: &Mutant, fate: &Fate) -> MutantReport {
    let (name, case, why) = match fate {
        Fate::Killed { case, signature } => ("killed", Some(*case), Some(signature.clone())),
        Fate::Survived => ("survived", None, None),
        Fate::Equivalent(why) => ("equivalent", None, Some(why.clone())),
        Fate::NotRun(why) => ("not run", None, Some(why.clone())),
    };
    let place = mutant.stack.first();
    MutantReport {
        variant: mutant.variant.clone(),
        operator: mutant.mutation.operator.name().to_owned(),
        op: mutant.op.clone(),
        number: mutant.mutation.op,
        place: mutant.mutation.place,
        constant: mutant.constant.clone(),
        file: place.map(|(file, _)| file.clone()),
        line: place.map(|(_, line)| *line),
        fate: name.to_owned(),
        case,
        why,
    }
}

/// Cases of each boundary class in each pair of option values, as `(class, value, value)`: only where some variant of the pair
/// can show the class.
pub fn pairwise(report: &Report) -> BTreeMap<(String, String, String), u64> {
    let mut cells: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    for kernel in &report.kernels {
        for (class, by_variant) in &report.summary.hits.boundary_by_variant {
            for variant in &kernel.variants {
                let Some(count) = by_variant.get(&variant.name) else { continue };
                let values: Vec<String> =
                    kernel.axes.iter().filter_map(|axis| value(variant, &axis.name)).collect();
                for (position, one) in values.iter().enumerate() {
                    for other in &values[position + 1..] {
                        let cell = (class.clone(), one.clone(), other.clone());
                        *cells.entry(cell).or_default() += count;
                    }
                }
            }
        }
    }
    cells
}

fn value(variant: &countersign_reports::VariantReport, axis: &str) -> Option<String> {
    variant.options.get(axis).map(|value| format!("{axis}: {value}"))
}

/// Whether a finding is news to a sign-off.
pub fn is_news(finding: &FindingReport) -> bool {
    finding.status != FindingStatus::Known
}
