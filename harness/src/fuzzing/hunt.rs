//! A search guided by the kernel's own coverage, within this process: cases are drawn or changed, tried, judged, and kept where
//! they cover points of the kernel's IR that no case before them did; what comes next is for `schedule.rs` to say.
//!
//! It is what a libFuzzer target does, without libFuzzer, so that the installed binary can do it.
//!
//! Invariant: a function of subject, known file, starting cases, seed and the number of steps; no clock, no thread. A finding
//! stops nothing: it is reported the first time that its signature shows.

use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

use countersign_kernels::engine::Policy;

use super::Tally;
use super::attempt::{Engines, Tried};
use super::guidance::Covered;
use super::mutate::{changed, keeps};
use super::schedule::{Plan, Schedule};
use crate::campaign::{Subject, panic_message};
use crate::case::Case;
use crate::generate::generate;
use crate::judge::{Finding, Note};
use crate::known::KnownFile;
use crate::payload::Stream;
use crate::signature::Signature;

/// Keeps these streams apart from those of payloads, campaigns and mutations.
const HUNT: u64 = 0x6875_6e74;

/// What decides which case is tried next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guidance {
    /// What those before it covered: see `schedule.rs`.
    Coverage,
    /// Nothing: every case is the generator's. To compare.
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
    schedule: Schedule,
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
            schedule: Schedule::new(subject.variants().len()),
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

    /// The cases from which others are made: each covered something new.
    pub fn parents(&self) -> impl DoubleEndedIterator<Item = &Case> + ExactSizeIterator {
        self.schedule.parents()
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
        let (case, plan) = match self.waiting.pop_front() {
            Some(case) => (case, None),
            None => self.draw(),
        };
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
                let coverage = self.engines.coverage(position);
                step.fresh = self.covered.add(position, coverage);
                if self.guidance == Guidance::Coverage {
                    let keeps = || keeps(&step.case, self.subject.variants());
                    self.schedule.learn(plan, &step.case, position, coverage, step.fresh, keeps);
                }
                step.findings =
                    new.into_iter().filter(|finding| self.shown.insert(finding.signature.clone())).collect();
            }
        }
        step
    }

    /// The next case, and the plan that it follows.
    fn draw(&mut self) -> (Case, Option<Plan>) {
        let mut draws = Stream::at(self.seed, [HUNT, self.steps, 0, 0]);
        let (kernel, variants) = (&self.subject.kernel().id, self.subject.variants());
        let plan = match self.guidance {
            Guidance::Coverage => Some(self.schedule.plan(&mut draws)),
            Guidance::None => None,
        };
        let case = match plan {
            Some(Plan::Change { parent, other, keep }) => {
                let (parent, other) = (self.schedule.parent(parent), self.schedule.parent(other));
                changed(parent, other, variants, keep, &mut draws)
            }
            Some(Plan::Fresh(Some(only))) => {
                generate(draws.bits(), 0, kernel, &variants[only..=only], None).case
            }
            Some(Plan::Fresh(None)) | None => generate(draws.bits(), 0, kernel, variants, None).case,
        };
        (case, plan)
    }
}
