//! Boundary classes: where lengths meet pages, blocks, limits and each other. Each is observed on the metadata, so that a
//! hit is counted however the batch came to be.
//!
//! Invariant: [`BoundaryClass::ALL`] is complete and its names are stable; a class that [`BoundaryClass::realisable`] says
//! a variant can show has a batch that shows it.

use countersign_kernels::Variant;
use countersign_kernels::rpa::facts;
use countersign_reference::Metadata;

/// A length of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Length {
    /// Query tokens of a sequence.
    Query,
    /// Cached tokens of a sequence.
    Cache,
    /// Query tokens of the batch.
    Total,
}

/// What a length is a multiple of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// Tokens of a page.
    Page,
    /// Rows of a query block.
    QueryBlock,
    /// Tokens of a KV block.
    KvBlock,
    /// 128, the lanes of a vector register.
    Lanes,
}

/// Where a length lies by a multiple.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Edge {
    /// One below.
    Below,
    /// Exactly.
    At,
    /// One above.
    Above,
}

/// Classes that are no multiples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Form {
    /// As many query tokens as q has rows.
    TotalAtRows,
    /// One fewer.
    TotalOneBelowRows,
    /// A sequence fills its row of the page table.
    CacheAtReach,
    /// One token fewer.
    CacheOneBelowReach,
    /// Every sequence has one query token.
    DecodeOnly,
    /// Every sequence's cache holds its query tokens alone, and one has several.
    PrefillOnly,
    /// A sequence has several query tokens and more in the cache.
    ChunkedPrefill,
    /// Decode beside sequences of several query tokens.
    Mixed,
    /// `num_seqs = 1`.
    OneSequence,
    /// `num_seqs` is the number of table rows.
    FullTable,
    /// A kv_len one below the sliding window.
    CacheOneBelowWindow,
    /// A kv_len of the sliding window.
    CacheAtWindow,
    /// A kv_len one beyond the sliding window.
    CacheOneBeyondWindow,
    /// A sequence but the last ends where a query block ends.
    EndsAtQueryBlock,
    /// Two sequences use the same page.
    PrefixSharing,
    /// Every sequence's pages are consecutive, and one has several.
    ContiguousPages,
    /// A sequence's pages aren't consecutive.
    ScatteredPages,
    /// Columns of the page table aren't a multiple of the pages per KV block.
    TableNotMultipleOfBlock,
    /// Metadata past num_seqs is zero.
    ZeroPastNumSeqs,
    /// cu_q_lens repeats the total past num_seqs.
    TotalPastNumSeqs,
    /// cu_q_lens holds something else past num_seqs.
    GarbageCuQLens,
    /// kv_lens past num_seqs exceeds what a table row can hold.
    GarbageKvLens,
    /// kv_lens is negative past num_seqs.
    NegativeKvLens,
    /// Rows of the page table past num_seqs name no page.
    GarbagePageRows,
    /// Entries past a sequence's used pages name no page.
    GarbagePageTails,
}

impl Form {
    const ALL: [Form; 25] = [
        Form::TotalAtRows,
        Form::TotalOneBelowRows,
        Form::CacheAtReach,
        Form::CacheOneBelowReach,
        Form::DecodeOnly,
        Form::PrefillOnly,
        Form::ChunkedPrefill,
        Form::Mixed,
        Form::OneSequence,
        Form::FullTable,
        Form::CacheOneBelowWindow,
        Form::CacheAtWindow,
        Form::CacheOneBeyondWindow,
        Form::EndsAtQueryBlock,
        Form::PrefixSharing,
        Form::ContiguousPages,
        Form::ScatteredPages,
        Form::TableNotMultipleOfBlock,
        Form::ZeroPastNumSeqs,
        Form::TotalPastNumSeqs,
        Form::GarbageCuQLens,
        Form::GarbageKvLens,
        Form::NegativeKvLens,
        Form::GarbagePageRows,
        Form::GarbagePageTails,
    ];

