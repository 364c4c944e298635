//! The family as the rest of the program sees it.
//!
//! Invariant: says nothing of its own; each answer is a module's.

use countersign_dtype::DType;
use countersign_mosaic::Trace;
use countersign_reference::{Batch, Blocking, Metadata, Profile, Reference, attend_into};

use super::bind::{self, Role};
use super::contract::{self, Breach, Rule};
use super::validator::{self, StaticCall, Verdict};
use super::{facts, meaning, repro};
use crate::call::Call;
use crate::family::{Model, Rows, ScriptParts};
use crate::variant::Variant;

/// Ragged paged attention.
#[derive(Debug, Clone, Copy)]
pub struct Rpa;

impl Model for Rpa {
    fn roles(&self) -> &'static [Role] {
        &Role::ALL
    }

    fn rows(&self) -> Rows {
        Rows { array: "q", unit: "query token", more: "q = np.pad(q, ((0, {missing}), (0, 0), (0, 0)))" }
    }

    fn is_attention(&self) -> bool {
        true
    }

    fn settle(&self, _variant: &mut Variant) -> Result<(), String> {
        Ok(())
    }

    fn heads_per_block(&self, variant: &Variant) -> Option<(usize, usize)> {
        facts::min_heads_per_block(variant)
    }

    fn call(&self, entry_point: &str, variant: &Variant) -> Call {
        Call::ragged_paged_attention(entry_point, variant)
    }

    fn fuel(&self, variant: &Variant, metadata: &Metadata, ops: u64) -> u64 {
        bind::fuel(variant, metadata, ops)
    }

    fn rules(&self) -> &'static [Rule] {
        contract::rules()
    }

    fn check_static(&self, call: &StaticCall) -> Vec<Breach> {
        contract::check_static(call)
    }

    fn check_metadata(&self, variant: &Variant, metadata: &Metadata) -> Vec<Breach> {
        let mut breaches = Vec::new();
        contract::metadata::check(variant, metadata, &mut breaches);
        breaches
    }

    fn check_payload(&self, variant: &Variant, batch: &Batch, breaches: &mut Vec<Breach>) {
        contract::payload::check(variant, batch, breaches);
    }

    fn has_checks(&self) -> bool {
        true
    }

    fn static_check(&self, call: &StaticCall) -> Verdict {
        validator::static_check(call)
    }

    fn dynamic_check(&self, call: &StaticCall, metadata: &Metadata) -> Verdict {
        validator::dynamic_check_call(call, metadata)
    }

    fn reference(&self, reference: &mut Reference, variant: &Variant, batch: &Batch, accuracy: &Profile) {
        let blocking = Blocking {
            // Left to the kernel's choice: as many blocks as there can be, so that the bound holds for any.
            kv_per_block: facts::kv_block(variant).unwrap_or(variant.page_size),
            weights: DType::F32,
        };
        attend_into(reference, batch, &variant.options, &blocking, accuracy);
    }

    fn meaning(&self, variant: &Variant, trace: &Trace) -> Vec<String> {
        meaning::meaning(variant, trace)
    }

    fn script(&self) -> ScriptParts {
        repro::PARTS
    }
}
