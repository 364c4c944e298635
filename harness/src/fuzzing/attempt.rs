//! One case tried for a search: its findings, those that are known counted apart, and what it alone covers of the kernel.
//!
//! Invariant: what comes of a case depends on the case, never on those before it.

use countersign_kernels::Variant;
use countersign_kernels::engine::{Engine, Policy};

use crate::campaign::Subject;
use crate::case::Case;
use crate::judge::{Finding, Judgement, Note, judge};
use crate::known::{Facts, KnownFile};
use crate::trial::{Conduct, run_trial};

/// A subject's engines, made when first needed, one a variant.
pub(super) struct Engines(Vec<Option<Box<dyn Engine>>>);

/// What came of a case.
pub(super) struct Tried {
    /// Where its variant is among the subject's.
    pub(super) position: usize,
    /// Findings that no known entry explains.
    pub(super) new: Vec<Finding>,
    /// How many one does.
    pub(super) known: u64,
    /// What it counts as.
    pub(super) note: Note,
    /// The largest error over bound of a row that is right.
    pub(super) largest: Option<f64>,
}

impl Engines {
    pub(super) fn of(subject: &dyn Subject) -> Engines {
        Engines(subject.variants().iter().map(|_| None).collect())
    }

    /// Tries a case; `None` if it is no runnable one: no such variant, overrides, arrays that don't fit.
    pub(super) fn attempt(
        &mut self,
        subject: &dyn Subject,
        known: &KnownFile,
        policy: &Policy,
        case: &Case,
    ) -> Option<Tried> {
        let position = position(case, subject.variants())?;
        let variant = &subject.variants()[position];
        let engine = self.0[position].get_or_insert_with(|| subject.engine(position));
        engine.clear_coverage();
        let trial = run_trial(Some(&mut **engine), subject.kernel(), variant, case, policy).ok()?;
        let Judgement { findings, note } = judge(&trial);
        let largest = match &trial.conduct {
            Conduct::Finished(comparison) => comparison.largest_right.map(|at| at.r),
            Conduct::NotRun | Conduct::Fault(_) | Conduct::Hang | Conduct::Unsupported(_) => None,
        };
        let facts = Facts::of(variant, &case.metadata);
        let shown = findings.len();
        let is_new = |finding: &Finding| known.explain(&finding.signature, &facts).is_none();
        let new: Vec<Finding> = findings.into_iter().filter(is_new).collect();
        Some(Tried { position, known: (shown - new.len()) as u64, new, note, largest })
    }

    /// What the last case of a variant covered; see [`Engine::coverage`].
    pub(super) fn coverage(&self, position: usize) -> &[u64] {
        self.0.get(position).and_then(Option::as_ref).map_or(&[], |engine| engine.coverage())
    }

    /// Lets all engines go, e.g. after a panic in one.
    pub(super) fn renew(&mut self) {
        self.0.fill_with(|| None);
    }
}

/// Which of the variants a case runs on.
pub(super) fn position(case: &Case, variants: &[Variant]) -> Option<usize> {
    let index = variants.iter().position(|variant| variant.name == case.variant.name())?;
    let runs = case.statics.is_none() && case.variant(variants).ok()? == &variants[index];
    runs.then_some(index)
}