    const fn name(self) -> &'static str {
        match self {
            Form::TotalAtRows => "total-at-rows",
            Form::TotalOneBelowRows => "total-one-below-rows",
            Form::CacheAtReach => "kv-len-at-table-reach",
            Form::CacheOneBelowReach => "kv-len-one-below-table-reach",
            Form::DecodeOnly => "decode-only",
            Form::PrefillOnly => "prefill-only",
            Form::ChunkedPrefill => "chunked-prefill",
            Form::Mixed => "mixed",
            Form::OneSequence => "one-sequence",
            Form::FullTable => "full-table",
            Form::CacheOneBelowWindow => "kv-len-one-below-window",
            Form::CacheAtWindow => "kv-len-at-window",
            Form::CacheOneBeyondWindow => "kv-len-one-beyond-window",
            Form::EndsAtQueryBlock => "ends-at-query-block",
            Form::PrefixSharing => "prefix-sharing",
            Form::ContiguousPages => "contiguous-pages",
            Form::ScatteredPages => "scattered-pages",
            Form::TableNotMultipleOfBlock => "table-not-multiple-of-block",
            Form::ZeroPastNumSeqs => "zero-past-num-seqs",
            Form::TotalPastNumSeqs => "total-past-num-seqs",
            Form::GarbageCuQLens => "garbage-cu-q-lens-past-num-seqs",
            Form::GarbageKvLens => "garbage-kv-lens-past-num-seqs",
            Form::NegativeKvLens => "negative-kv-lens-past-num-seqs",
            Form::GarbagePageRows => "garbage-page-rows-past-num-seqs",
            Form::GarbagePageTails => "garbage-page-tails",
        }
    }
}

/// A boundary class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BoundaryClass {
    /// A length of 0 (only disputed or broken batches have one).
    Zero(Length),
    /// A length of 1.
    One(Length),
    /// A length by a multiple of a unit of at least 2.
    Multiple(Length, Unit, Edge),
    /// Anything else.
    Form(Form),
}

const LENGTHS: [Length; 3] = [Length::Query, Length::Cache, Length::Total];
const UNITS: [Unit; 4] = [Unit::Page, Unit::QueryBlock, Unit::KvBlock, Unit::Lanes];
const EDGES: [Edge; 3] = [Edge::Below, Edge::At, Edge::Above];
const MULTIPLES: usize = LENGTHS.len() * UNITS.len() * EDGES.len();
const COUNT: usize = 2 * LENGTHS.len() + MULTIPLES + Form::ALL.len();

impl BoundaryClass {
    /// Every class, in a fixed order.
    pub const ALL: [BoundaryClass; COUNT] = {
        let mut all = [BoundaryClass::Zero(Length::Query); COUNT];
        let mut at = 0;
        while at < LENGTHS.len() {
            all[at] = BoundaryClass::Zero(LENGTHS[at]);
            all[LENGTHS.len() + at] = BoundaryClass::One(LENGTHS[at]);
            at += 1;
        }
        at = 0;
        while at < MULTIPLES {
            let (length, rest) = (at / (UNITS.len() * EDGES.len()), at % (UNITS.len() * EDGES.len()));
            let (unit, edge) = (UNITS[rest / EDGES.len()], EDGES[rest % EDGES.len()]);
            all[2 * LENGTHS.len() + at] = BoundaryClass::Multiple(LENGTHS[length], unit, edge);
            at += 1;
        }
        at = 0;
        while at < Form::ALL.len() {
            all[2 * LENGTHS.len() + MULTIPLES + at] = BoundaryClass::Form(Form::ALL[at]);
            at += 1;
        }
        all
    };

    /// Stable name, e.g. `kv-len-page-plus-1`.
    pub fn name(self) -> String {
        let length = |length| match length {
            Length::Query => "q-len",
            Length::Cache => "kv-len",
            Length::Total => "total",
        };
        match self {
            BoundaryClass::Zero(of) => format!("{}-0", length(of)),
            BoundaryClass::One(of) => format!("{}-1", length(of)),
            BoundaryClass::Multiple(of, unit, edge) => {
                let unit = match unit {
                    Unit::Page => "page",
                    Unit::QueryBlock => "query-block",
                    Unit::KvBlock => "kv-block",
                    Unit::Lanes => "128",
                };
                let edge = match edge {
                    Edge::Below => "-minus-1",
                    Edge::At => "",
                    Edge::Above => "-plus-1",
                };
                format!("{}-{unit}{edge}", length(of))
            }
            BoundaryClass::Form(form) => form.name().to_owned(),
        }
    }

