//! Ragged paged attention written by hand in Rust: the yardstick that the VM's time is held against.
//!
//! The algorithm is the kernel's: query block by query block, for each KV head its group of query heads and each sequence that
//! has rows in the block, KV block by KV block with a running maximum and sum, in f32, with the kernel's block sizes. As in
//! the kernel a tile is computed whole, rows and keys that the mask throws away included; [`Tiles::Filled`] leaves out the
//! keys past a sequence's end, which the kernel doesn't. What is better than in the kernel is what a person would do by hand:
//! one division a row at the end instead of one a block, queries transposed once so that every loop runs over sixteen rows
//! or columns side by side, narrow types widened through a table.
//!
//! `exp` and `tanh` are polynomials (`functions.rs`), faster than the libm crate's and as exact as the bound asks.
//!
//! Invariant: right on kept batches, element by element within the reference's bound, which a test and every bench run check.
//! Other batches may panic.

mod functions;
mod gather;
mod softmax;
#[cfg(test)]
mod tests;
mod tile;

use std::ops::Range;

use countersign_dtype::{Array, read_f32, write_f32};
use countersign_kernels::Variant;
use countersign_kernels::family::Family;
use countersign_reference::{Batch, Metadata};

use gather::Cache;
use softmax::Rows;

/// Sixteen rows or columns that every loop takes side by side: two registers of AVX2.
pub(crate) type Lanes = [f32; LANES];
/// The number of [`Lanes`].
pub(crate) const LANES: usize = 16;

/// Which part of a tile is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tiles {
    /// All of it, as the kernel does.
    Whole,
    /// Only as many keys as the sequence has.
    Filled,
}

/// Attention of one variant, with room to work in.
#[derive(Debug)]
pub(crate) struct Native {
    variant: Variant,
    tiles: Tiles,
    /// Tokens of a query block.
    queries_per_block: usize,
    /// Tokens of a KV block.
    keys_per_block: usize,
    cache: Cache,
    rows: Rows,
    /// One row of q or of the output.
    line: Vec<f32>,
    /// `[row chunk][element]`, lanes are rows.
    queries: Vec<Lanes>,
    /// `[row chunk][key]`, lanes are rows: scores, then weights.
    scores: Vec<Lanes>,
    /// `[column chunk][row]`, lanes are columns.
    sums: Vec<Lanes>,
}

impl Native {
    /// `None` where the block sizes aren't known, the head dimension is no multiple of [`LANES`], or the kernel is another than attention.
    pub(crate) fn new(variant: &Variant, tiles: Tiles) -> Option<Native> {
        let blocks = variant.blocks().filter(|_| variant.family == Family::Rpa)?;
        let keys_per_block = blocks.pages * variant.page_size;
        let rows = blocks.queries * (variant.q_heads / variant.kv_heads);
        let chunks = rows.div_ceil(LANES);
        variant.head_dim.is_multiple_of(LANES).then(|| Native {
            variant: variant.clone(),
            tiles,
            queries_per_block: blocks.queries,
            keys_per_block,
            cache: Cache::new(variant, keys_per_block),
            rows: Rows::new(chunks),
            line: vec![0.0; variant.head_dim],
            queries: vec![[0.0; LANES]; chunks * variant.head_dim],
            scores: vec![[0.0; LANES]; chunks * keys_per_block.next_multiple_of(tile::LINES)],
            sums: vec![[0.0; LANES]; chunks * variant.head_dim],
        })
    }

