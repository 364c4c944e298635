//! Plans a batch that keeps the contract: lengths first, then where they lie in the page table.
//!
//! Invariant: whatever is wished for, the result keeps every rule of the metadata (lengths of at least 1, cached tokens at
//! least the query tokens, all within the table, the total within the wish's limit); a wish that can't be had is ignored.

use countersign_kernels::Variant;
use countersign_reference::Metadata;

use super::boundary::{BoundaryClass, Edge, Form, Length, Unit, beside, reach, unit_size};
use super::dice::Dice;

/// A sequence's lengths.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lens {
    pub(super) q: usize,
    pub(super) kv: usize,
}

/// How a sequence's lengths relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Decode,
    Prefill,
    Chunk,
}

/// What stands past num_seqs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    Zero,
    Total,
    CuQLens,
    KvLens,
    NegativeKvLens,
    PageRows,
}

/// What a batch should look like.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    /// Fewest and most sequences.
    pub(super) sequences: (usize, usize),
    /// Most query tokens; may exceed q's rows for a batch to be broken.
    pub(super) limit: usize,
    /// Most query tokens of a sequence.
    pub(super) q_limit: usize,
    /// Query tokens of the batch.
    pub(super) total: Option<usize>,
    /// Query tokens of a sequence.
    pub(super) q: Option<usize>,
    /// Whether the sequence of `q` is the first.
    pub(super) q_first: bool,
    /// Cached tokens of a sequence.
    pub(super) kv: Option<usize>,
    /// One kind for all sequences.
    pub(super) kind: Option<Kind>,
    /// A decode and a longer sequence.
    pub(super) mixed: bool,
    /// Two sequences share pages.
    pub(super) sharing: bool,
    /// Pages consecutive, or not.
    pub(super) contiguous: Option<bool>,
    /// What stands past num_seqs.
    pub(super) tail: Option<Tail>,
    /// Whether unused entries of used rows hold garbage.
    pub(super) page_tails: Option<bool>,
}

impl Wish {
    /// Anything that keeps the contract.
    pub(super) fn any(variant: &Variant) -> Wish {
        Wish {
            sequences: (1, variant.max_seqs.min(variant.tokens)),
            limit: variant.tokens,
            q_limit: reach(variant),
            total: None,
            q: None,
            q_first: false,
            kv: None,
            kind: None,
            mixed: false,
            sharing: false,
            contiguous: None,
            tail: None,
            page_tails: None,
        }
    }

    /// At least `count` sequences, as far as the variant has room.
    pub(super) fn at_least(mut self, count: usize) -> Wish {
        self.sequences.0 = count.min(self.sequences.1);
        self
    }