    /// Whether only a disputed or broken batch can be of this class.
    pub fn is_disputed(self) -> bool {
        matches!(self, BoundaryClass::Zero(_))
    }

    /// Whether some batch of the variant is of this class.
    pub fn realisable(self, variant: &Variant) -> bool {
        let reach = reach(variant);
        let most = |length| match length {
            Length::Query => variant.tokens.min(reach),
            Length::Cache => reach,
            Length::Total => variant.tokens.min(variant.max_seqs * reach),
        };
        let several = variant.max_seqs > 1 && variant.tokens > 1;
        match self {
            BoundaryClass::Zero(_) => true,
            BoundaryClass::One(length) => most(length) >= 1,
            BoundaryClass::Multiple(length, unit, edge) => {
                unit_size(variant, unit).is_some_and(|unit| beside(unit, edge) <= most(length))
            }
            BoundaryClass::Form(form) => match form {
                Form::TotalAtRows => variant.tokens <= variant.max_seqs * reach,
                Form::TotalOneBelowRows => (2..=variant.max_seqs * reach + 1).contains(&variant.tokens),
                Form::CacheAtReach | Form::DecodeOnly | Form::OneSequence => true,
                Form::CacheOneBelowReach => reach > 1,
                Form::PrefillOnly => variant.tokens > 1 && reach > 1,
                Form::ChunkedPrefill => variant.tokens > 1 && reach > 2,
                Form::Mixed => several && variant.tokens > 2 && reach > 1,
                Form::FullTable => variant.tokens >= variant.max_seqs,
                Form::CacheOneBelowWindow => window(variant).is_some_and(|w| (2..=reach + 1).contains(&w)),
                Form::CacheAtWindow => window(variant).is_some_and(|w| w <= reach),
                Form::CacheOneBeyondWindow => window(variant).is_some_and(|w| w < reach),
                Form::EndsAtQueryBlock => {
                    let block = unit_size(variant, Unit::QueryBlock);
                    several && block.is_some_and(|block| block < variant.tokens && block <= reach)
                }
                Form::PrefixSharing => several,
                Form::ContiguousPages => variant.pages_per_seq > 1 && variant.pages > 1,
                Form::ScatteredPages => variant.pages_per_seq > 1 && variant.pages > 2,
                Form::TableNotMultipleOfBlock => not_multiple(variant),
                Form::ZeroPastNumSeqs
                | Form::TotalPastNumSeqs
                | Form::GarbageCuQLens
                | Form::GarbageKvLens
                | Form::NegativeKvLens
                | Form::GarbagePageRows => variant.max_seqs > 1,
                Form::GarbagePageTails => variant.pages_per_seq > 1,
            },
        }
    }

    /// The classes that a batch is of.
    pub fn observe(variant: &Variant, metadata: &Metadata) -> Vec<BoundaryClass> {
        let observed = Facts::new(variant, metadata);
        BoundaryClass::ALL.into_iter().filter(|class| class.holds(&observed)).collect()
    }

    fn holds(self, facts: &Facts<'_>) -> bool {
        let any = |length, test: &dyn Fn(i64) -> bool| match length {
            Length::Query => facts.q_lens.iter().any(|&q_len| test(q_len)),
            Length::Cache => facts.kv_lens.iter().any(|&kv_len| test(kv_len)),
            Length::Total => facts.total.is_some_and(test),
        };
        match self {
            BoundaryClass::Zero(length) => any(length, &|l| l == 0),
            BoundaryClass::One(length) => any(length, &|l| l == 1),
            BoundaryClass::Multiple(length, unit, edge) => {
                unit_size(facts.variant, unit).is_some_and(|unit| any(length, &|l| is_beside(l, unit, edge)))
            }
            BoundaryClass::Form(form) => facts.has(form),
        }
    }
}

