//! The rules as data: id, sentence, standing, the arrays they speak of, and the upstream checks that enforce them.
//!
//! Invariant: an id is never reused for another rule; findings are filed under it.

use countersign_reference::rule;

/// How sure it is that a correct caller keeps a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Standing {
    /// Upstream says it: in a check, a docstring or a signature.
    Stated,
    /// Nobody says it, but attention has no meaning without it, or every correct caller keeps it.
    Implied,
    /// Upstream accepts the contrary in one place and refuses or mishandles it in another.
    Disputed,
}

impl Standing {
    /// `stated`, `implied` or `disputed`.
    pub const fn name(self) -> &'static str {
        match self {
            Standing::Stated => "stated",
            Standing::Implied => "implied",
            Standing::Disputed => "disputed",
        }
    }
}

/// What a rule is kept or broken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Shapes, element types and options: the call as it is traced.
    Static,
    /// The batch as a whole: no sequence is to blame.
    Batch,
    /// One sequence's own entries and values.
    Sequence,
}

/// A rule of the contract between a caller and the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Stable id, e.g. `q-len-within-kv-len`.
    pub id: &'static str,
    /// What holds for a batch that keeps the rule, in plain words.
    pub sentence: &'static str,
    /// How sure that is.
    pub standing: Standing,
    /// The operands and options that the rule speaks of.
    pub arrays: &'static [&'static str],
    /// What keeps or breaks it.
    pub scope: Scope,
    /// Ids of upstream's checks ([`super::super::validator::CHECKS`]) whose refusal points at this rule. A refusal by any
    /// other check is about something else.
    pub refused_by: &'static [&'static str],
}

macro_rules! rules {
    ($($name:ident = $id:expr, $standing:ident, $scope:ident, $arrays:expr, $refused_by:expr, $sentence:expr;)*) => {
        $(pub(super) const $name: Rule = Rule {
            id: $id,
            sentence: $sentence,
            standing: Standing::$standing,
            arrays: &$arrays,
            scope: Scope::$scope,
            refused_by: &$refused_by,
        };)*
        static RULES: &[Rule] = &[$($name),*];
    };
}

