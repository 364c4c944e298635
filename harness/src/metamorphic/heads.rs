//! KV heads in another order, their groups of query heads with them.
//!
//! Invariant: a query head keeps its KV head.

use countersign_kernels::Variant;
use countersign_reference::Batch;

use super::values::total;
use super::{Expectation, Follow};
use crate::payload::Stream;

/// KV heads rotated, with their query heads.
pub(super) fn permuted(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    if variant.kv_heads < 2 {
        return None;
    }
    let by = 1 + stream.below(variant.kv_heads as u64 - 1) as usize;
    let group = variant.q_heads / variant.kv_heads;
    let mut second = batch.clone();
    // All that a KV head has in a row is one run of bytes: its group of q, its K and V in a slot of the cache.
    let rotate = |bytes: &mut [u8], rows: usize| {
        let row = bytes.len() / rows;
        bytes
            .chunks_exact_mut(row)
            .for_each(|row_bytes| row_bytes.rotate_right(by * (row / variant.kv_heads)));
    };
    rotate(&mut second.q.bytes, variant.tokens);
    rotate(&mut second.kv_pages.bytes, variant.pages * variant.page_size);
    let heads = (0..variant.q_heads).map(|head| (head + by * group) % variant.q_heads).collect();
    let pairs = (0..total(batch)).map(|row| (row, row)).collect();
    Some(Follow { first: None, second, expectation: Expectation::Rows { pairs, heads, factor: 1.0 } })
}