/// Tokens that a row of the page table can hold.
pub(super) fn reach(variant: &Variant) -> usize {
    variant.pages_per_seq.saturating_mul(variant.page_size)
}

fn window(variant: &Variant) -> Option<usize> {
    variant
        .options
        .sliding_window
        .and_then(|window| usize::try_from(window).ok())
        .filter(|&window| window > 0)
}

fn not_multiple(variant: &Variant) -> bool {
    variant
        .blocks()
        .is_some_and(|blocks| blocks.pages > 0 && !variant.pages_per_seq.is_multiple_of(blocks.pages))
}

/// A unit's size in tokens, if the variant fixes it and it is at least 2.
pub(super) fn unit_size(variant: &Variant, unit: Unit) -> Option<usize> {
    let size = match unit {
        Unit::Page => Some(variant.page_size),
        Unit::QueryBlock => variant.blocks().map(|blocks| blocks.queries),
        Unit::KvBlock => facts::kv_block(variant),
        Unit::Lanes => Some(128),
    };
    size.filter(|&size| size >= 2)
}

/// The length beside a multiple.
pub(super) fn beside(multiple: usize, edge: Edge) -> usize {
    match edge {
        Edge::Below => multiple - 1,
        Edge::At => multiple,
        Edge::Above => multiple + 1,
    }
}

fn is_beside(length: i64, unit: usize, edge: Edge) -> bool {
    let unit = unit as i64;
    match edge {
        Edge::Below => length > 0 && (length + 1) % unit == 0,
        Edge::At => length > 0 && length % unit == 0,
        Edge::Above => length > unit && length % unit == 1,
    }
}

/// A batch's lengths and tails.
struct Facts<'a> {
    variant: &'a Variant,
    metadata: &'a Metadata,
    q_lens: Vec<i64>,
    kv_lens: Vec<i64>,
    total: Option<i64>,
}

