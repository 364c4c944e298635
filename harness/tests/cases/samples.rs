//! Variants and cases that the tests share.

use countersign::case::{Case, Payload, VariantRef};
use countersign_dtype::DType;
use countersign_kernels::family::Family;
use countersign_kernels::{Generation, Variant};
use countersign_reference::{Metadata, Options};

/// 32 rows, 4 query heads on 2 KV heads, 16 pages of 8 tokens, 4 rows of 5 pages.
pub(crate) fn variant(q_dtype: DType, kv_dtype: DType) -> Variant {
    Variant {
        family: Family::Rpa,
        name: "sample".to_owned(),
        tokens: 32,
        q_heads: 4,
        kv_heads: 2,
        head_dim: 128,
        page_size: 8,
        pages: 16,
        max_seqs: 4,
        pages_per_seq: 5,
        q_dtype,
        kv_dtype,
        pages_per_block: Some(2),
        queries_per_block: Some(8),
        tuned: None,
        options: Options {
            sm_scale: 0.088_388_346,
            sliding_window: None,
            soft_cap: Some(30.0),
            mask_value: -2.381_976_3e38,
            k_scale: None,
            v_scale: None,
        },
        generation: Generation::V6e,
    }
}

/// Three sequences: decode, prefill, chunked prefill.
pub(crate) fn case() -> Case {
    Case {
        kernel: "jax-rpa".to_owned(),
        variant: VariantRef::Named("sample".to_owned()),
        metadata: Metadata {
            kv_lens: vec![18, 5, 33, 0],
            page_indices: vec![3, 1, 2, 0, 0, 4, 0, 0, 0, 0, 5, 6, 7, 9, 8, 0, 0, 0, 0, 0],
            pages_per_seq: 5,
            cu_q_lens: vec![0, 1, 6, 13, 13],
            num_seqs: 3,
        },
        payload: Payload::pattern("normal@1".to_owned(), 7),
        checksum: None,
        statics: None,
    }
}
