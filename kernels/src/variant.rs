//! A variant: the static side of a call (shapes, element types, options, block sizes, TPU generation).
//!
//! Invariant: everything that decides what is lowered, and nothing that a batch may change.

use countersign_dtype::DType;
use countersign_mosaic::Footprint;
use countersign_reference::Options;

use crate::family::Family;

/// TPU generation that a kernel is lowered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Generation {
    /// TPU v4.
    V4,
    /// TPU v5e.
    V5e,
    /// TPU v5p.
    V5p,
    /// TPU v6e.
    V6e,
    /// TPU7x.
    V7x,
}

impl Generation {
    /// All generations, oldest first.
    pub const ALL: [Generation; 5] =
        [Generation::V4, Generation::V5e, Generation::V5p, Generation::V6e, Generation::V7x];

    /// The name used in catalogues, case files and reports (`v5e`, …).
    pub const fn name(self) -> &'static str {
        match self {
            Generation::V4 => "v4",
            Generation::V5e => "v5e",
            Generation::V5p => "v5p",
            Generation::V6e => "v6e",
            Generation::V7x => "v7x",
        }
    }

    /// The inverse of [`Generation::name`].
    pub fn from_name(name: &str) -> Option<Generation> {
        Generation::ALL.into_iter().find(|generation| generation.name() == name)
    }

    /// Bytes of vector and of scalar memory that a core has, as `get_tpu_info` of jax 0.10.2 gives them.
    pub const fn memory(self) -> Footprint {
        let vmem = match self {
            Generation::V4 => 16 << 20,
            Generation::V5e | Generation::V6e => 128 << 20,
            Generation::V5p | Generation::V7x => 64 << 20,
        };
        Footprint { vmem, smem: 1 << 20 }
    }

    /// What JAX calls the device (`TPU v5e`, …, `TPU7x`).
    pub const fn device_kind(self) -> &'static str {
        match self {
            Generation::V4 => "TPU v4",
            Generation::V5e => "TPU v5e",
            Generation::V5p => "TPU v5p",
            Generation::V6e => "TPU v6e",
            Generation::V7x => "TPU7x",
        }
    }
}

/// The sizes of the blocks that a kernel works in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blocks {
    /// Pages per KV block.
    pub pages: usize,
    /// Queries per query block.
    pub queries: usize,
}

/// The static side of a call. Families that lack one of these let it follow from others ([`crate::family::Model::settle`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The kernel's family, which decides what the rest means.
    pub family: Family,
    /// Short unique name within its kernel's catalogue, e.g. `f32-q4-kv4`.
    pub name: String,
    /// Rows of q (`max_num_batched_tokens`) and of the output.
    pub tokens: usize,
    /// Query heads.
    pub q_heads: usize,
    /// KV heads; the cache holds twice as many combined heads.
    pub kv_heads: usize,
    /// Head dimension.
    pub head_dim: usize,
    /// Tokens per page.
    pub page_size: usize,
    /// Physical pages in the cache.
    pub pages: usize,
    /// Rows of the page table (`max_num_seqs`).
    pub max_seqs: usize,
    /// Columns of the page table.
    pub pages_per_seq: usize,
    /// Element type of q and the output.
    pub q_dtype: DType,
    /// Element type of the cache.
    pub kv_dtype: DType,
    /// Pages per KV block; `None` leaves the choice of both block sizes to the kernel's tuning table.
    pub pages_per_block: Option<usize>,
    /// Queries per query block; `None` as above.
    pub queries_per_block: Option<usize>,
    /// What the tuning table chose, once that is known: it is read off the lowered module, and decides nothing itself.
    pub tuned: Option<Blocks>,
    /// Options of attention.
    pub options: Options,
    /// Generation lowered for.
    pub generation: Generation,
}

impl Variant {
    /// The block sizes; `None` where the tuning table chooses and its choice isn't known yet.
    pub fn blocks(&self) -> Option<Blocks> {
        let asked = || Some(Blocks { pages: self.pages_per_block?, queries: self.queries_per_block? });
        self.tuned.or_else(asked)
    }

    /// Whether both stand for the same call: all but what the tuning table is known to choose.
    pub fn same_call(&self, other: &Variant) -> bool {
        Variant { tuned: other.tuned, ..self.clone() } == *other
    }
}