impl<'a> Facts<'a> {
    fn new(variant: &'a Variant, metadata: &'a Metadata) -> Facts<'a> {
        let sequences = metadata.sequences_in_table();
        let ends: Vec<i64> = metadata.cu_q_lens.iter().map(|&end| i64::from(end)).collect();
        let total = usize::try_from(metadata.num_seqs).ok().and_then(|num_seqs| ends.get(num_seqs)).copied();
        let q_lens = ends.windows(2).take(sequences).map(|pair| pair[1] - pair[0]).collect();
        let kv_lens = metadata.kv_lens.iter().take(sequences).map(|&len| i64::from(len)).collect();
        Facts { variant, metadata, q_lens, kv_lens, total }
    }

    fn has(&self, form: Form) -> bool {
        let (v, meta) = (self.variant, self.metadata);
        let sequences = self.q_lens.len();
        let lengths = || self.q_lens.iter().copied().zip(self.kv_lens.iter().copied());
        let cached = |wanted: Option<usize>| wanted.is_some_and(|len| self.kv_lens.contains(&(len as i64)));
        let decodes = self.q_lens.contains(&1);
        match form {
            Form::TotalAtRows => self.total == Some(v.tokens as i64),
            Form::TotalOneBelowRows => sequences > 0 && self.total == Some(v.tokens as i64 - 1),
            Form::CacheAtReach => cached(Some(reach(v))),
            Form::CacheOneBelowReach => sequences > 0 && cached(reach(v).checked_sub(1)),
            Form::DecodeOnly => sequences > 0 && self.q_lens.iter().all(|&q_len| q_len == 1),
            Form::PrefillOnly => {
                lengths().all(|(q_len, kv_len)| q_len == kv_len) && self.q_lens.iter().any(|&q| q > 1)
            }
            Form::ChunkedPrefill => lengths().any(|(q_len, kv_len)| 1 < q_len && q_len < kv_len),
            Form::Mixed => decodes && self.q_lens.iter().any(|&q_len| q_len > 1),
            Form::OneSequence => meta.num_seqs == 1,
            Form::FullTable => sequences > 0 && meta.num_seqs as usize == meta.kv_lens.len(),
            Form::CacheOneBelowWindow => cached(window(v).map(|w| w - 1).filter(|&len| len > 0)),
            Form::CacheAtWindow => cached(window(v)),
            Form::CacheOneBeyondWindow => cached(window(v).map(|w| w + 1)),
            Form::EndsAtQueryBlock => unit_size(v, Unit::QueryBlock).is_some_and(|block| {
                let inner = meta.cu_q_lens.iter().take(sequences).skip(1);
                inner.into_iter().any(|&end| end > 0 && (end as usize).is_multiple_of(block))
            }),
            Form::PrefixSharing => {
                let mut pages: Vec<i32> = Vec::new();
                (0..sequences).any(|sequence| {
                    let used = self.used(sequence);
                    let shared = used.iter().any(|page| pages.contains(page));
                    pages.extend(used);
                    shared
                })
            }
            Form::ContiguousPages => {
                (0..sequences).all(|sequence| is_consecutive(self.used(sequence)))
                    && (0..sequences).any(|sequence| self.used(sequence).len() > 1)
            }
            Form::ScatteredPages => (0..sequences).any(|sequence| !is_consecutive(self.used(sequence))),
            Form::TableNotMultipleOfBlock => not_multiple(v),
            Form::ZeroPastNumSeqs => self.tail().is_some_and(|tail| {
                tail.ends.iter().chain(tail.lens).chain(tail.pages).all(|&value| value == 0)
            }),
            Form::TotalPastNumSeqs => {
                self.tail().is_some_and(|tail| tail.ends.iter().all(|&end| end == tail.total))
            }
            Form::GarbageCuQLens => {
                self.tail().is_some_and(|tail| tail.ends.iter().any(|&end| end != 0 && end != tail.total))
            }
            Form::GarbageKvLens => {
                let reach = reach(v) as i64;
                self.tail().is_some_and(|tail| tail.lens.iter().any(|&len| i64::from(len) > reach))
            }
            Form::NegativeKvLens => self.tail().is_some_and(|tail| tail.lens.iter().any(|&len| len < 0)),
            Form::GarbagePageRows => {
                self.tail().is_some_and(|tail| tail.pages.iter().any(|&page| !self.names_a_page(page)))
            }
            Form::GarbagePageTails => (0..sequences).any(|sequence| {
                let row = &meta.page_indices[sequence * meta.pages_per_seq..][..meta.pages_per_seq];
                row[self.used(sequence).len()..].iter().any(|&page| !self.names_a_page(page))
            }),
        }
    }

    /// What stands past num_seqs, if there are sequences and rows past them.
    fn tail(&self) -> Option<Tail<'_>> {
        let (meta, sequences) = (self.metadata, self.q_lens.len());
        (0 < sequences && sequences < meta.kv_lens.len()).then(|| Tail {
            total: meta.cu_q_lens[sequences],
            ends: &meta.cu_q_lens[sequences + 1..],
            lens: &meta.kv_lens[sequences..],
            pages: &meta.page_indices[sequences * meta.pages_per_seq..],
        })
    }

    fn names_a_page(&self, page: i32) -> bool {
        usize::try_from(page).is_ok_and(|page| page < self.variant.pages)
    }

    /// The page-table entries that a sequence's kv_len uses.
    fn used(&self, sequence: usize) -> &[i32] {
        let kv_len = usize::try_from(self.kv_lens[sequence]).unwrap_or(0);
        let used = kv_len.div_ceil(self.variant.page_size.max(1)).min(self.metadata.pages_per_seq);
        &self.metadata.page_indices[sequence * self.metadata.pages_per_seq..][..used]
    }
}

/// Metadata past num_seqs.
struct Tail<'a> {
    total: i32,
    ends: &'a [i32],
    lens: &'a [i32],
    pages: &'a [i32],
}

fn is_consecutive(pages: &[i32]) -> bool {
    pages.windows(2).all(|pair| pair[0].checked_add(1) == Some(pair[1]))
}
