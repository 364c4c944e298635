//! The contract between a caller and the kernel: which rules a batch keeps or breaks, and where.
//!
//! Invariant: total over all batches, however absurd (all arithmetic on metadata is in i64), and independent of what
//! upstream's checks or the kernel do. One fact is reported once, under the rule at its root.

pub(crate) mod metadata;
pub(super) mod payload;
pub mod probe;
mod rules;
mod statics;

use std::collections::BTreeSet;

use countersign_reference::Batch;

pub use rules::{Rule, Scope, Standing, rules};
pub use statics::check_static;

use super::validator::{Check, StaticCall};
use crate::contract::check;
use crate::variant::Variant;

/// A broken rule and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breach {
    /// Which rule.
    pub rule: &'static Rule,
    /// The sequence whose own rule it is; `None` where the whole batch or the call is to blame.
    pub sequence: Option<usize>,
    /// Which entry, which value, which limit.
    pub detail: String,
    /// The entries of the metadata that are at fault, of a row of the page table the first four; none for a rule of the call or
    /// of the payload.
    pub entries: Vec<Entry>,
}

/// An entry of a metadata array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The operand's name, e.g. `page_indices`.
    pub array: &'static str,
    /// Index by dimension; empty for `num_seqs`.
    pub index: Vec<usize>,
}

/// How a batch stands to the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Keeping {
    /// All rules are kept.
    Kept,
    /// Disputed rules are broken, no other.
    Disputed,
    /// A stated or implied rule is broken.
    Broken,
}

impl Keeping {
    /// `kept`, `disputed` or `broken`.
    pub const fn name(self) -> &'static str {
        match self {
            Keeping::Kept => "kept",
            Keeping::Disputed => "disputed",
            Keeping::Broken => "broken",
        }
    }
}

/// What a batch breaks of the contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contract {
    /// Static rules first, then metadata, then payload; within a group the batch's before the sequences' in their order.
    pub breaches: Vec<Breach>,
}

impl Contract {
    /// How the batch stands to the contract.
    pub fn keeping(&self) -> Keeping {
        let worst = |breach: &Breach| match breach.rule.standing {
            Standing::Disputed => Keeping::Disputed,
            Standing::Stated | Standing::Implied => Keeping::Broken,
        };
        self.breaches.iter().map(worst).max().unwrap_or(Keeping::Kept)
    }

    /// The distinct rules that are broken, in the order of their first breach.
    pub fn rules(&self) -> Vec<&'static Rule> {
        let mut seen = BTreeSet::new();
        self.breaches.iter().map(|breach| breach.rule).filter(|rule| seen.insert(rule.id)).collect()
    }

    /// The sequences that break a rule of their own, ascending. Rules of the batch (`num_seqs`, the total, …) count
    /// against none.
    pub fn own_sequences(&self) -> Vec<usize> {
        let own: BTreeSet<usize> = self.breaches.iter().filter_map(|breach| breach.sequence).collect();
        own.into_iter().collect()
    }
}

impl Rule {
    /// The rule's own predicate: where `batch` breaks this rule, whatever else it breaks; nothing if it keeps it.
    ///
    /// An entry that is wrong by itself counts against the rule at its root only, here as in [`check`].
    pub fn breaches(&self, variant: &Variant, batch: &Batch) -> Vec<Breach> {
        self.own(check(variant, batch).breaches)
    }

    /// A static rule's predicate on any call; nothing for the other rules, which no call breaks.
    pub fn breaches_of_call(&self, call: &StaticCall) -> Vec<Breach> {
        self.own(crate::contract::check_static(call))
    }

    fn own(&self, mut breaches: Vec<Breach>) -> Vec<Breach> {
        breaches.retain(|breach| breach.rule.id == self.id);
        breaches
    }

    /// The messages by which upstream's checks refuse what breaks this rule, numbers left out; none where none names it.
    pub fn messages(&self) -> Vec<String> {
        self.refused_by.iter().filter_map(|id| Check::named(id)).map(Check::words).collect()
    }

    /// The rule of that id.
    pub fn named(id: &str) -> Option<&'static Rule> {
        rules().iter().find(|rule| rule.id == id)
    }
}

#[cfg(test)]
mod brute;
#[cfg(test)]
mod tests;
