//! The same mutants under metamorphic relations alone: what an oracle without a reference would notice.
//!
//! Invariant: neither the reference's values nor the machine's own checks are looked at.

use std::collections::BTreeMap;

use countersign_kernels::engine::Lowered;
use countersign_mosaic::Program;

use super::{Fate, Mutant, Score};
use crate::campaign::Subject as _;
use crate::loaded::Loaded;
use crate::metamorphic::{Plan, first_failure};
use crate::ordered::in_parallel;

/// What relations notice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Related {
    /// The first relation that fails, for each mutant that isn't equivalent and could be run, in their order.
    pub by: Vec<Option<&'static str>>,
    /// How many our own cases didn't notice.
    pub only: usize,
}

impl Related {
    /// How many are noticed.
    pub fn count(&self) -> usize {
        self.by.iter().flatten().count()
    }

    /// Noticed over all. 0 of none.
    pub fn score(&self) -> f64 {
        self.count() as f64 / self.by.len().max(1) as f64
    }

    /// How many each relation was the first to notice.
    pub fn by_relation(&self) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        self.by.iter().flatten().for_each(|relation| *counts.entry(*relation).or_default() += 1);
        counts
    }
}

/// Runs the mutants of `score` that aren't equivalent.
pub fn run(loaded: &Loaded, plan: &Plan, score: &Score) -> Related {
    let counted: Vec<&(Mutant, Fate)> = score.counted().collect();
    let by = in_parallel(plan.jobs, &counted, |(mutant, _)| {
        let module = mutant.mutation.of(&loaded.module(mutant.position)?)?;
        let program = Program::lower(&module, loaded.outputs(mutant.position)).ok()?;
        let mut engine = loaded.engine_for(mutant.position, &Lowered::new(program));
        first_failure(loaded, plan, engine.as_mut(), &loaded.variants()[mutant.position])
    });
    let noticed = by.iter().zip(&counted).filter(|(by, (_, fate))| by.is_some() && *fate == Fate::Survived);
    Related { only: noticed.count(), by }
}
