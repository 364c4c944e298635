//! The ragged rows: which sequence each row of q belongs to, and which rule leaves it without a value.
//!
//! A sequence is judged by its own entries alone, so that one sequence's broken metadata takes nothing from the others; only
//! a row that two sequences claim is lost to both. Of several broken rules the first in the order of `broken_rule` is named.
//!
//! Invariant: a row has a value exactly if one sequence claims it and that sequence breaks no rule.

use std::ops::Range;

use crate::{Batch, Metadata, RowStatus, Shape, paging, rule};

/// A sequence of the batch, in terms of q's rows.
#[derive(Debug, Clone)]
pub(crate) struct Sequence {
    /// Its place in the metadata.
    pub(crate) index: usize,
    /// Rows of q that it claims, clipped to q.
    pub(crate) rows: Range<usize>,
    /// Keys in the cache.
    pub(crate) kv_len: usize,
    /// Position among its keys of the token in row `rows.start`.
    pub(crate) first_position: usize,
    /// The first rule of its own that it breaks.
    pub(crate) broken: Option<&'static str>,
}

impl Sequence {
    /// Whether it breaks no rule and has rows, and so keys.
    pub(crate) fn has_values(&self) -> bool {
        self.broken.is_none() && !self.rows.is_empty()
    }
}

/// The sequences that the metadata arrays hold, in order.
pub(crate) fn sequences<'a>(batch: &'a Batch, shape: &'a Shape) -> impl Iterator<Item = Sequence> + 'a {
    let metadata = &batch.metadata;
    (0..metadata.sequences_in_table()).map(|index| {
        let (start, end) = (metadata.cu_q_lens[index], metadata.cu_q_lens[index + 1]);
        let clip = |row: i32| usize::try_from(row).unwrap_or(0).min(shape.tokens);
        let rows = clip(start)..clip(end).max(clip(start));
        let kv_len = metadata.kv_lens[index];
        let broken = broken_rule(metadata, index, shape);
        let position = i64::from(kv_len) - i64::from(end) + rows.start as i64;
        let first_position = usize::try_from(position).unwrap_or(0);
        Sequence { index, rows, kv_len: usize::try_from(kv_len).unwrap_or(0), first_position, broken }
    })
}

fn broken_rule(metadata: &Metadata, index: usize, shape: &Shape) -> Option<&'static str> {
    let (start, end) = (i64::from(metadata.cu_q_lens[index]), i64::from(metadata.cu_q_lens[index + 1]));
    let kv_len = i64::from(metadata.kv_lens[index]);
    if start < 0 || end < 0 {
        return Some(rule::CU_Q_LENS_NONNEGATIVE);
    }
    if end < start {
        return Some(rule::CU_Q_LENS_NONDECREASING);
    }
    let Ok(keys) = usize::try_from(kv_len) else { return Some(rule::KV_LENS_NONNEGATIVE) };
    if end - start > kv_len {
        return Some(rule::Q_LEN_WITHIN_KV_LEN);
    }
    if keys > paging::reach(metadata, shape.page_size) {
        return Some(rule::KV_LENS_IN_TABLE);
    }
    let names_a_page = |&page: &i32| usize::try_from(page).is_ok_and(|page| page < shape.pages);
    if !paging::pages_in_use(metadata, index, keys, shape.page_size).iter().all(names_a_page) {
        return Some(rule::PAGE_INDEX_IN_RANGE);
    }
    (end > shape.tokens as i64).then_some(rule::TOTAL_Q_WITHIN_ROWS)
}

/// One status per row of q.
pub(crate) fn row_statuses(batch: &Batch, shape: &Shape, statuses: &mut Vec<RowStatus>) {
    let metadata = &batch.metadata;
    statuses.clear();
    statuses.extend((0..shape.tokens).map(|row| unclaimed(metadata, row)));
    let mut claimed = vec![false; shape.tokens];
    for sequence in sequences(batch, shape) {
        for row in sequence.rows {
            statuses[row] = match sequence.broken {
                _ if claimed[row] => undefined(rule::CU_Q_LENS_NONDECREASING),
                Some(rule) => RowStatus::Undefined { rule, sequence: Some(sequence.index) },
                None => RowStatus::Value { sequence: sequence.index },
            };
            claimed[row] = true;
        }
    }
}

/// Why a row that no sequence claims has no value.
fn unclaimed(metadata: &Metadata, row: usize) -> RowStatus {
    let sequences = metadata.sequences_in_table();
    let before = |bound: Option<&i32>| bound.is_some_and(|&bound| (row as i64) < i64::from(bound));
    undefined(if metadata.num_seqs < 0 {
        rule::NUM_SEQS_NONNEGATIVE
    } else if sequences == 0 {
        rule::ROW_PAST_LAST_TOKEN
    } else if before(metadata.cu_q_lens.first()) {
        rule::CU_Q_LENS_STARTS_AT_ZERO
    } else if before(metadata.cu_q_lens.get(sequences)) {
        rule::CU_Q_LENS_NONDECREASING
    } else if usize::try_from(metadata.num_seqs).is_ok_and(|named| named > sequences) {
        rule::NUM_SEQS_WITHIN_TABLE
    } else {
        rule::ROW_PAST_LAST_TOKEN
    })
}

fn undefined(rule: &'static str) -> RowStatus {
    RowStatus::Undefined { rule, sequence: None }
}
