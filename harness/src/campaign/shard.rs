//! A campaign on several machines: each runs every n-th case, and the sums of all make those of the whole.
//!
//! Invariant: all shards of a campaign, merged in any order, give the totals of one run, findings with their first cases
//! included. A finding itself doesn't travel: its first case is run once more where the shards are merged.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use countersign_kernels::catalogue::VariantText;
use serde::{Deserialize, Serialize};

use super::{Plan, Subject, Totals, attempt};
use crate::signature::Signature;

/// Version of [`ShardFile`]'s form.
pub const SHARD_VERSION: u32 = 1;

/// Cases index, index + count, index + 2 count, … of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shard {
    /// Which, from 0.
    pub index: u64,
    /// Of how many.
    pub count: u64,
}

impl Shard {
    /// All cases.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Shard `index` of `count`, if there is such a one.
    ///
    /// # Errors
    /// A sentence.
    pub fn new(index: u64, count: u64) -> Result<Shard, String> {
        if index < count && count <= u64::from(u32::MAX) {
            Ok(Shard { index, count })
        } else {
            Err(format!("there is no shard {index} of {count}; they are counted from 0"))
        }
    }

    /// The index of its case `ordinal`.
    pub(super) fn case(self, ordinal: u64) -> u64 {
        self.index.saturating_add(ordinal.saturating_mul(self.count))
    }

    /// How many of the first `cases` cases are its own.
    pub fn share(self, cases: u64) -> u64 {
        cases.saturating_sub(self.index).div_ceil(self.count)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        let (index, count) = parts.ok_or("a shard is I/N, e.g. 0/4, 1/4, 2/4, 3/4")?;
        Shard::new(index, count)
    }
}

/// A finding that a shard met: enough to meet it again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// Its signature.
    pub signature: String,
    /// The entry of the known files that explains it.
    pub known: Option<usize>,
    /// Index of the first case of the shard that showed it.
    pub first: u64,
    /// Cases of the shard that showed it.
    pub count: u64,
}

/// What a shard leaves behind: what was run, and the sums.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShardFile {
    /// [`SHARD_VERSION`].
    pub version: u32,
    /// Program and version.
    pub tool: String,
    /// Which part it is.
    pub shard: Shard,
    /// Catalogue id.
    pub kernel: String,
    /// Hash of the kernel's source file.
    pub source_hash: String,
    /// Variants that cases were drawn from.
    pub variants: Vec<VariantText>,
    /// The campaign's seed.
    pub seed: u64,
    /// Cases of the whole campaign.
    pub cases: u64,
    /// `kept`, `disputed` or `broken` where only such cases were drawn.
    pub only: Option<String>,
    /// Device profile.
    pub profile: String,
    /// Whether copies also landed in other orders.
    pub orders: bool,
    /// sha256 over the known files.
    pub known: String,
    /// Whether it was interrupted before its end.
    pub interrupted: bool,
    /// Wall-clock seconds that it took.
    pub seconds: f64,
    /// Threads.
    pub jobs: usize,
    /// The sums.
    pub totals: Totals,
    /// Its findings, in the order of their first case.
    pub findings: Vec<Seen>,
}

impl ShardFile {
    /// What must be the same for shards of one campaign, as text.
    pub fn campaign(&self) -> String {
        let variants: Vec<&str> = self.variants.iter().map(|variant| variant.name.as_str()).collect();
        format!(
            "{} of {}, {} shards, seed {}, {} cases, only {}, profile {}, orders {}, source {}, known {}, variants {}",
            self.tool,
            self.kernel,
            self.shard.count,
            self.seed,
            self.cases,
            self.only.as_deref().unwrap_or("any"),
            self.profile,
            self.orders,
            self.source_hash,
            self.known,
            variants.join(" ")
        )
    }

    /// Findings of totals, in their serial form.
    pub fn seen(totals: &Totals) -> Vec<Seen> {
        let seen = totals.findings.iter().map(|found| Seen {
            signature: found.finding.signature.to_string(),
            known: found.known,
            first: found.index,
            count: found.count,
        });
        seen.collect()
    }
}

/// The totals of the whole campaign. That `files` are all its shards is for the caller to see to.
///
/// # Errors
/// A first case that doesn't show its finding again: another kernel, or a fault of ours.
pub fn merge(subject: &dyn Subject, plan: &Plan<'_>, files: &[ShardFile]) -> Result<Totals, String> {
    let mut totals = Totals::new(subject.variants(), plan.only);
    let mut seen: BTreeMap<(Signature, Option<usize>), (u64, u64)> = BTreeMap::new();
    for file in files {
        totals.absorb(&file.totals);
        for each in &file.findings {
            let signature = Signature::parse(&each.signature)?;
            let (first, count) = seen.entry((signature, each.known)).or_insert((u64::MAX, 0));
            *first = each.first.min(*first);
            *count += each.count;
        }
    }
    let mut firsts: Vec<u64> = seen.values().map(|(first, _)| *first).collect();
    firsts.sort_unstable();
    firsts.dedup();
    let mut engines: Vec<_> = subject.variants().iter().map(|_| None).collect();
    for index in firsts {
        let record = attempt(subject, plan, index, &mut engines);
        let wanted = |signature: &Signature, known: Option<usize>| {
            let (first, count) = seen.get(&(signature.clone(), known))?;
            (*first == index).then_some(*count)
        };
        totals.restore(record, &wanted)?;
    }
    match totals.findings.len() == seen.len() {
        true => Ok(totals),
        false => Err(format!("of {} findings, {} show again", seen.len(), totals.findings.len())),
    }
}
