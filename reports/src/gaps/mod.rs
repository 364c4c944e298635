//! The contract as measured, and the gaps between contract, validators and kernel: model and renderers.
//!
//! Invariant: a function of what was measured. Counts are counts of probes, slips or calls that were really tried; nothing here
//! says what a kernel does that no run showed.

mod markdown;
mod page;
mod words;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::FindingReport;

pub use markdown::gaps_to_markdown;
pub use page::gaps_to_html;
use words::made_of;
pub use words::{effect_words, gap_class};

/// Version of [`ContractTable`]'s and [`GapsReport`]'s JSON.
pub const GAPS_VERSION: u32 = 1;

/// How often each thing was seen.
pub type Counts = BTreeMap<String, u64>;

/// Every rule of a kernel's contract with what the upstream checks say, and what the kernel does, on both sides of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ContractTable {
    /// [`GAPS_VERSION`].
    pub version: u32,
    /// The kernel's id.
    pub kernel: String,
    /// Versions by package name.
    pub packages: BTreeMap<String, String>,
    /// SHA-256 of the kernel's source.
    pub source_sha256: String,
    /// Variants whose batches were run.
    pub variants: Vec<String>,
    /// Variants whose static calls were asked about.
    pub static_variants: Vec<String>,
    /// All rules, static ones first.
    pub rules: Vec<RuleRow>,
}

impl ContractTable {
    /// Whether the kernel has checks: static calls are asked about only then.
    pub fn has_checks(&self) -> bool {
        !self.static_variants.is_empty()
    }
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RuleRow {
    /// Its id.
    pub id: String,
    /// What holds for a batch that keeps it.
    pub sentence: String,
    /// `stated`, `implied` or `disputed`.
    pub standing: String,
    /// `static`, `batch` or `sequence`.
    pub scope: String,
    /// Operands and options that it speaks of.
    pub arrays: Vec<String>,
    /// The validators' messages that name it, numbers left out.
    pub messages: Vec<String>,
    /// What was measured just inside.
    pub kept: Side,
    /// What was measured just outside.
    pub broken: Side,
    /// Kinds of gaps that the probes show, with the number of probes that do.
    pub gaps: Counts,
    /// The probes one by one.
    pub probes: Vec<ProbeRow>,
}

/// One side of a rule's boundary, over all its probes and variants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Side {
    /// Calls and batches tried.
    pub tried: u64,
    /// What the static check said: `accepts`, a check's id, `crashes`.
    pub r#static: Counts,
    /// What the dynamic check said, where the static one accepts: it is asked although production never does.
    pub dynamic: Counts,
    /// What became of it.
    pub effects: Counts,
}

/// One probe, over all variants.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ProbeRow {
    /// What it is, e.g. `num_seqs = -1`.
    pub name: String,
    /// Whether it stands inside the rule.
    pub kept: bool,
    /// The real static check's words on the first variant.
    pub r#static: String,
    /// The real dynamic check's.
    pub dynamic: String,
    /// What became of it, by variants.
    pub effects: Counts,
    /// The first variant's run that went wrong, in a sentence; else empty.
    pub example: String,
}

/// A slip: a caller's mistake, over many batches.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SlipRow {
    /// Its name.
    pub slip: String,
    /// `kept`, `disputed` or `broken`.
    pub keeping: String,
    /// Batches made.
    pub cases: u64,
    /// Rules that they break, with the number of batches.
    pub rules: Counts,
    /// What the dynamic check says; the static check accepts all.
    pub dynamic: Counts,
    /// What the kernel does.
    pub effects: Counts,
    /// Batches in which a row of a sequence is wrong that breaks no rule itself.
    pub others: u64,
}

/// A gap with its smallest batch, or with the one edit that shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gap {
    /// The finding, with its batch and how that became as small as it is.
    pub finding: FindingReport,
    /// Whose rows are wrong, which, and through which entry.
    pub attribution: Vec<String>,
    /// Where the batch comes from: a corpus file, the measurement, or an edit of a call.
    pub origin: String,
    /// The case of the corpus that shows the gap under the same entry, a path below `corpus/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression: Option<String>,
    /// The signature of the entry in a known file that explains it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
    /// A Python script that shows it by itself, or why there is none.
    pub script: Result<String, String>,
}

/// The sweep of the static side.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SweepReport {
    /// Variants swept.
    pub variants: Vec<String>,
    /// Single edits by axis (`option`, `shape`, `type`).
    pub singles: Counts,
    /// Pairs drawn.
    pub pairs: u64,
    /// Those that show what one of their edits shows alone, and are therefore no finding of their own.
    #[serde(default)]
    pub explained: u64,
    /// Options and operands that were edited.
    pub swept: Vec<String>,
    /// Calls by how they stand to the contract, then by outcome.
    pub outcomes: BTreeMap<String, Counts>,
    /// Refusals by check or by line, each with its first words.
    pub words: Vec<(String, u64, String)>,
    /// Gaps.
    pub gaps: Vec<Gap>,
    /// Calls without an answer.
    pub unasked: u64,
    /// Where the port of a check says something else than the check: faults of ours.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GapsReport {
    /// [`GAPS_VERSION`].
    pub version: u32,
    /// Program and version.
    pub tool: String,
    /// The command that makes this report.
    pub command: String,
    /// The contract.
    pub contract: ContractTable,
    /// Slips.
    pub slips: Vec<SlipRow>,
    /// Gaps of batches.
    pub gaps: Vec<Gap>,
    /// The static side.
    pub sweep: Option<SweepReport>,
}

/// Any of these as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field allows.
pub fn gaps_to_json<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    Ok(text)
}

/// A contract table as published.
///
/// # Errors
/// A sentence: it isn't JSON of this version.
pub fn contract_from_json(text: &str) -> Result<ContractTable, String> {
    let table: ContractTable = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if table.version == GAPS_VERSION {
        Ok(table)
    } else {
        Err(format!("version {} is unknown", table.version))
    }
}

/// Counts as text, most first: `residue 30, right 6`.
pub fn counts_text(counts: &Counts, say: impl Fn(&str) -> String) -> String {
    let parts: Vec<String> =
        by_count(counts).iter().map(|(word, count)| format!("{} {count}", say(word))).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(", ") }
}

/// Most first, then by name.
fn by_count(counts: &Counts) -> Vec<(&str, u64)> {
    let mut sorted: Vec<(&str, u64)> = counts.iter().map(|(word, count)| (word.as_str(), *count)).collect();
    sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    sorted
}