    /// `[tokens, q_heads, head_dim]`; rows past the last token are zero.
    pub(crate) fn run(&mut self, batch: &Batch) -> Array {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
            #[target_feature(enable = "avx2,fma")]
            fn wide(native: &mut Native, batch: &Batch) -> Array {
                native.attend(batch)
            }
            // SAFETY: the two features that `wide` is compiled for were detected on this processor just above; the function
            // is safe code otherwise.
            #[allow(unsafe_code)]
            return unsafe { wide(self, batch) };
        }
        self.attend(batch)
    }

    #[inline(always)]
    fn attend(&mut self, batch: &Batch) -> Array {
        let mut output = Array::zeros(batch.q.dtype, &batch.q.shape);
        let metadata = &batch.metadata;
        let sequences = metadata.sequences_in_table();
        let total = metadata.cu_q_lens[sequences] as usize;
        let mut first = 0; // sequence with rows in this block or after it
        for start in (0..total).step_by(self.queries_per_block) {
            let end = start + self.queries_per_block;
            for kv_head in 0..self.variant.kv_heads {
                self.load_queries(batch, start, kv_head);
                let mut sequence = first;
                while sequence < sequences && (metadata.cu_q_lens[sequence] as usize) < end {
                    self.sequence(batch, start, kv_head, sequence, &mut output);
                    sequence += 1;
                }
            }
            while first < sequences && metadata.cu_q_lens[first + 1] as usize <= end {
                first += 1;
            }
        }
        output
    }

    /// The query heads of one KV head.
    fn heads(&self, kv_head: usize) -> Range<usize> {
        let group = self.variant.q_heads / self.variant.kv_heads;
        kv_head * group..(kv_head + 1) * group
    }

    /// The block's queries of one group of heads, transposed; rows past the array are zero.
    #[inline(always)]
    fn load_queries(&mut self, batch: &Batch, start: usize, kv_head: usize) {
        let Variant { tokens, q_heads, head_dim, .. } = self.variant;
        let heads = self.heads(kv_head);
        for token in 0..self.queries_per_block {
            for head in heads.clone() {
                let row = token * heads.len() + head - heads.start;
                if start + token < tokens {
                    let at = ((start + token) * q_heads + head) * head_dim;
                    read_f32(batch.q.dtype, &batch.q.bytes, at, &mut self.line);
                } else {
                    self.line.fill(0.0);
                }
                let lanes = &mut self.queries[row / LANES * head_dim..][..head_dim];
                for (lane, &value) in lanes.iter_mut().zip(&self.line) {
                    lane[row % LANES] = value;
                }
            }
        }
    }

    /// One sequence's rows in the query block that starts at token `start`.
    #[inline(always)]
    fn sequence(&mut self, batch: &Batch, start: usize, kv_head: usize, sequence: usize, output: &mut Array) {
        let Metadata { kv_lens, cu_q_lens, .. } = &batch.metadata;
        let kv_len = kv_lens[sequence] as usize;
        let group = self.heads(kv_head).len();
        // The last query sees the last key.
        let first_position = kv_lens[sequence] - cu_q_lens[sequence + 1] + start as i32;
        self.rows.begin(first_position, group);
        self.sums.fill([0.0; LANES]);
        for first in (0..kv_len).step_by(self.keys_per_block) {
            let filled = self.keys_per_block.min(kv_len - first);
            let keys = match self.tiles {
                Tiles::Whole => self.keys_per_block,
                Tiles::Filled => filled,
            };
            self.cache.gather(batch, &self.variant, sequence, kv_head, first..first + filled);
            tile::scores(&self.queries, &self.cache.keys, self.variant.head_dim, keys, &mut self.scores);
            self.rows.weigh(&mut self.scores, first as i32, keys, &self.variant.options);
            let values = &self.cache.values;
            tile::mix(&self.scores, values, self.keys_per_block, keys, self.rows.kept(), &mut self.sums);
        }
        self.store(cu_q_lens[sequence] as usize..cu_q_lens[sequence + 1] as usize, start, kv_head, output);
    }

    /// Divides the sums and writes those rows of the block that lie in `tokens`.
    #[inline(always)]
    fn store(&mut self, tokens: Range<usize>, start: usize, kv_head: usize, output: &mut Array) {
        let Variant { q_heads, head_dim, .. } = self.variant;
        let heads = self.heads(kv_head);
        let rows = self.sums.len() / (head_dim / LANES);
        for token in tokens.start.max(start)..tokens.end.min(start + self.queries_per_block) {
            for head in heads.clone() {
                let row = (token - start) * heads.len() + head - heads.start;
                let factor = 1.0 / self.rows.sum(row);
                let columns = self.sums[row..].iter().step_by(rows);
                for (target, lanes) in self.line.as_chunks_mut::<LANES>().0.iter_mut().zip(columns) {
                    *target = lanes.map(|sum| sum * factor);
                }
                let at = (token * q_heads + head) * head_dim;
                write_f32(output.dtype, &self.line, &mut output.bytes, at);
            }
        }
    }
}
