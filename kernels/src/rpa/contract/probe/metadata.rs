//! Probes of the rules of metadata.
//!
//! Invariant: every batch here has the variant's shapes; entries past `num_seqs` are zeros unless they are what is probed.

use countersign_reference::Metadata;

use super::{Input, Probe};
use crate::rpa::facts::table_reach;
use crate::variant::Variant;

/// A sequence's query tokens and its tokens in the cache.
type Lens = (usize, usize);

/// See [`super::base`].
pub(super) fn base(variant: &Variant) -> Metadata {
    layout(variant, &base_lens(variant))
}

fn reach(variant: &Variant) -> usize {
    table_reach(variant.page_size, variant.pages_per_seq)
}

fn base_lens(variant: &Variant) -> Vec<Lens> {
    let reach = reach(variant);
    let mut left = variant.tokens;
    let mut lens = Vec::new();
    for (q, kv) in [(2, 5), (1, reach), (2, 3)].into_iter().take(variant.max_seqs) {
        let q = q.min(left).min(reach);
        if q == 0 {
            break;
        }
        left -= q;
        lens.push((q, kv.min(reach).max(q)));
    }
    lens
}

/// Pages in order, wrapped around where the cache has fewer; a sequence longer than the table uses all of its row.
fn layout(variant: &Variant, lens: &[Lens]) -> Metadata {
    let (rows, columns) = (variant.max_seqs, variant.pages_per_seq);
    let mut page_indices = vec![0; rows * columns];
    let mut kv_lens = vec![0; rows];
    let mut cu_q_lens = vec![0; rows + 1];
    let mut next = 0;
    let mut total = 0;
    for (sequence, &(q, kv)) in lens.iter().enumerate() {
        let used = kv.div_ceil(variant.page_size.max(1)).min(columns);
        for page in &mut page_indices[sequence * columns..][..used] {
            *page = (next % variant.pages.max(1)) as i32;
            next += 1;
        }
        total += q as i32;
        kv_lens[sequence] = kv as i32;
        cu_q_lens[sequence + 1] = total;
    }
    Metadata { kv_lens, page_indices, pages_per_seq: columns, cu_q_lens, num_seqs: lens.len() as i32 }
}

/// Sequences that together have `total` query tokens, none longer than the table; `None` without room for them.
fn filling(variant: &Variant, total: usize) -> Option<Vec<Lens>> {
    let reach = reach(variant);
    let count = total.div_ceil(reach.max(1)).max(1);
    (count <= variant.max_seqs && count <= total).then(|| {
        let share = |index: usize| total / count + usize::from(index < total % count);
        (0..count).map(|index| (share(index), reach)).collect()
    })
}

