//! What a guided search tries next, learnt from what its cases covered: on which variant, a new case or a changed one, and of which.
//!
//! New cases aim at boundaries already, so changing old ones pays only where that yields more new points; a variant whose
//! points are covered yields none. Both shares follow the yields of late. Parents are those that led to the points met least often,
//! so that a case that came further than others (into a branch within a branch) is taken up soon.
//!
//! Invariant: a function of what it was told and of `draws`.

use super::mutate::KEEP;
use crate::case::Case;
use crate::payload::Stream;

/// What the yield of earlier executions counts for after one more.
const MEMORY: f64 = 0.9;
/// One new case in so many is on any variant, whatever the variants yielded.
const ANY_VARIANT: u64 = 4;
/// One parent in so many is any, however rare what it covers.
const ANY_PARENT: u64 = 4;

/// How a case comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// The generator's, on one variant or on any.
    Fresh(Option<usize>),
    /// A change of a parent, perhaps its cross with another; one that keeps the contract where `keep` says so.
    Change { parent: usize, other: usize, keep: bool },
}

/// New points an execution, of late.
#[derive(Debug, Clone)]
struct Yield {
    points: f64,
    executions: f64,
}

impl Yield {
    /// What is untried counts for more than what was: else the first variants tried, of which all is new, would be tried again
    /// and again before others.
    fn new() -> Yield {
        Yield { points: 64.0, executions: 1.0 }
    }

    fn learn(&mut self, points: u64) {
        self.points = self.points * MEMORY + points as f64;
        self.executions = self.executions * MEMORY + 1.0;
    }

    /// Never 0: what is exhausted is tried now and then.
    fn rate(&self) -> f64 {
        (self.points + 0.1) / self.executions
    }
}

/// A case that covered something new.
struct Parent {
    case: Case,
    variant: usize,
    keeps: bool,
    /// The points that were new.
    points: Vec<usize>,
    /// How often it was changed.
    chosen: u64,
}

/// What was learnt so far.
pub(super) struct Schedule {
    parents: Vec<Parent>,
    /// How many cases met a point, by variant.
    met: Vec<Vec<u64>>,
    variants: Vec<Yield>,
    fresh: Yield,
    changed: Yield,
}

impl Schedule {
    pub(super) fn new(variants: usize) -> Schedule {
        Schedule {
            parents: Vec::new(),
            met: vec![Vec::new(); variants],
            variants: vec![Yield::new(); variants],
            fresh: Yield::new(),
            changed: Yield::new(),
        }
    }

    pub(super) fn parents(&self) -> impl DoubleEndedIterator<Item = &Case> + ExactSizeIterator {
        self.parents.iter().map(|parent| &parent.case)
    }

    pub(super) fn parent(&self, index: usize) -> &Case {
        &self.parents[index].case
    }

    /// What came of a case: the points that it covered, of which so many are new to the search.
    pub(super) fn learn(
        &mut self,
        plan: Option<Plan>,
        case: &Case,
        variant: usize,
        coverage: &[u64],
        new: u64,
        keeps: impl FnOnce() -> bool,
    ) {
        let met = &mut self.met[variant];
        met.resize(met.len().max(coverage.len() * 64), 0);
        let mut points = Vec::new();
        for (word, &bits) in coverage.iter().enumerate() {
            let mut left = bits;
            while left != 0 {
                let point = word * 64 + left.trailing_zeros() as usize;
                if met[point] == 0 {
                    points.push(point);
                }
                met[point] += 1;
                left &= left - 1;
            }
        }
        match plan {
            Some(Plan::Fresh(_)) => self.fresh.learn(new),
            Some(Plan::Change { .. }) => self.changed.learn(new),
            None => {}
        }
        self.variants[variant].learn(new);
        if !points.is_empty() {
            self.parents.push(Parent { case: case.clone(), variant, keeps: keeps(), points, chosen: 0 });
        }
    }

    /// The next case's plan.
    pub(super) fn plan(&mut self, draws: &mut Stream) -> Plan {
        let change = drawn(&[self.fresh.rate(), self.changed.rate()], draws) == 1;
        if !change || self.parents.is_empty() {
            let only = draws.below(ANY_VARIANT) > 0;
            let rates = || self.variants.iter().map(Yield::rate).collect::<Vec<f64>>();
            return Plan::Fresh(only.then(|| drawn(&rates(), draws)));
        }
        let keep = draws.below(KEEP.1) < KEEP.0;
        let parent = self.choose(keep, draws);
        self.parents[parent].chosen += 1;
        Plan::Change { parent, other: draws.below(self.parents.len() as u64) as usize, keep }
    }

    /// The parent whose rarest point is rarest, each choice counted as a meeting, so that none is taken for ever; now and then any.
    /// For a child that keeps the contract, one that does, if there is one.
    fn choose(&self, keep: bool, draws: &mut Stream) -> usize {
        if draws.below(ANY_PARENT) == 0 {
            return draws.below(self.parents.len() as u64) as usize;
        }
        let met = |parent: &Parent| {
            let met = parent.points.iter().map(|&point| self.met[parent.variant][point]).min();
            met.unwrap_or(u64::MAX).saturating_add(parent.chosen)
        };
        let suited = self.parents.iter().enumerate().filter(|(_, parent)| parent.keeps || !keep);
        suited.min_by_key(|(_, parent)| met(parent)).map_or(0, |(index, _)| index)
    }
}

/// An index, by weight.
fn drawn(weights: &[f64], draws: &mut Stream) -> usize {
    let sum: f64 = weights.iter().sum();
    let mut left = sum * (draws.below(1 << 32) as f64 / (1u64 << 32) as f64);
    for (index, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return index;
        }
    }
    weights.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_shares() {
        let mut draws = Stream::at(1, [0; 4]);
        let mut counts = [0; 3];
        for _ in 0..4000 {
            counts[drawn(&[1.0, 0.0, 3.0], &mut draws)] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((850..1150).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn a_yield_fades() {
        let mut some = Yield::new();
        some.learn(10);
        let high = some.rate();
        (0..100).for_each(|_| some.learn(0));
        assert!(high > 5.0 && some.rate() < 0.02 && some.rate() > 0.0);
    }
}
