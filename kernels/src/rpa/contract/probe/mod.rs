//! Probes: for each rule the nearest calls and batches on both sides of its boundary, as data.
//!
//! A rule of metadata or payload has probes that are batches of the variant; a static rule has calls that differ from the
//! variant's in shapes, element types or options. Some rules have more than one boundary (both ends of a range, the ends of
//! int32), and some are broken in more than one place of a batch, which a kernel may answer differently.
//!
//! Invariant: a kept edge keeps every rule; a broken one breaks its rule, and no other than those that it names in
//! [`Edge::besides`]. Where a variant has no room for an edge (one row in its page table, say) the edge is left out.

mod calls;
mod metadata;
mod payload;

use countersign_reference::Metadata;

use super::{Rule, Scope};
use crate::rpa::validator::StaticCall;
use crate::variant::Variant;

/// Both sides of a rule's boundary.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Probe {
    /// Just inside.
    pub kept: Vec<Edge>,
    /// Just outside.
    pub broken: Vec<Edge>,
}

/// One call or batch beside a boundary.
#[derive(Debug, Clone, PartialEq)]
pub struct Edge {
    /// What it is, e.g. `num_seqs = -1`.
    pub name: String,
    /// The call or batch.
    pub input: Input,
    /// Rules that it can't help breaking as well.
    pub besides: &'static [&'static str],
}

/// What an edge consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A batch of the variant: its metadata, and what is set in an ordinary payload.
    Batch(Metadata, Vec<Value>),
    /// A call that differs from the variant's.
    Call(Box<StaticCall>),
}

/// An array of the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Queries.
    Q,
    /// Keys.
    K,
    /// Values.
    V,
}

/// Sets owned elements of the payload.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// Which array.
    pub of: Of,
    /// Sequence, below num_seqs.
    pub sequence: usize,
    /// Row of q within the sequence, or position in its cache.
    pub token: usize,
    /// Query head, or KV head.
    pub head: usize,
    /// Lane of the head dimension; all of them if absent.
    pub lane: Option<usize>,
    /// What is stored, rounded to the array's type.
    pub value: f32,
}

/// The probe of `rule` for `variant`; empty for a rule that isn't one of [`super::rules`].
pub fn probe(rule: &Rule, variant: &Variant) -> Probe {
    match rule.scope {
        Scope::Static => calls::probe(rule.id, variant),
        Scope::Batch | Scope::Sequence => {
            let probe = metadata::probe(rule.id, variant);
            if probe == Probe::default() { payload::probe(rule.id, variant) } else { probe }
        }
    }
}

/// A batch that keeps every rule and that the probes are made of: up to three sequences, of which the second fills its row of
/// the page table.
pub fn base(variant: &Variant) -> Metadata {
    metadata::base(variant)
}

impl Probe {
    fn kept(&mut self, name: impl Into<String>, input: Input) {
        self.kept.push(Edge { name: name.into(), input, besides: &[] });
    }

    fn broken(&mut self, name: impl Into<String>, input: Input) {
        self.broken_besides(name, input, &[]);
    }

    fn broken_besides(&mut self, name: impl Into<String>, input: Input, besides: &'static [&'static str]) {
        self.broken.push(Edge { name: name.into(), input, besides });
    }
}

impl Edge {
    /// The batch's metadata; the variant's base batch for a call.
    pub fn metadata(&self, variant: &Variant) -> Metadata {
        match &self.input {
            Input::Batch(metadata, _) => metadata.clone(),
            Input::Call(_) => base(variant),
        }
    }
}
