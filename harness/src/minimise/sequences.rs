//! Fewer sequences: runs of them are left out, neighbours are joined, one takes over another's pages.
//!
//! Invariant: a sequence that stays keeps its lengths, pages and patches, and may get more of them.

use std::ops::Range;

use super::batch::{Parts, Sequence};
use super::{Context, Draft};
use crate::case::{Patch, PatchTarget};
use crate::payload::Pattern;

pub(super) fn candidates(context: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let variant = context.variant(draft);
    let parts = Parts::of(&draft.case.metadata);
    let count = parts.sequences.len();
    let mut candidates = Vec::new();
    let mut run = count;
    while run > 0 {
        for start in (0..count).step_by(run) {
            let out = start..(start + run).min(count);
            candidates.extend(left_out(draft, &parts, &out, false));
            candidates.extend(left_out(draft, &parts, &out, true));
        }
        run /= 2;
    }
    for index in 1..count {
        candidates.extend(joined(draft, &parts, index, variant.page_size));
    }
    for gone in 0..count {
        for heir in (0..count).filter(|&heir| heir != gone) {
            let smaller = inherited(draft, &parts, gone, heir, variant.page_size);
            // Its pages may have to be told apart now.
            candidates.extend(smaller.clone().map(by_position));
            candidates.extend(smaller);
        }
    }
    // A num_seqs that doesn't count what is there, nearer to it.
    for excess in nearer(parts.excess) {
        candidates.extend(with_parts(draft, &Parts { excess, ..parts.clone() }));
    }
    candidates
}

/// Numbers between 0 and `excess`, the smallest first; none for 0.
fn nearer(excess: i64) -> Vec<i64> {
    let sign = excess.signum();
    [0, 1, excess.abs() / 2, excess.abs() - 1].into_iter().map(|excess| sign * excess).collect()
}

/// The draft with other metadata for its own shapes.
pub(super) fn with_parts(draft: &Draft, parts: &Parts) -> Option<Draft> {
    let meta = &draft.case.metadata;
    let mut draft = draft.clone();
    draft.case.metadata = parts.metadata(meta.kv_lens.len(), meta.pages_per_seq)?;
    draft.case.checksum = None;
    Some(draft)
}

/// Without the sequences `out`; those after them move up by their rows, unless `in_place`.
fn left_out(draft: &Draft, parts: &Parts, out: &Range<usize>, in_place: bool) -> Option<Draft> {
    let mut parts = parts.clone();
    let gone: Vec<Sequence> = parts.sequences.drain(out.clone()).collect();
    if in_place {
        let rows: i64 = gone.iter().map(|sequence| sequence.q_len).sum();
        match parts.sequences.get_mut(out.start) {
            Some(next) => next.q_len += rows,
            None => return None,
        }
    }
    let mut draft = with_parts(draft, &parts)?;
    let patches = std::mem::take(&mut draft.case.payload.patches).into_iter();
    draft.case.payload.patches = patches
        .filter(|patch| !out.contains(&patch.sequence))
        .map(|patch| Patch {
            sequence: patch.sequence - if patch.sequence < out.start { 0 } else { out.len() },
            ..patch
        })
        .collect();
    Some(draft)
}

/// With sequence `index` appended to the one before it.
fn joined(draft: &Draft, parts: &Parts, index: usize, page_size: usize) -> Option<Draft> {
    let mut parts = parts.clone();
    let second = parts.sequences.remove(index);
    let first = parts.sequences.get_mut(index - 1)?;
    let (used, tokens, queries) = (first.used(page_size), first.kv_len, first.q_len);
    let columns = first.row.len();
    first.row.splice(used.., second.row[..second.used(page_size)].iter().copied());
    first.row.truncate(columns);
    first.q_len += second.q_len;
    first.kv_len += second.kv_len;
    let mut draft = with_parts(draft, &parts)?;
    for patch in &mut draft.case.payload.patches {
        if patch.sequence == index {
            let before = if patch.target == PatchTarget::Q { queries } else { tokens };
            patch.token = patch.token.checked_add(usize::try_from(before).ok()?)?;
        }
        if patch.sequence >= index {
            patch.sequence -= 1;
        }
    }
    Some(draft)
}

/// With values that tell a sequence's positions apart.
fn by_position(mut draft: Draft) -> Draft {
    draft.case.payload.pattern = Pattern::PositionV.name().to_owned();
    draft
}

/// Without the sequence `gone`, whose cached tokens stand before those of `heir` now.
fn inherited(draft: &Draft, parts: &Parts, gone: usize, heir: usize, page_size: usize) -> Option<Draft> {
    let mut parts = parts.clone();
    let Sequence { row, kv_len, .. } = &parts.sequences[gone];
    let (kv_len, columns) = (*kv_len, row.len());
    let pages = row[..parts.sequences[gone].used(page_size)].to_vec();
    let richer = parts.sequences.get_mut(heir)?;
    richer.row.splice(0..0, pages);
    richer.row.truncate(columns);
    richer.kv_len += kv_len;
    let mut draft = draft.clone();
    for patch in &mut draft.case.payload.patches {
        if patch.sequence == heir && patch.target != PatchTarget::Q {
            patch.token = patch.token.checked_add(usize::try_from(kv_len).ok()?)?;
        }
    }
    left_out(&draft, &parts, &(gone..gone + 1), false)
}
