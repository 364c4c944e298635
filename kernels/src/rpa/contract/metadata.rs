//! Rules of the ragged metadata: `num_seqs`, `cu_q_lens`, `kv_lens`, `page_indices`.
//!
//! Only what the docstring calls valid is looked at: the first `num_seqs` rows, `num_seqs + 1` cumulative lengths, and the
//! page indices that a kv length uses. Whatever stands past them is garbage that the contract allows.
//!
//! Invariant: an entry that is wrong by itself isn't reported a second time through what follows from it.

use countersign_reference::Metadata;

use super::{Breach, Rule, rules};
use crate::variant::Variant;

pub(super) fn check(variant: &Variant, metadata: &Metadata, breaches: &mut Vec<Breach>) {
    let Metadata { kv_lens, page_indices, pages_per_seq, cu_q_lens, num_seqs } = metadata;
    let rows = page_indices.len().checked_div(*pages_per_seq).unwrap_or(0);
    let sequences = metadata.sequences_in_table();

    let mut broken = |rule: &'static Rule, sequence: Option<usize>, detail: String| {
        breaches.push(Breach { rule, sequence, detail });
    };
    if *num_seqs < 0 {
        broken(&rules::NUM_SEQS_NONNEGATIVE, None, format!("num_seqs = {num_seqs}"));
    } else if *num_seqs == 0 {
        broken(&rules::NUM_SEQS_POSITIVE, None, "num_seqs = 0".to_string());
    } else if *num_seqs as usize > rows {
        let detail = format!("num_seqs = {num_seqs}, but page_indices has {rows} rows");
        broken(&rules::NUM_SEQS_WITHIN_TABLE, None, detail);
    }

    let ends = cu_q_lens.get(..=sequences).unwrap_or(cu_q_lens);
    if let Some(first) = ends.first().filter(|first| **first > 0) {
        broken(&rules::CU_Q_LENS_STARTS_AT_ZERO, None, format!("cu_q_lens[0] = {first}, not 0"));
    }
    let past_rows = |(_, end): &(usize, &i32)| i64::from(**end) > variant.tokens as i64;
    if let Some((entry, end)) = ends.iter().enumerate().rev().find(past_rows) {
        let detail = format!("cu_q_lens[{entry}] = {end}, but q has {} rows", variant.tokens);
        broken(&rules::TOTAL_Q_WITHIN_ROWS, None, detail);
    }
    if sequences == 0 {
        if let Some(first) = ends.first().filter(|first| **first < 0) {
            broken(&rules::CU_Q_LENS_NONNEGATIVE, None, format!("cu_q_lens[0] = {first}"));
        }
        return;
    }

    for sequence in 0..sequences {
        let mut broken = |rule, detail| broken(rule, Some(sequence), detail);
        let (start, end) = (i64::from(cu_q_lens[sequence]), i64::from(cu_q_lens[sequence + 1]));
        let (q_len, kv_len) = (end - start, i64::from(kv_lens[sequence]));
        let next = sequence + 1;
        let rows_are_known = if start < 0 || end < 0 {
            let entry = if end < 0 { next } else { sequence };
            broken(&rules::CU_Q_LENS_NONNEGATIVE, format!("cu_q_lens[{entry}] = {}", cu_q_lens[entry]));
            false
        } else if q_len < 0 {
            let detail = format!("cu_q_lens[{next}] = {end} comes after cu_q_lens[{sequence}] = {start}");
            broken(&rules::CU_Q_LENS_NONDECREASING, detail);
            false
        } else {
            true
        };
        if kv_len < 0 {
            broken(&rules::KV_LENS_NONNEGATIVE, format!("kv_lens[{sequence}] = {kv_len}"));
            continue;
        }
        if rows_are_known && q_len == 0 {
            let at = format!(
                "cu_q_lens[{sequence}] = cu_q_lens[{next}] = {start}, kv_lens[{sequence}] = {kv_len}"
            );
            broken(if kv_len == 0 { &rules::KV_LEN_POSITIVE } else { &rules::Q_LEN_POSITIVE }, at);
        } else if rows_are_known && q_len > kv_len {
            let detail = format!(
                "cu_q_lens[{sequence}] = {start} and cu_q_lens[{next}] = {end} give {q_len} query tokens, but \
                 kv_lens[{sequence}] = {kv_len}"
            );
            broken(&rules::Q_LEN_WITHIN_KV_LEN, detail);
        }
        let Some(needed) = (kv_len as usize).checked_next_multiple_of(variant.page_size) else { continue };
        let needed = needed / variant.page_size;
        if needed > *pages_per_seq {
            let detail = format!(
                "kv_lens[{sequence}] = {kv_len} needs {needed} pages of {} tokens, but page_indices has {pages_per_seq} \
                 columns",
                variant.page_size
            );
            broken(&rules::KV_LENS_IN_TABLE, detail);
        }
        let row = &page_indices[sequence * pages_per_seq..][..needed.min(*pages_per_seq)];
        let outside = |page: &i32| usize::try_from(*page).map_or(true, |page| page >= variant.pages);
        if let Some(column) = row.iter().position(outside) {
            let more = row[column + 1..].iter().filter(|page| outside(page)).count();
            let others = if more > 0 { format!("; so are {more} more of the row") } else { String::new() };
            let detail = format!(
                "page_indices[{sequence}, {column}] = {} is outside the {} pages of kv_pages{others}",
                row[column], variant.pages
            );
            broken(&rules::PAGE_INDEX_IN_RANGE, detail);
        }
    }
}
