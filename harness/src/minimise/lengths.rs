//! Shorter lengths: query tokens and tokens in the cache, of all sequences at once, of one, and single entries of cu_q_lens.
//!
//! Invariant: the number of sequences stays. Lengths aim at what kernels tell apart: 1, what is left of a page or of a block,
//! one page or block less, one token less, the limits of the arrays.

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;

use super::batch::{Parts, Sequence};
use super::sequences::with_parts;
use super::{Context, Draft};

pub(super) fn candidates(context: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let variant = context.variant(draft);
    let (steps, page_size) = (Steps::of(variant), variant.page_size);
    let parts = Parts::of(&draft.case.metadata);
    let mut shorter: Vec<Parts> = Vec::new();
    let mut change = |change: &dyn Fn(&mut Parts)| {
        let mut parts = parts.clone();
        change(&mut parts);
        shorter.push(parts);
    };
    change(&|parts| parts.sequences.iter_mut().for_each(|sequence| sequence.set(1, 1)));
    change(&|parts| {
        parts.sequences.iter_mut().for_each(|sequence| sequence.set(sequence.q_len, sequence.q_len))
    });
    change(&|parts| parts.sequences.iter_mut().for_each(|sequence| sequence.set(1, sequence.kv_len)));
    for (index, sequence) in parts.sequences.iter().enumerate() {
        let Sequence { q_len, kv_len, .. } = *sequence;
        let mut set = |q_len: i64, kv_len: i64| {
            change(&|parts: &mut Parts| {
                (parts.sequences[index].q_len, parts.sequences[index].kv_len) = (q_len, kv_len)
            });
        };
        set(q_len.min(1), kv_len.min(1));
        set(q_len, q_len);
        for less in steps.below(q_len) {
            set(less, kv_len);
            // As many tokens fewer in the cache.
            set(less, kv_len - (q_len - less));
            set(less, less);
        }
        for less in steps.below(kv_len) {
            set(q_len, less);
            set(q_len.min(less), less);
        }
        // A page may matter because it isn't there, or because an entry past another sequence's end names it: it stays, in front.
        for column in 1..sequence.used(page_size) {
            let page = sequence.row[column];
            let exists = usize::try_from(page).is_ok_and(|page| page < variant.pages);
            if exists && parts.unowned(page_size).all(|other| other != page) {
                continue;
            }
            for less in steps.below(kv_len) {
                change(&|parts: &mut Parts| {
                    let sequence = &mut parts.sequences[index];
                    sequence.row.swap(0, column);
                    (sequence.q_len, sequence.kv_len) = (q_len.min(less), less);
                });
            }
        }
    }
    let ends = parts.ends();
    for (entry, end) in ends.iter().enumerate() {
        for less in steps.below(*end) {
            let mut ends = ends.clone();
            ends[entry] = less;
            change(&|parts| parts.set_ends(&ends));
        }
        // What is negative may as well be so one entry earlier, or two may be, and no more than that.
        if *end < 0 && entry > 1 {
            for (before, after) in [(-1, ends[entry - 1].max(1)), (-2, -1)] {
                let mut ends = ends.clone();
                (ends[entry - 1], ends[entry]) = (before, after);
                change(&|parts| parts.set_ends(&ends));
            }
        }
    }
    // The first entry alone, all rows with it.
    for less in steps.below(parts.first) {
        change(&|parts| parts.first = less);
    }
    shorter.into_iter().filter_map(|parts| with_parts(draft, &parts).map(without_lost_patches)).collect()
}

/// Without patches of tokens that are gone.
fn without_lost_patches(mut draft: Draft) -> Draft {
    let parts = Parts::of(&draft.case.metadata);
    draft.case.payload.patches.retain(|patch| {
        let sequence = parts.sequences.get(patch.sequence);
        sequence.is_some_and(|sequence| {
            let length = match patch.target {
                crate::case::PatchTarget::Q => sequence.q_len,
                crate::case::PatchTarget::K | crate::case::PatchTarget::V => sequence.kv_len,
            };
            i64::try_from(patch.token).is_ok_and(|token| token < length)
        })
    });
    draft
}

impl Sequence {
    /// Shortens to at most these; what is odd already (empty, negative) stays.
    fn set(&mut self, q_len: i64, kv_len: i64) {
        self.q_len = self.q_len.min(q_len.max(0));
        self.kv_len = self.kv_len.min(kv_len.max(0));
    }
}

/// The lengths that a kernel works in.
struct Steps {
    blocks: Vec<i64>,
    limits: Vec<i64>,
}

impl Steps {
    fn of(variant: &Variant) -> Steps {
        let size = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
        let mut blocks = vec![size(variant.page_size)];
        blocks.extend(variant.blocks().map(|blocks| size(blocks.queries)));
        blocks.extend(facts::kv_block(variant).map(size));
        blocks.retain(|&block| block > 1);
        let reach = size(facts::table_reach(variant.page_size, variant.pages_per_seq));
        let limits = [size(variant.tokens), reach].into_iter().flat_map(|limit| [limit, limit + 1]);
        Steps { limits: blocks.iter().copied().chain(limits).collect(), blocks }
    }

    /// Numbers nearer to 0 than `length`, of its sign or 0, the boldest first.
    fn below(&self, length: i64) -> Vec<i64> {
        let (sign, length) = (length.signum(), length.abs());
        let mut below = vec![0, 1];
        below.extend(self.limits.iter().copied());
        below.extend(self.blocks.iter().flat_map(|block| [length % block, length - block]));
        // By halves of what is left, so that a length near the int32 limit takes no more steps than it has bits.
        below.push(length / 2);
        below.extend((1..i64::BITS).map(|halvings| length - (length >> halvings)));
        below.push(length - 1);
        below.retain(|&less| 0 <= less && less < length);
        below.sort_unstable();
        below.dedup();
        below.into_iter().map(|less| sign * less).collect()
    }
}
