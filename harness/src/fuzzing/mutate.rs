//! Changes to a case that leave it a case: one mistake, or one move over an edge, at a time.
//!
//! Invariant: arrays fit the variant before and after; the same case and seed give the same case; what is written is always the
//! binary form.

use std::cell::RefCell;

use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::contract::{self, Keeping};
use countersign_kernels::rpa::facts;
use countersign_reference::Metadata;

use super::{KERNEL, decode, position};
use crate::case::{Case, VariantRef};
use crate::generate::generate;
use crate::payload::{Pattern, Stream};

/// Keeps these streams apart from those of payloads and campaigns.
const MUTATION: u64 = 0x6d75_7461;
/// Tries to change a case into one that keeps the contract, where such a one is wanted.
const TRIES: u64 = 8;
/// So many children in so many are to keep the contract: as many as the generator's cases do.
pub(super) const KEEP: (u64, u64) = (3, 5);

thread_local! {
    static CATALOGUE: RefCell<Option<(KernelEntry, Vec<Variant>)>> = const { RefCell::new(None) };
}

/// Calls `then` with the kernel and its small variants as the catalogue has them: nothing is exported.
pub(super) fn with_kernel<T>(then: impl FnOnce(&KernelEntry, &[Variant]) -> T) -> T {
    CATALOGUE.with_borrow_mut(|read| {
        let (kernel, variants) = read.get_or_insert_with(|| {
            let kernel = Catalogue::builtin().ok().and_then(|catalogue| catalogue.kernel(KERNEL).cloned());
            let Some(kernel) = kernel else { panic!("can't fuzz: the kernel is missing from the catalogue") };
            let variants = kernel.variants(Tier::Small).cloned().collect();
            (kernel, variants)
        });
        then(kernel, variants)
    })
}

/// For libFuzzer: half of the time changes the first `size` bytes of `data`, whatever they stand for, into a mutant's binary
/// form, else puts a new case there; its size. What doesn't fit is left as it is.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let mut draws = Stream::at(u64::from(seed), [MUTATION, 2, 0, 0]);
    let mutant = with_kernel(|kernel, variants| {
        let parent = Some(draws.below(2) == 0)
            .filter(|&change| change)
            .and_then(|_| decode(&data[..size], &kernel.id, variants))
            .filter(|case| fits(case, variants));
        // libFuzzer draws no case by itself: without new ones it would never leave the families of its first.
        let child = match parent {
            Some(parent) => changed(&parent, &parent, variants, draws.below(KEEP.1) < KEEP.0, &mut draws),
            None => generate(draws.bits(), 0, &kernel.id, variants, None).case,
        };
        child.to_bytes().ok()
    });
    match mutant {
        Some(bytes) if bytes.len() <= max_size.min(data.len()) => {
            data[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        }
        Some(_) | None => size,
    }
}

/// For libFuzzer: a cross of two inputs in binary form, written to `out`; its size, 0 where there is none or it doesn't fit.
pub fn crossover(one: &[u8], other: &[u8], out: &mut [u8], seed: u32) -> usize {
    let child = with_kernel(|kernel, variants| {
        let read = |data| decode(data, &kernel.id, variants).filter(|case| fits(case, variants));
        crossed(&read(one)?, &read(other)?, variants, u64::from(seed)).to_bytes().ok()
    });
    match child {
        Some(bytes) if bytes.len() <= out.len() => {
            out[..bytes.len()].copy_from_slice(&bytes);
            bytes.len()
        }
        Some(_) | None => 0,
    }
}

/// A child of `parent`: a few changes, one in eight times of its cross with `other`. Where it is to keep the contract, the first of
/// some tries that does, if one does: a change breaks it more often than not.
pub(super) fn changed(
    parent: &Case,
    other: &Case,
    variants: &[Variant],
    keep: bool,
    draws: &mut Stream,
) -> Case {
    let mut child = parent.clone();
    for _ in 0..if keep { TRIES } else { 1 } {
        child = match draws.below(8) {
            0 => crossed(parent, other, variants, draws.bits()),
            _ => mutated(parent, variants, draws.bits()),
        };
        // Half of the children have one change, a quarter two.
        while draws.below(2) == 0 {
            child = mutated(&child, variants, draws.bits());
        }
        if keeps(&child, variants) {
            break;
        }
    }
    child
}

