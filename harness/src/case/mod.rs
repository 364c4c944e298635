//! A case: the only thing that is persisted. Kernel, variant, ragged metadata as values, payload as a named pattern.
//!
//! Invariant: the same case gives the same batch, bit for bit, on every machine. A case need not keep any rule of the
//! contract: broken batches are what is tested. What a case can't be is inconsistent in shape ([`Case::batch`] says so).

mod binary;
mod reader;
mod text;
mod variant;

pub use binary::MAGIC;
pub(crate) use reader::{Document, Table};
pub(crate) use text::{quote, write_array};

use std::collections::BTreeMap;
use std::fmt;

use countersign_dtype::Array;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::KernelEntry;
use countersign_kernels::operand_type::OperandType;
use countersign_reference::{Batch, Metadata};
use sha2::{Digest, Sha256};

use crate::payload::{self, FILE, Pattern, PayloadFile};

/// Largest number of elements of q, and of the cache, that a case may ask for.
pub const MAX_ELEMENTS: usize = 1 << 26;

/// Why a text, some bytes or a case can't be used: where, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct CaseError {
    /// 1-based line of the text, where there is one.
    pub line: Option<usize>,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl CaseError {
    pub(crate) fn new(message: impl Into<String>) -> CaseError {
        CaseError { line: None, message: message.into() }
    }
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// One input of a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Kernel id in the catalogue, e.g. `jax-rpa`.
    pub kernel: String,
    /// Static shapes and options.
    pub variant: VariantRef,
    /// Ragged metadata, values past `num_seqs` included.
    pub metadata: Metadata,
    /// What q and the cache hold.
    pub payload: Payload,
    /// `sha256:<hex>` of the payload's bytes ([`payload_checksum`]), compared by [`Case::batch`] where it is present.
    pub checksum: Option<String>,
    /// Overrides of operand shapes, dtypes and options. A case that has them is only traced.
    pub statics: Option<StaticOverrides>,
}

/// The variant of a case.
#[derive(Debug, Clone, PartialEq)]
pub enum VariantRef {
    /// By its name in the kernel's catalogue.
    Named(String),
    /// Written out in the case.
    Inline(Box<Variant>),
}

impl VariantRef {
    /// The variant's name.
    pub fn name(&self) -> &str {
        match self {
            VariantRef::Named(name) => name,
            VariantRef::Inline(variant) => &variant.name,
        }
    }
}

/// What q and the cache hold: a pattern, a seed, and single elements set by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct Payload {
    /// Name and version of a pattern, e.g. `normal@1` ([`Pattern::name`]).
    pub pattern: String,
    /// The pattern's seed.
    pub seed: u64,
    /// Applied in order, after the pattern.
    pub patches: Vec<Patch>,
    /// Where the values come from if the pattern is `file@1`.
    pub file: Option<PayloadFile>,
}

impl Payload {
    /// A pattern without patches.
    pub fn pattern(name: impl Into<String>, seed: u64) -> Payload {
        Payload { pattern: name.into(), seed, patches: Vec::new(), file: None }
    }
}

/// Where a payload's values come from.
#[derive(Debug, Clone, Copy)]
pub enum Filling<'c> {
    /// A pattern.
    Pattern(Pattern),
    /// A file beside the case.
    File(&'c PayloadFile),
}

/// Sets owned elements to a value.
#[derive(Debug, Clone, Copy)]
pub struct Patch {
    /// Which array.
    pub target: PatchTarget,
    /// Sequence, below num_seqs.
    pub sequence: usize,
    /// Row of q within the sequence, or position in its cache.
    pub token: usize,
    /// Query head, or KV head.
    pub head: usize,
    /// Lane of the head dimension; all of them if absent.
    pub lane: Option<usize>,
    /// Rounded to the array's dtype.
    pub value: f32,
}

/// Bitwise in the value, so that a NaN equals itself.
impl PartialEq for Patch {
    fn eq(&self, other: &Patch) -> bool {
        let key = |p: &Patch| (p.target, p.sequence, p.token, p.head, p.lane, p.value.to_bits());
        key(self) == key(other)
    }
}

