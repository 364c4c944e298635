//! A batch that is being repaired: its call, its values, and what of the contract it breaks.
//!
//! Invariant: the call's shapes are those of the values.

use countersign_reference::Metadata;

use super::Repair;
use crate::checks::StaticCall;
use crate::contract::{Breach, Scope, check_metadata, check_static};
use crate::family::Rows;
use crate::variant::Variant;

/// A batch without its payload.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    /// Shapes, element types and options.
    pub call: StaticCall,
    /// The same as a variant, as far as one can express it. Sizes that nobody knows are so large that no rule is broken by them.
    pub variant: Variant,
    /// The ragged metadata.
    pub metadata: Metadata,
}

impl State {
    /// What the batch breaks: static rules first.
    pub fn breaches(&self) -> Vec<Breach> {
        let mut breaches = check_static(&self.call);
        let values = check_metadata(&self.variant, &self.metadata).breaches;
        breaches.extend(values.into_iter().filter(|breach| breach.rule.scope != Scope::Static));
        breaches
    }

    /// What the family calls the rows that `cu_q_lens` deals out.
    pub(super) fn dealt(&self) -> Rows {
        self.variant.family.model().rows()
    }

    /// Rows of the page table.
    pub fn rows(&self) -> usize {
        self.metadata.page_indices.len().checked_div(self.metadata.pages_per_seq).unwrap_or(0)
    }

    /// Sequences that num_seqs names and that have a row in the table and a kv length; `cu_q_lens` may be too short for them.
    pub(super) fn sequences(&self) -> usize {
        let named = usize::try_from(self.metadata.num_seqs).unwrap_or(0);
        named.min(self.rows()).min(self.metadata.kv_lens.len())
    }

    /// Query tokens of a sequence that `cu_q_lens` reaches.
    pub(super) fn q_len(&self, sequence: usize) -> i64 {
        let cu = &self.metadata.cu_q_lens;
        i64::from(cu[sequence + 1]) - i64::from(cu[sequence])
    }

    /// Pages that a kv length needs; 0 for a negative one.
    pub(super) fn pages_for(&self, kv_len: i32) -> usize {
        usize::try_from(kv_len).unwrap_or(0).div_ceil(self.variant.page_size.max(1))
    }

    /// The used entries of a sequence's row of the page table.
    pub(super) fn used_pages(&self, sequence: usize) -> &[i32] {
        let columns = self.metadata.pages_per_seq;
        let row = &self.metadata.page_indices[sequence * columns..(sequence + 1) * columns];
        &row[..self.pages_for(self.metadata.kv_lens[sequence]).min(columns)]
    }

    /// Of a thousand sequences, how many are what a server's mostly are: one query token, or as many as the cache holds.
    pub(super) fn natural(&self) -> u32 {
        let sequences = self.metadata.sequences_in_table();
        let is_natural = |sequence: &usize| {
            let (q_len, kv_len) = (self.q_len(*sequence), i64::from(self.metadata.kv_lens[*sequence]));
            q_len > 0 && q_len <= kv_len && (q_len == 1 || q_len == kv_len)
        };
        let natural = (0..sequences).filter(is_natural).count();
        (natural * 1000).checked_div(sequences).unwrap_or(0) as u32
    }

    /// The state with `repair` applied.
    pub(super) fn repaired(&self, repair: &Repair) -> State {
        let mut state = self.clone();
        state.apply(repair);
        state
    }

    /// Applies `repair`.
    pub(super) fn apply(&mut self, repair: &Repair) {
        let Repair { cu_q_lens, kv_lens, page_indices, num_seqs, rows_of_q, pages_of_cache } = repair;
        let State { call, variant, metadata } = self;
        if let Some(values) = cu_q_lens {
            metadata.cu_q_lens.clone_from(values);
        }
        if let Some(values) = kv_lens {
            metadata.kv_lens.clone_from(values);
        }
        if let Some((columns, values)) = page_indices {
            metadata.page_indices.clone_from(values);
            metadata.pages_per_seq = *columns;
            variant.pages_per_seq = *columns;
        }
        metadata.num_seqs = num_seqs.unwrap_or(metadata.num_seqs);
        let rows = metadata.page_indices.len().checked_div(metadata.pages_per_seq).unwrap_or(0);
        variant.max_seqs = rows;
        call.kv_lens.shape = vec![metadata.kv_lens.len()];
        call.cu_q_lens.shape = vec![metadata.cu_q_lens.len()];
        call.page_indices.shape = vec![rows, metadata.pages_per_seq];
        if let Some(tokens) = rows_of_q {
            variant.tokens = *tokens;
            set_first(&mut call.q.shape, *tokens);
        }
        if let Some(pages) = pages_of_cache {
            variant.pages = *pages;
            set_first(&mut call.kv_pages.shape, *pages);
        }
    }
}

fn set_first(shape: &mut [usize], extent: usize) {
    if let Some(first) = shape.first_mut() {
        *first = extent;
    }
}