    /// A batch of the class, which the variant can show.
    pub(super) fn of(class: BoundaryClass, variant: &Variant, dice: &mut Dice<'_>) -> Wish {
        let mut wish = Wish::any(variant);
        let reach = reach(variant);
        let room = variant.max_seqs.min(variant.tokens);
        match class {
            BoundaryClass::Zero(_) => {}
            BoundaryClass::One(length) => wish.length(length, 1),
            BoundaryClass::Multiple(length, unit, edge) => {
                let most = match length {
                    Length::Query => variant.tokens.min(reach),
                    Length::Cache => reach,
                    Length::Total => variant.tokens.min(variant.max_seqs * reach),
                };
                if let Some(length_wanted) = multiple(unit_size(variant, unit), edge, most, dice) {
                    wish.length(length, length_wanted);
                }
            }
            BoundaryClass::Form(form) => match form {
                Form::TotalAtRows => wish.total = Some(variant.tokens),
                Form::TotalOneBelowRows => wish.total = Some(variant.tokens - 1),
                Form::CacheAtReach => wish.kv = Some(reach),
                Form::CacheOneBelowReach => wish.kv = Some(reach - 1),
                Form::DecodeOnly => wish.kind = Some(Kind::Decode),
                Form::PrefillOnly => {
                    wish.kind = Some(Kind::Prefill);
                    wish.q = Some(dice.range(2, wish.q_limit.min(wish.limit)));
                }
                Form::ChunkedPrefill => {
                    let q = dice.range(2, (reach - 1).min(wish.limit));
                    (wish.q, wish.kv) = (Some(q), Some(dice.range(q + 1, reach)));
                }
                Form::Mixed => {
                    wish.mixed = true;
                    wish.sequences.0 = 2;
                }
                Form::OneSequence => wish.sequences = (1, 1),
                Form::FullTable => wish.sequences = (room, room),
                Form::CacheOneBelowWindow => wish.kv = window(variant).map(|w| w - 1),
                Form::CacheAtWindow => wish.kv = window(variant),
                Form::CacheOneBeyondWindow => wish.kv = window(variant).map(|w| w + 1),
                Form::EndsAtQueryBlock => {
                    let block = unit_size(variant, Unit::QueryBlock).unwrap_or(1);
                    let most = (variant.tokens - 1).min(reach) / block;
                    wish.q = Some(block * dice.range(1, most));
                    wish.q_first = true;
                    wish.sequences.0 = 2;
                }
                Form::PrefixSharing => {
                    wish.sharing = true;
                    wish.sequences.0 = 2;
                }
                Form::ContiguousPages => {
                    wish.contiguous = Some(true);
                    wish.kv = Some(dice.range(variant.page_size + 1, reach));
                }
                Form::ScatteredPages => {
                    wish.contiguous = Some(false);
                    wish.kv = Some(dice.range(variant.page_size + 1, reach));
                }
                Form::TableNotMultipleOfBlock => {
                    let last = reach - variant.page_size + 1;
                    wish.kv = Some(dice.range(last, reach));
                }
                Form::ZeroPastNumSeqs => wish.tail(Tail::Zero),
                Form::TotalPastNumSeqs => wish.tail(Tail::Total),
                Form::GarbageCuQLens => wish.tail(Tail::CuQLens),
                Form::GarbageKvLens => wish.tail(Tail::KvLens),
                Form::NegativeKvLens => wish.tail(Tail::NegativeKvLens),
                Form::GarbagePageRows => wish.tail(Tail::PageRows),
                Form::GarbagePageTails => {
                    wish.page_tails = Some(true);
                    wish.kv = Some(dice.range(1, reach - variant.page_size));
                }
            },
        }
        wish
    }

    fn length(&mut self, length: Length, value: usize) {
        match length {
            Length::Query => self.q = Some(value),
            Length::Cache => self.kv = Some(value),
            Length::Total => self.total = Some(value),
        }
    }

    /// Leaves at least one table row past num_seqs.
    pub(super) fn tail(&mut self, tail: Tail) {
        self.tail = Some(tail);
        self.leave_row();
    }

    /// Leaves at least one table row unused.
    pub(super) fn leave_row(&mut self) {
        self.sequences.1 = self.sequences.1.saturating_sub(1).max(1);
        self.sequences.0 = self.sequences.0.min(self.sequences.1);
    }
}

fn window(variant: &Variant) -> Option<usize> {
    variant.options.sliding_window.and_then(|window| usize::try_from(window).ok())
}

/// A length at most `most` that lies by a multiple of `unit`.
fn multiple(unit: Option<usize>, edge: Edge, most: usize, dice: &mut Dice<'_>) -> Option<usize> {
    let unit = unit?;
    let times = match edge {
        Edge::Below => (most + 1) / unit,
        Edge::At => most / unit,
        Edge::Above => most.saturating_sub(1) / unit,
    };
    (times > 0).then(|| beside(unit * dice.range(1, times), edge))
}

/// A length in `low..=high`, most often by a multiple of a unit or by an end of the range.
fn length(variant: &Variant, low: usize, high: usize, dice: &mut Dice<'_>) -> usize {
    let unit = match dice.range(0, 7) {
        0 => return low,
        1 => return high,
        2 => return high.saturating_sub(1).max(low),
        3 => return dice.range(low, high),
        4 => Unit::Page,
        5 => Unit::QueryBlock,
        6 => Unit::KvBlock,
        _ => Unit::Lanes,
    };
    let edge = dice.pick(&[Edge::Below, Edge::At, Edge::Above]);
    match multiple(unit_size(variant, unit), edge, high, dice) {
        Some(value) if value >= low => value,
        _ => dice.range(low, high),
    }
}

