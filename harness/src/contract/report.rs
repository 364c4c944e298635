//! Measures everything and puts the gaps report together.
//!
//! Invariant: the contract table is made here and nowhere else, whether it is printed, published or compared; a gap's case is
//! minimised, run once more, and the real validators are asked about it. The number of threads never shows.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_kernels::Variant;
use countersign_kernels::engine::Policy;
use countersign_reports::{
    ContractTable, FindingReport, FindingStatus, GAPS_VERSION, Gap, GapsReport, MinimisedReport, RuleRow,
    SweepReport,
};

use super::gallery::Exhibit;
use super::{Batches, Gallery, Regressions, sentences, slips};
use crate::campaign::{Subject, described, status, tool};
use crate::case::{Case, CaseError};
use crate::confirm::{Validator, words};
use crate::evidence::Evidence;
use crate::interference::interference;
use crate::judge::judge;
use crate::known::{Facts, KnownFile};
use crate::loaded::Loaded;
use crate::minimise::{Draft, Minimal, Minimiser, Target};
use crate::ordered::in_order;
use crate::replay::Item;
use crate::repro::{self, Besides};
use crate::signature::Signature;
use crate::traced::follow;
use crate::trial::{Conduct, run_trial};

/// What is measured on.
#[derive(Debug, Clone, Copy)]
pub struct Subjects<'a> {
    /// The kernel on the variants that probes and slips are run on.
    pub loaded: &'a Loaded,
    /// The kernel on those and on the corpus' own: where gaps are made small and shown.
    pub all: &'a Loaded,
    /// Regressions of the corpus.
    pub items: &'a [Item],
}

/// The table: rules of calls first, then of batches, in the order of the contract.
pub fn table(
    loaded: &Loaded,
    calls: Vec<RuleRow>,
    batches: &Batches,
    static_variants: &[Variant],
) -> ContractTable {
    let about = loaded.report(&[]);
    let name = |variant: &Variant| variant.name.clone();
    ContractTable {
        version: GAPS_VERSION,
        kernel: about.id,
        packages: about.packages,
        source_sha256: about.source_hash,
        variants: loaded.variants().iter().map(name).collect(),
        static_variants: static_variants.iter().map(name).collect(),
        rules: calls.into_iter().chain(batches.rules.iter().cloned()).collect(),
    }
}

/// How many generated cases there are, how much a gap may cost, on how many threads, and when to stop.
#[derive(Debug, Clone, Copy)]
pub struct Effort<'a> {
    /// Cases of the campaign that slips are counted in.
    pub cases: usize,
    /// Its seed.
    pub seed: u64,
    /// Executions that the minimiser may spend on a gap.
    pub budget: u64,
    /// Threads.
    pub jobs: usize,
    /// Set where a person interrupts.
    pub interrupted: &'a AtomicBool,
}

/// The report; `contract` and `batches` are what was measured of the probes. `each` hears of each gap, with their number, once it
/// is small.
///
/// # Errors
/// If a case of the corpus is inconsistent, or a gap can't be made smaller: a fault of ours.
#[allow(clippy::too_many_arguments, reason = "the parts of the report, each made elsewhere")]
pub fn report(
    subjects: Subjects<'_>,
    contract: ContractTable,
    batches: Batches,
    sweep: Option<SweepReport>,
    policy: &Policy,
    effort: Effort<'_>,
    known: &KnownFile,
    validator: &mut dyn Validator,
    command: &str,
    each: &mut dyn FnMut(usize, &str),
) -> Result<GapsReport, CaseError> {
    let Effort { cases, seed, budget, jobs, interrupted } = effort;
    let all = subjects.all;
    let mut measured = batches.gallery;
    let slips = slips(subjects.loaded, policy, seed, cases, jobs, interrupted, &mut measured);
    let mut exhibits: BTreeMap<String, Exhibit> = BTreeMap::new();
    for exhibit in of_corpus(all, subjects.items, policy)?.exhibits().chain(measured.exhibits()) {
        let key = name(&exhibit.finding.signature);
        exhibits
            .entry(key)
            .and_modify(|known| known.count += exhibit.count)
            .or_insert_with(|| exhibit.clone());
    }

    let exhibits: Vec<Exhibit> = exhibits.into_values().collect();
    let regressions = Regressions::of(subjects.items, all.variants(), known);
    let work = |index: usize| smaller(&exhibits[index], all, policy, known, budget, interrupted);
    let mut gaps: Vec<Result<Gap, CaseError>> = Vec::with_capacity(exhibits.len());
    in_order(exhibits.len(), jobs, &|| true, &work, &mut |index, done| {
        let exhibit = &exhibits[index];
        each(exhibits.len(), &name(&exhibit.finding.signature));
        let minimal = done.unwrap_or_else(|panic| Err(CaseError::new(panic)));
        gaps.push(
            minimal.and_then(|small| gap(exhibit, &small, all, policy, known, &regressions, validator)),
        );
    });
    Ok(GapsReport {
        version: GAPS_VERSION,
        tool: tool(),
        command: command.to_owned(),
        contract,
        slips,
        gaps: gaps.into_iter().collect::<Result<_, _>>()?,
        sweep,
    })
}

