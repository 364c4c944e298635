//! The same mutants under upstream's own batches and tolerance: what its test would notice.
//!
//! A batch for each of its test functions, at its longest list of sequences, in the mutant's own types, heads and options: lengths
//! and number of sequences are scaled down until they fit the variant. Payload as there: normal numbers, NaN where nothing is
//! owned. Machine checks that a device doesn't have (undefined values, races) are off, and what they would have stopped goes on.
//! The comparison is numpy's `assert_allclose` with 0.15 for f32 caches and 0.2 for narrower ones, absolute and relative.
//!
//! Invariant: errs in upstream's favour. Every fault that stops the machine counts as noticed, and the comparison is with exact
//! values where upstream's reference rounds as the kernel does.

use std::sync::OnceLock;

use countersign_dtype::DType;
use countersign_kernels::Variant;
use countersign_kernels::engine::{Engine, EngineEnd, Lowered, Policy};
use countersign_kernels::rpa::{bind, facts};
use countersign_mosaic::{Program, Sanitizers};
use countersign_reference::{Batch, Blocking, Reference, RowStatus, attend};

use super::{Fate, Mutant, Score};
use crate::campaign::Subject as _;
use crate::case::{Case, Payload, VariantRef};
use crate::corpus::{TestFunction, lay_out, test_functions};
use crate::loaded::Loaded;
use crate::ordered::in_parallel;
use crate::payload::Pattern;

/// What upstream's batches notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Batches that each mutant was given.
    pub batches: usize,
    /// Whether they tell a mutant, for each that isn't equivalent and could be run, in their order.
    pub noticed: Vec<bool>,
    /// Of these, how many our own cases didn't notice.
    pub only: usize,
    /// Batches under which the kernel itself is called wrong, in words.
    pub alarms: Vec<String>,
}

impl Upstream {
    /// Noticed over all. 0 of none.
    pub fn score(&self) -> f64 {
        self.count() as f64 / self.noticed.len().max(1) as f64
    }

    /// How many are noticed.
    pub fn count(&self) -> usize {
        self.noticed.iter().filter(|noticed| **noticed).count()
    }
}

/// Runs the mutants of `score` that aren't equivalent. The batches are those of attention's test: of another kernel, nothing.
///
/// # Errors
/// If upstream's batches can't be read; in words.
pub fn run(loaded: &Loaded, jobs: usize, score: &Score) -> Result<Option<Upstream>, String> {
    if !loaded.kernel().family.model().is_attention() {
        return Ok(None);
    }
    let functions = test_functions().map_err(|error| error.to_string())?;
    let tests: Vec<OnceLock<Vec<Test>>> = loaded.variants().iter().map(|_| OnceLock::new()).collect();
    let of = |position: usize| -> &[Test] {
        tests[position].get_or_init(|| {
            let variant = &loaded.variants()[position];
            let kernel = &loaded.kernel().id;
            (1..)
                .zip(&functions)
                .filter_map(|(seed, function)| Test::of(function, variant, kernel, seed))
                .collect()
        })
    };
    let counted: Vec<&(Mutant, Fate)> = score.counted().collect();
    let noticed = in_parallel(jobs, &counted, |(mutant, _)| {
        let module = loaded.module(mutant.position).and_then(|module| mutant.mutation.of(&module));
        let program = module.and_then(|module| Program::lower(&module, loaded.outputs(mutant.position)).ok());
        program.is_some_and(|program| {
            let mut engine = loaded.engine_for(mutant.position, &Lowered::new(program));
            of(mutant.position)
                .iter()
                .any(|test| !test.passes(engine.as_mut(), &loaded.variants()[mutant.position]))
        })
    });
    let only =
        noticed.iter().zip(&counted).filter(|(noticed, (_, fate))| **noticed && *fate == Fate::Survived);
    let only = only.count();
    let positions: Vec<usize> = (0..loaded.variants().len()).collect();
    let alarms = in_parallel(jobs, &positions, |&position| {
        let (mut engine, variant) = (loaded.engine(position), &loaded.variants()[position]);
        let failing = of(position).iter().filter(|test| !test.passes(engine.as_mut(), variant));
        failing.map(|test| format!("{} {}", variant.name, test.name)).collect::<Vec<String>>()
    });
    let alarms = alarms.into_iter().flatten().collect();
    Ok(Some(Upstream { batches: functions.len(), noticed, only, alarms }))
}

/// One batch with what it should give.
struct Test {
    name: String,
    batch: Batch,
    expected: Reference,
}

