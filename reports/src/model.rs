//! What a report says, as plain data with a stable serialisation.
//!
//! Invariant: everything that may differ between two runs of the same seed, case count and kernel sits under
//! [`Report::timing`]; all else is a function of those, whatever the number of threads. Maps are ordered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::BatchReport;

/// Version of the JSON form; raised when a field changes meaning or goes away.
pub const SCHEMA_VERSION: u32 = 2;

/// A run, from its totals to each finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Program and version, e.g. `countersign 0.1.0`.
    pub tool: String,
    /// `fuzz` or `replay`.
    pub command: String,
    /// Device profile that kernels were run and bounded under, e.g. `v5e@1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The exit code that the run ends with.
    pub exit_code: u8,
    /// Totals.
    pub summary: Summary,
    /// What was drawn, of a fuzz run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub campaign: Option<CampaignReport>,
    /// Kernels under test.
    pub kernels: Vec<KernelReport>,
    /// Distinct findings, in the order of their first case.
    pub findings: Vec<FindingReport>,
    /// What became of the batches that break each rule, by rule id.
    pub rules: BTreeMap<String, Tally>,
    /// The same by metadata slip.
    pub slips: BTreeMap<String, Tally>,
    /// The cases of a replay, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cases: Vec<CaseReport>,
    /// Faults of our own: a panic, a finding that did not repeat, a validator port that differs from the validator.
    pub internal_errors: Vec<InternalError>,
    /// Everything that may differ between runs.
    pub timing: Timing,
}

/// Totals of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Summary {
    /// Cases run.
    pub cases: u64,
    /// Of these, batches that keep every rule.
    pub kept: u64,
    /// Batches that break disputed rules only.
    pub disputed: u64,
    /// Batches that break a stated or implied rule.
    pub broken: u64,
    /// Distinct findings that no entry of a known file explains.
    pub findings_new: u64,
    /// Distinct findings that an entry explains.
    pub findings_known: u64,
    /// Expectations and entries that no longer hold (replay).
    pub findings_stale: u64,
    /// Cases whose kernel could not be run because the VM lacks something, and variants that did not load.
    pub unsupported: u64,
    /// Findings about which the real validator could not be asked.
    pub unasked: u64,
    /// Faults of our own.
    pub internal_errors: u64,
    /// Whether the run was interrupted before its budget.
    pub interrupted: bool,
    /// Largest error over bound among rows that no finding is about; at most 1.
    pub largest_r: f64,
    /// Where `largest_r` was met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_r_at: Option<Place>,
    /// Share of the rows owned by sequences of kept batches that were compared to a value.
    pub kept_rows_compared_share: f64,
    /// How r is distributed, per pair of element types of q and cache (`bf16, f32`), over the rows of kept batches.
    pub r: BTreeMap<String, RDistribution>,
    /// Hits per class of the generator.
    pub hits: Hits,
}

/// Number of counts in [`RDistribution::rows`].
pub const R_BINS: usize = 24;
/// The upper edge of count i, for 1 <= i < [`R_BINS`] - 1, is 2 to the power of i - this.
pub const R_UNIT: usize = 19;

/// How the largest r (error over bound) of a row is distributed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RDistribution {
    /// [`R_BINS`] counts of rows, one a row by its largest r: exactly 0; then up to 2^-18, 2^-17, …, 1/2, 1, 2, 4, 8; and
    /// beyond. Count [`R_UNIT`] is the last that is within the bound.
    pub rows: Vec<u64>,
    /// The largest r of a row within the bound.
    pub largest: f64,
    /// Where `largest` was met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_at: Option<Place>,
}

impl RDistribution {
    /// Adds the rows of one case, and where its largest r within the bound is.
    pub fn add(&mut self, rows: &[u64; R_BINS], largest: Option<(f64, Place)>) {
        self.rows.resize(R_BINS, 0);
        for (total, count) in self.rows.iter_mut().zip(rows) {
            *total += count;
        }
        if let Some((r, place)) = largest
            && (self.largest_at.is_none() || r > self.largest)
        {
            (self.largest, self.largest_at) = (r, Some(place));
        }
    }
}

/// How often each class of the generator was drawn; a class that exists and was never drawn has 0.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Hits {
    /// Boundary classes.
    pub boundary: BTreeMap<String, u64>,
    /// The same by variant. A variant is left out where none of its valid batches can be of the class and none was.
    pub boundary_by_variant: BTreeMap<String, BTreeMap<String, u64>>,
    /// Cases per pair of option values, each written `axis: value` ([`KernelReport::axes`]), the earlier axis first. A pair
    /// that no variant has stands at 0 too.
    pub option_pairs: BTreeMap<String, BTreeMap<String, u64>>,
    /// Metadata slips.
    pub slip: BTreeMap<String, u64>,
    /// Payload patterns.
    pub pattern: BTreeMap<String, u64>,
    /// Variants.
    pub variant: BTreeMap<String, u64>,
}