/// Lengths that keep the contract and the wish.
pub(super) fn lengths(variant: &Variant, wish: &Wish, dice: &mut Dice<'_>) -> Vec<Lens> {
    let reach = reach(variant);
    let q_limit = wish.q_limit.min(reach).max(1);
    let (fewest, most) = wish.sequences;
    let fewest = wish.total.map_or(fewest, |total| fewest.max(total.div_ceil(q_limit))).max(1);
    let most = wish.total.map_or(most, |total| most.min(total)).max(fewest);
    let most = wish.q.map_or(most, |q| most.min(1 + wish.limit.saturating_sub(q))).max(fewest);
    let most = if wish.mixed { most.min(wish.limit - 1).max(fewest) } else { most };
    let count = match dice.range(0, 5) {
        0 => fewest,
        1 => most,
        _ => dice.range(fewest, most),
    };
    let count = count.min(variant.max_seqs);
    let total = wish.total.or_else(|| {
        let high = wish.limit.min(count * q_limit);
        (wish.kind.is_none() && wish.q.is_none() && !wish.mixed && dice.chance(1, 4))
            .then(|| length(variant, count, high, dice))
    });
    let chosen = if wish.q_first { 0 } else { dice.range(0, count - 1) };

    let mut left = total.unwrap_or(wish.limit);
    let mut lens = Vec::with_capacity(count);
    for index in 0..count {
        let after = count - 1 - index;
        let reserve = match wish.q {
            Some(q) if index < chosen => q + after - 1,
            _ => after,
        };
        let high = left.saturating_sub(reserve).min(q_limit).max(1);
        let low = if total.is_some() { left.saturating_sub(after * q_limit).clamp(1, high) } else { 1 };
        let kind = match index {
            0 if wish.mixed => Kind::Decode,
            1 if wish.mixed => Kind::Chunk,
            _ => wish.kind.unwrap_or_else(|| dice.pick(&[Kind::Decode, Kind::Prefill, Kind::Chunk])),
        };
        let q = match wish.q {
            Some(q) if index == chosen => q.clamp(low, high),
            _ if total.is_some() && after == 0 => high,
            _ if wish.mixed && index == 1 => length(variant, 2.min(high).max(low), high, dice),
            _ if kind == Kind::Decode => low,
            _ => length(variant, low, high, dice),
        };
        let kv = match kind {
            Kind::Prefill => q,
            Kind::Decode | Kind::Chunk => length(variant, q, reach, dice),
        };
        left = left.saturating_sub(q);
        lens.push(Lens { q, kv });
    }
    if let Some(kv) = wish.kv {
        wish_kv(&mut lens, kv.min(reach), chosen);
    }
    lens
}

/// Gives one sequence the wished-for cache; if all have more query tokens than that, one's shrink to it.
fn wish_kv(lens: &mut [Lens], kv: usize, chosen: usize) {
    let fitting = if lens[chosen].q <= kv { Some(chosen) } else { lens.iter().position(|lens| lens.q <= kv) };
    match fitting {
        Some(index) => lens[index].kv = kv,
        None => lens[chosen] = Lens { q: kv, kv },
    }
}

