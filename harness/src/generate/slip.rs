//! Slips: the mistakes that callers make with the metadata and the payload, each applied to a batch that keeps the contract.
//!
//! Invariant: a slip prepares its batch so that it breaks one rule where one can be broken alone; its name is stable; what
//! it promises ([`Slip::keeping`]) is what the contract says of every batch it makes.

use countersign_kernels::Variant;
use countersign_kernels::contract::Keeping;
use countersign_reference::Metadata;

use super::boundary::reach;
use super::dice::Dice;
use super::plan::{self, Lens, Tail, Wish};
use crate::case::{Patch, PatchTarget};

/// A mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Slip {
    /// cu_q_lens without its leading zero.
    CuLeadingZeroMissing,
    /// cu_q_lens holds the lengths instead of their sums.
    CuLengthsNotSums,
    /// A zero, then the lengths instead of their sums.
    CuLengthsAfterZero,
    /// Two leading zeros: an exclusive sum where an inclusive one belongs.
    CuExclusiveShift,
    /// An inner entry one too large.
    CuEntryPlusOne,
    /// An inner entry one too small.
    CuEntryMinusOne,
    /// The last entry one too large.
    CuLastPlusOne,
    /// The last entry one too small: a token is lost, which nobody can see.
    CuLastMinusOne,
    /// One token more than q has rows.
    CuTotalOneAboveRows,
    /// Built for a larger token budget.
    CuTotalFarAboveRows,
    /// Two equal entries: a sequence without query tokens, with a cache.
    CuRepeatedEntry,
    /// An entry below its predecessor.
    CuDecreasingStep,
    /// A negative entry.
    CuNegative,
    /// All entries shifted up.
    CuStartsAboveZero,
    /// An entry near the largest int32.
    CuNearInt32Max,
    /// An entry near the smallest int32.
    CuNearInt32Min,
    /// num_seqs is 0.
    NumSeqsZero,
    /// num_seqs one too small: a sequence is lost, which nobody can see.
    NumSeqsOneLess,
    /// num_seqs one too large; zeros follow.
    NumSeqsOneMore,
    /// num_seqs counts padding rows: wholly empty sequences at the end.
    NumSeqsCountsPadding,
    /// num_seqs one more than the table's rows.
    NumSeqsOneAboveTable,
    /// num_seqs far above the table's rows.
    NumSeqsFarAboveTable,
    /// num_seqs negative.
    NumSeqsNegative,
    /// A wholly empty sequence before others.
    EmptySequence,
    /// kv_len one below q_len: the cache not written before the call.
    KvLenBelowQLen,
    /// kv_len 0 of a sequence with query tokens.
    KvLenZero,
    /// kv_len one above its pages, within the table: a page of another's is read.
    KvLenPageMultiplePlusOne,
    /// kv_len one below its pages' size.
    KvLenPageMultipleMinusOne,
    /// kv_len one above what a table row can hold.
    KvLenPastTable,
    /// A negative kv_len.
    KvLenNegative,
    /// A page index of the number of pages.
    PageTotalPages,
    /// Page index -1, a common filler.
    PageMinusOne,
    /// A page index near the largest int32.
    PageInt32Max,
    /// A page index near the smallest int32.
    PageInt32Min,
    /// A page twice in a sequence.
    PageRepeatedWithin,
    /// A page in two sequences.
    PageRepeatedAcross,
    /// A NaN among the batch's own values.
    OwnedNan,
    /// An infinity among the batch's own values.
    OwnedInfinity,
}

