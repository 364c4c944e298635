//! A sign-off: what is claimed of a kernel, what was asked for, what was measured, and the verdict; model and renderers.
//!
//! Invariant: everything that may differ between two runs of the same inputs stands under [`Signoff::timing`]. The evidence is in
//! the document itself, so that claims and verdict can be judged again from it alone.

mod annotated;
mod markdown;
mod page;
mod ratio;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{CompileReport, Report, Trend};

pub use markdown::signoff_to_markdown;
pub use page::signoff_to_html;
pub use ratio::Ratio;

/// Version of [`Signoff`]'s JSON.
pub const SIGNOFF_VERSION: u32 = 1;

/// The JSON Schema of [`Signoff`], as kept in `reports/schema/signoff.schema.json`.
pub const SIGNOFF_SCHEMA: &str = include_str!("../../schema/signoff.schema.json");

/// What no sign-off says anything about.
pub const NOT_SEEN: [&str; 3] = [
    "bugs of the TPU compiler itself: how Mosaic compiles the kernel's IR and lays out its memory",
    "timing on a device",
    "device arithmetic beyond what the error bound's profiles say",
];

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signoff {
    /// [`SIGNOFF_VERSION`].
    pub version: u32,
    /// Program and version.
    pub tool: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Claims that are refused.
    pub refused: Vec<String>,
    /// The kernel's id in the catalogue.
    pub kernel: String,
    /// Versions of the packages that it was lowered with.
    pub packages: BTreeMap<String, String>,
    /// Whether it comes from the user's own environment or file, so that nothing pins it.
    pub unpinned: bool,
    /// The fault that was put into the kernel's IR on purpose: such a sign-off is of no released kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutant: Option<String>,
    /// Seed: all evidence is a function of it and of what is hashed.
    pub seed: u64,
    /// The policy, as TOML.
    pub policy: String,
    /// SHA-256 of each input, by name; `mlir/NAME` is the exported module of a variant.
    pub inputs: BTreeMap<String, String>,
    /// SHA-256 of each part of the evidence, by its field's name.
    pub hashes: BTreeMap<String, String>,
    /// Every claim.
    pub claims: Vec<Claim>,
    /// Open findings that the verdict passes over.
    pub waivers: Vec<Waiver>,
    /// What isn't seen.
    pub not_seen: Vec<String>,
    /// The corpus, replayed.
    pub regressions: Replayed,
    /// Generated batches.
    pub campaign: Fuzzed,
    /// Batches that must be right, under every device profile.
    pub controls: ControlsReport,
    /// Changed batches; absent where the kernel's family has no relations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relations: Option<RelationsReport>,
    /// Small faults in the kernel's IR; absent where the kernel itself was called wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<MutationReport>,
    /// What the TPU compiler makes of every variant; absent where it wasn't asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compiled: Option<CompileReport>,
    /// Everything that may differ between runs.
    pub timing: SignoffTiming,
}

/// The verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Every claim is met, and nothing is passed over.
    #[serde(rename = "signed")]
    Signed,
    /// Every claim is met, with open findings waived.
    #[serde(rename = "signed with waivers")]
    SignedWithWaivers,
    /// Some claim isn't met.
    #[serde(rename = "refused")]
    Refused,
}

impl Verdict {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Signed => "signed",
            Verdict::SignedWithWaivers => "signed with waivers",
            Verdict::Refused => "refused",
        }
    }
}

/// How a claim stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Standing {
    /// It holds.
    #[serde(rename = "met")]
    Met,
    /// It doesn't.
    #[serde(rename = "failed")]
    Failed,
    /// Nobody looked; why is in [`Claim::details`].
    #[serde(rename = "not measured")]
    NotMeasured,
}

impl Standing {
    /// In words.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Met => "met",
            Standing::Failed => "failed",
            Standing::NotMeasured => "not measured",
        }
    }
}

/// One claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Stable name.
    pub id: String,
    /// What is claimed.
    pub sentence: String,
    /// How it stands.
    pub standing: Standing,
    /// What the policy asks for.
    pub required: String,
    /// What was found.
    pub measured: String,
    /// What stands against it, or why nobody looked; and what is left open with its reason.
    pub details: Vec<String>,
}

/// An open finding that the verdict passes over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Signature of the entry in a known file, `*` for any options.
    pub signature: String,
    /// The batches that it explains.
    pub when: String,
    /// Why it happens.
    pub reason: String,
    /// Where it is discussed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// First day on which it no longer holds, `YYYY-MM-DD`.
    pub expires: String,
    /// Cases of the corpus that show it.
    pub regressions: Vec<String>,
    /// Generated cases that show it.
    pub cases: u64,
    /// Calls that the TPU compiler refuses for it, each a variant and a generation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<String>,
}

impl Waiver {
    /// What shows it, in words.
    pub(crate) fn shown_by(&self) -> String {
        if !self.calls.is_empty() {
            return self.calls.join(", ");
        }
        let corpus = match self.regressions.as_slice() {
            [] => "no case of the corpus".to_owned(),
            names => names.join(", "),
        };
        format!("{corpus}; {} generated cases", crate::html::grouped(self.cases))
    }
}

