//! What a caller of the gather keeps: the docstring of `kernels/examples/gather/gather.py`, rule by rule.
//!
//! Ragged metadata is broken in the same places whatever the kernel, so the places are found by the code that finds them for ragged
//! paged attention; which of them are rules here, and in which words and standing, is this table's. Empty sequences and batches are no
//! breach: there is nothing to gather.
//!
//! Invariant: every breach names a rule of [`RULES`].

use countersign_dtype::read_f32;
use countersign_reference::{Batch, Metadata, paging, rule};

use crate::contract::{Breach, Rule, Scope, Standing};
use crate::rpa;
use crate::variant::Variant;

const fn rule(
    id: &'static str,
    standing: Standing,
    scope: Scope,
    arrays: &'static [&'static str],
    sentence: &'static str,
) -> Rule {
    Rule { id, sentence, standing, arrays, scope, refused_by: &[] }
}

use Scope::{Batch as OfBatch, Sequence, Static};
use Standing::{Implied, Stated};

/// All rules, static ones first.
#[rustfmt::skip]
pub(super) static RULES: &[Rule] = &[
    rule("combined-heads-even", Stated, Static, &["kv_pages"],
        "The cache holds a K and a V head for every KV head, so its number of combined heads is even and at least 2."),
    rule("num-seqs-shape", Stated, Static, &["num_seqs"], "num_seqs has shape (1,)."),
    rule("num-seqs-int32", Stated, Static, &["num_seqs"], "num_seqs is int32."),
    rule("kv-lens-shape", Stated, Static, &["kv_lens", "page_indices"],
        "kv_lens has one entry for each row of page_indices."),
    rule("cu-q-lens-shape", Stated, Static, &["cu_q_lens", "page_indices"],
        "cu_q_lens has one entry more than page_indices has rows."),
    rule("metadata-int32", Stated, Static, &["kv_lens", "page_indices", "cu_q_lens"],
        "kv_lens, page_indices and cu_q_lens are int32."),
    rule(rule::NUM_SEQS_NONNEGATIVE, Implied, OfBatch, &["num_seqs"], "num_seqs is not negative."),
    rule(rule::NUM_SEQS_WITHIN_TABLE, Stated, OfBatch, &["num_seqs", "page_indices"],
        "num_seqs is at most the number of rows of page_indices."),
    rule(rule::CU_Q_LENS_STARTS_AT_ZERO, Stated, OfBatch, &["cu_q_lens"],
        "cu_q_lens starts with 0: the first sequence's first token goes to row 0."),
    rule(rule::CU_Q_LENS_NONNEGATIVE, Implied, Sequence, &["cu_q_lens"],
        "No entry of cu_q_lens[0..=num_seqs] is negative."),
    rule(rule::CU_Q_LENS_NONDECREASING, Stated, Sequence, &["cu_q_lens"],
        "cu_q_lens never decreases within its first num_seqs + 1 entries."),
    rule(rule::TOTAL_Q_WITHIN_ROWS, Stated, OfBatch, &["cu_q_lens", "num_seqs", "output"],
        "cu_q_lens[num_seqs] is at most the number of rows of the output."),
    rule(rule::KV_LENS_NONNEGATIVE, Implied, Sequence, &["kv_lens"], "No entry of kv_lens[..num_seqs] is negative."),
    rule(rule::Q_LEN_WITHIN_KV_LEN, Stated, Sequence, &["cu_q_lens", "kv_lens"],
        "No sequence gathers more tokens than it has in the cache."),
    rule(rule::KV_LENS_IN_TABLE, Stated, Sequence, &["kv_lens", "page_indices"],
        "A sequence's kv_len fits into its row of page_indices: at most columns times page size."),
    rule(rule::PAGE_INDEX_IN_RANGE, Stated, Sequence, &["page_indices", "kv_pages"],
        "Every entry of page_indices that a sequence's kv_len uses names a page of kv_pages."),
    rule(rule::OWNED_VALUES_FINITE, Implied, Sequence, &["kv_pages"],
        "K and V of the batch's own tokens are finite, also after their scales."),
];

/// Those that break a rule of this family, with this family's rule.
pub(super) fn own(breaches: Vec<Breach>) -> Vec<Breach> {
    let own = |breach: Breach| {
        let rule = RULES.iter().find(|rule| rule.id == breach.rule.id)?;
        Some(Breach { rule, ..breach })
    };
    breaches.into_iter().filter_map(own).collect()
}

pub(super) fn check_metadata(variant: &Variant, metadata: &Metadata) -> Vec<Breach> {
    let mut breaches = Vec::new();
    rpa::contract::metadata::check(variant, metadata, &mut breaches);
    own(breaches)
}

