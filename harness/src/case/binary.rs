//! The compact binary form: the magic `CSGN`, a version byte, and a postcard record. It is also the fuzzer's input.
//!
//! Invariant: any bytes give a case or an error, never a panic; `from_bytes(to_bytes(case)) == case`. The record has types
//! of its own, so that the form changes only when its version does.

use std::collections::BTreeMap;

use countersign_dtype::DType;
use countersign_kernels::family::Family;
use countersign_kernels::operand_type::OperandType;
use countersign_kernels::{Generation, Variant};
use countersign_reference::{Metadata, Options};
use serde::{Deserialize, Serialize};

use super::{
    Case, CaseError, OPTION_NAMES, OperandName, OperandOverride, OptionValue, Patch, PatchTarget, Payload,
    StaticOverrides, VariantRef,
};

/// First bytes of every case in binary form.
pub const MAGIC: &[u8; 4] = b"CSGN";
/// Version of the record.
const VERSION: u8 = 1;
/// Longest record that is read.
const MAX_BYTES: usize = 1 << 24;

#[derive(Serialize, Deserialize)]
struct Record {
    kernel: String,
    variant: VariantRecord,
    kv_lens: Vec<i32>,
    page_indices: Vec<i32>,
    pages_per_seq: usize,
    cu_q_lens: Vec<i32>,
    num_seqs: i32,
    pattern: String,
    seed: u64,
    patches: Vec<PatchRecord>,
    checksum: Option<String>,
    statics: Option<StaticsRecord>,
}

#[derive(Serialize, Deserialize)]
enum VariantRecord {
    Named(String),
    Inline(Box<InlineRecord>),
    /// With the family's name, where that isn't `rpa`.
    OfFamily(String, Box<InlineRecord>),
}

#[derive(Serialize, Deserialize)]
struct InlineRecord {
    name: String,
    /// tokens, q_heads, kv_heads, head_dim, page_size, pages, max_seqs, pages_per_seq.
    sizes: [usize; 8],
    q_dtype: String,
    kv_dtype: String,
    pages_per_block: Option<usize>,
    queries_per_block: Option<usize>,
    sm_scale: f32,
    sliding_window: Option<i32>,
    soft_cap: Option<f32>,
    mask_value: f32,
    k_scale: Option<f32>,
    v_scale: Option<f32>,
    generation: String,
}

#[derive(Serialize, Deserialize)]
struct PatchRecord {
    target: u8,
    sequence: usize,
    token: usize,
    head: usize,
    lane: Option<usize>,
    value: f32,
}

#[derive(Serialize, Deserialize)]
struct StaticsRecord {
    operands: BTreeMap<u8, (Option<Vec<usize>>, Option<String>)>,
    options: BTreeMap<String, OptionRecord>,
}

#[derive(Serialize, Deserialize)]
enum OptionRecord {
    Absent,
    Integer(i64),
    Float(f64),
}

impl Case {
    /// The binary form.
    ///
    /// # Errors
    /// Of a case whose payload is a file.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CaseError> {
        if self.payload.file.is_some() {
            return Err(CaseError::new("a case whose payload is a file has no binary form"));
        }
        let mut bytes = MAGIC.to_vec();
        bytes.push(VERSION);
        postcard::to_extend(&record(self), bytes)
            .map_err(|error| CaseError::new(format!("the case can't be written in binary form: {error}")))
    }

    /// Reads the binary form.
    ///
    /// # Errors
    /// If the bytes aren't a case of this version, or the metadata's arrays don't fit each other.
    pub fn from_bytes(bytes: &[u8]) -> Result<Case, CaseError> {
        let body = bytes.strip_prefix(MAGIC).ok_or_else(|| {
            CaseError::new(
                "not a case in binary form: it doesn't start with `CSGN`; a TOML file ends in .toml",
            )
        })?;
        let body = match body.split_first() {
            Some((&VERSION, body)) => body,
            _ => {
                return Err(CaseError::new(
                    "a binary case of another version; a newer countersign may read it",
                ));
            }
        };
        if body.len() > MAX_BYTES {
            return Err(CaseError::new(format!("a binary case of more than {MAX_BYTES} bytes is refused")));
        }
        match postcard::take_from_bytes::<Record>(body) {
            Ok((record, [])) => restore(record),
            Ok((_, rest)) => {
                Err(CaseError::new(format!("damaged binary case: {} bytes too many", rest.len())))
            }
            Err(error) => Err(CaseError::new(format!("damaged binary case: {error}"))),
        }
    }
}

fn record(case: &Case) -> Record {
    let Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs } = case.metadata.clone();
    let patch = |patch: &Patch| PatchRecord {
        target: patch.target as u8,
        sequence: patch.sequence,
        token: patch.token,
        head: patch.head,
        lane: patch.lane,
        value: patch.value,
    };
    Record {
        kernel: case.kernel.clone(),
        variant: match &case.variant {
            VariantRef::Named(name) => VariantRecord::Named(name.clone()),
            VariantRef::Inline(variant) if variant.family == Family::Rpa => {
                VariantRecord::Inline(Box::new(inline_record(variant)))
            }
            VariantRef::Inline(variant) => {
                VariantRecord::OfFamily(variant.family.name().to_owned(), Box::new(inline_record(variant)))
            }
        },
        kv_lens,
        page_indices,
        pages_per_seq,
        cu_q_lens,
        num_seqs,
        pattern: case.payload.pattern.clone(),
        seed: case.payload.seed,
        patches: case.payload.patches.iter().map(patch).collect(),
        checksum: case.checksum.clone(),
        statics: case.statics.as_ref().map(statics_record),
    }
}

