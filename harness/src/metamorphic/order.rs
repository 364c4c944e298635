//! Sequences in another order, alone, and cut in two.
//!
//! Invariant: pages and cache stay as they are; rows of q move with their sequence.

use std::ops::Range;

use countersign_kernels::Variant;
use countersign_reference::Batch;

use super::Follow;
use crate::interference::{rows, without};
use crate::payload::Stream;

/// Every sequence with its rows of q.
fn sequences(variant: &Variant, batch: &Batch) -> Option<Vec<(usize, Range<usize>)>> {
    let meta = &batch.metadata;
    (0..meta.sequences_in_table()).map(|sequence| Some((sequence, rows(variant, meta, sequence)?))).collect()
}

fn taken(variant: &Variant, batch: &Batch, order: &[(usize, Range<usize>)]) -> Follow {
    let pairs = order.iter().flat_map(|(_, rows)| rows.clone()).enumerate();
    let pairs = pairs.map(|(second, first)| (first, second)).collect();
    Follow::same_rows(variant, without(batch, order), pairs)
}

/// The sequences in another order.
pub(super) fn permuted(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    let mut order = sequences(variant, batch)?;
    if order.len() < 2 {
        return None;
    }
    let by = 1 + stream.below(order.len() as u64 - 1) as usize;
    order.rotate_left(by);
    Some(taken(variant, batch, &order))
}

/// One of several sequences, without the others.
pub(super) fn alone(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    let all = sequences(variant, batch)?;
    if all.len() < 2 {
        return None;
    }
    let one = stream.below(all.len() as u64) as usize;
    Some(taken(variant, batch, &all[one..=one]))
}

/// A sequence's query tokens as those of two sequences: one whose cache ends where the second's queries begin, then the rest.
pub(super) fn chunked(variant: &Variant, batch: &Batch, stream: &mut Stream) -> Option<Follow> {
    let all = sequences(variant, batch)?;
    let long: Vec<&(usize, Range<usize>)> = all.iter().filter(|(_, rows)| rows.len() > 1).collect();
    if long.is_empty() || all.len() == variant.max_seqs {
        return None;
    }
    let (sequence, rows) = long[stream.below(long.len() as u64) as usize];
    let cut = 1 + stream.below(rows.len() as u64 - 1) as usize;
    let mut second = batch.clone();
    let meta = &mut second.metadata;
    let (columns, last) = (meta.pages_per_seq, all.len());
    // Those after it move one place up.
    meta.cu_q_lens.copy_within(sequence + 1..last + 1, sequence + 2);
    meta.kv_lens.copy_within(*sequence..last, sequence + 1);
    meta.page_indices.copy_within(sequence * columns..last * columns, (sequence + 1) * columns);
    meta.cu_q_lens[sequence + 1] = i32::try_from(rows.start + cut).ok()?;
    meta.kv_lens[*sequence] -= i32::try_from(rows.len() - cut).ok()?;
    meta.num_seqs += 1;
    let total = all.last().map_or(0, |(_, rows)| rows.end);
    Some(Follow::same_rows(variant, second, (0..total).map(|row| (row, row)).collect()))
}
