//! A batch as far as a report draws it: the ragged metadata, the rows that came out wrong, and the entries at fault.
//!
//! Invariant: clipped to [`MAX_SEQUENCES`] table rows and [`MAX_COLUMNS`] columns; what was left out can be told from
//! `table_rows` and `columns`, so that no reader takes a part for the whole.

use serde::{Deserialize, Serialize};

/// Most rows of the page table that a report keeps of a batch.
pub const MAX_SEQUENCES: usize = 24;
/// Most columns of the page table that a report keeps of a batch.
pub const MAX_COLUMNS: usize = 32;

/// A batch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BatchReport {
    /// Rows that `cu_q_lens` deals out to sequences.
    pub rows: usize,
    /// The array that they are of, where it isn't q.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_of: Option<String>,
    /// Tokens of a page.
    pub page_size: usize,
    /// Physical pages of the cache.
    pub pages: usize,
    /// Rows of the page table, which is also the most sequences.
    pub table_rows: usize,
    /// Columns of the page table.
    pub columns: usize,
    /// Rows of a query block, where the call gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query_block: Option<usize>,
    /// Pages of a KV block, where the call gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kv_block: Option<usize>,
    /// `num_seqs`.
    pub num_seqs: i32,
    /// `cu_q_lens`: one entry more than `sequences`.
    pub cu_q_lens: Vec<i32>,
    /// Rows of the table, used or not.
    pub sequences: Vec<SequenceReport>,
    /// Ranges of wrong rows of the output, each its first row and the row after its last, ascending.
    pub wrong_rows: Vec<(usize, usize)>,
    /// Broken rules with their places.
    pub breaches: Vec<BreachReport>,
    /// What q and cache hold: a pattern with its seed, then single elements that were set.
    pub payload: Vec<String>,
}

impl BatchReport {
    /// The array that [`BatchReport::rows`] are of.
    pub fn rows_of(&self) -> &str {
        self.rows_of.as_deref().unwrap_or("q")
    }
}

/// A row of the page table with its sequence.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SequenceReport {
    /// `kv_lens[i]`.
    pub kv_len: i32,
    /// `page_indices[i, ..]`.
    pub pages: Vec<i32>,
    /// `decode`, `shares pages with 0`, …; empty past num_seqs.
    pub remarks: Vec<String>,
}

/// A broken rule and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreachReport {
    /// Id of the rule.
    pub rule: String,
    /// What holds for a batch that keeps it.
    pub sentence: String,
    /// `stated`, `implied` or `disputed`.
    pub standing: String,
    /// Which entry, which value, which limit.
    pub detail: String,
    /// Entries of the metadata that are at fault.
    pub entries: Vec<EntryReport>,
}

/// An entry of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryReport {
    /// `num_seqs`, `cu_q_lens`, `kv_lens` or `page_indices`.
    pub array: String,
    /// Its index; empty for a scalar.
    pub index: Vec<usize>,
}
