//! The rules of the metadata once more, each told from its sentence alone, by counting tokens and rows one at a time.
//!
//! Invariant: shares no code and no order of looking with `metadata.rs`; slow, and for batches of a few dozen rows only.

use std::collections::BTreeSet;

use countersign_reference::Metadata;
use proptest::prelude::*;

use super::tests::any_metadata;
use super::*;
use crate::contract::check_metadata;
use crate::rpa::testing::variant;

/// Rule and sequence (`None` for the batch), as a set.
type Broken = BTreeSet<(&'static str, Option<usize>)>;

/// How many tokens lie in `from..to`: none, if it runs backwards.
fn tokens(from: i64, to: i64) -> usize {
    (from..to).count()
}

/// What the sentences of the rules say of `metadata`.
fn told(variant: &Variant, metadata: &Metadata) -> Broken {
    let mut broken = Broken::new();
    let table: Vec<&[i32]> = metadata.page_indices.chunks(metadata.pages_per_seq).collect();
    let sequences = (0..table.len()).filter(|row| (*row as i64) < i64::from(metadata.num_seqs)).count();
    let ends: Vec<i64> = metadata.cu_q_lens[..=sequences].iter().map(|end| i64::from(*end)).collect();

    match metadata.num_seqs {
        i32::MIN..0 => broken.insert(("num-seqs-nonnegative", None)),
        0 => broken.insert(("num-seqs-positive", None)),
        count if count as usize > table.len() => broken.insert(("num-seqs-within-table", None)),
        _ => false,
    };
    if tokens(0, ends[0]) > 0 {
        broken.insert(("cu-q-lens-starts-at-zero", None));
    }
    if ends.iter().any(|end| tokens(0, *end) > variant.tokens) {
        broken.insert(("total-q-within-rows", None));
    }
    if sequences == 0 && ends[0] < 0 {
        broken.insert(("cu-q-lens-nonnegative", None));
    }
    for sequence in 0..sequences {
        let mut breaks = |rule| broken.insert((rule, Some(sequence)));
        let (start, end) = (ends[sequence], ends[sequence + 1]);
        let negative = start < 0 || end < 0;
        let decreasing = tokens(end, start) > 0;
        let queries = tokens(start, end);
        let cached = tokens(0, i64::from(metadata.kv_lens[sequence]));
        let has_rows = !negative && !decreasing;
        if negative {
            breaks("cu-q-lens-nonnegative");
        } else if decreasing {
            breaks("cu-q-lens-nondecreasing");
        }
        if metadata.kv_lens[sequence] < 0 {
            breaks("kv-lens-nonnegative");
            continue;
        }
        if cached == 0 && !(has_rows && queries > 0) {
            breaks("kv-len-positive");
        }
        if has_rows && queries == 0 && cached > 0 {
            breaks("q-len-positive");
        }
        if has_rows && queries > cached {
            breaks("q-len-within-kv-len");
        }
        // Token by token: in which column of the table is its page, and is there such a page?
        for token in 0..cached {
            let Some(page) = table[sequence].get(token / variant.page_size) else {
                breaks("kv-lens-in-table");
                break; // and so it is for the tokens after it
            };
            if !(0..variant.pages as i64).contains(&i64::from(*page)) {
                breaks("page-index-in-range");
            }
        }
    }
    broken
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5000, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_of_the_metadata_are_what_their_sentences_say(metadata in any_metadata()) {
        let variant = variant();
        let found = check_metadata(&variant, &metadata).breaches;
        let found: Broken = found.iter().map(|breach| (breach.rule.id, breach.sequence)).collect();
        prop_assert_eq!(found, told(&variant, &metadata));
    }
}
