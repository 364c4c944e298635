//! The minimiser: a case that shows a finding becomes the smallest that still shows it, by passes that each try simpler cases.
//!
//! ```text
//! sequences ─► lengths ─► variant ─► unowned metadata ─► payload ─► options ─► page numbers ─► again, until nothing helps
//! ```
//!
//! A pass lists candidates; the first that weighs less ([`Weight`]) and shows everything that the case is kept for takes its
//! place. What a case is kept for are signatures, each explained by the same entry of the known files as before, so that a
//! known finding can't become a new one, nor hide one.
//!
//! Invariant: a function of case, target, subject and budget. Weights only fall, so it ends; a round in which no pass helps
//! is the end, so minimising twice changes nothing unless the budget ran out. No Python is started here.

mod all;
mod batch;
mod lengths;
mod options;
mod pages;
mod payload;
mod sequences;
mod unowned;
mod variants;
mod weight;

use std::collections::HashSet;

use countersign_kernels::Variant;
use countersign_kernels::engine::{Engine, Policy};
use countersign_reports::SizeReport;

use crate::campaign::Subject;
use crate::case::{Case, CaseError};
use crate::interference::{Interference, interference};
use crate::judge::judge;
use crate::known::{Facts, KnownFile};
use crate::signature::Signature;
use crate::trial::{Trial, run_trial};

pub use all::{Tried, minimise_all};
pub use weight::{Weight, size};

/// Executions that a case may cost where nobody says otherwise. Most need a third of it.
pub const BUDGET: u64 = 2000;

/// What a case has to go on showing: signatures, each with the position of the known entry that explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target(pub Vec<(Signature, Option<usize>)>);

/// A case on its way: with the variant that it runs on, by position in [`Subject::variants`].
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The variant's position.
    pub position: usize,
    /// The case; its variant is named.
    pub case: Case,
}

/// A minimised case.
#[derive(Debug, Clone, PartialEq)]
pub struct Minimal {
    /// The smallest case found.
    pub draft: Draft,
    /// The case that it came from.
    pub before: SizeReport,
    /// What is left of it.
    pub after: SizeReport,
    /// Cases executed.
    pub executions: u64,
    /// Whether no pass helps any more: neither the budget nor the caller put an end to it.
    pub complete: bool,
}

/// What passes may ask for.
struct Context<'a> {
    variants: &'a [Variant],
}

impl Context<'_> {
    fn variant(&self, draft: &Draft) -> &Variant {
        &self.variants[draft.position]
    }
}

/// A pass: simpler cases, the boldest first. What doesn't weigh less is ignored, so a pass need not look.
type Pass = fn(&Context<'_>, &Draft) -> Vec<Draft>;

const PASSES: [Pass; 7] = [
    sequences::candidates,
    lengths::candidates,
    variants::candidates,
    unowned::candidates,
    payload::candidates,
    options::candidates,
    pages::candidates,
];

/// Minimises cases of one kernel; engines are made once and kept.
pub struct Minimiser<'a> {
    subject: &'a dyn Subject,
    known: &'a KnownFile,
    policy: Policy,
    engines: Vec<Option<Box<dyn Engine>>>,
}