/// One element of the output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// Variant.
    pub variant: String,
    /// Index of the case in the campaign or replay.
    pub case: u64,
    /// Row of the output.
    pub token: usize,
    /// Query head.
    pub head: usize,
    /// Position in the head.
    pub lane: usize,
}

/// What a campaign drew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CampaignReport {
    /// Seed: case i is a function of it and i.
    pub seed: u64,
    /// `kept`, `disputed` or `broken` where only such cases were drawn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<String>,
    /// Variants drawn from.
    pub variants: Vec<String>,
}

/// A kernel under test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct KernelReport {
    /// Catalogue id.
    pub id: String,
    /// Versions of the packages that it was lowered with.
    pub packages: BTreeMap<String, String>,
    /// Hash of its source file.
    pub source_hash: String,
    /// Whether it comes from the user's own environment, so that nothing pins it.
    pub unpinned: bool,
    /// The options by which variants differ, in the order of the report, each with its values.
    pub axes: Vec<OptionAxis>,
    /// Variants that cases were drawn from.
    pub variants: Vec<VariantReport>,
    /// Coverage of the lowered kernel.
    pub coverage: CoverageReport,
    /// The kernel's source file as it was lowered; absent where it is no longer the file on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceText>,
}

/// An option, and the values that it may have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionAxis {
    /// Name, e.g. `window`.
    pub name: String,
    /// Values in order, e.g. `none`, `set`.
    pub values: Vec<String>,
}

/// A variant of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct VariantReport {
    /// Its name.
    pub name: String,
    /// Its value on each axis.
    pub options: BTreeMap<String, String>,
    /// Why it could not be loaded, so that its cases did not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What may keep it from compiling for its TPU, by estimate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// The text of a source file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SourceText {
    /// File name without folders.
    pub file: String,
    /// Its lines, from line 1, without their ends.
    pub lines: Vec<String>,
}

/// Coverage of a kernel's IR, shown on its source.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CoverageReport {
    /// Per variant: points hit and points in all.
    pub variants: BTreeMap<String, (u64, u64)>,
    /// Per line of the kernel's source file that any IR op comes from, over all variants.
    pub lines: Vec<LineCoverage>,
}

/// Coverage of one line of the kernel's source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineCoverage {
    /// File name without folders.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Ops of the lowered kernel that come from this line, summed over variants.
    pub ops: u64,
    /// Of these, ops in a block that was entered.
    pub hit: u64,
    /// What no case made an op of this line do, in any variant: sides of branches, turns of loops, masks, copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<String>,
}

/// Whether a finding is news.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FindingStatus {
    /// No entry explains it.
    New,
    /// An open or accepted entry explains it.
    Known,
    /// An entry says that it was fixed, and here it is again.
    Returned,
}

/// A distinct finding.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FindingReport {
    /// One-line signature, by which findings are the same.
    pub signature: String,
    /// Whether it is news.
    pub status: FindingStatus,
    /// One sentence for a person.
    pub title: String,
    /// What happened in the first case: place, values, rule.
    pub detail: String,
    /// Why, in plain words, from the entry that explains it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Where the cause is discussed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Cases that showed it.
    pub count: u64,
    /// Index of the first case that showed it.
    pub case: u64,
    /// Variant of the case that is shown: that first one, or what was made of it.
    pub variant: String,
    /// What the validators say about the case that is shown.
    pub validators: ValidatorWords,
    /// The signature's first part: `divergence`, `gap:accepts-invalid`, …
    pub kind: String,
    /// Its third part: a rule, `check:ID`, `FILE:LINE,OP`, or `-` for nothing narrower than the kernel.
    pub locus: String,
    /// Its fourth part, what the finding does to the user: `wrong-rows`, `race`, …
    pub effect: String,
    /// Its fifth part: the options of the variant, joined by `+`, or `-`.
    pub options: String,
    /// What the kernel did with it, in a sentence; absent if the case did not run again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Its fault, if the kernel faulted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<FaultReport>,
    /// Its batch, to be drawn; absent if the case has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchReport>,
    /// The stored case, relative to the run's folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The case as the text of a case file, so that a report alone suffices to replay it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub case_file: Option<String>,
    /// How the case became smaller than it was found; absent where nobody tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimised: Option<MinimisedReport>,
    /// Whose outputs change because of the sequences that break a rule, in a sentence; absent where no sequence is to blame, or
    /// there are no others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<String>,
    /// What JAX's interpreter says where our machine and the reference disagree, in a sentence; absent where it wasn't asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub third: Option<String>,
    /// Which lines of the kernel this case covers and passing ones don't, in a sentence; only where the finding is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspects: Option<String>,
    /// A Python script that shows the finding by itself, relative to the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repro: Option<String>,
}