/// The first value of each sequence that isn't finite. What broken metadata claims isn't looked at.
pub(super) fn check_payload(variant: &Variant, batch: &Batch, breaches: &mut Vec<Breach>) {
    let Some(shape) = batch.shape() else { return }; // a static rule is broken
    let metadata = &batch.metadata;
    let unsound: Vec<usize> = breaches.iter().filter_map(|breach| breach.sequence).collect();
    let width = 2 * shape.kv_heads * shape.head_dim;
    let mut stored = vec![0.0f32; width];
    let scale = |lane: usize| {
        let options = &variant.options;
        let scale = if (lane / shape.head_dim).is_multiple_of(2) { options.k_scale } else { options.v_scale };
        scale.unwrap_or(1.0)
    };
    for sequence in (0..metadata.sequences_in_table()).filter(|sequence| !unsound.contains(sequence)) {
        let kv_len = usize::try_from(metadata.kv_lens[sequence]).unwrap_or(0);
        let pages = paging::pages_in_use(metadata, sequence, kv_len, shape.page_size);
        let slots = pages
            .iter()
            .filter_map(|&page| usize::try_from(page).ok().filter(|page| *page < shape.pages))
            .flat_map(|page| (0..shape.page_size).map(move |slot| (page, slot)))
            .take(kv_len);
        for (page, slot) in slots {
            let first = (page * shape.page_size + slot) * width;
            read_f32(batch.kv_pages.dtype, &batch.kv_pages.bytes, first, &mut stored);
            let wrong = stored.iter().enumerate().find(|(lane, value)| !(**value * scale(*lane)).is_finite());
            if let Some((lane, value)) = wrong {
                let (head, lane) = (lane / shape.head_dim, lane % shape.head_dim);
                let detail = format!("kv_pages[{page}, {slot}, {head}, {lane}] = {value}");
                let rule = RULES.iter().find(|rule| rule.id == rule::OWNED_VALUES_FINITE);
                breaches.extend(rule.map(|rule| Breach {
                    rule,
                    sequence: Some(sequence),
                    detail,
                    entries: Vec::new(),
                }));
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{Keeping, check};
    use crate::family::Family;
    use crate::rpa::testing::{batch, variant};

    fn gathering() -> Variant {
        let mut variant = Variant { family: Family::ExampleGather, ..variant() };
        variant.family.model().settle(&mut variant).unwrap();
        variant
    }

    fn broken(edit: impl Fn(&mut Metadata)) -> Vec<&'static str> {
        let mut batch = batch();
        edit(&mut batch.metadata);
        check(&gathering(), &batch).rules().iter().map(|rule| rule.id).collect()
    }

    #[test]
    fn rules_are_broken_alone_and_named_in_this_familys_words() {
        assert_eq!(broken(|_| {}), [""; 0]);
        // What ragged paged attention disputes is no breach here.
        assert_eq!(broken(|m| m.num_seqs = 0), [""; 0]);
        assert_eq!(broken(|m| (m.kv_lens[0], m.cu_q_lens[1]) = (0, 0)), [""; 0]);
        // All rows of the table count then; the fourth is garbage else.
        let too_many = |m: &mut Metadata| (m.num_seqs, m.kv_lens[3], m.cu_q_lens[4]) = (5, 0, 8);
        assert_eq!(broken(too_many), ["num-seqs-within-table"]);
        assert_eq!(broken(|m| m.num_seqs = -1), ["num-seqs-nonnegative"]);
        assert_eq!(broken(|m| m.kv_lens[2] = 3), ["q-len-within-kv-len"]);
        assert_eq!(broken(|m| m.kv_lens[1] = 13), ["kv-lens-in-table"]);
        assert_eq!(broken(|m| m.page_indices[4] = 12), ["page-index-in-range"]);
        let mut batch = batch();
        batch.metadata.kv_lens[2] = 3;
        let contract = check(&gathering(), &batch);
        assert_eq!(contract.keeping(), Keeping::Broken);
        assert!(contract.breaches[0].rule.sentence.contains("gathers"));
    }

    #[test]
    fn values_that_are_not_finite_count_where_they_are_owned() {
        let variant = gathering();
        let mut batch = batch();
        let slot = |page: usize, slot: usize| (page * 4 + slot) * 16;
        batch.kv_pages.set_f32(slot(0, 1), f32::NAN); // sequence 0 has one token in page 0
        assert_eq!(check(&variant, &batch).rules(), Vec::<&Rule>::new());
        batch.kv_pages.set_f32(slot(0, 0), f32::NAN);
        let contract = check(&variant, &batch);
        assert_eq!(contract.breaches[0].detail, "kv_pages[0, 0, 0, 0] = NaN");
        batch.kv_pages.set_f32(slot(0, 0), 1e38);
        let large = Variant {
            options: countersign_reference::Options { k_scale: Some(4.0), ..variant.options },
            ..variant.clone()
        };
        assert_eq!(check(&variant, &batch).rules(), Vec::<&Rule>::new());
        assert_eq!(check(&large, &batch).own_sequences(), [0]);
    }
}
