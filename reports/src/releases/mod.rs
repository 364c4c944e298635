//! Two releases of a kernel beside each other: findings, conduct, IR, coverage, errors, source.
//!
//! Invariant: shows what it is given. In every pair the first is of the first kernel that was named.

mod page;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use page::releases_to_html;

/// Version of [`ReleasesReport`]'s form.
pub const RELEASES_VERSION: u32 = 1;

/// Two releases, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ReleasesReport {
    /// [`RELEASES_VERSION`].
    pub version: u32,
    /// Name and version of the program.
    pub tool: String,
    /// The two.
    pub sides: [ReleaseSide; 2],
    /// Seed of the generated cases.
    pub seed: u64,
    /// Generated cases that both ran or refused.
    pub generated: u64,
    /// Regressions of the corpus that both ran or refused.
    pub regressions: u64,
    /// Cases that one of them couldn't run.
    pub unsupported: u64,
    /// Variants that both have and run.
    pub variants: Vec<String>,
    /// Lines of the kernel's source that only one has, as a diff; none where either isn't on disk as it was lowered.
    pub source: Option<Vec<String>>,
    /// Findings that not the same number of cases show, by signature without release.
    pub findings: Vec<FindingChange>,
    /// How many findings are shown by the same number of cases.
    pub findings_alike: u64,
    /// Cases with other findings or other conduct, the first of them.
    pub changes: Vec<ChangedCase>,
    /// How many there are.
    pub changed: u64,
    /// Ops in all modules.
    pub ops: [u64; 2],
    /// Ops whose counts differ, by name.
    pub op_changes: BTreeMap<String, [u64; 2]>,
    /// Coverage points hit, and all.
    pub points: [(u64, u64); 2],
    /// Lines of the kernel's source reached, and all that have ops.
    pub lines: [(u64, u64); 2],
    /// Largest error over bound of right rows, by variant.
    pub errors: BTreeMap<String, [f64; 2]>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReleaseSide {
    /// The kernel's id.
    pub kernel: String,
    /// Version by package name.
    pub packages: BTreeMap<String, String>,
    /// sha256 of the kernel's source.
    pub source_sha256: String,
    /// Variants that only the other has.
    pub lacks: Vec<String>,
    /// Variants that it can't run, and why.
    pub failures: BTreeMap<String, String>,
}

/// A finding that not the same number of cases show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingChange {
    /// Its signature, without the release.
    pub signature: String,
    /// In words.
    pub title: String,
    /// Cases that show it.
    pub cases: [u64; 2],
    /// The first case that only one of them shows it in.
    pub first: Option<String>,
}

/// A case that the two don't treat alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCase {
    /// Which.
    pub name: String,
    /// What each does.
    pub conduct: [String; 2],
}

impl ReleasesReport {
    /// Findings that only the second shows, or only the first.
    pub fn shown_by_one(&self, side: usize) -> impl Iterator<Item = &FindingChange> {
        self.findings.iter().filter(move |change| change.cases[side] > 0 && change.cases[1 - side] == 0)
    }
}

/// The report as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field allows.
pub fn releases_to_json(report: &ReleasesReport) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
