//! What a caller got wrong when building a batch: from dumped arrays to broken rules, likely slips and corrected arrays.
//!
//! A slip is recognised by undoing it: each hypothesis that the arrays suggest is applied backwards, and the repaired batch is
//! checked against the contract. What leaves fewer broken rules is a cause; of several, see [`search`].
//!
//! Invariant: pure, and linear in the arrays; nothing here reads a file, runs a kernel or looks at a payload's values.

mod count;
mod cumulative;
mod form;
mod layout;
mod lengths;
mod pages;
mod search;
mod state;
#[cfg(test)]
mod tests;

pub use form::{Operand, Subject, Verdicts, operands, read};
pub use search::{Explanation, Step, explain};
pub use state::State;

use super::contract::Entry;

/// An operand as somebody dumped it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// NumPy's name of its element type (`int64`, `bfloat16`, …).
    pub dtype: String,
    /// Extents.
    pub shape: Vec<usize>,
    /// Row-major values, fractions cut off and clipped to int32; empty where only the header was read.
    pub values: Vec<i32>,
    /// The first value that no int32 is: its row-major place, and the value.
    pub odd: Option<(usize, String)>,
}

/// A likely mistake, and how to undo it.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// Stable name, e.g. `lengths-not-sums`.
    pub slip: &'static str,
    /// In plain words, without a full stop.
    pub sentence: String,
    /// What in the arrays speaks for it.
    pub why: String,
    /// The entries to look at.
    pub places: Vec<Entry>,
    /// What undoes it.
    pub repair: Repair,
    /// Whether the repair is a stand-in, with which the rest can be looked at, and no correction.
    pub stands_in: bool,
    /// What to write instead, as Python or in words; empty where the corrected arrays say it all.
    pub advice: String,
    /// Why the repair isn't the only one possible; nothing where it is.
    pub unsure: Option<String>,
}

/// Corrected arrays and shapes; what is `None` stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Repair {
    /// `cu_q_lens`.
    pub cu_q_lens: Option<Vec<i32>>,
    /// `kv_lens`.
    pub kv_lens: Option<Vec<i32>>,
    /// `page_indices`, with its columns.
    pub page_indices: Option<(usize, Vec<i32>)>,
    /// `num_seqs`.
    pub num_seqs: Option<i32>,
    /// Rows that q must have.
    pub rows_of_q: Option<usize>,
    /// Pages that the cache must have.
    pub pages_of_cache: Option<usize>,
}

/// A cause with how much has to come together for it: 0 where the arrays look just so, 2 where they merely could.
struct Candidate {
    cause: Cause,
    tier: u8,
}

/// The entry `index` of `array`.
fn entry(array: &'static str, index: usize) -> Entry {
    Entry { array, index: vec![index] }
}

/// A few numbers as text, cut in the middle.
fn few(values: &[i32]) -> String {
    let text = |values: &[i32]| values.iter().map(i32::to_string).collect::<Vec<String>>().join(", ");
    match values {
        [first @ .., last] if first.len() > 5 => format!("{}, …, {last}", text(&first[..4])),
        _ => text(values),
    }
}

/// `1 page`, `3 pages`.
fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
