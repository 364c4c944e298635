//! Ids of the contract's rules that leave attention undefined for a row. The contract itself lives with each kernel family.
//!
//! Invariant: an id is never reused for another rule; findings are filed under it.

/// The row lies past the last token of the batch (padding).
pub const ROW_PAST_LAST_TOKEN: &str = "row-past-last-token";
/// `num_seqs >= 0`.
pub const NUM_SEQS_NONNEGATIVE: &str = "num-seqs-nonnegative";
/// `num_seqs` is at most the rows of the page table.
pub const NUM_SEQS_WITHIN_TABLE: &str = "num-seqs-within-table";
/// `cu_q_lens[0] == 0`: rows before the first sequence belong to nobody.
pub const CU_Q_LENS_STARTS_AT_ZERO: &str = "cu-q-lens-starts-at-zero";
/// No cumulative query length is negative.
pub const CU_Q_LENS_NONNEGATIVE: &str = "cu-q-lens-nonnegative";
/// Cumulative query lengths never decrease, so no two sequences share a row.
pub const CU_Q_LENS_NONDECREASING: &str = "cu-q-lens-nondecreasing";
/// The last cumulative query length is at most the rows of q.
pub const TOTAL_Q_WITHIN_ROWS: &str = "total-q-within-rows";
/// No kv length is negative.
pub const KV_LENS_NONNEGATIVE: &str = "kv-lens-nonnegative";
/// A sequence has at least as many tokens in the cache as query tokens.
pub const Q_LEN_WITHIN_KV_LEN: &str = "q-len-within-kv-len";
/// A sequence's kv length is at most what a row of the page table can hold.
pub const KV_LENS_IN_TABLE: &str = "kv-lens-in-table";
/// A page index that is in use names a physical page.
pub const PAGE_INDEX_IN_RANGE: &str = "page-index-in-range";
/// Values of q, K and V that belong to the batch are finite (K and V also after their scales).
pub const OWNED_VALUES_FINITE: &str = "owned-values-finite";
/// Ranks, head dimensions and head counts of q and the cache fit each other.
pub const SHAPES_FIT: &str = "shapes-fit";
/// The window is positive, the soft cap is not 0, and scale and cap are finite.
pub const OPTIONS_DEFINED: &str = "options-defined";
