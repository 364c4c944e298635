//! A dumped batch as a case: the same shapes and metadata, the cache cut to the pages in use.
//!
//! Invariant: what the kernel is told stays the same but for the pages' numbers; a number that names no page still names none.

use std::collections::BTreeSet;

use countersign_kernels::Variant;
use countersign_kernels::rpa::diagnose::State;
use countersign_reference::{Metadata, paging};

use super::Examined;
use crate::case::{Case, Payload, VariantRef, check_size};
use crate::payload::Pattern;

/// Most entries of a page table that a case file takes.
const MAX_TABLE: usize = 1 << 20;

/// A batch, cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    /// With a pattern for its payload.
    pub case: Case,
    /// Its shapes.
    pub variant: Variant,
    /// Rows of q that it uses, from the first on.
    pub rows: usize,
    /// The pages that it uses, in the order of their new numbers.
    pub pages: Vec<usize>,
}

/// Cuts an examined batch, as it was dumped but for slips of form.
///
/// # Errors
/// In words: a shape that nobody gave, a call that is refused while it is traced, more than a case can hold.
pub fn cut(kernel: &str, examined: &Examined<'_>) -> Result<Cut, String> {
    let State { variant, metadata, .. } = &examined.subject.state;
    if let [unknown, ..] = examined.subject.unknown[..] {
        return Err(format!("the shape of {unknown} is in neither the file nor --variant"));
    }
    let fits = metadata.kv_lens.len() == variant.max_seqs
        && metadata.cu_q_lens.len() == variant.max_seqs + 1
        && metadata.page_indices.len() == variant.max_seqs * variant.pages_per_seq;
    if !fits
        || examined.subject.state.breaches().iter().any(|breach| {
            breach.entries.is_empty() && breach.rule.scope == countersign_kernels::contract::Scope::Static
        })
    {
        return Err("such a call is refused while it is traced: there is nothing to run".to_owned());
    }
    if metadata.page_indices.len() > MAX_TABLE {
        return Err(format!("its page table has more than the {MAX_TABLE} entries of a case"));
    }
    let pages = used_pages(variant, metadata);
    let cut = Variant { pages: pages.len().max(1), tuned: None, ..variant.clone() };
    check_size(&cut).map_err(|error| error.message)?;
    let metadata = Metadata { page_indices: renumbered(metadata, variant.pages, &pages), ..metadata.clone() };
    let rows = paging::owned_rows(&metadata, cut.tokens).end;
    let case = Case {
        kernel: kernel.to_owned(),
        variant: VariantRef::Inline(Box::new(cut.clone())),
        metadata,
        payload: Payload::pattern(Pattern::Normal.name(), 1),
        checksum: None,
        statics: None,
    };
    Ok(Cut { case, variant: cut, rows, pages })
}

/// The existing pages that some kv length uses, ascending.
fn used_pages(variant: &Variant, metadata: &Metadata) -> Vec<usize> {
    let columns = metadata.pages_per_seq;
    let mut used = BTreeSet::new();
    for sequence in 0..metadata.sequences_in_table() {
        let kv_len = usize::try_from(metadata.kv_lens[sequence]).unwrap_or(0);
        let count = kv_len.div_ceil(variant.page_size.max(1)).min(columns);
        let row = &metadata.page_indices[sequence * columns..][..count];
        used.extend(
            row.iter().filter_map(|&page| usize::try_from(page).ok()).filter(|page| *page < variant.pages),
        );
    }
    used.into_iter().collect()
}

/// The table with the pages' new numbers. Pages that nobody uses become page 0; what is no page stays as far past the end.
fn renumbered(metadata: &Metadata, pages: usize, used: &[usize]) -> Vec<i32> {
    let kept = used.len().max(1);
    let number = |page: &i32| match usize::try_from(*page) {
        Err(_) => *page,
        Ok(page) if page < pages => used.binary_search(&page).unwrap_or(0) as i32,
        Ok(page) => i32::try_from(kept + (page - pages)).unwrap_or(i32::MAX),
    };
    metadata.page_indices.iter().map(number).collect()
}
