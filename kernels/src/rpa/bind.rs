//! From a batch to the kernel's operands: values by role, and which of their elements nobody may rely on.
//!
//! Everything that the batch doesn't own is undefined: page tails past `kv_len`, spare pages, rows of q past the last
//! token, metadata past `num_seqs`, page indices past those that a kv length uses. The kernel may load undefined memory, but
//! no branch, address or owned output may come of it. Its legal stray reads stay within this: filler copies of a block go
//! through the sequence's own column 0. An empty sequence (a disputed batch) owns no page index, yet the kernel copies the
//! page that its column 0 names; a caller who zero-fills the table names a real page there. So that the kernel's further
//! conduct shows, column 0 of an empty sequence counts as defined where it names a page, and as undefined elsewhere.
//!
//! Invariant: total over all metadata; where `num_seqs` is out of range, what the docstring promises of the entries that
//! exist counts: `kv_lens[..n]` and `cu_q_lens[..n + 1]` with n = `num_seqs` clipped to the table.

use std::borrow::Cow;
use std::ops::Range;

use countersign_dtype::Array;
use countersign_mosaic::{Operand, OutputSpec};
use countersign_reference::{Batch, Metadata, paging};

use super::facts;
use crate::variant::Variant;

/// An operand that the batch decides. The kernel's other operands are constants of its lowering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// `[tokens, q_heads, head_dim]`.
    Q,
    /// `[pages, page_size, 2 * kv_heads, head_dim]`.
    KvPages,
    /// `i32[max_seqs]`.
    KvLens,
    /// `i32[max_seqs, pages_per_seq]`.
    PageIndices,
    /// `i32[max_seqs + 1]`.
    CuQLens,
    /// `i32[1]`.
    NumSeqs,
}

impl Role {
    /// All roles, in the order of the entry point's parameters.
    pub const ALL: [Role; 6] =
        [Role::Q, Role::KvPages, Role::KvLens, Role::PageIndices, Role::CuQLens, Role::NumSeqs];

    /// The entry point's name for the parameter, also used in export manifests.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Q => "q",
            Role::KvPages => "kv_pages",
            Role::KvLens => "kv_lens",
            Role::PageIndices => "page_indices",
            Role::CuQLens => "cu_q_lens",
            Role::NumSeqs => "num_seqs",
        }
    }

    /// The inverse of [`Role::name`].
    pub fn from_name(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.name() == name)
    }
}

/// An operand with its undefined elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound<'a> {
    /// Which operand.
    pub role: Role,
    /// Its values.
    pub array: Cow<'a, Array>,
    /// Element ranges that are undefined: sorted, disjoint, not adjacent, within the array.
    pub undefined: Vec<Range<usize>>,
}

impl Bound<'_> {
    /// As the VM takes it.
    pub fn operand(&self) -> Operand<'_> {
        Operand { label: self.role.name(), array: &self.array, undefined: &self.undefined }
    }
}

/// The operands of a batch, in the order of [`Role::ALL`], so that `bind(…)[role as usize]` is the operand of a role.
pub fn bind<'a>(variant: &Variant, batch: &'a Batch) -> [Bound<'a>; 6] {
    let metadata = &batch.metadata;
    let sequences = metadata.sequences_in_table();
    let columns = metadata.pages_per_seq;
    let table_rows = metadata.page_indices.len().checked_div(columns).unwrap_or(0);

    let row_len: usize = batch.q.shape.iter().skip(1).product();
    let rows = paging::owned_rows(metadata, variant.tokens);
    let q_defined = Some(rows.start * row_len..rows.end * row_len);

    let slot_len: usize = batch.kv_pages.shape.iter().skip(2).product();
    let page_len = variant.page_size * slot_len;
    let owned = paging::owned_slots(metadata, variant.pages, variant.page_size);
    let kv_defined =
        owned.iter().enumerate().map(|(page, slots)| page * page_len..page * page_len + slots * slot_len);

    let used = |sequence: usize| {
        let kv_len = usize::try_from(metadata.kv_lens[sequence]).unwrap_or(0);
        let filler = metadata.page_indices.get(sequence * columns);
        let names_a_page = filler.is_some_and(|&page| (0..variant.pages as i64).contains(&i64::from(page)));
        kv_len.div_ceil(variant.page_size.max(1)).max(usize::from(names_a_page)).min(columns)
    };
    let indices_defined =
        (0..sequences).map(|sequence| sequence * columns..sequence * columns + used(sequence));

    let int32 = |shape: &[usize], values: &[i32]| Cow::Owned(Array::from_i32(shape, values));
    let bound =
        |role: Role, array: Cow<'a, Array>, undefined: Vec<Range<usize>>| Bound { role, array, undefined };
    let (kv_lens, cu_q_lens) = (&metadata.kv_lens, &metadata.cu_q_lens);
    let whole = |end: usize| Some(0..end);
    [
        bound(Role::Q, Cow::Borrowed(&batch.q), complement(q_defined, batch.q.len())),
        bound(Role::KvPages, Cow::Borrowed(&batch.kv_pages), complement(kv_defined, batch.kv_pages.len())),
        bound(Role::KvLens, int32(&[kv_lens.len()], kv_lens), complement(whole(sequences), kv_lens.len())),
        bound(
            Role::PageIndices,
            int32(&[table_rows, columns], &metadata.page_indices),
            complement(indices_defined, metadata.page_indices.len()),
        ),
        bound(
            Role::CuQLens,
            int32(&[cu_q_lens.len()], cu_q_lens),
            complement(whole(sequences + 1), cu_q_lens.len()),
        ),
        bound(Role::NumSeqs, int32(&[1], &[metadata.num_seqs]), Vec::new()),
    ]
}

