//! Which cases of a corpus add nothing to the others.
//!
//! A case adds nothing if a smaller one shows the same findings on the same variant and pattern, reaches at least the same
//! points of the kernel, and is of at least the same boundary classes.
//!
//! Invariant: pure; what stays shows every signature, coverage point and class that the whole shows. Named seeds stay.

use std::collections::BTreeSet;

use countersign_kernels::Variant;

use crate::generate::{BoundaryClass, Slip};
use crate::replay::Item;

/// What a case is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct Worth {
    /// Its file's path in the corpus.
    pub name: String,
    /// Bytes of its file.
    pub size: usize,
    /// The static side of its call, without its name.
    pub variant: Variant,
    /// Its payload pattern.
    pub pattern: String,
    /// Overrides are judged by the checks alone; such a case is only like one that has the same ones.
    pub statics: Option<crate::case::StaticOverrides>,
    /// Findings that it shows.
    pub signatures: BTreeSet<String>,
    /// Boundary classes.
    pub classes: Vec<BoundaryClass>,
    /// Coverage points, as bits.
    pub coverage: Vec<u64>,
}

/// What is to become of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It stays, and why.
    Keep(&'static str),
    /// It adds nothing to the case of this name.
    Drop(String),
}

impl Worth {
    /// What `item` is worth, from what a run of it showed.
    pub fn new(item: &Item, size: usize, signatures: BTreeSet<String>, coverage: Vec<u64>) -> Worth {
        let mut variant = item.variant.clone();
        variant.name.clear();
        Worth {
            name: item.name.clone(),
            size,
            variant,
            pattern: item.file.case.payload.pattern.clone(),
            statics: item.file.case.statics.clone(),
            signatures,
            classes: BoundaryClass::observe(&item.variant, &item.file.case.metadata),
            coverage,
        }
    }

    fn is_named_seed(&self) -> bool {
        let stem =
            self.name.rsplit('/').next().and_then(|file| file.strip_suffix(".toml")).unwrap_or_default();
        let in_seeds = self.name.rsplit('/').nth(1) == Some("seeds");
        in_seeds
            && (Slip::ALL.iter().any(|slip| slip.name() == stem)
                || BoundaryClass::ALL.iter().any(|class| class.name() == stem))
    }

    /// Whether `other` shows all that this shows.
    fn is_shown_by(&self, other: &Worth) -> bool {
        let reached = |at: usize| other.coverage.get(at).copied().unwrap_or(0);
        self.variant == other.variant
            && self.pattern == other.pattern
            && self.statics == other.statics
            && self.signatures == other.signatures
            && self.classes.iter().all(|class| other.classes.contains(class))
            && self.coverage.iter().enumerate().all(|(at, bits)| bits & !reached(at) == 0)
    }
}

/// A verdict for each case, in their order. Smaller files come first, of equals the one of the smaller name.
pub fn prune(cases: &[Worth]) -> Vec<Verdict> {
    let mut order: Vec<usize> = (0..cases.len()).collect();
    order.sort_by_key(|&at| (cases[at].size, cases[at].name.as_str()));
    let mut kept: Vec<usize> = Vec::new();
    let mut verdicts = vec![Verdict::Keep("no smaller case shows all that it shows"); cases.len()];
    for at in order {
        let case = &cases[at];
        if case.is_named_seed() {
            verdicts[at] = Verdict::Keep("a seed, named for what it shows");
        } else if let Some(&other) = kept.iter().find(|&&other| case.is_shown_by(&cases[other])) {
            verdicts[at] = Verdict::Drop(cases[other].name.clone());
            continue;
        }
        kept.push(at);
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use countersign_kernels::catalogue::Catalogue;

    use super::*;

    fn worth(name: &str, size: usize, signatures: &[&str], coverage: u64) -> Worth {
        let variant = Catalogue::builtin().unwrap().kernels[0].variants[0].variant.clone();
        Worth {
            name: name.to_owned(),
            size,
            variant,
            pattern: "normal@1".to_owned(),
            statics: None,
            signatures: signatures.iter().map(|signature| (*signature).to_owned()).collect(),
            classes: Vec::new(),
            coverage: vec![coverage],
        }
    }

    #[test]
    fn only_what_a_smaller_case_shows_wholly_goes() {
        let cases = [
            worth("large.toml", 300, &["a"], 0b0111),
            worth("small.toml", 100, &["a"], 0b1111),
            worth("other-finding.toml", 300, &["b"], 0b0111),
            worth("more-coverage.toml", 300, &["a"], 0b10000),
            worth("seeds/kv-len-zero.toml", 400, &["a"], 0b0001),
            worth("seeds/unnamed.toml", 400, &["a"], 0b0001),
        ];
        let dropped: Vec<bool> =
            prune(&cases).iter().map(|verdict| matches!(verdict, Verdict::Drop(_))).collect();
        assert_eq!(dropped, [true, false, false, false, false, true]);
        assert_eq!(prune(&cases)[0], Verdict::Drop("small.toml".to_owned()));
    }

    #[test]
    fn of_two_equal_cases_one_stays() {
        let cases = [worth("b.toml", 100, &[], 1), worth("a.toml", 100, &[], 1)];
        assert!(matches!(&prune(&cases)[..], [Verdict::Drop(name), Verdict::Keep(_)] if name == "a.toml"));
    }

    #[test]
    fn another_class_or_pattern_is_worth_keeping() {
        let small = worth("a.toml", 100, &[], 1);
        let classes = vec![BoundaryClass::ALL[0]];
        let cases = [
            small.clone(),
            Worth { name: "b.toml".to_owned(), size: 200, classes, ..small.clone() },
            Worth { name: "c.toml".to_owned(), size: 200, pattern: "tiny@1".to_owned(), ..small.clone() },
        ];
        assert!(prune(&cases).iter().all(|verdict| matches!(verdict, Verdict::Keep(_))));
    }
}
