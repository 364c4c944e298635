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
