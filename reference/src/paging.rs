//! The page table: where a sequence's keys lie, and what of q and the cache belongs to a batch.
//!
//! Invariant: total over all metadata, however absurd; nothing here indexes out of bounds or overflows.

use std::ops::Range;

use crate::Metadata;

/// Keys that one row of the page table can hold.
pub(crate) fn reach(metadata: &Metadata, page_size: usize) -> usize {
    metadata.pages_per_seq.saturating_mul(page_size)
}

/// The page table's entries in use by a sequence of `kv_len` keys, clipped to its row.
pub fn pages_in_use(metadata: &Metadata, sequence: usize, kv_len: usize, page_size: usize) -> &[i32] {
    let row = sequence.saturating_mul(metadata.pages_per_seq);
    let used = kv_len.div_ceil(page_size).min(metadata.pages_per_seq);
    metadata.page_indices.get(row..row.saturating_add(used)).unwrap_or(&[])
}

/// Per physical page, how many of its first slots hold a key of some sequence of the batch.
///
/// All else in the cache is nobody's: a right kernel's owned output doesn't depend on it. Table entries that name no page
/// and keys that the table can't hold own nothing.
pub fn owned_slots(metadata: &Metadata, pages: usize, page_size: usize) -> Vec<usize> {
    let mut owned = vec![0; pages];
    if page_size == 0 {
        return owned;
    }
    for sequence in 0..metadata.sequences_in_table() {
        let kv_len = usize::try_from(metadata.kv_lens[sequence]).unwrap_or(0);
        for (logical, &page) in pages_in_use(metadata, sequence, kv_len, page_size).iter().enumerate() {
            if let Some(slots) = usize::try_from(page).ok().and_then(|page| owned.get_mut(page)) {
                *slots = page_size.min(kv_len - logical * page_size).max(*slots);
            }
        }
    }
    owned
}

/// The rows of q from the first to the last that some sequence claims: `0..total` for a batch that keeps the contract.
pub fn owned_rows(metadata: &Metadata, tokens: usize) -> Range<usize> {
    let clip = |row: i32| usize::try_from(row).unwrap_or(0).min(tokens);
    let sequences = metadata.sequences_in_table();
    let claimed = metadata.cu_q_lens.windows(2).take(sequences).filter(|ends| ends[0] < ends[1]);
    let (first, end) =
        claimed.fold((tokens, 0), |(first, end), ends| (first.min(clip(ends[0])), end.max(clip(ends[1]))));
    if first < end { first..end } else { 0..0 }
}
