//! Rules of the ragged metadata: `num_seqs`, `cu_q_lens`, `kv_lens`, `page_indices`.
//!
//! Only what the docstring calls valid is looked at: the first `num_seqs` rows, `num_seqs + 1` cumulative lengths, and the
//! page indices that a kv length uses. Whatever stands past them is garbage that the contract allows.
//!
//! Invariant: an entry that is wrong by itself isn't reported a second time through what follows from it.

use countersign_reference::Metadata;

use super::{Breach, Entry, Rule, rules};
use crate::variant::Variant;

/// Most entries of a row of the page table that a breach names: a large table may be wrong as a whole.
const MAX_ENTRIES: usize = 4;

pub(crate) fn check(variant: &Variant, metadata: &Metadata, breaches: &mut Vec<Breach>) {
    let Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs } = metadata;
    let rows = page_indices.len().checked_div(*pages_per_seq).unwrap_or(0);
    let sequences = metadata.sequences_in_table();
    let dealt = variant.family.model().rows();

    let mut broken = |rule: &'static Rule, sequence: Option<usize>, detail: String, entries: Vec<Entry>| {
        breaches.push(Breach { rule, sequence, detail, entries });
    };
    let scalar = || vec![Entry { array: "num_seqs", index: Vec::new() }];
    let end_entry = |index: usize| Entry { array: "cu_q_lens", index: vec![index] };
    if *num_seqs < 0 {
        broken(&rules::NUM_SEQS_NONNEGATIVE, None, format!("num_seqs = {num_seqs}"), scalar());
    } else if *num_seqs == 0 {
        broken(&rules::NUM_SEQS_POSITIVE, None, "num_seqs = 0".to_string(), scalar());
    } else if *num_seqs as usize > rows {
        let detail = format!("num_seqs = {num_seqs}, but page_indices has {rows} rows");
        broken(&rules::NUM_SEQS_WITHIN_TABLE, None, detail, scalar());
    }

    let ends = cu_q_lens.get(..=sequences).unwrap_or(cu_q_lens);
    if let Some(first) = ends.first().filter(|first| **first > 0) {
        let detail = format!("cu_q_lens[0] = {first}, not 0");
        broken(&rules::CU_Q_LENS_STARTS_AT_ZERO, None, detail, vec![end_entry(0)]);
    }
    let past_rows = |(_, end): &(usize, &i32)| i64::from(**end) > variant.tokens as i64;
    if let Some((entry, end)) = ends.iter().enumerate().rev().find(past_rows) {
        let detail = format!("cu_q_lens[{entry}] = {end}, but {} has {} rows", dealt.array, variant.tokens);
        broken(&rules::TOTAL_Q_WITHIN_ROWS, None, detail, vec![end_entry(entry)]);
    }
    if sequences == 0 {
        if let Some(first) = ends.first().filter(|first| **first < 0) {
            let detail = format!("cu_q_lens[0] = {first}");
            broken(&rules::CU_Q_LENS_NONNEGATIVE, None, detail, vec![end_entry(0)]);
        }
        return;
    }

    for sequence in 0..sequences {
        let mut broken = |rule, detail, entries| broken(rule, Some(sequence), detail, entries);
        let len_entry = || Entry { array: "kv_lens", index: vec![sequence] };
        let page_entry = |column| Entry { array: "page_indices", index: vec![sequence, column] };
        let (start, end) = (i64::from(cu_q_lens[sequence]), i64::from(cu_q_lens[sequence + 1]));
        let (q_len, kv_len) = (end - start, i64::from(kv_lens[sequence]));
        let next = sequence + 1;
        let rows_are_known = if start < 0 || end < 0 {
            let entry = if end < 0 { next } else { sequence };
            let detail = format!("cu_q_lens[{entry}] = {}", cu_q_lens[entry]);
            broken(&rules::CU_Q_LENS_NONNEGATIVE, detail, vec![end_entry(entry)]);
            false
        } else if q_len < 0 {
            let detail = format!("cu_q_lens[{next}] = {end} comes after cu_q_lens[{sequence}] = {start}");
            broken(&rules::CU_Q_LENS_NONDECREASING, detail, vec![end_entry(next)]);
            false
        } else {
            true
        };
        if kv_len < 0 {
            broken(&rules::KV_LENS_NONNEGATIVE, format!("kv_lens[{sequence}] = {kv_len}"), vec![len_entry()]);
            continue;
        }
        if !rows_are_known && kv_len == 0 {
            // Whatever query rows were meant: with some it would break one rule, without any another.
            let detail =
                format!("kv_lens[{sequence}] = 0, and cu_q_lens doesn't say how many {}s it has", dealt.unit);
            broken(&rules::KV_LEN_POSITIVE, detail, vec![len_entry()]);
        } else if rows_are_known && q_len == 0 {
            let at = format!(
                "cu_q_lens[{sequence}] = cu_q_lens[{next}] = {start}, kv_lens[{sequence}] = {kv_len}"
            );
            let (rule, entries) = if kv_len == 0 {
                (&rules::KV_LEN_POSITIVE, vec![end_entry(next), len_entry()])
            } else {
                (&rules::Q_LEN_POSITIVE, vec![end_entry(next)])
            };
            broken(rule, at, entries);
        } else if rows_are_known && q_len > kv_len {
            let detail = format!(
                "cu_q_lens[{sequence}] = {start} and cu_q_lens[{next}] = {end} give {q_len} {}s, but \
                 kv_lens[{sequence}] = {kv_len}",
                dealt.unit
            );
            broken(&rules::Q_LEN_WITHIN_KV_LEN, detail, vec![end_entry(next), len_entry()]);
        }
        let Some(needed) = (kv_len as usize).checked_next_multiple_of(variant.page_size) else { continue };
        let needed = needed / variant.page_size;
        if needed > *pages_per_seq {
            let detail = format!(
                "kv_lens[{sequence}] = {kv_len} needs {needed} pages of {} tokens, but page_indices has {pages_per_seq} \
                 columns",
                variant.page_size
            );
            broken(&rules::KV_LENS_IN_TABLE, detail, vec![len_entry()]);
        }
        let row = &page_indices[sequence * pages_per_seq..][..needed.min(*pages_per_seq)];
        let outside = |page: &i32| usize::try_from(*page).map_or(true, |page| page >= variant.pages);
        let columns: Vec<usize> = (0..row.len()).filter(|&column| outside(&row[column])).collect();
        if let Some(&column) = columns.first() {
            let more = columns.len() - 1;
            let others = if more > 0 { format!("; so are {more} more of the row") } else { String::new() };
            let detail = format!(
                "page_indices[{sequence}, {column}] = {} is outside the {} pages of kv_pages{others}",
                row[column], variant.pages
            );
            let entries = columns.into_iter().take(MAX_ENTRIES).map(page_entry).collect();
            broken(&rules::PAGE_INDEX_IN_RANGE, detail, entries);
        }
    }
}