/// The array that a patch changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchTarget {
    /// Queries.
    Q,
    /// Keys.
    K,
    /// Values.
    V,
}

impl PatchTarget {
    /// Every target.
    pub const ALL: [PatchTarget; 3] = [PatchTarget::Q, PatchTarget::K, PatchTarget::V];

    /// `q`, `k` or `v`.
    pub const fn name(self) -> &'static str {
        match self {
            PatchTarget::Q => "q",
            PatchTarget::K => "k",
            PatchTarget::V => "v",
        }
    }
}

/// An operand of the kernel's entry point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OperandName {
    /// `[tokens, q_heads, head_dim]`.
    Q,
    /// `[pages, page_size, 2 * kv_heads, head_dim]`.
    KvPages,
    /// `i32[max_seqs]`.
    KvLens,
    /// `i32[max_seqs, pages_per_seq]`.
    PageIndices,
    /// `i32[max_seqs + 1]`.
    CuQLens,
    /// `i32[1]`.
    NumSeqs,
}

impl OperandName {
    /// Every operand, in the entry point's order.
    pub const ALL: [OperandName; 6] = [
        OperandName::Q,
        OperandName::KvPages,
        OperandName::KvLens,
        OperandName::PageIndices,
        OperandName::CuQLens,
        OperandName::NumSeqs,
    ];

    /// The entry point's name for it.
    pub const fn name(self) -> &'static str {
        match self {
            OperandName::Q => "q",
            OperandName::KvPages => "kv_pages",
            OperandName::KvLens => "kv_lens",
            OperandName::PageIndices => "page_indices",
            OperandName::CuQLens => "cu_q_lens",
            OperandName::NumSeqs => "num_seqs",
        }
    }
}

/// The options that a case may override, by the entry point's names.
pub const OPTION_NAMES: [&str; 9] = [
    "sm_scale",
    "sliding_window",
    "soft_cap",
    "mask_value",
    "k_scale",
    "v_scale",
    "num_kv_pages_per_block",
    "num_queries_per_block",
    "vmem_limit_bytes",
];

/// Departures from the variant that only tracing can judge.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StaticOverrides {
    /// Shape and dtype of an operand; what is absent stays the variant's.
    pub operands: BTreeMap<OperandName, OperandOverride>,
    /// Options by name, one of [`OPTION_NAMES`].
    pub options: BTreeMap<String, OptionValue>,
}

/// Another shape or dtype of an operand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OperandOverride {
    /// Extents.
    pub shape: Option<Vec<usize>>,
    /// Element type.
    pub dtype: Option<OperandType>,
}

/// The value of an overridden option.
#[derive(Debug, Clone, Copy)]
pub enum OptionValue {
    /// Python's None; `"none"` in TOML.
    Absent,
    /// An integer.
    Integer(i64),
    /// A float.
    Float(f64),
}

/// Bitwise for floats, so that a NaN equals itself.
impl PartialEq for OptionValue {
    fn eq(&self, other: &OptionValue) -> bool {
        match (self, other) {
            (OptionValue::Absent, OptionValue::Absent) => true,
            (OptionValue::Integer(a), OptionValue::Integer(b)) => a == b,
            (OptionValue::Float(a), OptionValue::Float(b)) => a.to_bits() == b.to_bits(),
            (OptionValue::Absent | OptionValue::Integer(_) | OptionValue::Float(_), _) => false,
        }
    }
}

impl Case {
    /// The variant: the inline one, or the one of that name among `catalogue`.
    ///
    /// # Errors
    /// If no variant has the name.
    pub fn variant<'a>(&'a self, catalogue: &'a [Variant]) -> Result<&'a Variant, CaseError> {
        match &self.variant {
            VariantRef::Inline(variant) => Ok(variant),
            VariantRef::Named(name) => {
                catalogue.iter().find(|variant| variant.name == *name).ok_or_else(|| {
                    let names: Vec<&str> = catalogue.iter().map(|variant| variant.name.as_str()).collect();
                    CaseError::new(format!(
                        "no variant `{name}` of `{}`; known: {}. Another one can be written out as [case.variant]",
                        self.kernel,
                        names.join(", ")
                    ))
                })
            }
        }
    }

