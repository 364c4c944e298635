//! The batches of JAX's own test of its kernel, as cases: their lengths, heads and options (`corpus/upstream.toml` states
//! them as facts), our payload.
//!
//! Invariant: a function of the facts alone. The n-th batch has seed n, which also decides its payload pattern and the
//! order in which its sequences take the physical pages.

use countersign_dtype::DType;
use countersign_kernels::rpa::facts::DEFAULT_MASK_VALUE;
use countersign_kernels::{Generation, Variant};
use countersign_reference::{Metadata, Options};
use serde::Deserialize;

use super::{CorpusFile, Expect, Origin};
use crate::case::{Case, CaseError, Payload, VariantRef};
use crate::payload::{Pattern, Stream};

const FACTS: &str = include_str!("../../../corpus/upstream.toml");

/// The same for every batch, as the facts say.
const HEAD_DIM: usize = 128;
const PAGE_SIZE: usize = 16;
const PAGES: usize = 1000;
const SM_SCALE: f32 = 1.0;
const LEAST_MAX_SEQS: usize = 8;
const LEAST_TOKENS: usize = 512;
/// Pages and queries of a block where a family names none.
const DEFAULT_BLOCKS: (usize, usize) = (8, 64);

/// Ours: the test runs on whatever TPU there is.
const GENERATION: Generation = Generation::V6e;
const WHEN: &str = "2026-12-02";
/// Keeps the order of pages apart from payloads of the same seed.
const PAGE_ORDER: u64 = 0x7061_6765;

/// Patterns in turn. Nine, so that no pattern keeps to one of the options, whose numbers are powers of two. All of them
/// take the softmax scale into account.
const PATTERNS: [Pattern; 9] = [
    Pattern::Normal,
    Pattern::OneHotV,
    Pattern::Saturated,
    Pattern::CommonOffset,
    Pattern::Mixed,
    Pattern::Sink,
    Pattern::SignedZeros,
    Pattern::Tiny,
    Pattern::Denormal,
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    family: Vec<Family>,
}

/// Every combination of the lists is a batch; a list that is absent has one entry, which says nothing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Family {
    name: String,
    heads: Vec<(usize, usize)>,
    q_kv_dtypes: Vec<(String, String)>,
    k_v_scales: Option<Vec<Maybe<(f32, f32)>>>,
    pages_per_block: Option<Vec<usize>>,
    queries_per_block: Option<Vec<usize>>,
    sliding_window: Option<Vec<Maybe<i32>>>,
    soft_cap: Option<Vec<Maybe<f32>>>,
    /// (q_len, kv_len) of each sequence of each batch.
    sequences: Vec<Vec<(usize, usize)>>,
}

/// A value, or `"none"`.
#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum Maybe<T> {
    Value(T),
    None(#[serde(deserialize_with = "none")] ()),
}

fn none<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "none" => Ok(()),
        other => Err(serde::de::Error::custom(format!("`{other}` is neither a value nor \"none\""))),
    }
}

impl<T> Maybe<T> {
    fn value(self) -> Option<T> {
        match self {
            Maybe::Value(value) => Some(value),
            Maybe::None(()) => None,
        }
    }
}

/// One batch: a point of a family's lists.
#[derive(Clone)]
struct Batch<'f> {
    family: &'f str,
    /// (q_len, kv_len) of each.
    sequences: &'f [(usize, usize)],
    heads: (usize, usize),
    dtypes: (DType, DType),
    /// Pages and queries per block, and whether the family names them.
    blocks: (usize, usize),
    names_blocks: bool,
    /// Outer `None`: the family has no such option.
    scales: Option<Option<(f32, f32)>>,
    window: Option<Option<i32>>,
    cap: Option<Option<f32>>,
}

/// The cases, each with its path in the corpus, in the order of the facts.
///
/// # Errors
/// If the facts can't be read, which a test excludes.
pub fn upstream() -> Result<Vec<(String, CorpusFile)>, CaseError> {
    let facts: Facts = toml::from_str(FACTS).map_err(|error| CaseError::new(error.to_string()))?;
    let mut files = Vec::new();
    for family in &facts.family {
        for batch in family.batches()? {
            files.push(batch.file(files.len() as u64 + 1));
        }
    }
    Ok(files)
}

