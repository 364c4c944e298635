//! Ratios of times, for a case, a variant, and all of them.
//!
//! Invariant: a ratio is named after what stands above the line, except `vm_over_interpreter_*` and `reference_over_jax_*`,
//! which say how many times faster the first is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Bench, TimedCase, TimedVariant, Times};

/// Every key of [`Bench::ratios`].
pub const RATIOS: [&str; 12] = [
    "vm_over_interpreter_warm",
    "vm_over_interpreter_new",
    "vm_over_interpreter_probe",
    "vm_time_over_native",
    "vm_time_over_native_filled",
    "vm_time_over_native_probe",
    "vm_time_over_reference",
    "reference_over_jax_fresh",
    "reference_over_jax_warm",
    "sanitizers_on_over_off",
    "sanitizers_on_over_off_probe",
    "two_jobs_over_one",
];

/// A ratio of one case.
type Measure = (&'static str, fn(&Times) -> Option<f64>);

const MEASURES: [Measure; 8] = [
    ("vm_over_interpreter_warm", |t| Some(t.interpreter_warm_ms? / t.vm_ms?)),
    ("vm_over_interpreter_new", |t| Some(t.interpreter_new_ms? / t.vm_new_ms?)),
    ("vm_time_over_native", |t| Some(t.vm_ms? / t.native_ms?)),
    ("vm_time_over_native_filled", |t| Some(t.vm_ms? / t.native_filled_ms?)),
    ("vm_time_over_reference", |t| Some(t.vm_ms? / t.reference_ms?)),
    ("reference_over_jax_fresh", |t| Some(t.jax_reference_fresh_ms? / t.reference_ms?)),
    ("reference_over_jax_warm", |t| Some(t.jax_reference_warm_ms? / t.reference_ms?)),
    ("sanitizers_on_over_off", |t| Some(t.vm_ms? / t.vm_unwatched_ms?)),
];

/// A ratio over cases.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// How many cases have it.
    pub cases: usize,
    /// Geometric mean.
    pub geometric_mean: f64,
    /// The smallest, of a case.
    pub smallest: f64,
    /// Variant of that case.
    pub smallest_at: String,
    /// The largest, of a case.
    pub largest: f64,
    /// Variant of that case.
    pub largest_at: String,
}

impl Spread {
    /// Over ratios, each with its variant; `None` over none.
    pub fn of<'a>(ratios: impl Iterator<Item = (&'a str, f64)>) -> Option<Spread> {
        let ratios: Vec<_> = ratios.filter(|(_, ratio)| ratio.is_finite() && *ratio > 0.0).collect();
        let by_ratio = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
        let (smallest, largest) = (ratios.iter().min_by(by_ratio)?, ratios.iter().max_by(by_ratio)?);
        let sum: f64 = ratios.iter().map(|(_, ratio)| ratio.ln()).sum();
        Some(Spread {
            cases: ratios.len(),
            geometric_mean: (sum / ratios.len() as f64).exp(),
            smallest: smallest.1,
            smallest_at: smallest.0.to_owned(),
            largest: largest.1,
            largest_at: largest.0.to_owned(),
        })
    }
}

impl TimedVariant {
    /// With the ratios of its cases.
    pub fn new(name: &str, cases: Vec<TimedCase>) -> TimedVariant {
        let over = |(key, of): &Measure| {
            let spread = Spread::of(cases.iter().filter_map(|case| Some((name, of(&case.times)?))))?;
            Some((*key, spread.geometric_mean))
        };
        let ratios = MEASURES.iter().filter_map(over).collect();
        TimedVariant { name: name.to_owned(), ratios, cases }
    }
}

impl Bench {
    /// Fills [`Bench::ratios`] and [`Bench::spreads`] from the times.
    pub fn summed_up(mut self) -> Bench {
        let cases = || {
            self.variants
                .iter()
                .flat_map(|variant| variant.cases.iter().map(|case| (variant.name.as_str(), &case.times)))
        };
        let spread = |(key, of): &Measure| {
            Some((*key, Spread::of(cases().filter_map(|(name, times)| Some((name, of(times)?))))?))
        };
        let spreads: BTreeMap<_, _> = MEASURES.iter().filter_map(spread).collect();
        let probe = self.probe.as_ref().map(|probe| &probe.times);
        let of_probe = |name: &str| {
            let (_, of) = MEASURES.iter().find(|(key, _)| *key == name)?;
            of(probe?)
        };
        let speed =
            |jobs| self.throughput.iter().find(|run| run.jobs == jobs).map(|run| run.cases_per_second);
        let ratio = |key: &'static str| match key {
            "vm_over_interpreter_probe" => of_probe("vm_over_interpreter_warm"),
            "vm_time_over_native_probe" => of_probe("vm_time_over_native"),
            "sanitizers_on_over_off_probe" => of_probe("sanitizers_on_over_off"),
            "two_jobs_over_one" => Some(speed(2)? / speed(1)?),
            _ => spreads.get(key).map(|spread: &Spread| spread.geometric_mean),
        };
        self.ratios = RATIOS.into_iter().map(|key| (key, ratio(key))).collect();
        self.spreads = spreads;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_geometric_mean_and_both_ends() {
        let spread = Spread::of([("a", 2.0), ("b", 8.0), ("c", f64::NAN)].into_iter()).unwrap();
        assert!((spread.geometric_mean - 4.0).abs() < 1e-12);
        assert_eq!((spread.cases, spread.smallest, spread.largest), (2, 2.0, 8.0));
        assert_eq!((spread.smallest_at.as_str(), spread.largest_at.as_str()), ("a", "b"));
        assert!(Spread::of(std::iter::empty()).is_none());
    }

    #[test]
    fn every_measure_is_a_key() {
        assert!(MEASURES.iter().all(|(key, _)| RATIOS.contains(key)));
    }
}