impl<'a> Minimiser<'a> {
    /// For cases on the variants of `subject`, which are also those that a case may move to.
    pub fn new(subject: &'a dyn Subject, known: &'a KnownFile, policy: Policy) -> Minimiser<'a> {
        let engines = subject.variants().iter().map(|_| None).collect();
        Minimiser { subject, known, policy, engines }
    }

    /// All that a case shows.
    ///
    /// # Errors
    /// As [`Case::batch`].
    pub fn target(&mut self, draft: &Draft) -> Result<Target, CaseError> {
        let facts = Facts::of(&self.subject.variants()[draft.position], &draft.case.metadata);
        let findings = judge(&self.trial(draft)?).findings;
        let with_entry = |signature: Signature| {
            let entry = self.known.explain(&signature, &facts);
            (signature, entry)
        };
        Ok(Target(findings.into_iter().map(|finding| with_entry(finding.signature)).collect()))
    }

    /// The smallest case that shows `target` as `draft` does. `go_on` is asked before each execution; at most `budget` are made.
    /// A draft that doesn't show the target is returned as it is.
    ///
    /// # Errors
    /// As [`Case::batch`], of `draft` itself.
    pub fn minimise(
        &mut self,
        draft: Draft,
        target: &Target,
        budget: u64,
        go_on: &dyn Fn() -> bool,
    ) -> Result<Minimal, CaseError> {
        let subject = self.subject;
        let context = Context { variants: subject.variants() };
        draft.case.check(context.variant(&draft))?;
        let before = size(context.variant(&draft), &draft.case);
        let mut search = Search {
            minimiser: self,
            target,
            tried: HashSet::new(),
            budget,
            executions: 0,
            go_on,
            stopped: false,
        };
        let shows = search.shows(&draft);
        let mut best = draft;
        let mut improved = shows;
        while improved && !search.stopped {
            improved = false;
            for pass in PASSES {
                while let Some(better) = search.first(&context, &best, pass) {
                    best = better;
                    improved = true;
                }
            }
        }
        let Search { executions, stopped, .. } = search;
        let after = size(context.variant(&best), &best.case);
        Ok(Minimal { draft: best, before, after, executions, complete: shows && !stopped })
    }

    /// One trial.
    ///
    /// # Errors
    /// As [`Case::batch`].
    pub fn trial(&mut self, draft: &Draft) -> Result<Trial, CaseError> {
        let Draft { position, case } = draft;
        let (subject, policy) = (self.subject, self.policy);
        let variant = &subject.variants()[*position];
        let engine = if case.statics.is_some() { None } else { Some(self.engine(*position)) };
        run_trial(engine, subject.kernel(), variant, case, &policy)
    }

    /// What the sequences of a case that break a rule do to the others.
    ///
    /// # Errors
    /// As [`Case::batch`].
    pub fn others(&mut self, draft: &Draft) -> Result<Option<Interference>, CaseError> {
        let Draft { position, case } = draft;
        let (subject, policy) = (self.subject, self.policy);
        interference(self.engine(*position), &subject.variants()[*position], case, &policy)
    }

    fn engine(&mut self, position: usize) -> &mut dyn Engine {
        self.engines[position].get_or_insert_with(|| self.subject.engine(position)).as_mut()
    }
}

/// One case's search.
struct Search<'m, 'a> {
    minimiser: &'m mut Minimiser<'a>,
    target: &'m Target,
    /// What was executed and didn't show the target.
    tried: HashSet<Vec<u8>>,
    budget: u64,
    executions: u64,
    go_on: &'m dyn Fn() -> bool,
    stopped: bool,
}

impl Search<'_, '_> {
    /// The first candidate of a pass that weighs less and shows the target.
    fn first(&mut self, context: &Context<'_>, best: &Draft, pass: Pass) -> Option<Draft> {
        if self.stopped {
            return None;
        }
        let weigh = |draft: &Draft| Weight::of(context.variant(draft), &draft.case);
        let weight = weigh(best);
        pass(context, best).into_iter().find(|candidate| {
            candidate.case.check(context.variant(candidate)).is_ok()
                && weigh(candidate) < weight
                && self.shows(candidate)
        })
    }

    /// Executes a case; false also where it was tried before, or nothing may be executed any more.
    fn shows(&mut self, draft: &Draft) -> bool {
        // A case with values in a file has no bytes of its own, and is tried as often as it comes up.
        let key = draft.case.to_bytes().ok();
        if self.stopped || key.as_ref().is_some_and(|key| self.tried.contains(key)) {
            return false;
        }
        if self.executions >= self.budget || !(self.go_on)() {
            self.stopped = true;
            return false;
        }
        self.executions += 1;
        // A case that can't be built (a patch of what it no longer owns) shows nothing.
        let shown = self.minimiser.target(draft).is_ok_and(|shown| {
            let Target(wanted) = self.target;
            wanted.iter().all(|finding| shown.0.contains(finding))
        });
        if !shown {
            self.tried.extend(key);
        }
        shown
    }
}