impl Slip {
    /// Every slip.
    pub const ALL: [Slip; 38] = [
        Slip::CuLeadingZeroMissing,
        Slip::CuLengthsNotSums,
        Slip::CuLengthsAfterZero,
        Slip::CuExclusiveShift,
        Slip::CuEntryPlusOne,
        Slip::CuEntryMinusOne,
        Slip::CuLastPlusOne,
        Slip::CuLastMinusOne,
        Slip::CuTotalOneAboveRows,
        Slip::CuTotalFarAboveRows,
        Slip::CuRepeatedEntry,
        Slip::CuDecreasingStep,
        Slip::CuNegative,
        Slip::CuStartsAboveZero,
        Slip::CuNearInt32Max,
        Slip::CuNearInt32Min,
        Slip::NumSeqsZero,
        Slip::NumSeqsOneLess,
        Slip::NumSeqsOneMore,
        Slip::NumSeqsCountsPadding,
        Slip::NumSeqsOneAboveTable,
        Slip::NumSeqsFarAboveTable,
        Slip::NumSeqsNegative,
        Slip::EmptySequence,
        Slip::KvLenBelowQLen,
        Slip::KvLenZero,
        Slip::KvLenPageMultiplePlusOne,
        Slip::KvLenPageMultipleMinusOne,
        Slip::KvLenPastTable,
        Slip::KvLenNegative,
        Slip::PageTotalPages,
        Slip::PageMinusOne,
        Slip::PageInt32Max,
        Slip::PageInt32Min,
        Slip::PageRepeatedWithin,
        Slip::PageRepeatedAcross,
        Slip::OwnedNan,
        Slip::OwnedInfinity,
    ];

