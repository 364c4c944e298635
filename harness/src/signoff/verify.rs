//! A document checked: its hashes, its judgement, and its evidence shown again.
//!
//! Invariant: what is returned are differences in words, in the order of the document; none means that all that was looked at is as
//! the document says. Nothing here trusts a claim, a verdict or a hash of the document.

use std::collections::{BTreeMap, BTreeSet};

use countersign_kernels::engine::Policy as RunPolicy;
use countersign_reports::{Fuzzed, MutantReport, MutationReport, Replayed, Signoff, signoff_to_json};

use super::INCIDENTAL;
use super::claims::{Evidence, Judgement, Measure, judge};
use super::hash_of;
use crate::campaign::{Plan, Subject, draw};
use crate::judge;
use crate::loaded::Loaded;
use crate::mutants::{self, Fate};
use crate::ordered::in_parallel;
use crate::trial::{Conduct, run_trial};

/// The hash of each part of the evidence that a document has.
///
/// # Errors
/// Only if a number cannot be represented.
pub fn hashes(signoff: &Signoff) -> Result<BTreeMap<String, String>, serde_json::Error> {
    let mut hashes = BTreeMap::from([
        ("regressions".to_owned(), hash_of(&signoff.regressions)?),
        ("campaign".to_owned(), hash_of(&signoff.campaign)?),
        ("controls".to_owned(), hash_of(&signoff.controls)?),
    ]);
    if let Some(relations) = &signoff.relations {
        hashes.insert("relations".to_owned(), hash_of(relations)?);
    }
    if let Some(mutation) = &signoff.mutation {
        hashes.insert("mutation".to_owned(), hash_of(mutation)?);
    }
    if let Some(compiled) = &signoff.compiled {
        hashes.insert("compiled".to_owned(), hash_of(compiled)?);
    }
    Ok(hashes)
}

/// Where a document, read from `text`, contradicts itself: its bytes, its hashes, its judgement on its own day.
///
/// # Errors
/// Only if a number cannot be represented.
pub fn contradictions(
    text: &str,
    signoff: &Signoff,
    measure: &Measure<'_>,
) -> Result<Vec<String>, serde_json::Error> {
    let mut differences = Vec::new();
    if signoff_to_json(signoff)? != text {
        differences.push("the file isn't byte for byte what was written".to_owned());
    }
    let hashes = hashes(signoff)?;
    for name in hashes.keys().chain(signoff.hashes.keys()).collect::<BTreeSet<_>>() {
        if hashes.get(name) != signoff.hashes.get(name) {
            differences.push(format!("the evidence `{name}` isn't what its hash says"));
        }
    }
    let evidence = Evidence {
        regressions: &signoff.regressions,
        campaign: &signoff.campaign,
        controls: &signoff.controls,
        relations: signoff.relations.as_ref(),
        mutation: signoff.mutation.as_ref(),
        compiled: signoff.compiled.as_ref(),
    };
    let measure = Measure { date: &signoff.timing.date, ..*measure };
    let Judgement { claims, waivers, verdict, refused } = judge(&measure, &evidence);
    for (same, what) in [
        (claims == signoff.claims, "claims"),
        (waivers == signoff.waivers, "waivers"),
        (verdict == signoff.verdict && refused == signoff.refused, "verdict"),
    ] {
        if !same {
            differences.push(
                format!("the {what} don't follow from the evidence")
                    .replace("verdict don't", "verdict doesn't"),
            );
        }
    }
    Ok(differences)
}

/// What a replayed corpus shows: outcomes, signatures, counts and coverage, without the sentences that describe them, which may
/// be put better in another build.
pub fn facts(replayed: &Replayed) -> impl PartialEq + '_ {
    let Replayed { report, explained } = replayed;
    let cases = report.cases.iter().map(|case| (&case.name, &case.keeping, &case.shows, &case.outcome));
    let findings = report.findings.iter().map(|finding| (&finding.signature, finding.status));
    let coverage = report.kernels.iter().map(|kernel| &kernel.coverage);
    let (cases, findings): (Vec<_>, Vec<_>) = (cases.collect(), findings.collect());
    (cases, findings, coverage.collect::<Vec<_>>(), &report.summary, explained)
}

