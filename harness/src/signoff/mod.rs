//! Sign-off: evidence from every part of the harness, judged by a policy, as one document that can be checked again.
//!
//! ```text
//! policy ─┐
//! corpus, generator, controls, relations, mutants, compiler ─► parts (evidence) ─► claims ─► verdict
//!                                                     └──────────── document ──► verify
//! ```
//!
//! Invariant: a document is a function of seed, policy and what [`inputs`] hashes, but for its `timing`. Claims and verdict are a
//! function of the evidence in the document itself, with the day on which waivers are looked at.

pub mod claims;
pub mod parts;
pub mod policy;
pub mod verify;

use std::collections::BTreeMap;

use countersign_kernels::env::Versions;
use countersign_mosaic::mutation::{Mutation, Operator};
use countersign_reports::{
    CompileReport, ControlsReport, Fuzzed, MutationReport, NOT_SEEN, RelationsReport, Replayed,
    SIGNOFF_VERSION, Signoff, SignoffTiming, Trend,
};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::campaign::{Subject, tool};
use crate::loaded::Loaded;
use claims::{Evidence, Measure, judge};

/// SHA-256 in hex.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The hash of anything that can be JSON, without spaces.
///
/// # Errors
/// Only if a number cannot be represented.
pub fn hash_of<T: Serialize>(value: &T) -> Result<String, serde_json::Error> {
    serde_json::to_vec(value).map(sha256)
}

/// Everything that a sign-off depends on besides its seed, by name.
#[derive(Debug, Clone, Copy)]
pub struct Sources<'a> {
    /// The kernel with the variants of the campaign.
    pub loaded: &'a Loaded,
    /// The kernel with the variants of the corpus.
    pub corpus_kernel: &'a Loaded,
    /// Name and text of each case of the corpus.
    pub corpus: &'a [(String, String)],
    /// Texts of the known files.
    pub known: &'a [String],
    /// The policy's text.
    pub policy: &'a str,
    /// Versions of what lowered the kernel.
    pub versions: &'a Versions,
}

/// The hash of each input, by name.
///
/// # Errors
/// Only if a number cannot be represented.
pub fn inputs(sources: &Sources<'_>) -> Result<BTreeMap<String, String>, serde_json::Error> {
    let Sources { loaded, corpus_kernel, corpus, known, policy, versions } = sources;
    let environment = (&versions.python, &versions.packages);
    let mut inputs = BTreeMap::from([
        ("corpus".to_owned(), hash_of(corpus)?),
        ("environment".to_owned(), hash_of(&environment)?),
        ("known files".to_owned(), hash_of(known)?),
        ("policy".to_owned(), sha256(policy)),
        ("source".to_owned(), loaded.report(&[]).source_hash),
        ("tool".to_owned(), env!("COUNTERSIGN_SOURCE_SHA256").to_owned()),
    ]);
    let module = |loaded: &Loaded, position: usize| loaded.portable_text(position).map(sha256);
    for (position, variant) in loaded.variants().iter().enumerate() {
        let hash = module(loaded, position).unwrap_or_else(|| "not loaded".to_owned());
        inputs.insert(format!("mlir/{}", variant.name), hash);
    }
    let of_corpus: Vec<Option<String>> =
        (0..corpus_kernel.variants().len()).map(|position| module(corpus_kernel, position)).collect();
    inputs.insert("mlir of the corpus".to_owned(), hash_of(&of_corpus)?);
    Ok(inputs)
}

/// Inputs by which a sign-off made elsewhere may differ although its evidence is the same.
pub const INCIDENTAL: [&str; 2] = ["environment", "tool"];

/// A fault that is put into one variant's module on purpose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planted {
    /// The variant.
    pub variant: String,
    /// What is changed.
    pub mutation: Mutation,
}

