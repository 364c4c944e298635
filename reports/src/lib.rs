//! The report model and its renderers.
//!
//! Invariant: shows what it is given; judges nothing, reads no kernel, knows no file but the one it is told to write.

mod batch;
mod bench;
mod compiled;
mod diagnosis;
mod gaps;
mod html;
mod junit;
mod markdown;
mod model;
mod night;
mod read;
mod releases;
mod sarif;
mod signoff;

pub use batch::{BatchReport, BreachReport, EntryReport, MAX_COLUMNS, MAX_SEQUENCES, SequenceReport};
pub use bench::{
    BENCH_VERSION, Bench, Growth, GrowthPoint, RATIOS, SanitizerCost, Spread, Throughput, TimedCase,
    TimedVariant, Times, bench_to_html, bench_to_json,
};
pub use compiled::{
    COMPILED_VERSION, CompileReport, CompileVerdict, CompiledCell, CompiledRow, MemoryOverflow,
    compiled_to_html, compiled_to_json,
};
pub use diagnosis::{
    ArrayReport, BrokenRule, CauseReport, DIAGNOSIS_SCHEMA, DIAGNOSIS_VERSION, Diagnosis, DumpReport,
    FixReport, FixedArray, OtherCause, RunReport, Slice, UnjudgedRule, diagnosis_to_json, diagnosis_to_text,
};
pub use gaps::{
    ContractTable, Counts, GAPS_VERSION, Gap, GapsReport, ProbeRow, RuleRow, Side, SlipRow, SweepReport,
    contract_from_json, counts_text, effect_words, gap_class, gaps_to_html, gaps_to_json, gaps_to_markdown,
};
pub use html::to_html;
pub use junit::to_junit;
pub use markdown::to_markdown;
pub use model::{
    CampaignReport, CaseReport, CoverageReport, FaultReport, FindingReport, FindingStatus, Hits,
    InternalError, KernelReport, LineCoverage, MinimisedReport, OptionAxis, Place, R_BINS, R_UNIT,
    RDistribution, Report, SCHEMA_VERSION, SizeReport, SourceText, StackFrame, Summary, Tally, Timing,
    ValidatorWords, VariantReport,
};
pub use night::{
    NIGHT_VERSION, Night, NightFinding, NightTarget, Trend, night_to_html, night_to_json, night_to_markdown,
};
pub use read::{ReadError, from_json};
pub use releases::{
    ChangedCase, FindingChange, RELEASES_VERSION, ReleaseSide, ReleasesReport, releases_to_html,
    releases_to_json,
};
pub use sarif::to_sarif;
pub use signoff::{
    Claim, ControlsReport, Explained, Fuzzed, MutantReport, MutationReport, NOT_SEEN, Ratio, RelationReport,
    RelationsReport, Replayed, SIGNOFF_SCHEMA, SIGNOFF_VERSION, Signoff, SignoffTiming, Standing, Verdict,
    Waiver, signoff_from_json, signoff_to_html, signoff_to_json, signoff_to_markdown,
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