/// Whether a case's metadata breaks no rule.
pub(super) fn keeps(case: &Case, variants: &[Variant]) -> bool {
    position(case, variants).is_some_and(|position| {
        contract::check_metadata(&variants[position], &case.metadata).keeping() == Keeping::Kept
    })
}

fn fits(case: &Case, variants: &[Variant]) -> bool {
    case.statics.is_none() && case.variant(variants).is_ok_and(|variant| case.check(variant).is_ok())
}

/// One change to `case`, which fits its variant among `variants`; a case that doesn't comes back as it is.
pub fn mutated(case: &Case, variants: &[Variant], seed: u64) -> Case {
    let mut case = case.clone();
    let Ok(variant) = case.variant(variants).cloned() else { return case };
    if !fits(&case, variants) {
        return case;
    }
    // The values that these were taken from, and places named in them, may be gone.
    case.checksum = None;
    case.payload.patches.clear();
    let mut draws = Draws(Stream::at(seed, [MUTATION, 0, 0, 0]));
    let meta = &mut case.metadata;
    let sequence = draws.sequence(meta);
    match draws.below(16) {
        0 => {
            let entry = &mut meta.cu_q_lens[sequence + draws.below(2)];
            *entry = entry.wrapping_add(draws.sign());
        }
        1..=3 => {
            let length = draws.at_edge(&variant, variant.tokens);
            set_query_length(meta, sequence, length);
        }
        4 => {
            let length = query_length(meta, sequence).wrapping_add(draws.sign());
            set_query_length(meta, sequence, length);
        }
        5 | 6 => meta.kv_lens[sequence] = draws.at_edge(&variant, variant.page_size * variant.pages_per_seq),
        7 => meta.kv_lens[sequence] = meta.kv_lens[sequence].wrapping_add(draws.sign()),
        // Only as many keys as queries, or one more: where masks end.
        8 => meta.kv_lens[sequence] = query_length(meta, sequence).wrapping_add(draws.below(2) as i32),
        9 if !meta.page_indices.is_empty() => {
            let (to, from) = (draws.below(meta.page_indices.len()), draws.below(meta.page_indices.len()));
            meta.page_indices[to] = meta.page_indices[from];
        }
        10 if !meta.page_indices.is_empty() => {
            let (one, other) = (draws.below(meta.page_indices.len()), draws.below(meta.page_indices.len()));
            meta.page_indices.swap(one, other);
        }
        11 => {
            let count = i64::from(meta.num_seqs) + i64::from(draws.sign());
            meta.num_seqs = count.clamp(-1, variant.max_seqs as i64 + 1) as i32;
        }
        12 => case.payload.seed = draws.below(1 << 20) as u64,
        13 => {
            let suited: Vec<Pattern> = Pattern::every().filter(|pattern| pattern.suits(&variant)).collect();
            if !suited.is_empty() {
                case.payload.pattern = suited[draws.below(suited.len())].name().to_owned();
            }
        }
        _ if !variants.is_empty() => moved(&mut case, &variants[draws.below(variants.len())]),
        _ => {}
    }
    case
}

