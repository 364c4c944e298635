//! What a family of kernels is to the rest of the program: operands, rules, checks, a reference, and what its values mean.
//!
//! All families work on ragged batches with a page table ([`countersign_reference::Metadata`]); what they take of one, what they ask
//! of it and what they make of it differs. A family is a folder of this crate with an implementation of [`Model`], and a line of
//! [`Family`].
//!
//! Invariant: what differs between families is asked of [`Model`], and of nothing else; a variant and a call carry their family.

use countersign_mosaic::Trace;
use countersign_reference::{Batch, Metadata, Profile, Reference};
use serde::Deserialize;

use crate::call::Call;
use crate::gather::Gather;
use crate::rpa::Rpa;
use crate::rpa::bind::Role;
use crate::rpa::contract::{Breach, Rule};
use crate::rpa::validator::{StaticCall, Verdict};
use crate::variant::Variant;

/// A group of kernels that share operands, contract and checks, and so a module of this crate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Ragged paged attention with separate cache update, [`crate::rpa`].
    Rpa,
    /// The example: cached rows of each sequence, copied out of their pages, [`crate::gather`].
    ExampleGather,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 2] = [Family::Rpa, Family::ExampleGather];

    /// The name used in catalogues and case files.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Rpa => "rpa",
            Family::ExampleGather => "example-gather",
        }
    }

    /// The inverse of [`Family::name`].
    pub fn from_name(name: &str) -> Option<Family> {
        Family::ALL.into_iter().find(|family| family.name() == name)
    }

    /// All that is particular to it.
    pub fn model(self) -> &'static dyn Model {
        match self {
            Family::Rpa => &Rpa,
            Family::ExampleGather => &Gather,
        }
    }
}

/// The Python parts of a script that shows a finding, see [`crate::rpa::repro`].
#[derive(Debug, Clone, Copy)]
pub struct ScriptParts {
    /// `operands()` and `ask_validators()`.
    pub operands: &'static str,
    /// `reference()` and `wrong_rows(output, right)`.
    pub reference: &'static str,
    /// The kernel's walk over the metadata, for what the interpreter doesn't show: `walk()`, which raises `Found`.
    pub walk: &'static str,
}

/// The rows that `cu_q_lens` deals out to sequences, in words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// The array that they are of: an operand's name, or `output`.
    pub array: &'static str,
    /// What one of them is, e.g. `query token`.
    pub unit: &'static str,
    /// How a caller adds some, for `{missing}` that are missing of `{needed}`.
    pub more: &'static str,
}

/// What is particular to a family.
pub trait Model: Sync {
    /// The operands of its entry point, in order.
    fn roles(&self) -> &'static [Role];

    /// Whether q is among them.
    fn takes_q(&self) -> bool {
        self.roles().contains(&Role::Q)
    }

    /// What the rows are that `cu_q_lens` speaks of.
    fn rows(&self) -> Rows;

    /// Whether outputs are weighted means over V, of which metamorphic relations speak.
    fn is_attention(&self) -> bool;

    /// Makes what follows from the family's other sizes follow from them.
    ///
    /// # Errors
    /// In words: sizes that the family's kernels can't have.
    fn settle(&self, variant: &mut Variant) -> Result<(), String>;

    /// Query heads and combined KV heads of one grid step; `None` where the entry point refuses the heads.
    fn heads_per_block(&self, variant: &Variant) -> Option<(usize, usize)>;

    /// The call that a variant stands for.
    fn call(&self, entry_point: &str, variant: &Variant) -> Call;

    /// Fuel above which a run of a right kernel can't get, in executed ops of a program of `ops` ops.
    fn fuel(&self, variant: &Variant, metadata: &Metadata, ops: u64) -> u64;

    /// All rules, static ones first.
    fn rules(&self) -> &'static [Rule];

    /// The static rules that a call breaks.
    fn check_static(&self, call: &StaticCall) -> Vec<Breach>;

    /// The rules that metadata breaks.
    fn check_metadata(&self, variant: &Variant, metadata: &Metadata) -> Vec<Breach>;

    /// Adds the rules that values break; what broken metadata claims isn't looked at.
    fn check_payload(&self, variant: &Variant, batch: &Batch, breaches: &mut Vec<Breach>);

    /// Whether the kernel comes with checks that can be asked. If not, both verdicts are always `Accepts`.
    fn has_checks(&self) -> bool;

    /// What the entry point's own check says (port).
    fn static_check(&self, call: &StaticCall) -> Verdict;

    /// What the check of values says (port).
    fn dynamic_check(&self, call: &StaticCall, metadata: &Metadata) -> Verdict;

    /// What is right, with its bound, into a reference whose memory is used again.
    fn reference(&self, reference: &mut Reference, variant: &Variant, batch: &Batch, accuracy: &Profile);

    /// What the values on the way to a fault mean, a sentence each.
    fn meaning(&self, variant: &Variant, trace: &Trace) -> Vec<String>;

    /// The parts of scripts.
    fn script(&self) -> ScriptParts;
}