/// Inputs that aren't what they were: those that count, and those by which evidence of another machine may differ.
pub fn changed_inputs(signoff: &Signoff, now: &BTreeMap<String, String>) -> (Vec<String>, Vec<String>) {
    let names: BTreeSet<&String> = signoff.inputs.keys().chain(now.keys()).collect();
    let changed = names.into_iter().filter(|name| signoff.inputs.get(*name) != now.get(*name));
    let (incidental, counting): (Vec<&String>, Vec<&String>) =
        changed.partition(|name| INCIDENTAL.contains(&name.as_str()));
    let told = |names: Vec<&String>| names.into_iter().map(|name| format!("`{name}` has changed")).collect();
    (told(counting), told(incidental))
}

/// Where generated cases no longer show what the evidence says: the first case of each finding, and those of the largest r.
pub fn campaign(loaded: &Loaded, plan: &Plan<'_>, evidence: &Fuzzed) -> Vec<String> {
    let mut cases: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    let report = &evidence.report;
    let new = report.findings.iter().map(|finding| (finding.case, finding.signature.as_str()));
    let explained = evidence.explained.iter().map(|shown| (shown.case, shown.signature.as_str()));
    for (case, signature) in new.chain(explained) {
        cases.entry(case).or_default().push(signature);
    }
    let mut largest: BTreeMap<u64, f64> = BTreeMap::new();
    for spread in report.summary.r.values() {
        if let Some(place) = &spread.largest_at {
            largest.insert(place.case, spread.largest);
            cases.entry(place.case).or_default();
        }
    }
    let cases: Vec<(u64, Vec<&str>)> = cases.into_iter().collect();
    let differences = in_parallel(plan.jobs, &cases, |(case, signatures)| {
        again(loaded, plan, *case, signatures, largest.get(case).copied())
    });
    differences.into_iter().flatten().collect()
}

fn again(loaded: &Loaded, plan: &Plan<'_>, index: u64, signatures: &[&str], r: Option<f64>) -> Vec<String> {
    let case = draw(loaded, plan, index).case;
    let Ok(variant) = case.variant(loaded.variants()) else {
        return vec![format!("case {index} is of no variant")];
    };
    let Some(position) = loaded.position(variant) else {
        return vec![format!("case {index} is of no variant that is loaded")];
    };
    let mut engine = loaded.engine(position);
    let policy = RunPolicy { orders: false, ..plan.policy };
    let trial = match run_trial(Some(engine.as_mut()), loaded.kernel(), variant, &case, &policy) {
        Ok(trial) => trial,
        Err(error) => return vec![format!("case {index}: {error}")],
    };
    let shown: Vec<String> =
        judge::judge(&trial).findings.iter().map(|finding| finding.signature.to_string()).collect();
    let missing = signatures.iter().filter(|signature| !shown.iter().any(|shown| shown == *signature));
    let mut differences: Vec<String> =
        missing.map(|signature| format!("case {index} no longer shows {signature}")).collect();
    let now = match &trial.conduct {
        Conduct::Finished(comparison) => comparison.largest_right.map(|at| at.r),
        Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang | Conduct::Unsupported(_) => None,
    };
    if r.is_some() && r != now {
        differences.push(format!("case {index}: the largest r is {now:?}, not {r:?}"));
    }
    differences
}

/// Mutants that are no longer noticed in the case that the evidence names.
pub fn mutation(loaded: &Loaded, plan: &mutants::Plan<'_>, evidence: &MutationReport) -> Vec<String> {
    let killed: Vec<(&MutantReport, u64, &str)> = evidence
        .mutants
        .iter()
        .filter_map(|mutant| Some((mutant, mutant.case?, mutant.why.as_deref()?)))
        .collect();
    let differences = in_parallel(plan.jobs, &killed, |(mutant, case, signature)| {
        let place = format!("{}:{}:{}:{}", mutant.variant, mutant.operator, mutant.number, mutant.place);
        match super::Planted::parse(&place) {
            Err(why) => Some(format!("{place}: {why}")),
            Ok(planted) => match mutants::again(loaded, plan, &planted.variant, planted.mutation, *case) {
                Fate::Killed { signature: now, .. } if now == *signature => None,
                fate => {
                    Some(format!("mutant {place} isn't killed by case {case} with {signature}: {fate:?}"))
                }
            },
        }
    });
    let mut differences: Vec<String> = differences.into_iter().flatten().collect();
    if killed.len() as u64 != evidence.killed {
        differences.push(format!(
            "{} mutants are said to be killed, and {} name a case",
            evidence.killed,
            killed.len()
        ));
    }
    differences
}
