//! A search guided by the kernel's own coverage, within this process: cases are drawn or changed, tried, judged, and kept where
//! they cover points of the kernel's IR that no case before them did.
//!
//! It is what a libFuzzer target does, without libFuzzer, so that the installed binary can do it.
//!
//! Invariant: a function of subject, known file, starting cases, seed and the number of steps; no clock, no thread. A finding
//! stops nothing: it is reported the first time that its signature shows.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use countersign_kernels::contract::{self, Keeping};
use countersign_kernels::engine::Policy;

use super::Tally;
use super::attempt::{Engines, Tried, position};
use super::guidance::Covered;
use super::mutate::{crossed, mutated};
use crate::campaign::{Subject, panic_message};
use crate::case::Case;
use crate::generate::generate;
use crate::judge::{Finding, Note};
use crate::known::KnownFile;
use crate::payload::Stream;
use crate::signature::Signature;

/// Keeps these streams apart from those of payloads, campaigns and mutations.
const HUNT: u64 = 0x6875_6e74;
/// Tries to change a case into one that keeps the contract, where such a one is wanted.
const TRIES: u64 = 8;
/// Most changes from parent to child.
const MOST_CHANGES: u64 = 4;
/// The cases kept last, of which half of the parents are taken.
const LATEST: usize = 16;

/// Which cases become parents of others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guidance {
    /// Those that cover something new.
    Coverage,
    /// Only those to start from; without any, every case is the generator's. To compare.
    None,
}

/// A search under way.
pub struct Hunt<'s> {
    subject: &'s dyn Subject,
    known: &'s KnownFile,
    policy: Policy,
    guidance: Guidance,
    seed: u64,
    steps: u64,
    engines: Engines,
    covered: Covered,
    /// To start from, not yet tried.
    waiting: VecDeque<Case>,
    parents: Vec<Case>,
    shown: HashSet<Signature>,
    tally: Tally,
    unsupported: u64,
}

/// What one step did.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The case tried.
    pub case: Case,
    /// Points of the kernel that it covers and no case before it did. Where there are any, it is worth storing.
    pub fresh: u64,
    /// Findings that no known entry explains and whose signature is shown for the first time.
    pub findings: Vec<Finding>,
    /// The message, if it made us panic.
    pub panic: Option<String>,
    /// The largest error over bound of a row that is right, with its variant's position.
    pub largest: Option<(usize, f64)>,
}

impl<'s> Hunt<'s> {
    /// Starts a search. The cases to start from are tried first, in their order; those that can't be run are rejected.
    pub fn new(
        subject: &'s dyn Subject,
        known: &'s KnownFile,
        policy: Policy,
        guidance: Guidance,
        start: Vec<Case>,
        seed: u64,
    ) -> Hunt<'s> {
        Hunt {
            subject,
            known,
            policy,
            guidance,
            seed,
            steps: 0,
            engines: Engines::of(subject),
            covered: Covered::new(subject.variants().len()),
            waiting: start.into(),
            parents: Vec::new(),
            shown: HashSet::new(),
            tally: Tally::default(),
            unsupported: 0,
        }
    }

    /// What became of the cases so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Cases that the engine couldn't run.
    pub fn unsupported(&self) -> u64 {
        self.unsupported
    }

    /// What they covered.
    pub fn covered(&self) -> &Covered {
        &self.covered
    }

    /// The cases from which others are made.
    pub fn parents(&self) -> &[Case] {
        &self.parents
    }

    /// Cases to start from that are still to be tried.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Tries one more case: the next one to start from, or a new one.
    pub fn step(&mut self) -> Step {
        self.step_after(&mut |_| {})
    }

    /// [`Hunt::step`], with the case told before it is tried.
    pub fn step_after(&mut self, before: &mut dyn FnMut(&Case)) -> Step {
        let first = self.waiting.pop_front();
        let given = first.is_some();
        let case = first.unwrap_or_else(|| self.draw());
        self.steps += 1;
        before(&case);
        let Hunt { subject, known, policy, engines, .. } = self;
        let attempt = catch_unwind(AssertUnwindSafe(|| engines.attempt(*subject, known, policy, &case)));
        let mut step = Step { case, fresh: 0, findings: Vec::new(), panic: None, largest: None };
        match attempt {
            Err(panic) => {
                // The engine may be in any state.
                self.engines.renew();
                self.tally.decoded += 1;
                step.panic = Some(panic_message(&*panic));
            }
            Ok(None) => self.tally.rejected += 1,
            Ok(Some(Tried { position, new, known, note, largest })) => {
                step.largest = largest.map(|r| (position, r));
                self.tally.decoded += 1;
                self.tally.known += known;
                self.unsupported += u64::from(note == Note::Unsupported);
                step.fresh = self.covered.add(position, self.engines.coverage(position));
                step.findings =
                    new.into_iter().filter(|finding| self.shown.insert(finding.signature.clone())).collect();
                let kept = match self.guidance {
                    Guidance::Coverage => step.fresh > 0,
                    Guidance::None => given,
                };
                if kept {
                    self.parents.push(step.case.clone());
                }
            }
        }
        step
    }

    /// One case in four is the generator's, all are while there is no parent; the rest are changed or crossed.
    fn draw(&self) -> Case {
        let mut draws = Stream::at(self.seed, [HUNT, self.steps, 0, 0]);
        if self.parents.is_empty() || draws.below(4) == 0 {
            let kernel = &self.subject.kernel().id;
            return generate(draws.bits(), 0, kernel, self.subject.variants(), None).case;
        }
        // As the generator does: three in five keep the contract. A change breaks it more often than not.
        let wants_kept = draws.below(5) < 3;
        let tries = if wants_kept { TRIES } else { 1 };
        let mut child = self.child(&mut draws);
        for _ in 1..tries {
            if keeps(&child, self.subject) {
                break;
            }
            child = self.child(&mut draws);
        }
        child
    }

    fn child(&self, draws: &mut Stream) -> Case {
        let variants = self.subject.variants();
        let parent = self.parent(draws);
        let mut child = match draws.below(8) {
            0 => crossed(parent, self.parent(draws), variants, draws.bits()),
            _ => parent.clone(),
        };
        for _ in 0..=draws.below(MOST_CHANGES) {
            child = mutated(&child, variants, draws.bits());
        }
        child
    }

    /// One of the parents, of which there are some: half of the time one of the latest.
    fn parent(&self, draws: &mut Stream) -> &Case {
        let all = self.parents.len();
        let among = if draws.below(2) == 0 { all.min(LATEST) } else { all };
        &self.parents[all - 1 - draws.below(among as u64) as usize]
    }
}

/// Whether a case's metadata breaks no rule.
fn keeps(case: &Case, subject: &dyn Subject) -> bool {
    let variants = subject.variants();
    position(case, variants).is_some_and(|position| {
        contract::check_metadata(&variants[position], &case.metadata).keeping() == Keeping::Kept
    })
}