/// Sequences of `one`, some of them with lengths and pages of `other`'s; the payload of either.
pub fn crossed(one: &Case, other: &Case, variants: &[Variant], seed: u64) -> Case {
    let (mut child, mut other) = (one.clone(), other.clone());
    let Ok(variant) = one.variant(variants).cloned() else { return child };
    if !fits(one, variants) || !fits(&other, variants) {
        return child;
    }
    moved(&mut other, &variant);
    let mut draws = Draws(Stream::at(seed, [MUTATION, 1, 0, 0]));
    child.checksum = None;
    child.payload.patches.clear();
    if draws.below(2) == 1 && Pattern::from_name(&other.payload.pattern).is_some_and(|p| p.suits(&variant)) {
        child.payload = other.payload;
        child.payload.patches.clear();
    }
    let (meta, theirs) = (&mut child.metadata, &other.metadata);
    for sequence in 0..variant.max_seqs {
        if draws.below(2) == 1 {
            meta.kv_lens[sequence] = theirs.kv_lens[sequence];
            let row = sequence * variant.pages_per_seq..(sequence + 1) * variant.pages_per_seq;
            meta.page_indices[row.clone()].copy_from_slice(&theirs.page_indices[row]);
            set_query_length(meta, sequence, query_length(theirs, sequence));
        }
    }
    if draws.below(2) == 1 {
        meta.num_seqs = theirs.num_seqs;
    }
    child
}

/// The case on another variant: rows and pages that are too many go, missing ones are empty, page numbers stay as they are.
fn moved(case: &mut Case, to: &Variant) {
    case.variant = VariantRef::Named(to.name.clone());
    case.checksum = None;
    case.payload.patches.clear();
    if !Pattern::from_name(&case.payload.pattern).is_some_and(|pattern| pattern.suits(to)) {
        case.payload.pattern = Pattern::ALL[0].name().to_owned();
    }
    let meta = &mut case.metadata;
    let page = |row: usize, column: usize| {
        let index = meta.page_indices.get(row * meta.pages_per_seq + column);
        index.filter(|_| column < meta.pages_per_seq).copied().unwrap_or(0)
    };
    let rows = 0..to.max_seqs;
    let table = rows.flat_map(|row| (0..to.pages_per_seq).map(move |column| (row, column)));
    meta.page_indices = table.map(|(row, column)| page(row, column)).collect();
    meta.pages_per_seq = to.pages_per_seq;
    meta.kv_lens.resize(to.max_seqs, 0);
    let last = meta.cu_q_lens.last().copied().unwrap_or(0);
    meta.cu_q_lens.resize(to.max_seqs + 1, last);
    meta.num_seqs = meta.num_seqs.min(to.max_seqs as i32);
}

fn query_length(meta: &Metadata, sequence: usize) -> i32 {
    meta.cu_q_lens[sequence + 1].wrapping_sub(meta.cu_q_lens[sequence])
}

/// Gives a sequence another query length; later ones keep theirs.
fn set_query_length(meta: &mut Metadata, sequence: usize, length: i32) {
    let step = length.wrapping_sub(query_length(meta, sequence));
    meta.cu_q_lens[sequence + 1..].iter_mut().for_each(|entry| *entry = entry.wrapping_add(step));
}

struct Draws(Stream);

impl Draws {
    /// Below `n`, which isn't 0.
    fn below(&mut self, n: usize) -> usize {
        self.0.below(n as u64) as usize
    }

    fn sign(&mut self) -> i32 {
        if self.below(2) == 0 { -1 } else { 1 }
    }

    /// A row of the table, mostly one in use.
    fn sequence(&mut self, meta: &Metadata) -> usize {
        let rows = meta.kv_lens.len();
        let used = usize::try_from(meta.num_seqs).unwrap_or(0).clamp(1, rows.max(1));
        if self.below(8) == 0 { self.below(rows.max(1)) } else { self.below(used) }
    }

    /// At, one below or one above a multiple of a page, a block or a register's lanes; at most one above `limit`.
    fn at_edge(&mut self, variant: &Variant, limit: usize) -> i32 {
        let queries = variant.blocks().map(|blocks| blocks.queries);
        let window = variant.options.sliding_window.and_then(|window| usize::try_from(window).ok());
        let units = [Some(variant.page_size), facts::kv_block(variant), queries, window, Some(128), Some(1)];
        let units: Vec<usize> = units.into_iter().flatten().filter(|&unit| unit > 0).collect();
        let unit = units[self.below(units.len())];
        let multiple = (self.below(limit / unit + 1) * unit) as i32;
        multiple + [-1, 0, 1][self.below(3)]
    }
}