pub(super) fn probe(rule: &str, variant: &Variant) -> Probe {
    let mut probe = Probe::default();
    let lens = base_lens(variant);
    let base = layout(variant, &lens);
    let (count, last, reach) = (lens.len(), lens.len().saturating_sub(1), reach(variant));
    let spare_row = count < variant.max_seqs;
    let edited = |edit: &dyn Fn(&mut Metadata)| {
        let mut metadata = base.clone();
        edit(&mut metadata);
        Input::Batch(metadata, Vec::new())
    };
    let with_lens = |edit: &dyn Fn(&mut Vec<Lens>)| {
        let mut lens = lens.clone();
        edit(&mut lens);
        Input::Batch(layout(variant, &lens), Vec::new())
    };
    match rule {
        "num-seqs-nonnegative" => {
            // 0 isn't negative, but it breaks another rule.
            probe.kept("num_seqs = 1", edited(&|m| m.num_seqs = 1));
            probe.broken("num_seqs = -1", edited(&|m| m.num_seqs = -1));
            probe.broken("num_seqs = the smallest int32", edited(&|m| m.num_seqs = i32::MIN));
        }
        "num-seqs-positive" => {
            probe.kept("num_seqs = 1", edited(&|m| m.num_seqs = 1));
            probe.broken("num_seqs = 0", edited(&|m| m.num_seqs = 0));
        }
        "num-seqs-within-table" => {
            let rows = variant.max_seqs;
            let full: Vec<Lens> = (0..rows).map(|row| (usize::from(row < variant.tokens), 1)).collect();
            let counted =
                |num_seqs: i32| Input::Batch(Metadata { num_seqs, ..layout(variant, &full) }, Vec::new());
            // With more rows in the table than in q, some sequences have no query token.
            let besides: &[&str] = if rows > variant.tokens { &["q-len-positive"] } else { &[] };
            if besides.is_empty() {
                probe.kept("num_seqs = rows of the table", counted(rows as i32));
            }
            probe.broken_besides("num_seqs = rows of the table + 1", counted(rows as i32 + 1), besides);
            probe.broken_besides("num_seqs = the largest int32", counted(i32::MAX), besides);
        }
        "cu-q-lens-starts-at-zero" => {
            probe.kept("cu_q_lens[0] = 0", edited(&|_| {}));
            if lens[0].0 > 1 {
                probe.broken("cu_q_lens[0] = 1", edited(&|m| m.cu_q_lens[0] = 1));
            }
            if base.cu_q_lens[count] < variant.tokens as i32 {
                let shifted = |m: &mut Metadata| m.cu_q_lens[..=count].iter_mut().for_each(|end| *end += 1);
                probe.broken("all of cu_q_lens + 1", edited(&shifted));
            }
        }
        "cu-q-lens-nonnegative" => {
            if spare_row {
                probe.kept("cu_q_lens[num_seqs + 1] = -1", edited(&|m| m.cu_q_lens[count + 1] = -1));
            } else {
                probe.kept("cu_q_lens[0] = 0", edited(&|_| {}));
            }
            probe.broken("cu_q_lens[0] = -1", edited(&|m| m.cu_q_lens[0] = -1));
            if count > 1 {
                probe.broken("cu_q_lens[1] = -1", edited(&|m| m.cu_q_lens[1] = -1));
            }
            probe.broken("cu_q_lens[num_seqs] = -1", edited(&|m| m.cu_q_lens[count] = -1));
            probe.broken(
                "cu_q_lens[num_seqs] = the smallest int32",
                edited(&|m| m.cu_q_lens[count] = i32::MIN),
            );
        }
        "cu-q-lens-nondecreasing" => {
            // Equal entries don't decrease, but a sequence without query tokens breaks another rule.
            probe.kept(
                "every entry 1 above its predecessor",
                with_lens(&|l| l.iter_mut().for_each(|l| l.0 = 1)),
            );
            if count > 1 {
                let below = |m: &mut Metadata| m.cu_q_lens[count] = m.cu_q_lens[last] - 1;
                probe.broken("cu_q_lens[num_seqs] 1 below its predecessor", edited(&below));
            }
            if count > 2 {
                let inner = with_lens(&|l| (l[0].1, l[2].1) = (reach, reach));
                if let Input::Batch(mut metadata, values) = inner
                    && reach >= 4
                {
                    metadata.cu_q_lens[1] = metadata.cu_q_lens[2] + 1;
                    probe.broken("cu_q_lens[2] 1 below its predecessor", Input::Batch(metadata, values));
                }
            }
        }
        "total-q-within-rows" => {
            let rows = variant.tokens;
            let mut total = |name: &str, total: usize| {
                let Some(lens) = filling(variant, total) else { return };
                let input = Input::Batch(layout(variant, &lens), Vec::new());
                if total > rows { probe.broken(name, input) } else { probe.kept(name, input) }
            };
            total("as many query tokens as rows", rows);
            total("1 query token more than rows", rows + 1);
            let block = variant.blocks().map_or(1, |blocks| blocks.queries).max(1);
            if block > 1 {
                total("1 query token more than the last query block has", rows.next_multiple_of(block) + 1);
            }
        }
        "q-len-positive" => {
            probe.kept("1 query token each", with_lens(&|l| l.iter_mut().for_each(|l| l.0 = 1)));
            for at in places(count) {
                let name = format!("no query token in sequence {}", place(at, count));
                probe.broken(name, with_lens(&|l| l[at].0 = 0));
            }
        }
        "kv-lens-nonnegative" => {
            if spare_row {
                probe.kept("kv_lens[num_seqs] = -1", edited(&|m| m.kv_lens[count] = -1));
            } else {
                probe.kept(
                    "kv_lens as long as the query tokens",
                    with_lens(&|l| l.iter_mut().for_each(|l| l.1 = l.0)),
                );
            }
            for at in places(count) {
                let name = format!("kv_len = -1 in sequence {}", place(at, count));
                probe.broken(name, edited(&|m| m.kv_lens[at] = -1));
            }
            probe.broken("kv_lens[0] = the smallest int32", edited(&|m| m.kv_lens[0] = i32::MIN));
        }
        "kv-len-positive" => {
            probe.kept("1 token in each cache", with_lens(&|l| l.fill((1, 1))));
            for at in places(count) {
                let name = format!("sequence {} wholly empty", place(at, count));
                probe.broken(name, with_lens(&|l| l[at] = (0, 0)));
            }
        }
        "q-len-within-kv-len" => {
            probe.kept("kv_len = q_len", with_lens(&|l| l.iter_mut().for_each(|l| l.1 = l.0)));
            for at in places(count) {
                if lens[at].0 > 1 {
                    let name = format!("kv_len = q_len - 1 in sequence {}", place(at, count));
                    probe.broken(name, with_lens(&|l| l[at].1 = l[at].0 - 1));
                }
                let name = format!("kv_len = 0 with query tokens in sequence {}", place(at, count));
                probe.broken(name, with_lens(&|l| l[at].1 = 0));
            }
        }
        "kv-lens-in-table" => {
            probe.kept("kv_len = columns times page size", with_lens(&|l| l[0].1 = reach));
            if spare_row {
                let padding = |m: &mut Metadata| m.kv_lens[count] = reach as i32 + 1;
                probe.kept("1 more in the padding past num_seqs", edited(&padding));
            }
            for at in places(count) {
                let name = format!("kv_len = columns times page size + 1 in sequence {}", place(at, count));
                probe.broken(name, with_lens(&|l| l[at].1 = reach + 1));
            }
            let most = |m: &mut Metadata| m.kv_lens[last] = i32::MAX;
            let input = Input::Batch(
                {
                    let mut metadata = layout(variant, &with_last_long(&lens, reach));
                    most(&mut metadata);
                    metadata
                },
                Vec::new(),
            );
            probe.broken("the largest int32", input);
        }
        "page-index-in-range" => {
            let columns = base.pages_per_seq;
            let page =
                |at: usize, page: i32| edited(&move |m: &mut Metadata| m.page_indices[at * columns] = page);
            probe.kept("page = pages - 1", page(0, variant.pages as i32 - 1));
            if spare_row {
                probe.kept("-1 in a row past num_seqs", page(count, -1));
            }
            for at in places(count) {
                let place = place(at, count);
                probe.broken(format!("page = pages in sequence {place}"), page(at, variant.pages as i32));
                probe.broken(format!("page = -1 in sequence {place}"), page(at, -1));
            }
            probe.broken("page = the largest int32", page(0, i32::MAX));
            probe.broken("page = the smallest int32", page(0, i32::MIN));
        }
        _ => {}
    }
    probe
}

fn with_last_long(lens: &[Lens], reach: usize) -> Vec<Lens> {
    let mut lens = lens.to_vec();
    if let Some(last) = lens.last_mut() {
        last.1 = reach;
    }
    lens
}

/// The first sequence and the last.
fn places(count: usize) -> Vec<usize> {
    if count > 1 { vec![0, count - 1] } else { vec![0] }
}

fn place(at: usize, count: usize) -> &'static str {
    if at + 1 == count { "num_seqs - 1" } else { "0" }
}
