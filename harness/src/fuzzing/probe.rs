//! A search of the checks alone, no kernel run: their verdicts beside the contract's, case after case.
//!
//! Guidance is what a case breaks and what the checks say of it: a rule with an answer that no case before it had makes it a
//! parent. Combinations of rules would be too many to keep.
//!
//! Invariant: a function of variants, known file, starting cases, seed and the number of steps; no clock, no thread.

use std::collections::{HashSet, VecDeque};

use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::checks::Verdict;

use super::Tally;
use super::mutate::mutated;
use super::targets::{new_findings, structural_trial};
use crate::case::Case;
use crate::generate::generate;
use crate::judge::Finding;
use crate::known::KnownFile;
use crate::payload::Stream;
use crate::signature::Signature;

/// Keeps these streams apart from those of other searches.
const PROBE: u64 = 0x7072_6f62;

/// A rule that a batch breaks, if it breaks any, and the checks that refuse it, if any does.
type Shape = (Option<&'static str>, Option<&'static str>, Option<&'static str>);

/// A search under way.
pub struct Probe<'s> {
    kernel: &'s KernelEntry,
    variants: &'s [Variant],
    known: &'s KnownFile,
    seed: u64,
    steps: u64,
    waiting: VecDeque<Case>,
    parents: Vec<Case>,
    shapes: HashSet<Shape>,
    shown: HashSet<Signature>,
    tally: Tally,
}

impl<'s> Probe<'s> {
    /// Starts a search; the cases to start from are tried first.
    pub fn new(
        kernel: &'s KernelEntry,
        variants: &'s [Variant],
        known: &'s KnownFile,
        start: Vec<Case>,
        seed: u64,
    ) -> Probe<'s> {
        Probe {
            kernel,
            variants,
            known,
            seed,
            steps: 0,
            waiting: start.into(),
            parents: Vec::new(),
            shapes: HashSet::new(),
            shown: HashSet::new(),
            tally: Tally::default(),
        }
    }

    /// What became of the cases so far.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Rules met, each with the answers to it.
    pub fn covered(&self) -> u64 {
        self.shapes.len() as u64
    }

    /// Cases to start from that are still to be tried.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Tries one more case, told before it is tried. The case, whether it is worth storing, and findings shown for the first
    /// time.
    pub fn step(&mut self, before: &mut dyn FnMut(&Case)) -> (Case, bool, Vec<Finding>) {
        let case = self.waiting.pop_front().unwrap_or_else(|| self.draw());
        self.steps += 1;
        before(&case);
        let Some(trial) = structural_trial(&case, self.kernel, self.variants) else {
            self.tally.rejected += 1;
            return (case, false, Vec::new());
        };
        self.tally.decoded += 1;
        let answer = (check(&trial.static_verdict), check(&trial.dynamic_verdict));
        let mut rules: Vec<_> = trial.contract.rules().iter().map(|rule| Some(rule.id)).collect();
        if rules.is_empty() {
            rules.push(None);
        }
        let before = self.shapes.len();
        self.shapes.extend(rules.into_iter().map(|rule| (rule, answer.0, answer.1)));
        let fresh = self.shapes.len() > before;
        if fresh {
            self.parents.push(case.clone());
        }
        let (mut findings, known) = new_findings(&trial, &case, self.known);
        self.tally.known += known;
        findings.retain(|finding| self.shown.insert(finding.signature.clone()));
        (case, fresh, findings)
    }

    fn draw(&self) -> Case {
        let mut draws = Stream::at(self.seed, [PROBE, self.steps, 0, 0]);
        if self.parents.is_empty() || draws.below(4) == 0 {
            return generate(draws.bits(), 0, &self.kernel.id, self.variants, None).case;
        }
        let mut child = self.parents[draws.below(self.parents.len() as u64) as usize].clone();
        for _ in 0..=draws.below(3) {
            child = mutated(&child, self.variants, draws.bits());
        }
        child
    }
}

/// The check that refuses, or that it crashes.
fn check(verdict: &Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Accepts => None,
        Verdict::Refuses { check, .. } => Some(check),
        Verdict::Crashes { .. } => Some("a crash"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mutate::with_kernel;
    use super::*;

    #[test]
    fn what_is_known_is_counted_and_passed_over() {
        with_kernel(|kernel, variants| {
            let after = |known: &KnownFile| {
                let mut probe = Probe::new(kernel, variants, known, Vec::new(), 1);
                let new: usize = (0..2000).map(|_| probe.step(&mut |_| {}).2.len()).sum();
                (new, probe.tally().known)
            };
            let (new, known) = after(&KnownFile::default());
            assert!(new > 0 && known == 0, "{new} new, {known} known");
            let (new, known) = after(&KnownFile::builtin().unwrap());
            assert!(new == 0 && known > 0, "{new} new, {known} known");
        });
    }
}
