//! A ragged batch as values: metadata, payload arrays, and the options of attention.
//!
//! Invariant: nothing here is validated; a broken batch is representable, since broken batches are what we test.

use countersign_dtype::Array;

/// The ragged metadata, exactly as the kernel is given it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Metadata {
    /// `i32[max_num_seqs]`: tokens in the cache, per sequence.
    pub kv_lens: Vec<i32>,
    /// `i32[max_num_seqs, pages_per_seq]`, row-major: physical page of each logical page.
    pub page_indices: Vec<i32>,
    /// Columns of `page_indices`.
    pub pages_per_seq: usize,
    /// `i32[max_num_seqs + 1]`: cumulative query lengths.
    pub cu_q_lens: Vec<i32>,
    /// Number of sequences in the batch.
    pub num_seqs: i32,
}

/// Metadata and payload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// The ragged metadata.
    pub metadata: Metadata,
    /// `[tokens, q_heads, head_dim]`.
    pub q: Array,
    /// `[pages, page_size, 2 * kv_heads, head_dim]`, K at even and V at odd combined heads.
    pub kv_pages: Array,
}

/// What attention computes, as the kernel's static options say it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Factor on q·k.
    pub sm_scale: f32,
    /// Keys at distance >= window are masked.
    pub sliding_window: Option<i32>,
    /// `cap * tanh(score / cap)`.
    pub soft_cap: Option<f32>,
    /// Added to masked scores.
    pub mask_value: f32,
    /// Factor on stored K, after which it is rounded to q's type.
    pub k_scale: Option<f32>,
    /// Factor on stored V, after which it is rounded to q's type.
    pub v_scale: Option<f32>,
}

/// Extents of a batch whose arrays fit each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows of q.
    pub tokens: usize,
    /// Query heads, a multiple of `kv_heads`.
    pub q_heads: usize,
    /// KV heads.
    pub kv_heads: usize,
    /// Head dimension.
    pub head_dim: usize,
    /// Physical pages.
    pub pages: usize,
    /// Tokens per page.
    pub page_size: usize,
}

impl Batch {
    /// The batch's extents, or nothing if ranks, head dimensions or head counts don't fit (`rule::SHAPES_FIT`).
    pub fn shape(&self) -> Option<Shape> {
        let &[tokens, q_heads, head_dim] = self.q.shape.as_slice() else { return None };
        let &[pages, page_size, combined_heads, kv_head_dim] = self.kv_pages.shape.as_slice() else {
            return None;
        };
        let kv_heads = combined_heads / 2;
        let fits = head_dim == kv_head_dim
            && head_dim > 0
            && page_size > 0
            && combined_heads % 2 == 0
            && kv_heads > 0
            && q_heads % kv_heads == 0;
        fits.then_some(Shape { tokens, q_heads, kv_heads, head_dim, pages, page_size })
    }
}

impl Metadata {
    /// How many sequences the batch names and the metadata arrays can hold: `num_seqs`, clipped to what is there.
    pub fn sequences_in_table(&self) -> usize {
        let table_rows = self.page_indices.len().checked_div(self.pages_per_seq).unwrap_or(usize::MAX);
        let held = self.kv_lens.len().min(self.cu_q_lens.len().saturating_sub(1)).min(table_rows);
        usize::try_from(self.num_seqs).unwrap_or(0).min(held)
    }
}