rules! {
    // shapes, element types, options
    OPERAND_RANKS = "operand-ranks", Stated, Static, ["q", "kv_pages", "page_indices"], [],
        "q has 3 dimensions, kv_pages 4 and page_indices 2.";
    COMBINED_HEADS_EVEN = "combined-heads-even", Stated, Static, ["kv_pages"], [],
        "The cache holds a K and a V head for every KV head, so its number of combined heads is even and at least 2.";
    SCALES_FLOAT = "scales-float", Stated, Static, ["k_scale", "v_scale"], [],
        "k_scale and v_scale are Python floats or absent.";
    NUM_SEQS_SHAPE = "num-seqs-shape", Stated, Static, ["num_seqs"], ["num-seqs-shape"],
        "num_seqs has shape (1,).";
    NUM_SEQS_INT32 = "num-seqs-int32", Stated, Static, ["num_seqs"], [],
        "num_seqs is int32.";
    HEAD_DIM_EQUAL = "head-dim-equal", Stated, Static, ["q", "kv_pages"], ["head-dim-equal"],
        "q and kv_pages have the same head dimension.";
    KV_LENS_SHAPE = "kv-lens-shape", Stated, Static, ["kv_lens", "page_indices"], ["kv-lens-shape"],
        "kv_lens has one entry for each row of page_indices.";
    CU_Q_LENS_SHAPE = "cu-q-lens-shape", Stated, Static, ["cu_q_lens", "page_indices"], ["cu-q-lens-shape"],
        "cu_q_lens has one entry more than page_indices has rows.";
    METADATA_INT32 = "metadata-int32", Stated, Static, ["kv_lens", "page_indices", "cu_q_lens"], ["metadata-int32"],
        "kv_lens, page_indices and cu_q_lens are int32.";
    HEADS_DIVISIBLE = "heads-divisible", Stated, Static, ["q", "kv_pages"], ["heads-divisible"],
        "The number of query heads is a multiple of the number of KV heads.";
    PAGE_SIZE_POSITIVE = "page-size-positive", Implied, Static, ["kv_pages"], [],
        "A page holds at least one token.";
    WINDOW_POSITIVE = "window-positive", Stated, Static, ["sliding_window"], ["window-positive"],
        "The sliding window, where there is one, is positive.";
    CAP_NONZERO = "cap-nonzero", Stated, Static, ["soft_cap"], ["cap-nonzero"],
        "The soft cap, where there is one, is not 0.";
    OPTIONS_FINITE = "options-finite", Implied, Static, ["sm_scale", "soft_cap", "k_scale", "v_scale"], [],
        "Scales and soft cap are finite.";
    MASK_VALUE_FINITE = "mask-value-finite", Disputed, Static, ["mask_value"], [],
        "The mask value is finite and at most -1e30.";
    PAGES_PER_BLOCK_IN_RANGE = "pages-per-block-in-range", Stated, Static, ["num_kv_pages_per_block", "page_indices"],
        ["pages-per-block-in-range"],
        "A KV block has at least one page and at most as many as the page table has columns.";
    QUERIES_PER_BLOCK_POSITIVE = "queries-per-block-positive", Stated, Static, ["num_queries_per_block"],
        ["queries-per-block-positive"],
        "A query block has at least one row.";
    VMEM_LIMIT_POSITIVE = "vmem-limit-positive", Stated, Static, ["vmem_limit_bytes"], ["vmem-limit-positive"],
        "The VMEM limit, where there is one, is positive.";

    // metadata
    NUM_SEQS_NONNEGATIVE = rule::NUM_SEQS_NONNEGATIVE, Implied, Batch, ["num_seqs"], [],
        "num_seqs is not negative.";
    NUM_SEQS_POSITIVE = "num-seqs-positive", Disputed, Batch, ["num_seqs"], [],
        "The batch has at least one sequence.";
    NUM_SEQS_WITHIN_TABLE = rule::NUM_SEQS_WITHIN_TABLE, Stated, Batch, ["num_seqs", "page_indices"],
        ["num-seqs-within-table"],
        "num_seqs is at most the number of rows of page_indices.";
    CU_Q_LENS_STARTS_AT_ZERO = rule::CU_Q_LENS_STARTS_AT_ZERO, Implied, Batch, ["cu_q_lens"], [],
        "cu_q_lens starts with 0: the first sequence's first token is in row 0 of q.";
    CU_Q_LENS_NONNEGATIVE = rule::CU_Q_LENS_NONNEGATIVE, Implied, Sequence, ["cu_q_lens"], [],
        "No entry of cu_q_lens[0..=num_seqs] is negative.";
    CU_Q_LENS_NONDECREASING = rule::CU_Q_LENS_NONDECREASING, Implied, Sequence, ["cu_q_lens"], [],
        "cu_q_lens never decreases within its first num_seqs + 1 entries, so no two sequences share a row of q.";
    TOTAL_Q_WITHIN_ROWS = rule::TOTAL_Q_WITHIN_ROWS, Stated, Batch, ["cu_q_lens", "num_seqs", "q"],
        ["total-q-within-rows"],
        "cu_q_lens[num_seqs], the number of query tokens, is at most the number of rows of q.";
    Q_LEN_POSITIVE = "q-len-positive", Disputed, Sequence, ["cu_q_lens", "kv_lens"], [],
        "Every sequence with tokens in the cache has at least one query token.";
    KV_LENS_NONNEGATIVE = rule::KV_LENS_NONNEGATIVE, Implied, Sequence, ["kv_lens"], ["q-len-within-kv-len"],
        "No entry of kv_lens[..num_seqs] is negative.";
    KV_LEN_POSITIVE = "kv-len-positive", Disputed, Sequence, ["kv_lens", "cu_q_lens"], [],
        "No sequence is wholly empty: without tokens in the cache, and without query tokens or with none that cu_q_lens tells.";
    Q_LEN_WITHIN_KV_LEN = rule::Q_LEN_WITHIN_KV_LEN, Stated, Sequence, ["cu_q_lens", "kv_lens"], ["q-len-within-kv-len"],
        "A sequence has at least as many tokens in the cache as query tokens: the cache is written before the call.";
    KV_LENS_IN_TABLE = rule::KV_LENS_IN_TABLE, Stated, Sequence, ["kv_lens", "page_indices"], ["kv-lens-in-table"],
        "A sequence's kv_len fits into its row of page_indices: at most columns times page size.";
    PAGE_INDEX_IN_RANGE = rule::PAGE_INDEX_IN_RANGE, Implied, Sequence, ["page_indices", "kv_pages"], [],
        "Every entry of page_indices that a sequence's kv_len uses names a page of kv_pages.";

    // payload
    OWNED_VALUES_FINITE = rule::OWNED_VALUES_FINITE, Implied, Sequence, ["q", "kv_pages"], [],
        "q, K and V of the batch's own tokens are finite, K and V also after their scales.";
    SCORES_BELOW_F32_MAX = "scores-below-f32-max", Disputed, Sequence, ["q", "kv_pages"], [],
        "Scores stay inside f32: the magnitudes of q·k's terms sum to less than 2^127, and the scaled score plus the mask \
         value is finite.";
    V_SUM_BELOW_F32_MAX = "v-sum-below-f32-max", Disputed, Sequence, ["kv_pages"], [],
        "Weighted sums of V stay inside f32: over a sequence's tokens, the magnitudes of V sum to less than 2^127.";
}

/// All rules, static ones first.
pub fn rules() -> &'static [Rule] {
    RULES
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::rpa::validator::CHECKS;

    #[test]
    fn ids_are_distinct_and_every_upstream_check_belongs_to_a_rule() {
        let ids: BTreeSet<_> = rules().iter().map(|rule| rule.id).collect();
        assert_eq!(ids.len(), rules().len());
        let named: BTreeSet<_> = rules().iter().flat_map(|rule| rule.refused_by.iter().copied()).collect();
        let checks: BTreeSet<_> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(named, checks);
        assert!(checks.is_subset(&ids), "a check's id is that of the rule that says the same");
    }

    #[test]
    fn sentences_are_sentences() {
        for rule in rules() {
            assert!(rule.sentence.ends_with('.') && !rule.arrays.is_empty(), "{}", rule.id);
        }
    }
}