fn inline_record(v: &Variant) -> InlineRecord {
    InlineRecord {
        name: v.name.clone(),
        sizes: [
            v.tokens,
            v.q_heads,
            v.kv_heads,
            v.head_dim,
            v.page_size,
            v.pages,
            v.max_seqs,
            v.pages_per_seq,
        ],
        q_dtype: v.q_dtype.name().to_owned(),
        kv_dtype: v.kv_dtype.name().to_owned(),
        pages_per_block: v.pages_per_block,
        queries_per_block: v.queries_per_block,
        sm_scale: v.options.sm_scale,
        sliding_window: v.options.sliding_window,
        soft_cap: v.options.soft_cap,
        mask_value: v.options.mask_value,
        k_scale: v.options.k_scale,
        v_scale: v.options.v_scale,
        generation: v.generation.name().to_owned(),
    }
}

fn statics_record(statics: &StaticOverrides) -> StaticsRecord {
    let operand = |(name, over): (&OperandName, &OperandOverride)| {
        (*name as u8, (over.shape.clone(), over.dtype.map(|dtype| dtype.name().to_owned())))
    };
    let option = |(name, value): (&String, &OptionValue)| {
        let value = match *value {
            OptionValue::Absent => OptionRecord::Absent,
            OptionValue::Integer(value) => OptionRecord::Integer(value),
            OptionValue::Float(value) => OptionRecord::Float(value),
        };
        (name.clone(), value)
    };
    StaticsRecord {
        operands: statics.operands.iter().map(operand).collect(),
        options: statics.options.iter().map(option).collect(),
    }
}

fn restore(record: Record) -> Result<Case, CaseError> {
    let Record { kernel, variant, kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs, .. } = record;
    let rows_fit = pages_per_seq.checked_mul(kv_lens.len()) == Some(page_indices.len());
    if cu_q_lens.len() != kv_lens.len() + 1 || !rows_fit {
        return Err(CaseError::new("damaged binary case: the metadata's arrays don't fit each other"));
    }
    let variant = match variant {
        VariantRecord::Named(name) => VariantRef::Named(name),
        VariantRecord::Inline(inline) => VariantRef::Inline(Box::new(restore_variant(*inline, Family::Rpa)?)),
        VariantRecord::OfFamily(family, inline) => {
            let family = Family::from_name(&family)
                .ok_or_else(|| CaseError::new("damaged binary case: unknown family of kernels"))?;
            VariantRef::Inline(Box::new(restore_variant(*inline, family)?))
        }
    };
    let patches = record.patches.into_iter().map(restore_patch).collect::<Result<_, _>>()?;
    Ok(Case {
        kernel,
        variant,
        metadata: Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs },
        payload: Payload { pattern: record.pattern, seed: record.seed, patches, file: None },
        checksum: record.checksum,
        statics: record.statics.map(restore_statics).transpose()?,
    })
}

fn restore_variant(inline: InlineRecord, family: Family) -> Result<Variant, CaseError> {
    let [tokens, q_heads, kv_heads, head_dim, page_size, pages, max_seqs, pages_per_seq] = inline.sizes;
    let generation = Generation::from_name(&inline.generation)
        .ok_or_else(|| CaseError::new("damaged binary case: unknown TPU generation"))?;
    Ok(Variant {
        family,
        name: inline.name,
        tokens,
        q_heads,
        kv_heads,
        head_dim,
        page_size,
        pages,
        max_seqs,
        pages_per_seq,
        q_dtype: restore_dtype(&inline.q_dtype)?,
        kv_dtype: restore_dtype(&inline.kv_dtype)?,
        pages_per_block: inline.pages_per_block,
        queries_per_block: inline.queries_per_block,
        tuned: None,
        options: Options {
            sm_scale: inline.sm_scale,
            sliding_window: inline.sliding_window,
            soft_cap: inline.soft_cap,
            mask_value: inline.mask_value,
            k_scale: inline.k_scale,
            v_scale: inline.v_scale,
        },
        generation,
    })
}

fn restore_dtype(name: &str) -> Result<DType, CaseError> {
    DType::from_name(name).ok_or_else(|| CaseError::new("damaged binary case: unknown element type"))
}

fn restore_operand_type(name: &str) -> Result<OperandType, CaseError> {
    OperandType::from_name(name).ok_or_else(|| CaseError::new("damaged binary case: unknown element type"))
}

fn restore_patch(patch: PatchRecord) -> Result<Patch, CaseError> {
    let target = PatchTarget::ALL.get(usize::from(patch.target)).copied();
    let target = target.ok_or_else(|| CaseError::new("damaged binary case: unknown patch target"))?;
    let value = if patch.value.is_nan() { f32::NAN } else { patch.value };
    let PatchRecord { sequence, token, head, lane, .. } = patch;
    Ok(Patch { target, sequence, token, head, lane, value })
}

fn restore_statics(record: StaticsRecord) -> Result<StaticOverrides, CaseError> {
    let mut statics = StaticOverrides::default();
    for (index, (shape, dtype)) in record.operands {
        let operand = OperandName::ALL.get(usize::from(index)).copied();
        let operand = operand.ok_or_else(|| CaseError::new("damaged binary case: unknown operand"))?;
        let dtype = dtype.map(|name| restore_operand_type(&name)).transpose()?;
        statics.operands.insert(operand, OperandOverride { shape, dtype });
    }
    for (name, value) in record.options {
        if !OPTION_NAMES.contains(&name.as_str()) {
            return Err(CaseError::new("damaged binary case: unknown option"));
        }
        let value = match value {
            OptionRecord::Absent => OptionValue::Absent,
            OptionRecord::Integer(value) => OptionValue::Integer(value),
            OptionRecord::Float(value) => OptionValue::Float(value),
        };
        statics.options.insert(name, value);
    }
    Ok(statics)
}
