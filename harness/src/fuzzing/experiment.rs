//! What guidance is worth, measured: executions until a bug is found, and coverage after so many, with and without it.
//!
//! Invariant: functions of subject, known file and seed, in executions; who wants times takes them outside.

use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::Policy;

use super::attempt::Engines;
use super::{Guidance, Hunt};
use crate::campaign::Subject;
use crate::generate::generate;
use crate::known::KnownFile;

/// How often something new shows in the generator's kept cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rate {
    /// Cases that show a finding that isn't known.
    pub wrong: u64,
    /// Cases run.
    pub cases: u64,
}

/// How many of the generator's kept cases with these numbers show something new.
pub fn rate_of(
    subject: &dyn Subject,
    known: &KnownFile,
    seed: u64,
    numbers: impl Iterator<Item = u64>,
) -> Rate {
    let mut engines = Engines::of(subject);
    let mut rate = Rate::default();
    for number in numbers {
        let drawn =
            generate(seed, number, &subject.kernel().id, subject.variants(), Some(Keeping::Kept)).case;
        if let Some(tried) = engines.attempt(subject, known, &Policy::default(), &drawn) {
            rate.cases += 1;
            rate.wrong += u64::from(!tried.new.is_empty());
        }
    }
    rate
}

/// In which execution a search from nothing meets its first new finding; `None` if not within `budget`.
pub fn steps_until_found(
    subject: &dyn Subject,
    known: &KnownFile,
    guidance: Guidance,
    seed: u64,
    budget: u64,
) -> Option<u64> {
    let mut hunt = Hunt::new(subject, known, Policy::default(), guidance, Vec::new(), seed);
    (1..=budget).find(|_| !hunt.step().findings.is_empty())
}

/// Points covered by a search from nothing after so many executions each, in rising order.
pub fn coverage_at(
    subject: &dyn Subject,
    known: &KnownFile,
    guidance: Guidance,
    seed: u64,
    marks: &[u64],
) -> Vec<u64> {
    let mut hunt = Hunt::new(subject, known, Policy::default(), guidance, Vec::new(), seed);
    let mut done = 0;
    let mut after = |mark: u64| {
        while done < mark {
            hunt.step();
            done += 1;
        }
        hunt.covered().count()
    };
    marks.iter().map(|&mark| after(mark)).collect()
}

/// The median; of an even number, the mean of the middle two. 0 of none.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match (sorted.len(), sorted.len() % 2) {
        (0, _) => 0.0,
        (_, 1) => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Two-sided p of the Mann-Whitney U test: how likely samples of one distribution lie as far apart. By the normal approximation,
/// corrected for ties and for continuity, which serves from about 8 values each. 1 where either sample is empty or all are equal.
pub fn mann_whitney(one: &[f64], other: &[f64]) -> f64 {
    let (n, m) = (one.len() as f64, other.len() as f64);
    let beats = |a: f64, b: f64| {
        if a > b {
            1.0
        } else if a == b {
            0.5
        } else {
            0.0
        }
    };
    let u: f64 = one.iter().flat_map(|&a| other.iter().map(move |&b| beats(a, b))).sum();
    let mut all: Vec<f64> = one.iter().chain(other).copied().collect();
    all.sort_by(f64::total_cmp);
    let ties: f64 =
        all.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let count = n + m;
    let variance = n * m / 12.0 * (count + 1.0 - ties / (count * (count - 1.0)));
    if n == 0.0 || m == 0.0 || variance <= 0.0 {
        return 1.0;
    }
    let z = ((u - n * m / 2.0).abs() - 0.5).max(0.0) / variance.sqrt();
    libm::erfc(z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!((median(&[]), median(&[3.0]), median(&[4.0, 1.0, 2.0, 3.0])), (0.0, 3.0, 2.5));
    }

    /// Against scipy.stats.mannwhitneyu(…, method="asymptotic").
    #[test]
    fn the_rank_test_is_scipys() {
        let low: Vec<f64> = (0..10).map(f64::from).collect();
        let high: Vec<f64> = (10..20).map(f64::from).collect();
        let near = |p: f64, expected: f64| assert!((p - expected).abs() < 1e-6, "{p} for {expected}");
        near(mann_whitney(&low, &high), 0.000_182_67);
        near(mann_whitney(&[1.0, 2.0, 2.0, 3.0, 5.0], &[2.0, 4.0, 4.0, 6.0, 7.0]), 0.137_563_89);
        near(mann_whitney(&low, &low), 1.0);
        near(mann_whitney(&[1.0, 1.0], &[1.0, 1.0]), 1.0);
        near(mann_whitney(&[], &low), 1.0);
    }
}
