//! Metadata that the batch doesn't own (past num_seqs, and ends of page-table rows) becomes 0: all of it, array by array, entry
//! by entry; what has to be odd comes nearer to 0.
//!
//! Invariant: nothing that the batch owns changes.

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;

use super::batch::Parts;
use super::sequences::with_parts;
use super::{Context, Draft};

pub(super) fn candidates(context: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let variant = context.variant(draft);
    let parts = Parts::of(&draft.case.metadata);
    let count = entries(&mut parts.clone(), variant.page_size).len();
    let all: Vec<usize> = (0..count).collect();
    let mut candidates = Vec::new();
    let mut run = count;
    while run > 0 {
        for chunk in all.chunks(run) {
            candidates.extend(changed(draft, &parts, variant, chunk, |_| 0));
        }
        run /= 2;
    }
    let limits = limits(variant);
    for &entry in &all {
        let value = *entries(&mut parts.clone(), variant.page_size)[entry];
        let nearer = limits.iter().copied().filter(|limit| limit.unsigned_abs() < value.unsigned_abs());
        for limit in nearer.chain([value / 2, value - value.signum()]) {
            candidates.extend(changed(draft, &parts, variant, &[entry], |_| limit));
        }
    }
    candidates
}

/// Numbers that a check or the kernel may tell from smaller ones.
fn limits(variant: &Variant) -> Vec<i32> {
    let reach = facts::table_reach(variant.page_size, variant.pages_per_seq);
    let past = [variant.pages, variant.tokens + 1, reach + 1];
    let mut limits: Vec<i32> = past.into_iter().filter_map(|limit| i32::try_from(limit).ok()).collect();
    limits.extend([1, -1]);
    limits.sort_by_key(|limit| limit.unsigned_abs());
    limits
}

fn changed(
    draft: &Draft,
    parts: &Parts,
    variant: &Variant,
    which: &[usize],
    value: impl Fn(i32) -> i32,
) -> Option<Draft> {
    let mut parts = parts.clone();
    let mut entries = entries(&mut parts, variant.page_size);
    for &entry in which {
        *entries[entry] = value(*entries[entry]);
    }
    with_parts(draft, &parts)
}

/// The unowned entries, in the order of [`Parts::unowned`].
fn entries(parts: &mut Parts, page_size: usize) -> Vec<&mut i32> {
    let Parts { sequences, kv_tail, row_tail, cu_tail, .. } = parts;
    let tails = sequences.iter_mut().flat_map(|sequence| {
        let used = sequence.used(page_size);
        sequence.row.iter_mut().skip(used)
    });
    tails.chain(kv_tail).chain(row_tail.iter_mut().flatten()).chain(cu_tail).collect()
}