/// By what gaps are the same.
fn name(signature: &Signature) -> String {
    format!("{}|{}|{}", signature.kind.name(), signature.locus, signature.effect.name())
}

/// What the corpus shows; calls with static overrides are the sweep's.
fn of_corpus(all: &Loaded, items: &[Item], policy: &Policy) -> Result<Gallery, CaseError> {
    let mut gallery = Gallery::default();
    for item in items.iter().filter(|item| item.file.case.statics.is_none()) {
        let Some(position) = all.position(&item.variant) else { continue };
        let variant = &all.variants()[position];
        let mut engine = all.engine(position);
        let case = &item.file.case;
        let trial = run_trial(Some(engine.as_mut()), all.kernel(), variant, case, policy)?;
        gallery.offer_from_corpus(&item.name, case, &trial);
    }
    Ok(gallery)
}

/// The smallest case that shows what an exhibit shows, under the same known entry.
fn smaller(
    exhibit: &Exhibit,
    all: &Loaded,
    policy: &Policy,
    known: &KnownFile,
    budget: u64,
    interrupted: &AtomicBool,
) -> Result<Minimal, CaseError> {
    let position = all
        .position(&exhibit.variant)
        .ok_or_else(|| CaseError::new(format!("{} is not loaded", exhibit.variant.name)))?;
    let facts = Facts::of(&all.variants()[position], &exhibit.case.metadata);
    let signature = exhibit.finding.signature.clone();
    let entry = known.explain(&signature, &facts);
    let draft = Draft { position, case: exhibit.case.clone() };
    Minimiser::new(all, known, *policy)
        .minimise(draft, &Target(vec![(signature, entry)]), budget, &|| !interrupted.load(Ordering::Relaxed))
}

fn gap(
    exhibit: &Exhibit,
    minimal: &Minimal,
    all: &Loaded,
    policy: &Policy,
    known: &KnownFile,
    regressions: &Regressions<'_>,
    validator: &mut dyn Validator,
) -> Result<Gap, CaseError> {
    let Draft { position, case } = &minimal.draft;
    let variant = &all.variants()[*position];
    let signature = &exhibit.finding.signature;
    let mut engine = all.engine(*position);
    let trial = run_trial(Some(engine.as_mut()), all.kernel(), variant, case, policy)?;
    let finding = judge(&trial).findings.into_iter().find(|finding| finding.signature == *signature);
    let finding =
        finding.ok_or_else(|| CaseError::new(format!("{signature} does not show in the smaller case")))?;
    let followed = matches!(trial.conduct, Conduct::Fault(_))
        .then(|| follow(engine.as_mut(), variant, case, policy, &trial.source_file))
        .flatten();
    let others = interference(engine.as_mut(), variant, case, policy)?.map(|others| others.to_string());
    let words = match validator.ask(variant, case) {
        Ok(answer) => words(variant.family, &answer.static_verdict, answer.dynamic_verdict.as_ref(), true),
        Err(_) => words(variant.family, &trial.static_verdict, Some(&trial.dynamic_verdict), false),
    };
    let besides = Besides { others: others.as_deref(), ..Besides::default() };
    let script = repro::script(all.kernel(), case, &trial, &finding, besides);
    let position = known.explain(signature, &Facts::of(variant, &case.metadata));
    let entry = position.and_then(|at| known.entries.get(at));
    let shown: Case = case.clone().self_contained(all.kernel(), all.variants());
    let evidence = Evidence { others, ..Evidence::of(&trial, &shown, followed.as_ref()) };
    let report = FindingReport {
        status: entry.map_or(FindingStatus::New, |entry| status(Some(entry.status))),
        cause: entry.map(|entry| entry.cause.clone()),
        link: entry.and_then(|entry| entry.link.clone()),
        count: exhibit.count,
        minimised: Some(MinimisedReport {
            original: exhibit.origin.clone(),
            before: minimal.before,
            after: minimal.after,
            executions: minimal.executions,
            complete: minimal.complete,
        }),
        ..described(&finding, variant, &words, Some(evidence))
    };
    Ok(Gap {
        finding: report,
        attribution: sentences(&trial, &case.metadata),
        origin: exhibit.origin.clone(),
        regression: regressions.find(signature, position, &shown).map(str::to_owned),
        known: entry.map(|entry| entry.signature.to_string()),
        script,
    })
}