/// A finding that an entry of a known file explains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Explained {
    /// Its signature.
    pub signature: String,
    /// The entry's place in the known files, from 0.
    pub entry: usize,
    /// Cases that show it.
    pub count: u64,
    /// The first of them.
    pub case: u64,
}

/// A replayed corpus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replayed {
    /// The replay's report; its cases are in the order of their names.
    pub report: Report,
    /// What known files explain, case by case.
    pub explained: Vec<Explained>,
}

/// A campaign.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fuzzed {
    /// Its report; of the findings, the new ones alone.
    pub report: Report,
    /// What known files explain.
    pub explained: Vec<Explained>,
}

/// The control suite.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlsReport {
    /// Controls.
    pub cases: u64,
    /// Rows that their batches own.
    pub rows: u64,
    /// Of these, rows that the bound says nothing about.
    pub vacuous: u64,
    /// Controls that couldn't be run.
    pub unsupported: u64,
    /// Largest error over bound, by types of q and cache, then by device profile.
    pub largest_r: BTreeMap<String, BTreeMap<String, Ratio>>,
    /// Controls called wrong.
    pub alarms: Vec<String>,
}

/// Metamorphic relations.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationsReport {
    /// Each that was asked.
    pub relations: Vec<RelationReport>,
    /// Those that weren't.
    pub not_asked: Vec<String>,
}

/// One relation.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RelationReport {
    /// Name.
    pub relation: String,
    /// `bitwise` or `within bounds`.
    pub exactness: String,
    /// Pairs of batches for which it held.
    pub held: u64,
    /// Cases to which it doesn't apply.
    pub not_applicable: u64,
    /// Pairs that neither ran to an end.
    pub neither_ended: u64,
    /// Where it failed.
    pub failures: Vec<String>,
}

/// The mutation score.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutationReport {
    /// Killed over all that aren't equivalent; those not run count against us.
    pub score: f64,
    /// Killed over all: every equivalent mutant counts against us, too.
    pub score_with_equivalents: f64,
    /// Something new was found in so many.
    pub killed: u64,
    /// Nothing was.
    pub survived: u64,
    /// The same program, or the same by argument.
    pub equivalent: u64,
    /// Not run, or not wholly.
    pub not_run: u64,
    /// Kept cases that each was given.
    pub cases: u64,
    /// Kept cases of the kernel itself.
    pub controls: u64,
    /// Of these, what was called wrong.
    pub false_alarms: Vec<String>,
    /// In the order of their drawing.
    pub mutants: Vec<MutantReport>,
}

/// One mutant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutantReport {
    /// The variant whose module is changed.
    pub variant: String,
    /// What is done.
    pub operator: String,
    /// Name of the op that is changed.
    pub op: String,
    /// The op's number in the module.
    pub number: usize,
    /// Which of the places in the op.
    pub place: usize,
    /// The constant's number in the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<String>,
    /// File of the kernel's source that the op comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Line there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// `killed`, `survived`, `equivalent` or `not run`.
    pub fate: String,
    /// The case that killed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<u64>,
    /// The signature that killed it, or why it is equivalent or wasn't run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What may differ between runs.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignoffTiming {
    /// The day on which it was signed, `YYYY-MM-DD`.
    pub date: String,
    /// Seconds that each part of the evidence took when it was made.
    pub seconds: BTreeMap<String, f64>,
    /// Figures over the nights of the machine that it was made on, where there were some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trends: Vec<Trend>,
}

impl Signoff {
    /// What it was lowered with: `jax 0.10.2, jaxlib 0.10.2`.
    pub fn lowered_with(&self) -> String {
        let packages: Vec<String> =
            self.packages.iter().map(|(name, version)| format!("{name} {version}")).collect();
        packages.join(", ")
    }

    /// The verdict as a sentence without its full stop.
    pub fn sentence(&self) -> String {
        match (self.verdict, self.waivers.len()) {
            (Verdict::Signed, _) => "signed".to_owned(),
            (Verdict::SignedWithWaivers, 1) => "signed with 1 waiver".to_owned(),
            (Verdict::SignedWithWaivers, count) => format!("signed with {count} waivers"),
            (Verdict::Refused, _) => format!("refused for {}", self.refused.join(", ")),
        }
    }
}

/// A sign-off as pretty-printed JSON with a final newline.
///
/// # Errors
/// Only if a number cannot be represented, which no field allows.
pub fn signoff_to_json(signoff: &Signoff) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(signoff)?;
    text.push('\n');
    Ok(text)
}

/// A sign-off as it was written.
///
/// # Errors
/// A sentence: it is no JSON of this version.
pub fn signoff_from_json(text: &str) -> Result<Signoff, String> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if version != SIGNOFF_VERSION {
        return Err(format!("version {version} is unknown"));
    }
    serde_json::from_str(text).map_err(|error| error.to_string())
}
