//! The example family: a gather of each sequence's last cached tokens into consecutive rows, widened to f32 and scaled.
//!
//! It is here to show what a family consists of (CONTRIBUTING.md says how to add one), and as a test that nothing outside a family's
//! folder knows which kernel it has. Its kernel is no product: `kernels/examples/gather`.
//!
//! It takes the cache, the page table, the lengths and num_seqs as ragged paged attention does, and no q. A variant's q has the
//! output's shape: two "query heads" for each KV head, f32.
//!
//! Invariant: nobody outside asks for this module but [`crate::family`].

mod contract;
mod meaning;

use countersign_dtype::DType;
use countersign_mosaic::Trace;
use countersign_reference::{Batch, Metadata, Profile, Reference, gather};

use crate::call::{Call, CallOperand, OptionValue};
use crate::checks::{StaticCall, Verdict};
use crate::contract::{Breach, Rule};
use crate::family::{Model, Rows, ScriptParts};
use crate::rpa::bind::{FUEL_CAP, Role};
use crate::variant::Variant;

/// The family.
#[derive(Debug, Clone, Copy)]
pub struct Gather;

impl Model for Gather {
    fn roles(&self) -> &'static [Role] {
        &[Role::KvPages, Role::KvLens, Role::PageIndices, Role::CuQLens, Role::NumSeqs]
    }

    fn rows(&self) -> Rows {
        Rows { array: "output", unit: "gathered token", more: "rows={needed}" }
    }

    fn is_attention(&self) -> bool {
        false
    }

    /// A row is a block of its own, and so is a page.
    fn settle(&self, variant: &mut Variant) -> Result<(), String> {
        variant.q_heads = 2 * variant.kv_heads;
        variant.q_dtype = DType::F32;
        (variant.pages_per_block, variant.queries_per_block) = (Some(1), Some(1));
        let options = &variant.options;
        if options.sliding_window.is_some() || options.soft_cap.is_some() {
            return Err(format!("variant {:?}: a gather has neither window nor soft cap", variant.name));
        }
        Ok(())
    }

    fn heads_per_block(&self, variant: &Variant) -> Option<(usize, usize)> {
        Some((variant.q_heads, 2 * variant.kv_heads))
    }

    fn call(&self, entry_point: &str, variant: &Variant) -> Call {
        let v = variant;
        let operand = |role: Role, dtype: DType, shape: Vec<usize>| CallOperand {
            name: role.name().to_owned(),
            dtype: dtype.into(),
            shape,
        };
        let float = |value: Option<f32>| value.map_or(OptionValue::None, OptionValue::Float);
        Call {
            entry_point: entry_point.to_owned(),
            generation: v.generation.name().to_owned(),
            operands: vec![
                operand(Role::KvPages, v.kv_dtype, vec![v.pages, v.page_size, 2 * v.kv_heads, v.head_dim]),
                operand(Role::KvLens, DType::I32, vec![v.max_seqs]),
                operand(Role::PageIndices, DType::I32, vec![v.max_seqs, v.pages_per_seq]),
                operand(Role::CuQLens, DType::I32, vec![v.max_seqs + 1]),
                operand(Role::NumSeqs, DType::I32, vec![1]),
            ],
            options: [
                ("rows", OptionValue::Int(v.tokens as i64)),
                ("k_scale", float(v.options.k_scale)),
                ("v_scale", float(v.options.v_scale)),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
            skip_static_validation: false,
        }
    }

    /// A grid step a row of the table, a turn of its loop a row of the output.
    fn fuel(&self, variant: &Variant, metadata: &Metadata, ops: u64) -> u64 {
        let turns = |ends: &[i32]| (i64::from(ends[1]) - i64::from(ends[0])).clamp(0, variant.tokens as i64);
        let sequences = metadata.sequences_in_table();
        let turns: i64 = metadata.cu_q_lens.windows(2).take(sequences).map(turns).sum();
        let once = (variant.max_seqs as u64 + turns.unsigned_abs()).saturating_mul(ops);
        once.saturating_mul(4).min(FUEL_CAP).max(once)
    }

    fn rules(&self) -> &'static [Rule] {
        contract::RULES
    }

    fn check_static(&self, call: &StaticCall) -> Vec<Breach> {
        contract::own(crate::rpa::contract::check_static(call))
    }

    fn check_metadata(&self, variant: &Variant, metadata: &Metadata) -> Vec<Breach> {
        contract::check_metadata(variant, metadata)
    }

    fn check_payload(&self, variant: &Variant, batch: &Batch, breaches: &mut Vec<Breach>) {
        contract::check_payload(variant, batch, breaches);
    }

    fn has_checks(&self) -> bool {
        false
    }

    fn static_check(&self, _call: &StaticCall) -> Verdict {
        Verdict::Accepts
    }

    fn dynamic_check(&self, _call: &StaticCall, _metadata: &Metadata) -> Verdict {
        Verdict::Accepts
    }

    fn reference(&self, reference: &mut Reference, variant: &Variant, batch: &Batch, accuracy: &Profile) {
        *reference = gather(batch, &variant.options, accuracy);
    }

    fn meaning(&self, variant: &Variant, trace: &Trace) -> Vec<String> {
        meaning::meaning(variant, trace)
    }

    fn script(&self) -> ScriptParts {
        ScriptParts {
            operands: include_str!("repro/operands.py"),
            reference: include_str!("repro/reference.py"),
            walk: include_str!("repro/walk.py"),
        }
    }
}
