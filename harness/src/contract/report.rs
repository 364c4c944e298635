//! Measures everything and puts the gaps report together.
//!
//! Invariant: the contract table is made here and nowhere else, whether it is printed, published or compared; a gap's case is
//! run once more, and the real validators are asked about it.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use countersign_kernels::Variant;
use countersign_kernels::engine::Policy;
use countersign_reports::{
    ContractTable, FindingReport, FindingStatus, GAPS_VERSION, Gap, GapsReport, RuleRow, SweepReport,
};

use super::gallery::Exhibit;
use super::{Batches, Gallery, sentences, slips};
use crate::campaign::{Subject, described, status, tool};
use crate::case::CaseError;
use crate::confirm::{Validator, words};
use crate::evidence::Evidence;
use crate::judge::judge;
use crate::known::{Facts, KnownFile};
use crate::loaded::Loaded;
use crate::replay::Item;
use crate::traced::follow;
use crate::trial::{Conduct, run_trial};

/// What is measured on.
#[derive(Debug, Clone, Copy)]
pub struct Subjects<'a> {
    /// The kernel on the variants that probes and slips are run on.
    pub loaded: &'a Loaded,
    /// The kernel on the variants of the corpus.
    pub corpus: &'a Loaded,
    /// Cases of the corpus.
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

/// How many generated cases there are, on how many threads, and when to stop.
#[derive(Debug, Clone, Copy)]
pub struct Effort<'a> {
    /// Cases of the campaign that slips are counted in.
    pub cases: usize,
    /// Its seed.
    pub seed: u64,
    /// Threads.
    pub jobs: usize,
    /// Set where a person interrupts.
    pub interrupted: &'a AtomicBool,
}

/// The report; `contract` and `batches` are what was measured of the probes.
///
/// # Errors
/// If a case of the corpus is inconsistent.
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
) -> Result<GapsReport, CaseError> {
    let mut gallery = batches.gallery;
    let Effort { cases, seed, jobs, interrupted } = effort;
    let slips = slips(subjects.loaded, policy, seed, cases, jobs, interrupted, &mut gallery);
    let mut from_corpus = Gallery::default();
    for item in subjects.items {
        let Some(position) = subjects.corpus.position(&item.variant) else { continue };
        let variant = &subjects.corpus.variants()[position];
        let mut engine = subjects.corpus.engine(position);
        let case = &item.file.case;
        let trial = run_trial(Some(engine.as_mut()), subjects.corpus.kernel(), variant, case, policy)?;
        from_corpus.offer_from_corpus(&item.name, position, case, &trial);
    }

    let mut gaps: BTreeMap<String, Gap> = BTreeMap::new();
    for (gallery, loaded) in [(&from_corpus, subjects.corpus), (&gallery, subjects.loaded)] {
        for exhibit in gallery.exhibits() {
            let signature = &exhibit.finding.signature;
            let key = format!("{}|{}|{}", signature.kind.name(), signature.locus, signature.effect.name());
            match gaps.get_mut(&key) {
                Some(gap) => gap.finding.count += exhibit.count,
                None => {
                    gaps.insert(key, gap(exhibit, loaded, policy, known, validator)?);
                }
            }
        }
    }
    Ok(GapsReport {
        version: GAPS_VERSION,
        tool: tool(),
        command: command.to_owned(),
        contract,
        slips,
        gaps: gaps.into_values().collect(),
        sweep,
    })
}

fn gap(
    exhibit: &Exhibit,
    loaded: &Loaded,
    policy: &Policy,
    known: &KnownFile,
    validator: &mut dyn Validator,
) -> Result<Gap, CaseError> {
    let variant = &loaded.variants()[exhibit.variant];
    let case = &exhibit.case;
    let mut engine = loaded.engine(exhibit.variant);
    let trial = run_trial(Some(engine.as_mut()), loaded.kernel(), variant, case, policy)?;
    let again = judge(&trial).findings.iter().any(|finding| finding.signature == exhibit.finding.signature);
    let followed = matches!(trial.conduct, Conduct::Fault(_))
        .then(|| follow(engine.as_mut(), variant, case, policy, &trial.source_file))
        .flatten();
    let words = match validator.ask(variant, case) {
        Ok(answer) => words(&answer.static_verdict, answer.dynamic_verdict.as_ref(), true),
        Err(_) => words(&trial.static_verdict, Some(&trial.dynamic_verdict), false),
    };
    let case = case.clone().self_contained(loaded.kernel(), loaded.variants());
    let evidence = again.then(|| Evidence::of(&trial, &case, followed.as_ref()));
    let facts = Facts::of(variant, &case.metadata);
    let entry = known.explain(&exhibit.finding.signature, &facts).and_then(|at| known.entries.get(at));
    let finding = FindingReport {
        status: if entry.is_some() { status(entry.map(|entry| entry.status)) } else { FindingStatus::New },
        cause: entry.map(|entry| entry.cause.clone()),
        link: entry.and_then(|entry| entry.link.clone()),
        count: exhibit.count,
        ..described(&exhibit.finding, variant, &words, evidence)
    };
    Ok(Gap { finding, attribution: sentences(&trial, &case.metadata), origin: exhibit.origin.clone() })
}