/// Metadata of these lengths (0 allowed), with pages and tails as wished.
pub(super) fn layout(variant: &Variant, lens: &[Lens], wish: &Wish, dice: &mut Dice<'_>) -> Metadata {
    let columns = variant.pages_per_seq;
    let mut stream = dice.stream();
    let used = |lens: &Lens| lens.kv.div_ceil(variant.page_size.max(1)).min(columns);
    let needed: usize = lens.iter().map(used).sum();

    let mut pool: Vec<i32> = (0..variant.pages as i32).collect();
    if wish.contiguous.unwrap_or_else(|| dice.chance(2, 5)) {
        let spare = variant.pages.saturating_sub(needed);
        pool.rotate_left(dice.range(0, spare));
    } else {
        for last in (1..pool.len()).rev() {
            pool.swap(last, stream.below(last as u64 + 1) as usize);
        }
    }

    let garbage_tails = wish.page_tails.unwrap_or_else(|| dice.chance(1, 8));
    let tail = wish.tail.unwrap_or_else(|| match dice.range(0, 39) {
        0..=21 => Tail::Zero,
        22..=31 => Tail::Total,
        32..=34 => Tail::CuQLens,
        35..=37 => Tail::PageRows,
        38 => Tail::KvLens,
        _ => Tail::NegativeKvLens,
    });
    let garbage_page = |stream: &mut crate::payload::Stream| match stream.below(6) {
        0 => -1,
        1 => variant.pages as i32,
        2 => i32::MAX - stream.below(4) as i32,
        3 => i32::MIN + stream.below(4) as i32,
        4 => -(stream.below(1 << 20) as i32) - 1,
        _ => variant.pages as i32 + stream.below(1 << 20) as i32,
    };

    let mut page_indices = vec![0i32; variant.max_seqs * columns];
    let mut next = 0;
    for (row, lens) in page_indices.chunks_mut(columns.max(1)).zip(lens) {
        let (pages, rest) = row.split_at_mut(used(lens));
        for page in pages {
            *page = pool[next % pool.len()];
            next += 1;
        }
        if garbage_tails {
            rest.iter_mut().for_each(|page| *page = garbage_page(&mut stream));
        }
    }
    if wish.sharing {
        share(&mut page_indices, columns, lens, &used, dice);
    }

    let mut cu_q_lens = vec![0i32; variant.max_seqs + 1];
    let mut kv_lens = vec![0i32; variant.max_seqs];
    let mut total = 0;
    for (sequence, lens) in lens.iter().enumerate() {
        total += lens.q as i32;
        cu_q_lens[sequence + 1] = total;
        kv_lens[sequence] = lens.kv as i32;
    }
    let past = lens.len();
    match tail {
        Tail::Zero => {}
        Tail::Total => cu_q_lens[past + 1..].fill(total),
        Tail::CuQLens => cu_q_lens[past + 1..].iter_mut().for_each(|end| {
            *end = match stream.below(4) {
                0 => total + 1 + stream.below(100) as i32,
                1 => -1 - stream.below(100) as i32,
                2 => i32::MAX - stream.below(4) as i32,
                _ => i32::MIN + stream.below(4) as i32,
            }
        }),
        Tail::KvLens => kv_lens[past..].iter_mut().for_each(|len| {
            let beyond = reach(variant).min(1 << 30) as i32 + 1;
            *len = if stream.below(4) == 0 { i32::MAX } else { beyond + stream.below(1000) as i32 };
        }),
        Tail::NegativeKvLens => kv_lens[past..].iter_mut().for_each(|len| {
            *len = if stream.below(4) == 0 { i32::MIN } else { -1 - stream.below(1000) as i32 };
        }),
        Tail::PageRows => {
            page_indices[past * columns..].iter_mut().for_each(|page| *page = garbage_page(&mut stream));
        }
    }
    Metadata { kv_lens, page_indices, pages_per_seq: columns, cu_q_lens, num_seqs: past as i32 }
}

/// The second of two sequences starts with pages of the first.
fn share(
    page_indices: &mut [i32],
    columns: usize,
    lens: &[Lens],
    used: &dyn Fn(&Lens) -> usize,
    dice: &mut Dice<'_>,
) {
    if lens.len() < 2 {
        return;
    }
    let later = dice.range(1, lens.len() - 1);
    let earlier = dice.range(0, later - 1);
    let count = dice.range(1, used(&lens[earlier]).min(used(&lens[later])));
    page_indices.copy_within(earlier * columns..earlier * columns + count, later * columns);
}
