//! A smaller variant: the batch moved to another one that the subject has, with the same options.
//!
//! Invariant: the options that a signature names stay. A batch moves as it is, or scaled by the blocks of both variants so
//! that what ends at a block's end still does (what lies past a limit stays as far past it), or scaled by their limits.

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;

use super::batch::{Parts, Sequence};
use super::{Context, Draft};
use crate::case::VariantRef;
use crate::signature::OptionNames;

pub(super) fn candidates(context: &Context<'_>, draft: &Draft) -> Vec<Draft> {
    let from = context.variant(draft);
    // Overrides are written for the shapes that they depart from.
    if draft.case.statics.is_some() {
        return Vec::new();
    }
    let mut candidates = Vec::new();
    for (position, to) in context.variants.iter().enumerate() {
        if position == draft.position || OptionNames::of(from) != OptionNames::of(to) {
            continue;
        }
        for by in [By::Nothing, By::Blocks, By::Limits] {
            candidates.extend(moved(draft, from, to, position, by));
        }
    }
    candidates
}

fn moved(draft: &Draft, from: &Variant, to: &Variant, position: usize, by: By) -> Option<Draft> {
    let parts = Parts::of(&draft.case.metadata);
    let reach = |variant: &Variant| facts::table_reach(variant.page_size, variant.pages_per_seq);
    let blocks = (from.blocks()?.queries, to.blocks()?.queries);
    let rows = Scale::new(by, blocks, (from.tokens, to.tokens));
    let keys = Scale::new(by, (facts::kv_block(from)?, facts::kv_block(to)?), (reach(from), reach(to)));

    let mut moved = parts.clone();
    let ends: Vec<i64> = parts.ends().into_iter().map(|end| rows.of(end)).collect();
    moved.set_ends(&ends);
    let mut pages = Pages { from: from.pages, to: to.pages, seen: Vec::new() };
    for (before, sequence) in parts.sequences.iter().zip(&mut moved.sequences) {
        sequence.kv_len = keys.of(before.kv_len);
        if before.q_len <= before.kv_len {
            sequence.kv_len = sequence.kv_len.max(sequence.q_len);
        }
        sequence.row = pages.row(before, from, sequence.kv_len, to)?;
    }
    moved.kv_tail.iter_mut().for_each(|len| *len = keys.of32(*len));
    moved.cu_tail.iter_mut().for_each(|end| *end = rows.of32(*end));
    for row in &mut moved.row_tail {
        row.iter_mut().for_each(|page| *page = pages.unowned(*page));
        row.resize(to.pages_per_seq, 0);
    }
    if moved.excess > 0 {
        moved.sequences.truncate(to.max_seqs);
    }
    let mut draft = Draft { position, case: draft.case.clone() };
    draft.case.metadata = moved.metadata(to.max_seqs, to.pages_per_seq)?;
    draft.case.variant = VariantRef::Named(to.name.clone());
    draft.case.checksum = None;
    for patch in &mut draft.case.payload.patches {
        let heads = if patch.target == crate::case::PatchTarget::Q { to.q_heads } else { to.kv_heads };
        patch.head %= heads.max(1);
        patch.lane = patch.lane.map(|lane| lane % to.head_dim.max(1));
    }
    Some(draft)
}

/// What lengths are scaled by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Nothing,
    Blocks,
    Limits,
}

/// From lengths of one variant to lengths of another.
struct Scale {
    /// The sizes of both that lengths are scaled by.
    ratio: (u64, u64),
    /// The most that each has room for, where the distance to that is kept.
    limits: Option<(usize, usize)>,
}

impl Scale {
    fn new(by: By, blocks: (usize, usize), limits: (usize, usize)) -> Scale {
        let ratio = |(from, to): (usize, usize)| (from as u64, to as u64);
        match by {
            By::Nothing => Scale { ratio: (1, 1), limits: Some(limits) },
            By::Blocks => Scale { ratio: ratio(blocks), limits: Some(limits) },
            By::Limits => Scale { ratio: ratio(limits), limits: None },
        }
    }

    fn of(&self, length: i64) -> i64 {
        let (from, to) = self.ratio;
        if let Some((limit, new_limit)) = self.limits
            && length > limit as i64
        {
            return (new_limit as i64).saturating_add(length - limit as i64);
        }
        // Rounded away from 0, so that what isn't empty doesn't become so.
        let whole = length.unsigned_abs().saturating_mul(to).div_ceil(from.max(1));
        length.signum() * i64::try_from(whole).unwrap_or(i64::MAX)
    }

    fn of32(&self, length: i32) -> i32 {
        self.of(i64::from(length)).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32
    }
}

/// Page numbers of one variant renumbered for another: in the order of their first use, so that pages stay apart.
struct Pages {
    from: usize,
    to: usize,
    seen: Vec<i32>,
}

impl Pages {
    /// A sequence's row: as many pages as it needs now.
    fn row(&mut self, sequence: &Sequence, from: &Variant, kv_len: i64, to: &Variant) -> Option<Vec<i32>> {
        let used = sequence.used(from.page_size);
        let needed = usize::try_from(kv_len).unwrap_or(0).div_ceil(to.page_size.max(1)).min(to.pages_per_seq);
        let mut row = Vec::with_capacity(to.pages_per_seq);
        for column in 0..needed {
            // A row that needs more pages than before gets fresh ones.
            let page = sequence.row.get(column).copied().filter(|_| column < used);
            row.push(self.owned(page)?);
        }
        let rest = sequence.row.iter().skip(used).map(|&page| self.unowned(page));
        row.extend(rest.take(to.pages_per_seq - needed));
        row.resize(to.pages_per_seq, 0);
        Some(row)
    }

    fn owned(&mut self, page: Option<i32>) -> Option<i32> {
        if let Some(page) = page
            && let Some(outside) = self.outside(page)
        {
            return Some(outside);
        }
        let known = page.and_then(|page| self.seen.iter().position(|&seen| seen == page));
        let number = known.unwrap_or(self.seen.len());
        if known.is_none() {
            // A fresh page has no number of before.
            self.seen.push(page.unwrap_or(i32::MIN));
        }
        if number < self.to { i32::try_from(number).ok() } else { None }
    }

    /// What names no page stays as far outside.
    fn outside(&self, page: i32) -> Option<i32> {
        let past = i64::from(page) - self.from as i64;
        let moved = (self.to as i64).saturating_add(past).min(i64::from(i32::MAX));
        if page < 0 { Some(page) } else { (past >= 0).then_some(moved as i32) }
    }

    fn unowned(&self, page: i32) -> i32 {
        self.outside(page).unwrap_or_else(|| page.min(self.to.saturating_sub(1) as i32))
    }
}