    /// This case, its variant written out if `kernel` has no such variant in its catalogue: so that it can be read anywhere.
    pub fn self_contained(mut self, kernel: &KernelEntry, variants: &[Variant]) -> Case {
        if let VariantRef::Named(name) = &self.variant
            && let Some(variant) = variants.iter().find(|variant| variant.name == *name)
            && kernel.variant(name).is_none_or(|known| !known.same_call(variant))
        {
            self.variant = VariantRef::Inline(Box::new(Variant { tuned: None, ..variant.clone() }));
        }
        self
    }

    /// The batch: what the metadata claims as owned (clipped to the arrays) holds the pattern's values and the patches,
    /// everything else holds poison (NaN; for integers the lowest value).
    ///
    /// Pages that two sequences share, and rows of q that two sequences claim, hold the later sequence's values.
    ///
    /// # Errors
    /// If the metadata doesn't have the variant's shapes, the pattern is unknown, a patch names an element that the batch
    /// doesn't own, the arrays are absurdly large, or the checksum differs.
    pub fn batch(&self, variant: &Variant) -> Result<Batch, CaseError> {
        let (mut q, mut kv_pages) = match self.check(variant)? {
            Filling::Pattern(pattern) => payload::fill(variant, &self.metadata, pattern, self.payload.seed),
            Filling::File(file) => file.fill(variant, &self.metadata)?,
        };
        for patch in &self.payload.patches {
            self.apply(patch, variant, &mut q, &mut kv_pages)?;
        }
        let batch = Batch { metadata: self.metadata.clone(), q, kv_pages };
        match &self.checksum {
            Some(expected) if *expected != payload_checksum(&batch) => Err(CaseError::new(format!(
                "the payload's checksum is {}, the case says {expected}: the case was edited, or pattern `{}` changed \
                 without a new version; remove `checksum` to accept the new payload",
                payload_checksum(&batch),
                self.payload.pattern
            ))),
            _ => Ok(batch),
        }
    }

