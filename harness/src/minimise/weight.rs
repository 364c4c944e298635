//! What makes one case simpler than another.
//!
//! Invariant: a function of variant and case; smaller is simpler, and no two numbers of it are traded against each other.

use countersign_dtype::DType;
use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;
use countersign_reports::SizeReport;

use super::batch::Parts;
use super::payload::rank;
use crate::case::Case;

/// How large a case's batch is, for a person: what its arrays hold of what its metadata claims.
pub fn size(variant: &Variant, case: &Case) -> SizeReport {
    let parts = Parts::of(&case.metadata);
    let reach = facts::table_reach(variant.page_size, case.metadata.pages_per_seq) as i64;
    let sum =
        |lens: &mut dyn Iterator<Item = i64>, most: i64| lens.map(|len| len.clamp(0, most) as u64).sum();
    SizeReport {
        sequences: parts.sequences.len() as u64,
        queries: sum(&mut parts.sequences.iter().map(|sequence| sequence.q_len), variant.tokens as i64),
        keys: sum(&mut parts.sequences.iter().map(|sequence| sequence.kv_len), reach),
    }
}

/// A case's weight, compared from the first number on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight {
    /// Sequences, and how far num_seqs is from their number.
    sequences: (u64, u64),
    /// Query tokens and tokens in the cache, negative ones by their magnitude.
    tokens: u64,
    /// Number of `[static]` overrides.
    overrides: usize,
    /// How unusual the variant is, how many elements its arrays have, and its name.
    variant: (u64, u64, String),
    /// Metadata that the batch doesn't own: entries that aren't 0, and their magnitudes.
    unowned: (u64, u64),
    /// The pattern's rank, patches, seed.
    payload: (usize, usize, u64),
    /// Page numbers that the batch owns.
    pages: u64,
}

impl Weight {
    /// Of a case on its variant.
    pub fn of(variant: &Variant, case: &Case) -> Weight {
        let meta = &case.metadata;
        let parts = Parts::of(meta);
        let sequences = parts.sequences.len() as u64;
        let lens = parts.sequences.iter().flat_map(|sequence| [sequence.q_len, sequence.kv_len]);
        let tokens = lens.chain([parts.first]).map(i64::unsigned_abs).sum();
        let unowned = parts.unowned(variant.page_size);
        let statics = case.statics.as_ref();
        Weight {
            sequences: (sequences, (i64::from(meta.num_seqs) - sequences as i64).unsigned_abs()),
            tokens,
            overrides: statics.map_or(0, |statics| statics.operands.len() + statics.options.len()),
            variant: (oddity(variant), elements(variant), variant.name.clone()),
            unowned: (
                unowned.clone().filter(|&value| value != 0).count() as u64,
                unowned.map(|value| u64::from(value.unsigned_abs())).sum(),
            ),
            payload: (rank(&case.payload.pattern), case.payload.patches.len(), case.payload.seed),
            pages: parts.owned_pages(variant.page_size).map(|page| u64::from(page.unsigned_abs())).sum(),
        }
    }
}

/// Things about a variant that a reader has to keep in mind.
fn oddity(variant: &Variant) -> u64 {
    let head_blocks = facts::heads_per_block(variant).map_or(1, |(heads, _)| variant.q_heads / heads.max(1));
    let odd = [
        variant.q_dtype != DType::F32,
        variant.kv_dtype != variant.q_dtype,
        variant.pages_per_block.is_none() || variant.queries_per_block.is_none(),
        head_blocks > 1,
    ];
    odd.into_iter().map(u64::from).sum()
}

fn elements(variant: &Variant) -> u64 {
    let q = variant.tokens * variant.q_heads * variant.head_dim;
    let cache = variant.pages * variant.page_size * 2 * variant.kv_heads * variant.head_dim;
    (q + cache + variant.max_seqs * variant.pages_per_seq) as u64
}