/// A function of the test.
pub(crate) struct TestFunction {
    /// Its family's name.
    pub(crate) name: String,
    /// (q_len, kv_len) of each sequence of its longest batch.
    pub(crate) sequences: Vec<(usize, usize)>,
}

/// The functions of the test, in the order of the facts.
///
/// # Errors
/// As [`upstream`].
pub(crate) fn test_functions() -> Result<Vec<TestFunction>, CaseError> {
    let facts: Facts = toml::from_str(FACTS).map_err(|error| CaseError::new(error.to_string()))?;
    let longest = |family: Family| TestFunction {
        name: family.name,
        sequences: family.sequences.into_iter().max_by_key(Vec::len).unwrap_or_default(),
    };
    Ok(facts.family.into_iter().map(longest).collect())
}

impl Family {
    fn batches(&self) -> Result<Vec<Batch<'_>>, CaseError> {
        let dtype = |name: &String| {
            DType::from_name(name).ok_or_else(|| CaseError::new(format!("`{name}` is no element type")))
        };
        let dtypes: Vec<(DType, DType)> = self
            .q_kv_dtypes
            .iter()
            .map(|(q, kv)| Ok((dtype(q)?, dtype(kv)?)))
            .collect::<Result<_, CaseError>>()?;
        if self.pages_per_block.is_some() != self.queries_per_block.is_some() {
            return Err(CaseError::new(format!("{}: one of the two block sizes is missing", self.name)));
        }
        let pages = self.pages_per_block.as_deref().unwrap_or(&[DEFAULT_BLOCKS.0]);
        let queries = self.queries_per_block.as_deref().unwrap_or(&[DEFAULT_BLOCKS.1]);
        let first = Batch {
            family: &self.name,
            sequences: &[],
            heads: (0, 0),
            dtypes: (DType::F32, DType::F32),
            blocks: DEFAULT_BLOCKS,
            names_blocks: self.pages_per_block.is_some(),
            scales: None,
            window: None,
            cap: None,
        };
        let batches = vary(vec![first], &self.sequences, |batch, sequences| batch.sequences = sequences);
        let batches = vary(batches, &self.heads, |batch, heads| batch.heads = *heads);
        let batches = vary(batches, &dtypes, |batch, dtypes| batch.dtypes = *dtypes);
        let batches = vary(batches, pages, |batch, pages| batch.blocks.0 = *pages);
        let batches = vary(batches, queries, |batch, queries| batch.blocks.1 = *queries);
        let batches = vary(batches, &options(&self.k_v_scales), |batch, scales| batch.scales = *scales);
        let batches = vary(batches, &options(&self.sliding_window), |batch, window| batch.window = *window);
        Ok(vary(batches, &options(&self.soft_cap), |batch, cap| batch.cap = *cap))
    }
}

/// Each of `batches` once for each of `values`.
fn vary<'f, 'v, T>(
    batches: Vec<Batch<'f>>,
    values: &'v [T],
    set: impl Fn(&mut Batch<'f>, &'v T),
) -> Vec<Batch<'f>> {
    let mut varied = Vec::with_capacity(batches.len() * values.len());
    for batch in batches {
        for value in values {
            let mut batch = batch.clone();
            set(&mut batch, value);
            varied.push(batch);
        }
    }
    varied
}

fn options<T: Copy>(list: &Option<Vec<Maybe<T>>>) -> Vec<Option<Option<T>>> {
    match list {
        Some(values) => values.iter().map(|&value| Some(value.value())).collect(),
        None => vec![None],
    }
}

