//! What the sequences that break a rule do to the others: the batch is run again without them, and the others' rows are
//! compared, bit for bit.
//!
//! A serving engine mixes requests of many users in one batch; what it fears most is that one of them changes another's answer.
//!
//! Invariant: a function of engine, variant, case and policy. q's rows move up, pages and cache stay where they are, so that
//! nothing but the broken sequences is gone. A right kernel computes a row from its own sequence alone, so equal bits are
//! expected, not just near values.

use std::fmt;
use std::ops::Range;

use countersign_dtype::Array;
use countersign_kernels::Variant;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::bind;
use countersign_kernels::rpa::contract;
use countersign_reference::{Batch, Metadata};

use crate::case::{Case, CaseError};

/// A sequence that breaks no rule, and what became of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Its place in the batch.
    pub sequence: usize,
    /// Its rows of q.
    pub rows: usize,
    /// Those whose outputs are others without the broken sequences.
    pub changed: usize,
}

/// What the broken sequences of a batch do to the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interference {
    /// Sequences that break a rule of their own.
    pub broken: Vec<usize>,
    /// All others that have rows.
    pub others: Vec<Other>,
    /// How the whole batch ended, where it didn't finish: rows that were not stored by then are other ones, too.
    pub ended: Option<&'static str>,
}

/// Runs a case with and without the sequences that break a rule of their own. `None` where there are none, or no others with
/// rows, or where the batch without them doesn't finish, so that there is nothing to compare with.
///
/// # Errors
/// As [`Case::batch`].
pub fn interference(
    engine: &mut dyn Engine,
    variant: &Variant,
    case: &Case,
    policy: &Policy,
) -> Result<Option<Interference>, CaseError> {
    let batch = case.batch(variant)?;
    let mut broken: Vec<usize> =
        contract::check(variant, &batch).breaches.iter().filter_map(|breach| breach.sequence).collect();
    broken.sort_unstable();
    broken.dedup();
    if broken.is_empty() || case.statics.is_some() {
        return Ok(None);
    }
    let kept: Vec<(usize, Range<usize>)> = (0..batch.metadata.sequences_in_table())
        .filter(|sequence| !broken.contains(sequence))
        .filter_map(|sequence| Some((sequence, rows(variant, &batch.metadata, sequence)?)))
        .collect();
    if kept.is_empty() {
        return Ok(None);
    }
    let without = without(&batch, &kept);
    let mut run = |batch: &Batch| engine.run(batch, &bind(variant, batch), policy);
    let (with, alone) = (run(&batch), run(&without));
    if alone.end != EngineEnd::Finished {
        return Ok(None);
    }
    let mut start = 0;
    let mut others = Vec::with_capacity(kept.len());
    for (sequence, rows) in kept {
        let changed =
            rows.clone().enumerate().filter(|(at, row)| !same_row(&with, *row, &alone, start + at)).count();
        others.push(Other { sequence, rows: rows.len(), changed });
        start += rows.len();
    }
    let ended = match &with.end {
        EngineEnd::Finished => None,
        EngineEnd::Fault(fault) => Some(fault.class.name()),
        EngineEnd::OutOfFuel => Some("hang"),
        EngineEnd::Unsupported(_) => return Ok(None),
    };
    Ok(Some(Interference { broken, others, ended }))
}

/// The rows of q that a sequence has; `None` where there are none, or not all are there.
pub(crate) fn rows(variant: &Variant, meta: &Metadata, sequence: usize) -> Option<Range<usize>> {
    let entry = |index: usize| meta.cu_q_lens.get(index).and_then(|&row| usize::try_from(row).ok());
    let (start, end) = (entry(sequence)?, entry(sequence + 1)?);
    (start < end && end <= variant.tokens).then_some(start..end)
}

/// The batch of these sequences alone: rows of q moved up, page rows moved up, the cache as it is.
pub(crate) fn without(batch: &Batch, kept: &[(usize, Range<usize>)]) -> Batch {
    let mut alone = batch.clone();
    let meta = &mut alone.metadata;
    let columns = meta.pages_per_seq;
    let width = batch.q.bytes.len() / batch.q.shape.first().copied().unwrap_or(1).max(1);
    let mut end = 0;
    meta.num_seqs = i32::try_from(kept.len()).unwrap_or(i32::MAX);
    meta.cu_q_lens[0] = 0;
    for (place, (sequence, rows)) in kept.iter().enumerate() {
        let from = rows.start * width..rows.end * width;
        alone.q.bytes[end * width..][..from.len()].copy_from_slice(&batch.q.bytes[from]);
        end += rows.len();
        meta.cu_q_lens[place + 1] = i32::try_from(end).unwrap_or(i32::MAX);
        meta.kv_lens[place] = batch.metadata.kv_lens[*sequence];
        let row = &batch.metadata.page_indices[sequence * columns..][..columns];
        meta.page_indices[place * columns..][..columns].copy_from_slice(row);
    }
    alone
}

/// Whether two runs stored the same bits in a row each, or left the same elements undefined.
fn same_row(one: &EngineRun, row: usize, two: &EngineRun, other_row: usize) -> bool {
    let (Some(a), Some(b)) = (&one.output, &two.output) else { return false };
    let width = a.len() / a.shape.first().copied().unwrap_or(1).max(1);
    let defined = |ranges: &[Range<usize>], row: usize| {
        let elements = row * width..(row + 1) * width;
        !ranges.iter().any(|range| range.start < elements.end && elements.start < range.end)
    };
    let bits = |array: &Array, row: usize| {
        let bytes = array.bytes.len() / array.shape.first().copied().unwrap_or(1).max(1);
        array.bytes.get(row * bytes..(row + 1) * bytes).map(<[u8]>::to_vec)
    };
    // Rows of the batch without the broken sequences are all stored.
    defined(&one.undefined, row) && bits(a, row) == bits(b, other_row)
}

/// A sentence for each other sequence that changes, or one that says that none does.
impl fmt::Display for Interference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |sequences: &[usize]| sequences.iter().map(usize::to_string).collect::<Vec<String>>().join(", ");
        let broken = list(&self.broken);
        let changed: Vec<&Other> = self.others.iter().filter(|other| other.changed > 0).collect();
        let until =
            self.ended.map_or_else(String::new, |class| format!(" (of what was stored before the {class})"));
        if changed.is_empty() {
            let others: Vec<usize> = self.others.iter().map(|other| other.sequence).collect();
            return write!(
                f,
                "Without sequence {broken}, the outputs of sequence {} are the same bits{until}",
                list(&others)
            );
        }
        let each: Vec<String> = changed
            .iter()
            .map(|other| format!("{} of {} row(s) of sequence {}", other.changed, other.rows, other.sequence))
            .collect();
        write!(
            f,
            "Sequence {broken} changes the output of others{until}: {} come out otherwise without it",
            each.join(", ")
        )
    }
}