impl Planted {
    /// Reads `VARIANT:OPERATOR:OP:PLACE`, as `countersign mutants` names them.
    ///
    /// # Errors
    /// What is wrong.
    pub fn parse(text: &str) -> Result<Planted, String> {
        let form = "write VARIANT:OPERATOR:OP:PLACE, as `countersign mutants --json` lists them";
        let fields: Vec<&str> = text.split(':').collect();
        let [variant, operator, op, place] = fields.as_slice() else { return Err(form.to_owned()) };
        let operator =
            Operator::named(operator).ok_or_else(|| format!("no operator `{operator}`: {form}"))?;
        let (Ok(op), Ok(place)) = (op.parse(), place.parse()) else { return Err(form.to_owned()) };
        Ok(Planted { variant: (*variant).to_owned(), mutation: Mutation { op, operator, place } })
    }

    /// The kernel with the fault in it, where it has the variant.
    ///
    /// # Errors
    /// If there is no such place, or what comes of it doesn't lower.
    pub fn plant(&self, loaded: Loaded) -> Result<Loaded, String> {
        let position = loaded.variants().iter().position(|variant| variant.name == self.variant);
        let Some(position) = position else { return Ok(loaded) };
        let module = loaded.module(position).ok_or("its variant couldn't be loaded")?;
        let mutant = self.mutation.of(&module).ok_or("there is no such place in the module")?;
        loaded.with_module(position, &mutant)
    }
}

/// As [`Planted::parse`] reads it.
impl std::fmt::Display for Planted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Mutation { op, operator, place } = self.mutation;
        write!(f, "{}:{}:{op}:{place}", self.variant, operator.name())
    }
}

/// All evidence with how long each part took.
#[derive(Debug, Clone, PartialEq)]
pub struct Parts {
    /// The corpus, replayed.
    pub regressions: Replayed,
    /// Generated batches.
    pub campaign: Fuzzed,
    /// The control suite.
    pub controls: ControlsReport,
    /// Metamorphic relations, where the family has any.
    pub relations: Option<RelationsReport>,
    /// The mutation score, where nothing else was refused.
    pub mutation: Option<MutationReport>,
    /// What the TPU compiler makes of the variants, where it was asked.
    pub compiled: Option<CompileReport>,
    /// Seconds by part.
    pub seconds: BTreeMap<String, f64>,
}

impl Parts {
    /// For the judgement.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence {
            regressions: &self.regressions,
            campaign: &self.campaign,
            controls: &self.controls,
            relations: self.relations.as_ref(),
            mutation: self.mutation.as_ref(),
            compiled: self.compiled.as_ref(),
        }
    }
}

/// What a document says besides evidence and judgement.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// Seed.
    pub seed: u64,
    /// The policy's text.
    pub policy: String,
    /// [`inputs`].
    pub inputs: BTreeMap<String, String>,
    /// The planted fault, as [`Planted::parse`] reads it.
    pub mutant: Option<String>,
}

/// The document.
///
/// # Errors
/// Only if a number cannot be represented.
pub fn document(
    about: About,
    measure: &Measure<'_>,
    parts: Parts,
    unpinned: bool,
    trends: Vec<Trend>,
) -> Result<Signoff, serde_json::Error> {
    let judgement = judge(measure, &parts.evidence());
    let About { seed, policy, inputs, mutant } = about;
    let Parts { regressions, campaign, controls, relations, mutation, compiled, seconds } = parts;
    let packages = campaign.report.kernels.first().map(|kernel| kernel.packages.clone()).unwrap_or_default();
    let mut signoff = Signoff {
        version: SIGNOFF_VERSION,
        tool: tool(),
        verdict: judgement.verdict,
        refused: judgement.refused,
        kernel: measure.kernel.to_owned(),
        packages,
        unpinned,
        mutant,
        seed,
        policy,
        inputs,
        hashes: BTreeMap::new(),
        claims: judgement.claims,
        waivers: judgement.waivers,
        not_seen: NOT_SEEN.map(str::to_owned).to_vec(),
        regressions,
        campaign,
        controls,
        relations,
        mutation,
        compiled,
        timing: SignoffTiming { date: measure.date.to_owned(), seconds, trends },
    };
    signoff.hashes = verify::hashes(&signoff)?;
    Ok(signoff)
}