/// What of `0..len` lies in none of `ranges`, which ascend and don't overlap.
fn complement(ranges: impl IntoIterator<Item = Range<usize>>, len: usize) -> Vec<Range<usize>> {
    let mut gaps: Vec<Range<usize>> = Vec::new();
    let mut next = 0;
    let end = std::iter::once(len..len);
    for range in ranges.into_iter().filter(|range| !range.is_empty()).chain(end) {
        if next < range.start {
            gaps.push(next..range.start);
        }
        next = next.max(range.end);
    }
    gaps
}

/// The output: q's shape and type.
pub fn output_spec(variant: &Variant) -> OutputSpec {
    OutputSpec { dtype: variant.q_dtype, shape: vec![variant.tokens, variant.q_heads, variant.head_dim] }
}

/// Elements of the output that the batch owns: the rows of its tokens.
pub fn owned_output(variant: &Variant, metadata: &Metadata) -> Range<usize> {
    let rows = paging::owned_rows(metadata, variant.tokens);
    let row_len = variant.q_heads * variant.head_dim;
    rows.start * row_len..rows.end * row_len
}

/// Fuel above which a run of a right kernel can't get, in executed ops of a program of `ops` ops.
///
/// Counted are the rounds of the kernel's loops, of which each executes an op at most once: grid steps; visits of a
/// sequence by a query block (at most one more than its rows fill); KV blocks of each visit. Lengths count as far as q and
/// the page table reach, so a kv length near the int32 limit buys no minutes; a run that needs more is a hang.
///
/// Four times that where it costs at most [`FUEL_CAP`], and never less than once, which is generous by itself.
pub fn fuel(variant: &Variant, metadata: &Metadata, ops: u64) -> u64 {
    let queries = variant.blocks().map_or(1, |blocks| blocks.queries).max(1);
    let [head_blocks, query_blocks] =
        facts::grid(variant).unwrap_or([variant.kv_heads.max(1), variant.tokens.div_ceil(queries)]);
    let kv_block = facts::kv_block(variant).unwrap_or(variant.page_size).max(1);
    let reach = facts::table_reach(variant.page_size, metadata.pages_per_seq);
    let clipped = |value: i64, most: usize| value.clamp(0, most as i64) as u64;

    let mut rounds = query_blocks as u64;
    for sequence in 0..metadata.sequences_in_table() {
        let (start, end) =
            (i64::from(metadata.cu_q_lens[sequence]), i64::from(metadata.cu_q_lens[sequence + 1]));
        let visits = clipped(end - start, variant.tokens).div_ceil(queries as u64) + 1;
        let kv_blocks = clipped(i64::from(metadata.kv_lens[sequence]), reach).div_ceil(kv_block as u64);
        rounds += visits * (1 + kv_blocks);
    }
    let once = rounds.saturating_mul(head_blocks as u64).saturating_mul(ops);
    once.saturating_mul(4).min(FUEL_CAP).max(once)
}

/// Executed ops that take the VM about two seconds.
pub const FUEL_CAP: u64 = 50_000_000;

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of ranges, some with one
mod tests {
    use super::*;
    use crate::rpa::testing::{batch, variant};

    fn undefined(edit: impl Fn(&mut Metadata), role: Role) -> Vec<Range<usize>> {
        let mut batch = batch();
        edit(&mut batch.metadata);
        bind(&variant(), &batch)[role as usize].undefined.clone()
    }

