//! Counts what is in a corpus: how many cases of each folder, tier, variant, type, rule, slip, class and pattern.
//!
//! Invariant: every slip, boundary class and pattern that there is has a count, so that what is missing shows as 0.

use std::collections::BTreeMap;

use countersign_kernels::catalogue::Tier;
use countersign_kernels::contract::Contract;

use super::Expect;
use crate::case::{CaseError, VariantRef};
use crate::generate::{BoundaryClass, Slip};
use crate::payload::Pattern;
use crate::replay::Item;

/// What cases are counted by, in the order in which it is shown.
pub const AXES: [&str; 11] = [
    "folder", "tier", "kernel", "variant", "types", "contract", "rule", "expects", "slip", "class", "pattern",
];

/// Counts by axis and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stats {
    /// Cases.
    pub cases: usize,
    /// One map for each of [`AXES`], in their order.
    pub counts: [BTreeMap<String, usize>; AXES.len()],
}

impl Default for Stats {
    fn default() -> Stats {
        let mut counts = [const { BTreeMap::new() }; AXES.len()];
        let mut all = |axis: &str, names: Vec<String>| {
            if let Some(counts) = at(&mut counts, axis) {
                counts.extend(names.into_iter().map(|name| (name, 0)));
            }
        };
        all("tier", [Tier::Small, Tier::Full].map(|tier| tier.name().to_owned()).into());
        all("slip", Slip::ALL.map(|slip| slip.name().to_owned()).into());
        all("class", BoundaryClass::ALL.map(BoundaryClass::name).into());
        all("pattern", Pattern::every().map(|pattern| pattern.name().to_owned()).collect());
        Stats { cases: 0, counts }
    }
}

fn at<'m>(
    counts: &'m mut [BTreeMap<String, usize>; AXES.len()],
    axis: &str,
) -> Option<&'m mut BTreeMap<String, usize>> {
    AXES.iter().position(|known| *known == axis).map(|position| &mut counts[position])
}

/// What the contract says of a case.
///
/// # Errors
/// If the case is inconsistent in itself.
pub fn contract_of(item: &Item) -> Result<Contract, CaseError> {
    let Item { file, variant, .. } = item;
    Ok(crate::trial::examine(variant, &file.case, &file.case.batch(variant)?).contract)
}

impl Stats {
    /// Counts a case.
    pub fn add(&mut self, item: &Item, contract: &Contract) {
        self.cases += 1;
        let Item { name, file, variant } = item;
        let case = &file.case;
        let (folder, file_name) = name.rsplit_once('/').unwrap_or((".", name));
        let mut count = |axis: &str, name: &str| {
            if let Some(counts) = at(&mut self.counts, axis) {
                *counts.entry(name.to_owned()).or_default() += 1;
            }
        };
        count("folder", folder);
        count("tier", Tier::of(variant).name());
        count("kernel", &case.kernel);
        count(
            "variant",
            match &case.variant {
                VariantRef::Named(name) => name,
                VariantRef::Inline(_) => "written out in the case",
            },
        );
        count("types", &format!("{} q, {} cache", variant.q_dtype.name(), variant.kv_dtype.name()));
        count("contract", contract.keeping().name());
        contract.rules().iter().for_each(|rule| count("rule", rule.id));
        match &file.expect {
            None => count("expects", "nothing stated"),
            Some(Expect::Clean) => count("expects", "clean"),
            Some(Expect::Signatures(signatures)) => {
                signatures.iter().for_each(|signature| count("expects", signature));
            }
        }
        // A slip can't be read off a batch: a case shows it whose file is named for it.
        let stem = file_name.strip_suffix(".toml").unwrap_or(file_name);
        if let Some(slip) = Slip::ALL.into_iter().find(|slip| slip.name() == stem) {
            count("slip", slip.name());
        }
        for class in BoundaryClass::observe(variant, &case.metadata) {
            count("class", &class.name());
        }
        count("pattern", &case.payload.pattern);
    }
}