    /// What [`Case::batch`] checks before it allocates anything; where the payload comes from.
    ///
    /// # Errors
    /// As [`Case::batch`], patches and checksum apart.
    pub fn check(&self, variant: &Variant) -> Result<Filling<'_>, CaseError> {
        check_size(variant)?;
        self.check_shapes(variant)?;
        if self.payload.pattern == FILE {
            let file = self
                .payload
                .file
                .as_ref()
                .ok_or_else(|| CaseError::new(format!("a payload `{FILE}` needs a file")))?;
            return Ok(Filling::File(file));
        }
        Pattern::from_name(&self.payload.pattern)
            .ok_or_else(|| {
                let names: Vec<&str> = Pattern::every().map(Pattern::name).collect();
                CaseError::new(format!(
                    "unknown pattern `{}`; known: {}",
                    self.payload.pattern,
                    names.join(", ")
                ))
            })
            .map(Filling::Pattern)
    }

    fn check_shapes(&self, variant: &Variant) -> Result<(), CaseError> {
        let meta = &self.metadata;
        let expect = |what: &str, found: usize, wanted: usize| {
            if found == wanted {
                return Ok(());
            }
            Err(CaseError::new(format!(
                "{what} is {found}, but variant `{}` has {wanted} (max_seqs = {}, pages_per_seq = {})",
                variant.name, variant.max_seqs, variant.pages_per_seq
            )))
        };
        expect("the length of kv_lens", meta.kv_lens.len(), variant.max_seqs)?;
        expect("the length of cu_q_lens", meta.cu_q_lens.len(), variant.max_seqs + 1)?;
        expect("the number of columns of page_indices", meta.pages_per_seq, variant.pages_per_seq)?;
        expect(
            "the number of entries of page_indices",
            meta.page_indices.len(),
            variant.max_seqs * variant.pages_per_seq,
        )
    }

    fn apply(
        &self,
        patch: &Patch,
        variant: &Variant,
        q: &mut Array,
        kv_pages: &mut Array,
    ) -> Result<(), CaseError> {
        let refuse = |why: String| {
            let Patch { target, sequence, token, head, .. } = patch;
            let target = target.name();
            let place = format!("{target} of sequence {sequence}, token {token}, head {head}");
            Err(CaseError::new(format!(
                "the patch at {place} {why}; a patch sets elements that the batch owns"
            )))
        };
        let heads = if patch.target == PatchTarget::Q { variant.q_heads } else { variant.kv_heads };
        if patch.head >= heads {
            return refuse(format!("names a head beyond the {heads} that there are"));
        }
        let lanes = match patch.lane {
            Some(lane) if lane >= variant.head_dim => {
                return refuse(format!("names lane {lane} of {}", variant.head_dim));
            }
            Some(lane) => lane..lane + 1,
            None => 0..variant.head_dim,
        };
        let (array, row) = match patch.target {
            PatchTarget::Q => {
                let row = payload::q_row(variant, &self.metadata, patch.sequence, patch.token);
                (q, row.map(|row| row * variant.q_heads + patch.head))
            }
            PatchTarget::K | PatchTarget::V => {
                let odd = usize::from(patch.target == PatchTarget::V);
                let slot = payload::kv_slot(variant, &self.metadata, patch.sequence, patch.token);
                (kv_pages, slot.map(|slot| slot * 2 * variant.kv_heads + 2 * patch.head + odd))
            }
        };
        let Some(row) = row else {
            return refuse("lies outside that sequence, or outside the arrays".to_owned());
        };
        for lane in lanes {
            array.set_f32(row * variant.head_dim + lane, patch.value);
        }
        Ok(())
    }
}

/// The keys of `[case.variant]` with their values, a line each.
pub fn variant_text(variant: &Variant) -> String {
    let mut out = String::new();
    variant::write_variant(&mut out, variant);
    out
}

/// Refuses arrays that no test needs, before anything is allocated.
///
/// # Errors
/// If q, the cache or the page table has no elements or more than [`MAX_ELEMENTS`].
pub fn check_size(variant: &Variant) -> Result<(), CaseError> {
    let v = variant;
    let arrays: [(&str, &[(&str, usize)]); 3] = [
        ("q", &[("tokens", v.tokens), ("q_heads", v.q_heads), ("head_dim", v.head_dim)]),
        (
            "kv_pages",
            &[
                ("pages", v.pages),
                ("page_size", v.page_size),
                ("2 * kv_heads", v.kv_heads.saturating_mul(2)),
                ("head_dim", v.head_dim),
            ],
        ),
        ("page_indices", &[("max_seqs", v.max_seqs), ("pages_per_seq", v.pages_per_seq)]),
    ];
    for (name, extents) in arrays {
        let elements = extents.iter().try_fold(1usize, |product, (_, extent)| product.checked_mul(*extent));
        if elements.is_none_or(|elements| elements == 0 || elements > MAX_ELEMENTS) {
            let extents: Vec<String> =
                extents.iter().map(|(key, extent)| format!("{key} = {extent}")).collect();
            return Err(CaseError::new(format!(
                "{name} of variant `{}` has no elements or more than the limit of {MAX_ELEMENTS} ({}); choose other shapes",
                v.name,
                extents.join(", ")
            )));
        }
    }
    Ok(())
}

/// `sha256:<hex>` over q's bytes followed by the cache's.
pub fn payload_checksum(batch: &Batch) -> String {
    let mut hash = Sha256::new();
    hash.update(&batch.q.bytes);
    hash.update(&batch.kv_pages.bytes);
    let hex: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{hex}")
}
