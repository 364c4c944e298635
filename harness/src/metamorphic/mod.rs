//! Metamorphic relations: a batch is changed in a way whose effect on the output is known, and both are run.
//!
//! An oracle that needs no reference, so it also finds what kernel and reference would get wrong together. A relation is bitwise
//! where a right kernel does the very same arithmetic for both batches, and else holds within the sum of both batches' bounds.
//!
//! Invariant: a relation is a function of variant, batch and a stream of numbers; it never looks at an output. Both batches keep
//! the contract if the first does. Here are relations between batches of one module; those that change a static shape or option
//! (see [`ELSEWHERE`]) need a second one and aren't asked.

mod heads;
mod order;
mod pages;
mod run;
mod values;

use countersign_kernels::Variant;
use countersign_reference::Batch;

use crate::payload::Stream;
pub(crate) use run::first_failure;
pub use run::{Oracle, Outcome, Plan, Tallies, Tally, reference, run};

/// How exactly a relation holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exactness {
    /// The same bits.
    Bitwise,
    /// Within the sum of both batches' bounds.
    WithinBounds,
}

impl Exactness {
    /// As reports say it.
    pub const fn name(self) -> &'static str {
        match self {
            Exactness::Bitwise => "bitwise",
            Exactness::WithinBounds => "within bounds",
        }
    }
}

/// What must hold of the outputs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expectation {
    /// Rows of the first batch with those of the second that must equal them; head h of the first is head `heads[h]` of the
    /// second; the second's values are `factor` times the first's.
    Rows { pairs: Vec<(usize, usize)>, heads: Vec<usize>, factor: f64 },
    /// Every element of the second batch's first `rows` rows is this number.
    Constant { rows: usize, value: f64 },
}

/// Two batches and what must hold of their outputs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Follow {
    /// In place of the batch itself, where that had to be changed as well.
    pub(crate) first: Option<Batch>,
    pub(crate) second: Batch,
    pub(crate) expectation: Expectation,
}

impl Follow {
    /// The rows of each pair are equal, head by head.
    fn same_rows(variant: &Variant, second: Batch, pairs: Vec<(usize, usize)>) -> Follow {
        let heads = (0..variant.q_heads).collect();
        Follow { first: None, second, expectation: Expectation::Rows { pairs, heads, factor: 1.0 } }
    }
}

/// A relation; `follow` says `None` where it doesn't apply.
#[derive(Debug, Clone, Copy)]
pub struct Relation {
    /// Stable name.
    pub name: &'static str,
    /// How exactly it holds.
    pub exactness: Exactness,
    follow: fn(&Variant, &Batch, &mut Stream) -> Option<Follow>,
}

/// Every relation between two batches of one module.
pub const RELATIONS: [Relation; 9] = {
    const fn relation(
        name: &'static str,
        exactness: Exactness,
        follow: fn(&Variant, &Batch, &mut Stream) -> Option<Follow>,
    ) -> Relation {
        Relation { name, exactness, follow }
    }
    use Exactness::{Bitwise, WithinBounds};
    [
        relation("sequences permuted", Bitwise, order::permuted),
        relation("one sequence alone", Bitwise, order::alone),
        relation("pages permuted", Bitwise, pages::permuted),
        relation("kv heads permuted", Bitwise, heads::permuted),
        relation("V doubled", Bitwise, values::doubled),
        relation("last token changed", Bitwise, values::last_token),
        relation("prefill in two chunks", WithinBounds, order::chunked),
        relation("one vector added to every K", WithinBounds, values::shifted_keys),
        relation("V = 1", WithinBounds, values::ones),
    ]
};

/// Relations that need another module, which isn't made here.
pub const ELSEWHERE: [&str; 8] = [
    "more table rows",
    "more pages a sequence",
    "more spare pages",
    "more query rows",
    "k_scale folded into K",
    "other block sizes",
    "a window no shorter than kv_len",
    "a huge soft cap",
];
