//! The report model and its renderers.
//!
//! Invariant: shows what it is given; judges nothing, reads no kernel, knows no file but the one it is told to write.

mod markdown;
mod model;

pub use markdown::to_markdown;
pub use model::{
    CampaignReport, CaseReport, CoverageReport, FindingReport, FindingStatus, Hits, InternalError,
    KernelReport, LineCoverage, Place, Report, SCHEMA_VERSION, Summary, Tally, Timing, ValidatorWords,
};

/// The JSON Schema of [`Report`], as kept in `reports/schema/report.schema.json`.
pub const SCHEMA: &str = include_str!("../schema/report.schema.json");

/// The report as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field of the model allows.
pub fn to_json(report: &Report) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(report)?;
    text.push('\n');
    Ok(text)
}