    #[test]
    fn roles_stand_at_their_place() {
        let (variant, batch) = (variant(), batch());
        for (at, bound) in bind(&variant, &batch).iter().enumerate() {
            assert_eq!(bound.role as usize, at);
            assert_eq!(Role::from_name(bound.role.name()), Some(bound.role));
        }
    }

    #[test]
    fn what_the_batch_does_not_own_is_undefined() {
        let nothing = |_: &mut Metadata| {};
        assert_eq!(undefined(nothing, Role::Q), [8 * 16..16 * 16]);
        // pages 3, 5, 6, 7, 9 are full, page 0 holds one token
        let pages = [16..3 * 64, 4 * 64..5 * 64, 8 * 64..9 * 64, 10 * 64..12 * 64];
        assert_eq!(undefined(nothing, Role::KvPages), pages);
        assert_eq!(undefined(nothing, Role::KvLens), [3..4]);
        assert_eq!(undefined(nothing, Role::PageIndices), [2..3, 7..12]);
        assert_eq!(undefined(nothing, Role::CuQLens), [4..5]);
        assert_eq!(undefined(nothing, Role::NumSeqs), []);
    }

    #[test]
    fn an_empty_sequence_keeps_its_filler_only_where_it_names_a_page() {
        let empty = |page: i32| {
            move |m: &mut Metadata| (m.kv_lens[1], m.cu_q_lens[2], m.page_indices[3]) = (0, 3, page)
        };
        assert_eq!(undefined(empty(0), Role::PageIndices), [2..3, 4..6, 7..12]);
        for garbage in [-1, i32::MAX] {
            assert_eq!(undefined(empty(garbage), Role::PageIndices), [2..6, 7..12]);
        }
    }

    #[test]
    fn lengths_past_the_table_own_its_row() {
        let long = |m: &mut Metadata| m.kv_lens[1] = i32::MAX;
        assert_eq!(undefined(long, Role::PageIndices), [2..3, 7..12]);
        assert_eq!(undefined(long, Role::KvPages).len(), 4);
    }

    #[test]
    fn a_num_seqs_out_of_range_is_clipped() {
        let many = |m: &mut Metadata| m.num_seqs = i32::MAX;
        assert_eq!(undefined(many, Role::KvLens), []);
        assert_eq!(undefined(many, Role::CuQLens), []);
        for num_seqs in [0, -1, i32::MIN] {
            let none = |m: &mut Metadata| m.num_seqs = num_seqs;
            assert_eq!(undefined(none, Role::KvLens), [0..4]);
            assert_eq!(undefined(none, Role::CuQLens), [1..5]);
            assert_eq!(undefined(none, Role::PageIndices), [0..12]);
            assert_eq!(undefined(none, Role::Q), [0..16 * 16]);
            assert_eq!(undefined(none, Role::KvPages), [0..12 * 64]);
        }
    }

    #[test]
    fn the_output_has_the_rows_of_q() {
        assert_eq!(output_spec(&variant()).shape, [16, 2, 8]);
        assert_eq!(owned_output(&variant(), &batch().metadata), 0..8 * 16);
    }

    #[test]
    fn fuel_covers_a_kept_batch_and_stays_small_on_absurd_ones() {
        // two query blocks; visits 2 + 2 + 2, of 1 + 1, 1 + 2 and 1 + 1 rounds
        let rounds = 2 + 2 * 2 + 2 * 3 + 2 * 2;
        assert_eq!(fuel(&variant(), &batch().metadata, 1000), 4 * 1000 * rounds);
        let mut absurd = batch().metadata;
        absurd.kv_lens = vec![i32::MAX; 4];
        absurd.cu_q_lens = vec![i32::MIN, i32::MAX, i32::MIN, i32::MAX, i32::MAX];
        absurd.num_seqs = i32::MAX;
        assert!(fuel(&variant(), &absurd, 1500) <= FUEL_CAP);
        // a long batch may need more than the cap, and then gets it
        let long = Variant { tokens: 4096, pages_per_seq: 4096, queries_per_block: Some(1), ..variant() };
        let metadata = Metadata {
            kv_lens: vec![4096],
            page_indices: vec![0; 4096],
            pages_per_seq: 4096,
            cu_q_lens: vec![0, 4096],
            num_seqs: 1,
        };
        assert_eq!(fuel(&long, &metadata, 1000), 1000 * (4096 + 4097 * (1 + 512)));
    }
}
