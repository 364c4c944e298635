//! Facts about the kernel that follow from its static side: grid, head blocks, defaults.
//!
//! Invariant: nothing here depends on a batch.

use countersign_dtype::DType;
use countersign_mosaic::Program;

use crate::variant::{Blocks, Variant};

/// Upstream's default for `mask_value`: −0.7 times the largest f32.
pub const DEFAULT_MASK_VALUE: f32 = (-0.7 * f32::MAX as f64) as f32;

/// Query heads and combined KV heads that one grid step holds, in the variant's family; `None` where the entry point refuses the
/// heads.
pub fn heads_per_block(variant: &Variant) -> Option<(usize, usize)> {
    variant.family.model().heads_per_block(variant)
}

/// Query heads and combined KV heads that one grid step holds, as the entry point chooses them.
///
/// `None` where the entry point refuses the heads: combined heads that XLA can't tile fully, heads that don't divide.
///
/// Source: `get_min_heads_per_blk` of jax 0.10.2.
pub(super) fn min_heads_per_block(variant: &Variant) -> Option<(usize, usize)> {
    let combined = 2 * variant.kv_heads;
    let packing = |dtype: DType| 32 / dtype.bits();
    let tileable = |heads: usize, packing: usize| {
        heads.is_multiple_of(packing)
            && (matches!(heads / packing, 1 | 2 | 4 | 8) || (heads / packing).is_multiple_of(8))
    };
    if variant.kv_heads == 0 || !variant.q_heads.is_multiple_of(variant.kv_heads) {
        return None;
    }
    if !tileable(combined, packing(variant.kv_dtype)) {
        return None;
    }
    let largest_tile = 8 * packing(variant.kv_dtype);
    let combined_block = if combined.is_multiple_of(largest_tile) { largest_tile } else { combined };
    let q_block = combined_block / 2 * (variant.q_heads / variant.kv_heads);
    if tileable(q_block, packing(variant.q_dtype)) {
        Some((q_block, combined_block))
    } else {
        Some((variant.q_heads, combined))
    }
}

/// The variant with the block sizes that the kernel's tuning table chose, where it was left to choose.
///
/// They are read off the lowered module: q's window is `[queries, heads, head_dim]`, the scratch buffer of KV is
/// `[2, pages, page_size, heads, head_dim]`.
pub fn tuned(variant: &Variant, program: &Program) -> Variant {
    let mut known = variant.clone();
    if variant.blocks().is_none() {
        let queries = program.windows().find(|block| block.len() == 3).map(|block| block[0]);
        let pages = program.scratch().find(|shape| shape.len() == 5).map(|shape| shape[1]);
        known.tuned = pages.zip(queries).map(|(pages, queries)| Blocks { pages, queries });
    }
    known
}

/// The grid: head blocks by query blocks, query blocks fastest. `None` where the entry point refuses the heads or where
/// the query block is left to the kernel's tuning table.
pub fn grid(variant: &Variant) -> Option<[usize; 2]> {
    let queries = variant.blocks()?.queries;
    if queries == 0 {
        return None;
    }
    let (q_heads, _) = heads_per_block(variant)?;
    Some([variant.q_heads / q_heads, variant.tokens.div_ceil(queries)])
}

/// Tokens of one KV block; `None` where it is left to the kernel's tuning table.
pub fn kv_block(variant: &Variant) -> Option<usize> {
    variant.blocks().map(|blocks| blocks.pages.saturating_mul(variant.page_size))
}

/// Tokens that a row of the page table reaches.
pub fn table_reach(page_size: usize, pages_per_seq: usize) -> usize {
    page_size.saturating_mul(pages_per_seq)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Catalogue;

    #[test]
    fn the_default_mask_is_upstreams() {
        assert_eq!(DEFAULT_MASK_VALUE, -2.3819763e38);
    }

    #[test]
    fn three_kv_heads_are_refused() {
        let catalogue = Catalogue::builtin().unwrap();
        let mut variant = catalogue.kernel("jax-rpa").unwrap().variant("f32-q4-kv4").unwrap().clone();
        (variant.q_heads, variant.kv_heads) = (3, 3);
        assert_eq!(heads_per_block(&variant), None);
    }
}