    /// Stable name, e.g. `cu-lengths-not-sums`.
    pub const fn name(self) -> &'static str {
        match self {
            Slip::CuLeadingZeroMissing => "cu-leading-zero-missing",
            Slip::CuLengthsNotSums => "cu-lengths-not-sums",
            Slip::CuLengthsAfterZero => "cu-lengths-after-zero",
            Slip::CuExclusiveShift => "cu-exclusive-shift",
            Slip::CuEntryPlusOne => "cu-entry-plus-one",
            Slip::CuEntryMinusOne => "cu-entry-minus-one",
            Slip::CuLastPlusOne => "cu-last-plus-one",
            Slip::CuLastMinusOne => "cu-last-minus-one",
            Slip::CuTotalOneAboveRows => "cu-total-one-above-rows",
            Slip::CuTotalFarAboveRows => "cu-total-far-above-rows",
            Slip::CuRepeatedEntry => "cu-repeated-entry",
            Slip::CuDecreasingStep => "cu-decreasing-step",
            Slip::CuNegative => "cu-negative",
            Slip::CuStartsAboveZero => "cu-starts-above-zero",
            Slip::CuNearInt32Max => "cu-near-int32-max",
            Slip::CuNearInt32Min => "cu-near-int32-min",
            Slip::NumSeqsZero => "num-seqs-zero",
            Slip::NumSeqsOneLess => "num-seqs-one-less",
            Slip::NumSeqsOneMore => "num-seqs-one-more",
            Slip::NumSeqsCountsPadding => "num-seqs-counts-padding",
            Slip::NumSeqsOneAboveTable => "num-seqs-one-above-table",
            Slip::NumSeqsFarAboveTable => "num-seqs-far-above-table",
            Slip::NumSeqsNegative => "num-seqs-negative",
            Slip::EmptySequence => "empty-sequence",
            Slip::KvLenBelowQLen => "kv-len-below-q-len",
            Slip::KvLenZero => "kv-len-zero",
            Slip::KvLenPageMultiplePlusOne => "kv-len-page-multiple-plus-one",
            Slip::KvLenPageMultipleMinusOne => "kv-len-page-multiple-minus-one",
            Slip::KvLenPastTable => "kv-len-past-table",
            Slip::KvLenNegative => "kv-len-negative",
            Slip::PageTotalPages => "page-total-pages",
            Slip::PageMinusOne => "page-minus-one",
            Slip::PageInt32Max => "page-int32-max",
            Slip::PageInt32Min => "page-int32-min",
            Slip::PageRepeatedWithin => "page-repeated-within-sequence",
            Slip::PageRepeatedAcross => "page-repeated-across-sequences",
            Slip::OwnedNan => "owned-nan",
            Slip::OwnedInfinity => "owned-infinity",
        }
    }

    /// How every batch with the slip stands to the contract.
    pub const fn keeping(self) -> Keeping {
        match self {
            Slip::CuLastMinusOne
            | Slip::NumSeqsOneLess
            | Slip::KvLenPageMultiplePlusOne
            | Slip::KvLenPageMultipleMinusOne
            | Slip::PageRepeatedWithin
            | Slip::PageRepeatedAcross => Keeping::Kept,
            Slip::CuRepeatedEntry | Slip::NumSeqsZero | Slip::NumSeqsCountsPadding | Slip::EmptySequence => {
                Keeping::Disputed
            }
            Slip::CuLeadingZeroMissing
            | Slip::CuLengthsNotSums
            | Slip::CuLengthsAfterZero
            | Slip::CuExclusiveShift
            | Slip::CuEntryPlusOne
            | Slip::CuEntryMinusOne
            | Slip::CuLastPlusOne
            | Slip::CuTotalOneAboveRows
            | Slip::CuTotalFarAboveRows
            | Slip::CuDecreasingStep
            | Slip::CuNegative
            | Slip::CuStartsAboveZero
            | Slip::CuNearInt32Max
            | Slip::CuNearInt32Min
            | Slip::NumSeqsOneMore
            | Slip::NumSeqsOneAboveTable
            | Slip::NumSeqsFarAboveTable
            | Slip::NumSeqsNegative
            | Slip::KvLenBelowQLen
            | Slip::KvLenZero
            | Slip::KvLenPastTable
            | Slip::KvLenNegative
            | Slip::PageTotalPages
            | Slip::PageMinusOne
            | Slip::PageInt32Max
            | Slip::PageInt32Min
            | Slip::OwnedNan
            | Slip::OwnedInfinity => Keeping::Broken,
        }
    }

    /// Sequences that the slip needs.
    const fn sequences(self) -> usize {
        match self {
            Slip::CuLeadingZeroMissing
            | Slip::CuLengthsNotSums
            | Slip::CuLengthsAfterZero
            | Slip::CuExclusiveShift
            | Slip::CuEntryPlusOne
            | Slip::CuEntryMinusOne
            | Slip::CuDecreasingStep
            | Slip::NumSeqsOneLess
            | Slip::EmptySequence
            | Slip::PageRepeatedAcross => 2,
            Slip::CuLastPlusOne
            | Slip::CuLastMinusOne
            | Slip::CuTotalOneAboveRows
            | Slip::CuTotalFarAboveRows
            | Slip::CuRepeatedEntry
            | Slip::CuNegative
            | Slip::CuStartsAboveZero
            | Slip::CuNearInt32Max
            | Slip::CuNearInt32Min
            | Slip::NumSeqsZero
            | Slip::NumSeqsOneMore
            | Slip::NumSeqsCountsPadding
            | Slip::NumSeqsOneAboveTable
            | Slip::NumSeqsFarAboveTable
            | Slip::NumSeqsNegative
            | Slip::KvLenBelowQLen
            | Slip::KvLenZero
            | Slip::KvLenPageMultiplePlusOne
            | Slip::KvLenPageMultipleMinusOne
            | Slip::KvLenPastTable
            | Slip::KvLenNegative
            | Slip::PageTotalPages
            | Slip::PageMinusOne
            | Slip::PageInt32Max
            | Slip::PageInt32Min
            | Slip::PageRepeatedWithin
            | Slip::OwnedNan
            | Slip::OwnedInfinity => 1,
        }
    }

    /// Whether the variant has room for the slip.
    pub fn realisable(self, variant: &Variant) -> bool {
        let (reach, rows) = (reach(variant), variant.tokens);
        let room = variant.max_seqs >= self.sequences() && rows > 3 && reach > 2;
        room && match self {
            Slip::CuTotalOneAboveRows | Slip::CuTotalFarAboveRows => rows + 2 < variant.max_seqs * reach,
            Slip::NumSeqsOneMore | Slip::NumSeqsCountsPadding => variant.max_seqs > 1,
            Slip::NumSeqsOneAboveTable | Slip::NumSeqsFarAboveTable => rows >= variant.max_seqs,
            Slip::KvLenPageMultiplePlusOne | Slip::PageRepeatedWithin => {
                variant.pages_per_seq > 1 && reach > variant.page_size + 1
            }
            _ => true,
        }
    }

    /// A batch with the slip, and patches of its payload.
    pub(super) fn commit(self, variant: &Variant, dice: &mut Dice<'_>) -> (Metadata, Vec<Patch>) {
        let wish = self.wish(variant, dice);
        let mut lens = plan::lengths(variant, &wish, dice);
        let chosen = dice.range(0, lens.len() - 1);
        self.prepare(variant, &mut lens, chosen, dice);
        let mut metadata = plan::layout(variant, &lens, &wish, dice);
        self.apply(variant, &lens, &mut metadata, chosen, dice);
        let patches = self.patch(variant, &lens, chosen, dice);
        (metadata, patches)
    }

    fn wish(self, variant: &Variant, dice: &mut Dice<'_>) -> Wish {
        let mut wish = Wish::any(variant).at_least(self.sequences());
        let room = variant.max_seqs * reach(variant);
        match self {
            Slip::CuTotalOneAboveRows | Slip::CuTotalFarAboveRows => {
                let far = self == Slip::CuTotalFarAboveRows;
                let most = room.min(2 * variant.tokens + 8);
                let total = variant.tokens + if far { dice.range(2, most - variant.tokens) } else { 1 };
                (wish.limit, wish.total) = (total, Some(total));
                wish.sequences.1 = variant.max_seqs;
            }
            Slip::NumSeqsOneMore => wish.tail(Tail::Zero),
            Slip::NumSeqsCountsPadding => wish.tail(Tail::Total),
            Slip::NumSeqsOneAboveTable | Slip::NumSeqsFarAboveTable => {
                wish.sequences = (variant.max_seqs, variant.max_seqs);
            }
            Slip::KvLenPageMultiplePlusOne => {
                wish.page_tails = Some(false);
                wish.q_limit = reach(variant) - variant.page_size;
            }
            Slip::KvLenPageMultipleMinusOne => wish.q_limit = reach(variant) - 1,
            // Room for the tokens that the slip's preparation or the slip itself adds.
            _ => wish.limit -= 2,
        }
        wish.sequences.1 = wish.sequences.1.min(wish.limit).max(1);
        wish.sequences.0 = wish.sequences.0.min(wish.sequences.1);
        wish
    }

    /// Changes lengths, within the contract but for the empty sequences that are the slip.
    fn prepare(self, variant: &Variant, lens: &mut [Lens], chosen: usize, dice: &mut Dice<'_>) {
        let reach = reach(variant);
        let last = lens.len() - 1;
        let several = |lens: &mut Lens| {
            lens.q = lens.q.max(2);
            lens.kv = lens.kv.max(lens.q);
        };
        match self {
            Slip::CuLengthsAfterZero | Slip::CuExclusiveShift => {
                several(&mut lens[0]);
                let q = lens[1].q.min(lens[0].q - 1);
                lens[1] = Lens { q, kv: if self == Slip::CuExclusiveShift { q } else { lens[1].kv } };
            }
            Slip::CuEntryPlusOne => {
                let at = inner(chosen, last);
                lens[at - 1].kv = lens[at - 1].q;
                several(&mut lens[at]);
            }
            Slip::CuEntryMinusOne => {
                let at = inner(chosen, last);
                several(&mut lens[at - 1]);
                lens[at].kv = lens[at].q;
            }
            Slip::CuLastPlusOne => lens[last].kv = lens[last].q,
            Slip::CuLastMinusOne => several(&mut lens[last]),
            Slip::CuRepeatedEntry => lens[chosen].q = 0,
            Slip::EmptySequence => lens[chosen.min(last.saturating_sub(1))] = Lens { q: 0, kv: 0 },
            Slip::CuDecreasingStep => {
                // The sequence after the step gets the rows that the step gives up.
                if let Some(after) = lens.get_mut(chosen.max(1) + 1) {
                    after.kv = reach;
                }
            }
            Slip::CuStartsAboveZero => several(&mut lens[0]),
            Slip::KvLenBelowQLen => several(&mut lens[chosen]),
            Slip::KvLenPageMultiplePlusOne => {
                let kv = lens[chosen].kv.min(reach - variant.page_size).max(lens[chosen].q);
                lens[chosen].kv = kv;
            }
            Slip::KvLenPageMultipleMinusOne => lens[chosen].kv = lens[chosen].kv.max(lens[chosen].q + 1),
            Slip::PageRepeatedWithin => {
                lens[chosen].kv = lens[chosen].kv.max(dice.range(variant.page_size + 1, reach));
            }
            _ => {}
        }
    }

    fn apply(
        self,
        variant: &Variant,
        lens: &[Lens],
        meta: &mut Metadata,
        chosen: usize,
        dice: &mut Dice<'_>,
    ) {
        let last = lens.len() - 1;
        let count = lens.len();
        let total = meta.cu_q_lens[count];
        let used = lens[chosen].kv.div_ceil(variant.page_size);
        let entry = chosen * meta.pages_per_seq + dice.range(0, used.saturating_sub(1));
        match self {
            Slip::CuLeadingZeroMissing => {
                let fill = if dice.chance(1, 2) { total } else { 0 };
                meta.cu_q_lens.copy_within(1..=count, 0);
                meta.cu_q_lens[count..].fill(fill);
            }
            Slip::CuLengthsNotSums | Slip::CuLengthsAfterZero => {
                let first = usize::from(self == Slip::CuLengthsAfterZero);
                meta.cu_q_lens.fill(0);
                for (end, lens) in meta.cu_q_lens[first..].iter_mut().zip(lens) {
                    *end = lens.q as i32;
                }
            }
            Slip::CuExclusiveShift => meta.cu_q_lens.copy_within(0..count, 1),
            Slip::CuEntryPlusOne => meta.cu_q_lens[inner(chosen, last)] += 1,
            Slip::CuEntryMinusOne => meta.cu_q_lens[inner(chosen, last)] -= 1,
            Slip::CuLastPlusOne => meta.cu_q_lens[count] += 1,
            Slip::CuLastMinusOne => meta.cu_q_lens[count] -= 1,
            Slip::CuDecreasingStep => {
                // The end of a sequence falls below its start.
                let start = meta.cu_q_lens[chosen.max(1)];
                let lowest = if dice.chance(1, 2) { 0 } else { start as usize - 1 };
                meta.cu_q_lens[chosen.max(1) + 1] = dice.range(lowest, start as usize - 1) as i32;
            }
            Slip::CuNegative => {
                let at = dice.range(0, count);
                meta.cu_q_lens[at] = -(dice.range(1, 9) as i32);
            }
            Slip::CuStartsAboveZero => {
                let spare = variant.tokens as i32 - total;
                if spare > 0 && dice.chance(1, 2) {
                    let shift = dice.range(1, spare as usize) as i32;
                    meta.cu_q_lens[..=count].iter_mut().for_each(|end| *end += shift);
                } else {
                    meta.cu_q_lens[0] = dice.range(1, lens[0].q - 1) as i32;
                }
            }
            Slip::CuNearInt32Max => {
                let at = if dice.chance(1, 2) { count } else { chosen + 1 };
                meta.cu_q_lens[at] = i32::MAX - dice.range(0, 3) as i32;
            }
            Slip::CuNearInt32Min => {
                let at = dice.range(0, count);
                meta.cu_q_lens[at] = i32::MIN + dice.range(0, 3) as i32;
            }
            Slip::NumSeqsZero => meta.num_seqs = 0,
            Slip::NumSeqsOneLess => meta.num_seqs -= 1,
            Slip::NumSeqsOneMore => meta.num_seqs += 1,
            Slip::NumSeqsCountsPadding => {
                meta.num_seqs = dice.range(count + 1, variant.max_seqs) as i32;
            }
            Slip::NumSeqsOneAboveTable => meta.num_seqs = variant.max_seqs as i32 + 1,
            Slip::NumSeqsFarAboveTable => meta.num_seqs = (variant.max_seqs * dice.range(2, 9)) as i32,
            Slip::NumSeqsNegative => meta.num_seqs = dice.pick(&[-1, -100, i32::MIN]),
            Slip::KvLenBelowQLen => meta.kv_lens[chosen] = lens[chosen].q as i32 - 1,
            Slip::KvLenZero => meta.kv_lens[chosen] = 0,
            Slip::KvLenPageMultiplePlusOne => meta.kv_lens[chosen] = (used * variant.page_size) as i32 + 1,
            Slip::KvLenPageMultipleMinusOne => meta.kv_lens[chosen] = (used * variant.page_size) as i32 - 1,
            Slip::KvLenPastTable => meta.kv_lens[chosen] = reach(variant) as i32 + 1,
            Slip::KvLenNegative => meta.kv_lens[chosen] = dice.pick(&[-1, -128, i32::MIN]),
            Slip::PageTotalPages => meta.page_indices[entry] = variant.pages as i32,
            Slip::PageMinusOne => meta.page_indices[entry] = -1,
            Slip::PageInt32Max => meta.page_indices[entry] = i32::MAX - dice.range(0, 3) as i32,
            Slip::PageInt32Min => meta.page_indices[entry] = i32::MIN + dice.range(0, 3) as i32,
            Slip::PageRepeatedWithin => {
                let row = chosen * meta.pages_per_seq;
                let later = dice.range(1, used - 1);
                meta.page_indices[row + later] = meta.page_indices[row + dice.range(0, later - 1)];
            }
            Slip::PageRepeatedAcross => {
                let other = (chosen + 1) % count;
                let used = lens[other].kv.div_ceil(variant.page_size);
                let target = other * meta.pages_per_seq + dice.range(0, used - 1);
                meta.page_indices[target] = meta.page_indices[entry];
            }
            Slip::CuTotalOneAboveRows
            | Slip::CuTotalFarAboveRows
            | Slip::CuRepeatedEntry
            | Slip::EmptySequence
            | Slip::OwnedNan
            | Slip::OwnedInfinity => {}
        }
    }

    fn patch(self, variant: &Variant, lens: &[Lens], chosen: usize, dice: &mut Dice<'_>) -> Vec<Patch> {
        let value = match self {
            Slip::OwnedNan => f32::NAN,
            Slip::OwnedInfinity => dice.pick(&[f32::INFINITY, f32::NEG_INFINITY]),
            _ => return Vec::new(),
        };
        let float_kv = variant.kv_dtype.is_float();
        let target = if float_kv { dice.pick(&PatchTarget::ALL) } else { PatchTarget::Q };
        let Lens { q, kv } = lens[chosen];
        let (tokens, heads) = match target {
            PatchTarget::Q => (q, variant.q_heads),
            PatchTarget::K | PatchTarget::V => (kv, variant.kv_heads),
        };
        let token = dice.range(0, tokens - 1);
        let head = dice.range(0, heads - 1);
        let lane = Some(dice.range(0, variant.head_dim - 1));
        vec![Patch { target, sequence: chosen, token, head, lane, value }]
    }
}

/// An entry of cu_q_lens between the first and the last.
fn inner(chosen: usize, last: usize) -> usize {
    chosen.clamp(1, last)
}
