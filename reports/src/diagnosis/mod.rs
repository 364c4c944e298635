//! What `countersign diagnose` says of a dumped batch, as plain data, as JSON and as text.
//!
//! Invariant: the text says nothing that the data doesn't hold.

mod text;

use serde::{Deserialize, Serialize};

use crate::ValidatorWords;

pub use text::diagnosis_to_text;

/// Version of the JSON form; raised when a field changes meaning or goes away.
pub const DIAGNOSIS_VERSION: u32 = 1;

/// The JSON Schema of [`Diagnosis`], as kept in `reports/schema/diagnose.schema.json`.
pub const DIAGNOSIS_SCHEMA: &str = include_str!("../../schema/diagnose.schema.json");

/// A dumped batch, diagnosed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// [`DIAGNOSIS_VERSION`].
    pub schema_version: u32,
    /// Program and version.
    pub tool: String,
    /// The kernel whose contract counts.
    pub kernel: String,
    /// The exit code: 0 for a batch that keeps every rule, 1 for another.
    pub exit_code: u8,
    /// `kept`, `disputed` or `broken`.
    pub contract: String,
    /// What was read.
    pub dump: DumpReport,
    /// Likely mistakes, the likeliest first.
    pub causes: Vec<CauseReport>,
    /// Rules that the batch breaks as it was dumped.
    pub broken: Vec<BrokenRule>,
    /// How many rules it keeps.
    pub kept: usize,
    /// Rules that can't be judged, for want of a shape or of values.
    pub unjudged: Vec<UnjudgedRule>,
    /// What upstream's two checks say.
    pub validators: ValidatorWords,
    /// What the kernel did with the batch, where it was asked to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunReport>,
    /// The batch corrected, as far as that is possible.
    pub fix: FixReport,
    /// Where the case was saved, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved: Option<String>,
    /// Whatever else is worth knowing.
    pub notes: Vec<String>,
}

/// The file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DumpReport {
    /// `npz`, `safetensors` or `folder of npy files`.
    pub format: String,
    /// Whether arrays had to be inflated.
    pub compressed: bool,
    /// The operands found in it.
    pub arrays: Vec<ArrayReport>,
    /// Arrays that are none of the kernel's.
    pub unused: Vec<String>,
    /// The batch in a line: sequences, tokens, pages.
    pub batch: String,
}

/// An operand in a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArrayReport {
    /// The kernel's name for it.
    pub operand: String,
    /// The file's.
    pub name: String,
    /// NumPy's name of its element type.
    pub dtype: String,
    /// Extents.
    pub shape: Vec<usize>,
    /// Whether its values were read, not only its header.
    pub values: bool,
}

/// A likely mistake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseReport {
    /// Stable name; of a rule where no mistake was recognised.
    pub slip: String,
    /// In plain words.
    pub sentence: String,
    /// What speaks for it.
    pub why: String,
    /// What to write instead.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// Why the correction isn't the only one possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<String>,
    /// The arrays where they are wrong.
    pub found: Vec<Slice>,
    /// The same places, corrected.
    pub correct: Vec<Slice>,
    /// Other readings.
    pub others: Vec<OtherCause>,
}

/// Another reading of the same arrays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherCause {
    /// Stable name.
    pub slip: String,
    /// In plain words.
    pub sentence: String,
    /// Why it comes behind.
    pub behind: String,
}

/// A few entries of an array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Slice {
    /// The operand.
    pub array: String,
    /// Index of the first entry shown; empty for `num_seqs`.
    pub start: Vec<usize>,
    /// The entries, along the last dimension.
    pub values: Vec<i32>,
    /// Which of them are at fault.
    pub marked: Vec<usize>,
    /// Whether there are more behind them in their row.
    pub more: bool,
}

/// A broken rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BrokenRule {
    /// Stable id.
    pub id: String,
    /// What would hold.
    pub sentence: String,
    /// `stated`, `implied` or `disputed`.
    pub standing: String,
    /// How often it is broken.
    pub count: usize,
    /// Where: entry, value, limit. The first few.
    pub places: Vec<String>,
    /// What the kernel does with batches that break this rule alone, as measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<String>,
}

/// A rule that can't be judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnjudgedRule {
    /// Stable id.
    pub id: String,
    /// What is missing: an operand's shape, or `values`: those of q and the cache.
    pub wants: String,
}

/// A run of the kernel.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunReport {
    /// What was run: the batch itself, or a small one with the same slip.
    pub ran: String,
    /// What the kernel did.
    pub kernel: String,
}

/// The corrected batch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FixReport {
    /// Whether there is one correction.
    pub unambiguous: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// Corrected arrays in full; those of more than 1,024 entries only by shape.
    pub arrays: Vec<FixedArray>,
}

/// A corrected array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FixedArray {
    /// The operand.
    pub array: String,
    /// Extents.
    pub shape: Vec<usize>,
    /// Row-major int32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<Vec<i32>>,
}

/// The diagnosis as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field of the model allows.
pub fn diagnosis_to_json(diagnosis: &Diagnosis) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(diagnosis)?;
    text.push('\n');
    Ok(text)
}