impl Test {
    fn of(function: &TestFunction, variant: &Variant, kernel: &str, seed: u64) -> Option<Test> {
        let metadata = lay_out(&scaled(&function.sequences, variant), variant, seed);
        let case = Case {
            kernel: kernel.to_owned(),
            variant: VariantRef::Named(variant.name.clone()),
            metadata,
            payload: Payload::pattern(Pattern::Normal.name(), seed),
            checksum: None,
            statics: None,
        };
        let batch = case.batch(variant).ok()?;
        let kv_per_block = facts::kv_block(variant).unwrap_or(variant.page_size);
        let blocking = Blocking { kv_per_block, weights: DType::F32 };
        let expected = attend(&batch, &variant.options, &blocking, &Policy::default().profile.accuracy);
        Some(Test { name: function.name.clone(), batch, expected })
    }

    fn passes(&self, engine: &mut dyn Engine, variant: &Variant) -> bool {
        let sanitizers = Sanitizers { definedness: false, races: false };
        let policy = Policy { sanitizers, ..Policy::default() };
        let run = engine.run(&self.batch, &bind::bind(variant, &self.batch), &policy);
        let tolerance = if variant.kv_dtype == DType::F32 { 0.15 } else { 0.2 };
        match (run.end, run.output) {
            (EngineEnd::Finished, Some(output)) => all_close(&output.to_f32_vec(), &self.expected, tolerance),
            _ => false,
        }
    }
}

/// `assert_allclose` over the rows that have a value: |actual - expected| <= tolerance (1 + |expected|), so no NaN.
fn all_close(actual: &[f32], expected: &Reference, tolerance: f64) -> bool {
    let width = expected.values.len() / expected.rows.len().max(1);
    let rows = expected.rows.iter().zip(actual.chunks(width)).zip(expected.values.chunks(width));
    let valued = rows.filter(|((status, _), _)| matches!(status, RowStatus::Value { .. }));
    valued
        .flat_map(|((_, actual), expected)| actual.iter().zip(expected))
        .all(|(actual, expected)| (f64::from(*actual) - expected).abs() <= tolerance * (1.0 + expected.abs()))
}

/// Lengths (q_len, kv_len) that fit the variant, in about the proportions of `sequences`.
fn scaled(sequences: &[(usize, usize)], variant: &Variant) -> Vec<(usize, usize)> {
    let reach = facts::table_reach(variant.page_size, variant.pages_per_seq);
    let taken = &sequences[..sequences.len().min(variant.max_seqs).min(variant.tokens)];
    let total: usize = taken.iter().map(|(q_len, _)| q_len).sum();
    let longest = taken.iter().map(|(_, kv_len)| *kv_len).max().unwrap_or(1);
    let ratio = |room: usize, needed: usize| (room as f64 / needed.max(1) as f64).min(1.0);
    let factor = ratio(variant.tokens, total).min(ratio(reach, longest));
    let scale = |length: usize| ((length as f64 * factor) as usize).max(1);
    let mut lengths: Vec<(usize, usize)> = taken
        .iter()
        .map(|&(q_len, kv_len)| (scale(q_len).min(reach), scale(kv_len).max(scale(q_len)).min(reach)))
        .collect();
    while lengths.len() > 1 && lengths.iter().map(|(q_len, _)| q_len).sum::<usize>() > variant.tokens {
        lengths.pop();
    }
    lengths
}

#[cfg(test)]
mod tests {
    use countersign_kernels::catalogue::Catalogue;
    use countersign_kernels::contract::{self, Keeping};

    use super::*;

    #[test]
    fn scaled_batches_keep_the_contract_in_every_variant() {
        let catalogue = Catalogue::builtin().unwrap();
        let functions = test_functions().unwrap();
        assert_eq!(functions.len(), 8);
        for variant in
            catalogue.kernel("jax-rpa").unwrap().variants(countersign_kernels::catalogue::Tier::Small)
        {
            for function in &functions {
                let test = Test::of(function, variant, "jax-rpa", 1).unwrap();
                assert_eq!(
                    contract::check(variant, &test.batch).keeping(),
                    Keeping::Kept,
                    "{}",
                    variant.name
                );
            }
        }
    }

    #[test]
    fn a_value_is_close_within_tolerance_and_nan_never_is() {
        let expected = Reference {
            rows: vec![RowStatus::Value { sequence: 0 }],
            values: vec![1.0, -2.0],
            bounds: vec![0.0; 2],
        };
        assert!(all_close(&[1.29, -2.44], &expected, 0.15));
        assert!(!all_close(&[1.31, -2.0], &expected, 0.15));
        assert!(!all_close(&[1.0, f32::NAN], &expected, 0.15));
    }
}
