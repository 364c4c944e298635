//! The measured contracts that come with the program, so that what a kernel does with a broken batch can be said without
//! running it.
//!
//! Invariant: a published table is what a measurement wrote, unedited; a test measures afresh and compares.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use countersign_reports::{ContractTable, Counts, contract_from_json, counts_text, effect_words};

/// Text of each published table.
const TEXTS: [&str; 1] = [include_str!("../../../reports/published/jax-rpa-0.10.2-contract.json")];

/// What was measured of a broken rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleEffect<'t> {
    /// Versions of the packages that it was measured on.
    pub packages: &'t BTreeMap<String, String>,
    /// Probes just outside the rule, over all variants.
    pub probes: u64,
    /// What became of them: `right`, `right where defined`, `wrong-rows`, `others-rows`, a fault's class, …
    pub effects: &'t Counts,
    /// What the dynamic check said of them: `accepts`, a check's id, `crashes`.
    pub dynamic: &'t Counts,
}

impl RuleEffect<'_> {
    /// In words: `of 62 probes: copies still in flight at the end 24, harmless … 38`.
    pub fn sentence(&self) -> String {
        let effects = counts_text(self.effects, |name| effect_words(name).to_owned());
        format!("of {} probes: {effects}", self.probes)
    }
}

/// The published table of a kernel.
pub fn published(kernel: &str) -> Option<&'static ContractTable> {
    static TABLES: OnceLock<Vec<ContractTable>> = OnceLock::new();
    let tables =
        TABLES.get_or_init(|| TEXTS.iter().filter_map(|text| contract_from_json(text).ok()).collect());
    tables.iter().find(|table| table.kernel == kernel)
}

/// What was measured of batches that break `rule` of `kernel`; `None` for a kernel without a published table, or a rule of
/// another.
pub fn effect_of(kernel: &str, rule: &str) -> Option<RuleEffect<'static>> {
    let table = published(kernel)?;
    let row = table.rules.iter().find(|row| row.id == rule)?;
    let side = &row.broken;
    Some(RuleEffect {
        packages: &table.packages,
        probes: side.tried,
        effects: &side.effects,
        dynamic: &side.dynamic,
    })
}

#[cfg(test)]
mod tests {
    use countersign_kernels::contract::rules;

    use super::*;

    #[test]
    fn every_rule_has_a_measured_effect() {
        for text in TEXTS {
            contract_from_json(text).unwrap();
        }
        for rule in rules(countersign_kernels::family::Family::Rpa) {
            let effect = effect_of("jax-rpa", rule.id).unwrap_or_else(|| panic!("{}", rule.id));
            assert!(effect.probes > 0, "{}", rule.id);
            assert_eq!(effect.effects.values().sum::<u64>(), effect.probes, "{}", rule.id);
        }
        assert_eq!(effect_of("jax-rpa", "no-such-rule"), None);
        assert_eq!(effect_of("no-such-kernel", "num-seqs-positive"), None);
    }
}
