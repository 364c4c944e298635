//! A small variant and a batch that keeps its contract, for the tests of this family.

use countersign_dtype::{Array, DType};
use countersign_reference::{Batch, Metadata, Options};

use super::facts::DEFAULT_MASK_VALUE;
use crate::family::Family;
use crate::variant::{Generation, Variant};

/// 16 rows, 2 query heads on 1 KV head of dimension 8, 12 pages of 4 tokens, a page table of 4 rows and 3 columns.
pub(crate) fn variant() -> Variant {
    Variant {
        family: Family::Rpa,
        name: "test".to_string(),
        tokens: 16,
        q_heads: 2,
        kv_heads: 1,
        head_dim: 8,
        page_size: 4,
        pages: 12,
        max_seqs: 4,
        pages_per_seq: 3,
        q_dtype: DType::F32,
        kv_dtype: DType::F32,
        pages_per_block: Some(2),
        queries_per_block: Some(8),
        tuned: None,
        options: Options {
            sm_scale: 1.0,
            sliding_window: None,
            soft_cap: None,
            mask_value: DEFAULT_MASK_VALUE,
            k_scale: None,
            v_scale: None,
        },
        generation: Generation::V5e,
    }
}

/// Three sequences with (query tokens, tokens in the cache) = (3, 5), (1, 12), (4, 4); garbage in all that the batch
/// doesn't own, payload included.
pub(crate) fn batch() -> Batch {
    let metadata = Metadata {
        kv_lens: vec![5, 12, 4, -7],
        page_indices: vec![3, 0, -1, 5, 6, 7, 9, 99, i32::MIN, 12, 13, 14],
        pages_per_seq: 3,
        cu_q_lens: vec![0, 3, 4, 8, -9],
        num_seqs: 3,
    };
    let mut q = vec![f32::NAN; 16 * 2 * 8];
    q[..8 * 2 * 8].fill(0.5);
    let mut kv = vec![f32::NAN; 12 * 4 * 2 * 8];
    for (page, slots) in [(3, 4), (0, 1), (5, 4), (6, 4), (7, 4), (9, 4)] {
        kv[page * 64..page * 64 + slots * 16].fill(0.25);
    }
    Batch {
        metadata,
        q: Array::from_f32(DType::F32, &[16, 2, 8], &q),
        kv_pages: Array::from_f32(DType::F32, &[12, 4, 2, 8], &kv),
    }
}