impl Batch<'_> {
    fn file(&self, seed: u64) -> (String, CorpusFile) {
        let name = self.name();
        let variant = self.variant(&name);
        let metadata = lay_out(self.sequences, &variant, seed);
        let pattern = match self.cap {
            Some(Some(_)) if seed.is_multiple_of(2) => Pattern::NearCap,
            Some(_) | None => PATTERNS[(seed as usize - 1) % PATTERNS.len()],
        };
        let file = CorpusFile {
            case: Case {
                kernel: "jax-rpa".to_owned(),
                variant: VariantRef::Inline(Box::new(variant)),
                metadata,
                payload: Payload::pattern(pattern.name().to_owned(), seed),
                checksum: None,
                statics: None,
            },
            origin: Some(Origin {
                when: WHEN.to_owned(),
                from: format!("The test of this kernel at jax-ml/jax 055a88344, family `{}`.", self.family),
                cause: format!(
                    "Lengths, heads and options are upstream's, the payload is ours. Upstream accepts an error of {} here.",
                    if self.dtypes.1 == DType::F32 { "0.15" } else { "0.2" }
                ),
            }),
            expect: Some(Expect::Clean),
        };
        (format!("upstream/{}/{name}.toml", self.family.replace('_', "-")), file)
    }

    /// Unique within its family.
    fn name(&self) -> String {
        let ((q_dtype, kv_dtype), (q_heads, kv_heads)) = (self.dtypes, self.heads);
        let mut name = q_dtype.name().to_owned();
        if q_dtype != kv_dtype {
            name += &format!("-{}", kv_dtype.name());
        }
        name += &format!("-q{q_heads}-kv{kv_heads}-{}", self.sequences.len());
        name += if self.sequences.len() == 1 { "-sequence" } else { "-sequences" };
        if self.names_blocks {
            name += &format!("-pages{}-queries{}", self.blocks.0, self.blocks.1);
        }
        name += &match self.scales {
            None => String::new(),
            Some(None) => "-unscaled".to_owned(),
            Some(Some((k, v))) => format!("-scales-{k}-{v}").replace('.', "p"),
        };
        name += &match self.window {
            None => String::new(),
            Some(None) => "-no-window".to_owned(),
            Some(Some(window)) => format!("-window{window}"),
        };
        name += &match self.cap {
            None => String::new(),
            Some(None) => "-no-cap".to_owned(),
            Some(Some(cap)) => format!("-cap{cap}"),
        };
        name
    }

    fn variant(&self, name: &str) -> Variant {
        let total: usize = self.sequences.iter().map(|&(q_len, _)| q_len).sum();
        let longest = self.sequences.iter().map(|&(_, kv_len)| kv_len).max().unwrap_or(1);
        let pages_per_seq = longest.div_ceil(PAGE_SIZE);
        let (pages_per_block, queries_per_block) = self.blocks;
        let scales = self.scales.flatten();
        Variant {
            name: name.to_owned(),
            tokens: total.max(LEAST_TOKENS),
            q_heads: self.heads.0,
            kv_heads: self.heads.1,
            head_dim: HEAD_DIM,
            page_size: PAGE_SIZE,
            pages: PAGES,
            max_seqs: self.sequences.len().max(LEAST_MAX_SEQS),
            pages_per_seq,
            q_dtype: self.dtypes.0,
            kv_dtype: self.dtypes.1,
            pages_per_block: Some(pages_per_block.min(pages_per_seq)),
            queries_per_block: Some(queries_per_block),
            tuned: None,
            options: Options {
                sm_scale: SM_SCALE,
                sliding_window: self.window.flatten(),
                soft_cap: self.cap.flatten(),
                mask_value: DEFAULT_MASK_VALUE,
                k_scale: scales.map(|(k, _)| k),
                v_scale: scales.map(|(_, v)| v),
            },
            generation: GENERATION,
        }
    }
}

/// Metadata of a batch of sequences (q_len, kv_len) that fit the variant: physical pages in an order of the seed.
pub(crate) fn lay_out(sequences: &[(usize, usize)], variant: &Variant, seed: u64) -> Metadata {
    let mut stream = Stream::at(seed, [PAGE_ORDER, 0, 0, 0]);
    let mut pages: Vec<i32> = (0..variant.pages as i32).collect();
    for last in (1..pages.len()).rev() {
        pages.swap(last, stream.below(last as u64 + 1) as usize);
    }
    let mut pages = pages.into_iter();
    let mut metadata = Metadata {
        kv_lens: vec![0; variant.max_seqs],
        page_indices: vec![0; variant.max_seqs * variant.pages_per_seq],
        pages_per_seq: variant.pages_per_seq,
        cu_q_lens: vec![0; variant.max_seqs + 1],
        num_seqs: sequences.len() as i32,
    };
    let mut total = 0;
    for (sequence, &(q_len, kv_len)) in sequences.iter().enumerate() {
        total += q_len as i32;
        metadata.cu_q_lens[sequence + 1] = total;
        metadata.kv_lens[sequence] = kv_len as i32;
        let row = sequence * variant.pages_per_seq;
        let used = &mut metadata.page_indices[row..row + kv_len.div_ceil(variant.page_size)];
        used.iter_mut().zip(&mut pages).for_each(|(entry, page)| *entry = page);
    }
    metadata
}
