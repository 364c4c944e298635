//! The payload: q and the cache, filled from a named pattern where the batch owns them and with poison elsewhere.
//!
//! Invariant: total over all metadata, however broken: what it claims is clipped to the arrays. Only owned elements are
//! generated, so the cost follows the batch, not the cache.

mod file;
mod pattern;
mod stream;

pub use file::{FILE, PayloadFile, sha256_of};
pub use pattern::Pattern;
pub(crate) use stream::Stream;

use countersign_dtype::{Array, DType, write_f32};
use countersign_kernels::Variant;
use countersign_reference::Metadata;

use pattern::Source;

/// q `[tokens, q_heads, head_dim]` and the cache `[pages, page_size, 2 * kv_heads, head_dim]` of a batch.
pub fn fill(variant: &Variant, metadata: &Metadata, pattern: Pattern, seed: u64) -> (Array, Array) {
    let source = Source::new(pattern, seed, variant);
    let dim = variant.head_dim;
    let mut q = poisoned(variant.q_dtype, &[variant.tokens, variant.q_heads, dim]);
    let cache = [variant.pages, variant.page_size, 2 * variant.kv_heads, dim];
    let mut kv_pages = poisoned(variant.kv_dtype, &cache);

    let mut row = vec![0.0f32; (variant.q_heads * dim).max(2 * variant.kv_heads * dim)];
    for sequence in 0..sequences(metadata) {
        for (token, q_row) in q_rows(variant, metadata, sequence) {
            let row = &mut row[..variant.q_heads * dim];
            for (head, lanes) in row.chunks_exact_mut(dim).enumerate() {
                source.q(sequence, token, head, lanes);
            }
            write_f32(variant.q_dtype, row, &mut q.bytes, q_row * row.len());
        }
        for position in 0..cached(variant, metadata, sequence) {
            let Some(slot) = kv_slot(variant, metadata, sequence, position) else { continue };
            let row = &mut row[..2 * variant.kv_heads * dim];
            for (head, pair) in row.chunks_exact_mut(2 * dim).enumerate() {
                let (k, v) = pair.split_at_mut(dim);
                source.k(sequence, position, head, k);
                source.v(sequence, position, head, v);
            }
            write_f32(variant.kv_dtype, row, &mut kv_pages.bytes, slot * row.len());
        }
    }
    (q, kv_pages)
}

/// Sequences that the metadata both names and holds.
pub(crate) fn sequences(metadata: &Metadata) -> usize {
    metadata.sequences_in_table()
}

/// The rows of q that a sequence claims, clipped to the array, each with its index within the sequence.
fn q_rows(variant: &Variant, metadata: &Metadata, sequence: usize) -> impl Iterator<Item = (usize, usize)> {
    let start = i64::from(metadata.cu_q_lens[sequence]);
    let end = i64::from(metadata.cu_q_lens[sequence + 1]).min(variant.tokens as i64);
    (start.max(0)..end).map(move |row| ((row - start) as usize, row as usize))
}

/// Positions of a sequence that its row of the page table can hold.
fn cached(variant: &Variant, metadata: &Metadata, sequence: usize) -> usize {
    let kv_len = usize::try_from(metadata.kv_lens[sequence]).unwrap_or(0);
    kv_len.min(metadata.pages_per_seq.saturating_mul(variant.page_size))
}

/// `page * page_size + slot` of every position of a sequence whose page exists.
pub(crate) fn kv_slots(
    variant: &Variant,
    metadata: &Metadata,
    sequence: usize,
) -> impl Iterator<Item = usize> {
    (0..cached(variant, metadata, sequence))
        .filter_map(move |position| kv_slot(variant, metadata, sequence, position))
}

/// The row of q that holds a sequence's token, if the batch owns it.
pub(crate) fn q_row(variant: &Variant, metadata: &Metadata, sequence: usize, token: usize) -> Option<usize> {
    if sequence >= sequences(metadata) {
        return None;
    }
    let row = i64::from(metadata.cu_q_lens[sequence]).checked_add(i64::try_from(token).ok()?)?;
    let end = i64::from(metadata.cu_q_lens[sequence + 1]).min(variant.tokens as i64);
    usize::try_from(row).ok().filter(|_| row < end)
}

/// `page * page_size + slot` of a position of a sequence, if the batch owns it and its page exists.
pub(crate) fn kv_slot(
    variant: &Variant,
    metadata: &Metadata,
    sequence: usize,
    position: usize,
) -> Option<usize> {
    if sequence >= sequences(metadata) || position >= cached(variant, metadata, sequence) {
        return None;
    }
    let entry = sequence * metadata.pages_per_seq + position / variant.page_size;
    let page =
        usize::try_from(*metadata.page_indices.get(entry)?).ok().filter(|&page| page < variant.pages)?;
    Some(page * variant.page_size + position % variant.page_size)
}

/// An array of quiet NaN; of the lowest value for integers, which have none.
fn poisoned(dtype: DType, shape: &[usize]) -> Array {
    let pattern: &[u8] = match dtype {
        DType::F32 => &[0x00, 0x00, 0xc0, 0x7f],
        DType::Bf16 => &[0xc0, 0x7f],
        DType::F16 => &[0x00, 0x7e],
        DType::F8E4M3FN => &[0x7f],
        DType::F8E5M2 => &[0x7e],
        DType::I32 => &[0x00, 0x00, 0x00, 0x80],
        DType::I16 => &[0x00, 0x80],
        DType::I8 => &[0x80],
        DType::I4 => &[0x88],
        DType::I1 => &[0x00],
    };
    let bytes = Array::byte_len(dtype, shape.iter().product());
    Array { dtype, shape: shape.to_vec(), bytes: pattern.repeat(bytes.div_ceil(pattern.len())) }
}
