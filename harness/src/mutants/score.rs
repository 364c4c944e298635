//! The result: which mutants were killed, and what that says of the harness.
//!
//! Invariant: killed + survived + equivalent + not run is all that were drawn.

use std::collections::BTreeMap;

use countersign_mosaic::mutation::Operator;

use super::{Fate, Mutant};

/// Mutants with their fates.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Score {
    /// Places where each operator could be applied, in all variants.
    pub sites: BTreeMap<Operator, usize>,
    /// In the order of their drawing.
    pub mutants: Vec<(Mutant, Fate)>,
    /// Cases that the kernel itself ran on.
    pub controls: u64,
    /// Of these, what was called wrong.
    pub alarms: Vec<String>,
}

/// How many there were of each fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Found.
    pub killed: usize,
    /// Not found.
    pub survived: usize,
    /// The same program, or the same by argument.
    pub equivalent: usize,
    /// Not run, or not wholly.
    pub not_run: usize,
}

impl Counts {
    fn add(&mut self, fate: &Fate) {
        let count = match fate {
            Fate::Killed { .. } => &mut self.killed,
            Fate::Survived => &mut self.survived,
            Fate::Equivalent(_) => &mut self.equivalent,
            Fate::NotRun(_) => &mut self.not_run,
        };
        *count += 1;
    }

    /// Killed over all that aren't equivalent; those not run count against us. 0 of none.
    pub fn score(&self) -> f64 {
        let all = self.killed + self.survived + self.not_run;
        if all == 0 { 0.0 } else { self.killed as f64 / all as f64 }
    }
}

impl Score {
    /// Of all mutants.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        self.mutants.iter().for_each(|(_, fate)| counts.add(fate));
        counts
    }

    /// Operator by operator, those without mutants among them.
    pub fn by_operator(&self) -> BTreeMap<Operator, Counts> {
        let mut by: BTreeMap<Operator, Counts> =
            Operator::ALL.into_iter().map(|operator| (operator, Counts::default())).collect();
        for (mutant, fate) in &self.mutants {
            by.entry(mutant.mutation.operator).or_default().add(fate);
        }
        by
    }

    /// Those that were run and aren't equivalent.
    pub fn counted(&self) -> impl Iterator<Item = &(Mutant, Fate)> {
        self.mutants.iter().filter(|(_, fate)| matches!(fate, Fate::Killed { .. } | Fate::Survived))
    }

    /// Those that nobody noticed.
    pub fn survivors(&self) -> impl Iterator<Item = &Mutant> {
        self.mutants.iter().filter(|(_, fate)| *fate == Fate::Survived).map(|(mutant, _)| mutant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_run_counts_against_us_and_what_is_equivalent_does_not() {
        let killed = Fate::Killed { case: 0, signature: String::new() };
        let mut counts = Counts::default();
        assert_eq!(counts.score(), 0.0);
        for fate in [
            killed.clone(),
            killed,
            Fate::Survived,
            Fate::Equivalent(String::new()),
            Fate::NotRun(String::new()),
        ] {
            counts.add(&fate);
        }
        assert_eq!(counts, Counts { killed: 2, survived: 1, equivalent: 1, not_run: 1 });
        assert_eq!(counts.score(), 0.5);
    }
}