/// What the minimiser did with a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinimisedReport {
    /// The case as it was found, relative to the run's folder.
    pub original: String,
    /// Its size.
    pub before: SizeReport,
    /// The size of the case that is shown.
    pub after: SizeReport,
    /// Cases executed on the way.
    pub executions: u64,
    /// Whether nothing could be left out any more; else the budget ran out, or somebody pressed Ctrl-C.
    pub complete: bool,
}

/// The size of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeReport {
    /// Sequences.
    pub sequences: u64,
    /// Query tokens, as far as q has rows for them.
    pub queries: u64,
    /// Tokens in the cache over all sequences, as far as the page table reaches.
    pub keys: u64,
}

/// `5 sequences, 37 query tokens, 120 in the cache`.
impl std::fmt::Display for SizeReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let SizeReport { sequences, queries, keys } = self;
        let s = |count: &u64| if *count == 1 { "" } else { "s" };
        write!(
            f,
            "{sequences} sequence{}, {queries} query token{}, {keys} in the cache",
            s(sequences),
            s(queries)
        )
    }
}

/// A fault with its place in the kernel's source.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FaultReport {
    /// Its class, e.g. `out-of-bounds`.
    pub class: String,
    /// The IR op, e.g. `tpu.enqueue_dma`.
    pub op: String,
    /// Grid point, outermost index first; empty after the last one.
    pub grid: Vec<i64>,
    /// What was accessed, and what the limit is.
    pub message: String,
    /// Call stack, innermost first.
    pub stack: Vec<StackFrame>,
    /// Call stack of the other side, of a race or a copy left in flight; empty where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other: Vec<StackFrame>,
    /// What happened at the other side; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_role: Option<String>,
    /// The allocation that was accessed, with type, shape and space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// What the values mean that led there, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub meaning: Vec<String>,
    /// The values that led there, from the fault back, a line each, indented by two spaces a step.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
}

/// A frame of a call stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StackFrame {
    /// File name without folders.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Function; may be empty.
    pub function: String,
}

impl std::fmt::Display for StackFrame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{} in {}", self.file, self.line, self.function)
    }
}

/// What the kernel's own validators say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ValidatorWords {
    /// The static check: `accepts`, or its message.
    pub r#static: String,
    /// The dynamic check: `accepts`, or its message.
    pub dynamic: String,
    /// Whether the real Python validator was asked; else the words are those of the port.
    pub asked: bool,
}

/// What became of the batches that break one rule, or come from one slip.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tally {
    /// The rule's sentence; empty for a slip.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sentence: String,
    /// `stated`, `implied` or `disputed`; empty for a slip.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub standing: String,
    /// Batches that break it, with or without others.
    pub cases: u64,
    /// Batches that break it and nothing else; the counts below are over these (over all, for a slip).
    pub alone: u64,
    /// What the kernel did.
    pub kernel: BTreeMap<String, u64>,
    /// What the validators said.
    pub validators: BTreeMap<String, u64>,
}

/// A replayed case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseReport {
    /// File name, or the name within the built-in corpus.
    pub name: String,
    /// Rules broken, each with its detail.
    pub breaches: Vec<String>,
    /// `kept`, `disputed` or `broken`.
    pub keeping: String,
    /// What the validators say.
    pub validators: ValidatorWords,
    /// What the kernel does in production, in words.
    pub kernel: String,
    /// Signatures shown.
    pub shows: Vec<String>,
    /// `met`, `new` or `stale`.
    pub outcome: String,
}

/// A fault of our own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InternalError {
    /// `panic`, `not reproducible`, `validator port disagreement`, …
    pub kind: String,
    /// Index of the case.
    pub case: u64,
    /// What happened.
    pub message: String,
}

/// Everything that may differ between runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    /// Wall-clock seconds of the campaign.
    pub seconds: f64,
    /// Cases per second over all threads.
    pub cases_per_second: f64,
    /// Threads.
    pub jobs: usize,
    /// Folder that everything was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub out: Option<String>,
}
