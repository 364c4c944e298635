//! For each rule a batch that just keeps it and one that just breaks it, and it alone.

use std::collections::BTreeSet;

use countersign_dtype::{Array, DType};
use countersign_reference::{Blocking, Metadata, Profile, RowStatus, attend};
use proptest::prelude::*;

use super::probe::{Edge, Input, Of, Probe, Value, probe};
use super::*;
use crate::catalogue::{Catalogue, Tier};
use crate::checks::dynamic_check;
use crate::contract::check_metadata;
use crate::rpa::testing::{batch, variant};
use crate::rpa::validator::{Number, Shaped, Verdict, static_check};

type Edit = fn(&mut Variant, &mut Batch);

fn contract(edit: Edit) -> Contract {
    let (mut variant, mut batch) = (variant(), batch());
    edit(&mut variant, &mut batch);
    check(&variant, &batch)
}

fn broken(contract: &Contract) -> Vec<&'static str> {
    contract.rules().iter().map(|rule| rule.id).collect()
}

/// A rule of batches: an edit that keeps everything; one that breaks this rule alone; the sequences to blame; what the
/// detail says.
struct Boundary {
    rule: &'static str,
    kept: Edit,
    broken: Edit,
    sequences: &'static [usize],
    detail: &'static str,
}

const BOUNDARIES: &[Boundary] = &[
    Boundary {
        rule: "num-seqs-nonnegative",
        kept: |_, _| {},
        broken: |_, b| b.metadata.num_seqs = -1,
        sequences: &[],
        detail: "num_seqs = -1",
    },
    Boundary {
        rule: "num-seqs-positive",
        kept: |_, b| b.metadata.num_seqs = 1,
        broken: |_, b| b.metadata.num_seqs = 0,
        sequences: &[],
        detail: "num_seqs = 0",
    },
    Boundary {
        rule: "num-seqs-within-table",
        kept: |_, b| four_sequences(b, 4),
        broken: |_, b| four_sequences(b, 5),
        sequences: &[],
        detail: "num_seqs = 5, but page_indices has 4 rows",
    },
    Boundary {
        rule: "num-seqs-within-table",
        kept: |_, b| four_sequences(b, 4),
        broken: |_, b| four_sequences(b, i32::MAX),
        sequences: &[],
        detail: "num_seqs = 2147483647, but page_indices has 4 rows",
    },
    Boundary {
        rule: "cu-q-lens-starts-at-zero",
        kept: |_, b| b.metadata.cu_q_lens[0] = 0,
        broken: |_, b| b.metadata.cu_q_lens[0] = 1,
        sequences: &[],
        detail: "cu_q_lens[0] = 1, not 0",
    },
    Boundary {
        rule: "cu-q-lens-nonnegative",
        kept: |_, b| b.metadata.cu_q_lens[4] = -1, // past num_seqs + 1
        broken: |_, b| b.metadata.cu_q_lens[1] = -1,
        sequences: &[0, 1],
        detail: "cu_q_lens[1] = -1",
    },
    Boundary {
        rule: "cu-q-lens-nonnegative",
        kept: |_, _| {},
        broken: |_, b| b.metadata.cu_q_lens[3] = i32::MIN,
        sequences: &[2],
        detail: "cu_q_lens[3] = -2147483648",
    },
    Boundary {
        rule: "cu-q-lens-nonnegative",
        kept: |_, _| {},
        broken: |_, b| b.metadata.cu_q_lens[0] = -1,
        sequences: &[0],
        detail: "cu_q_lens[0] = -1",
    },
    Boundary {
        rule: "cu-q-lens-nondecreasing",
        kept: |_, b| b.metadata.cu_q_lens = vec![0, 3, 4, 5, -9],
        broken: |_, b| b.metadata.cu_q_lens = vec![0, 3, 4, 3, -9],
        sequences: &[2],
        detail: "cu_q_lens[3] = 3 comes after cu_q_lens[2] = 4",
    },
    Boundary {
        rule: "total-q-within-rows",
        kept: |_, b| total(b, 16),
        broken: |_, b| total(b, 17),
        sequences: &[],
        detail: "cu_q_lens[3] = 17, but q has 16 rows",
    },
    Boundary {
        rule: "q-len-positive",
        kept: |_, b| b.metadata.cu_q_lens = vec![0, 3, 4, 7, -9],
        broken: |_, b| b.metadata.cu_q_lens = vec![0, 3, 3, 7, -9],
        sequences: &[1],
        detail: "cu_q_lens[1] = cu_q_lens[2] = 3, kv_lens[1] = 12",
    },
    Boundary {
        rule: "kv-lens-nonnegative",
        kept: |_, b| b.metadata.kv_lens[3] = -1, // past num_seqs
        broken: |_, b| b.metadata.kv_lens[1] = -1,
        sequences: &[1],
        detail: "kv_lens[1] = -1",
    },
    Boundary {
        rule: "kv-len-positive",
        kept: |_, _| {},
        broken: |_, b| (b.metadata.kv_lens[2], b.metadata.cu_q_lens[3]) = (0, 4),
        sequences: &[2],
        detail: "kv_lens[2] = 0",
    },
    Boundary {
        rule: "q-len-within-kv-len",
        kept: |_, b| b.metadata.kv_lens[0] = 3,
        broken: |_, b| b.metadata.kv_lens[0] = 2,
        sequences: &[0],
        detail: "cu_q_lens[0] = 0 and cu_q_lens[1] = 3 give 3 query tokens, but kv_lens[0] = 2",
    },
    Boundary {
        rule: "q-len-within-kv-len",
        kept: |_, b| b.metadata.cu_q_lens[3] = 8,
        broken: |_, b| b.metadata.cu_q_lens[3] = 9, // the last entry + 1
        sequences: &[2],
        detail: "give 5 query tokens, but kv_lens[2] = 4",
    },
    Boundary {
        rule: "kv-lens-in-table",
        kept: |_, b| b.metadata.kv_lens[1] = 12,
        broken: |_, b| b.metadata.kv_lens[1] = 13,
        sequences: &[1],
        detail: "kv_lens[1] = 13 needs 4 pages of 4 tokens, but page_indices has 3 columns",
    },
    Boundary {
        rule: "kv-lens-in-table",
        kept: |_, _| {},
        broken: |_, b| b.metadata.kv_lens[1] = i32::MAX,
        sequences: &[1],
        detail: "kv_lens[1] = 2147483647 needs 536870912 pages",
    },
    Boundary {
        rule: "page-index-in-range",
        kept: |_, b| share_page(b, 11),
        broken: |_, b| share_page(b, 12),
        sequences: &[1],
        detail: "page_indices[1, 2] = 12 is outside the 12 pages of kv_pages",
    },
    Boundary {
        rule: "page-index-in-range",
        kept: |_, b| b.metadata.page_indices[4] = 5,
        broken: |_, b| b.metadata.page_indices[4..6].fill(-1),
        sequences: &[1],
        detail: "page_indices[1, 1] = -1 is outside the 12 pages of kv_pages; so are 1 more of the row",
    },
    Boundary {
        rule: "page-index-in-range",
        kept: |_, b| (b.metadata.kv_lens[0], b.metadata.page_indices[1]) = (4, i32::MAX), // column 1 is out of use
        broken: |_, b| (b.metadata.kv_lens[0], b.metadata.page_indices[1]) = (5, i32::MAX),
        sequences: &[0],
        detail: "page_indices[0, 1] = 2147483647",
    },
    Boundary {
        rule: "owned-values-finite",
        kept: |_, b| b.q.set_f32(8 * 16, f32::INFINITY), // the first row past the last token
        broken: |_, b| b.q.set_f32(8 * 16 - 1, f32::INFINITY),
        sequences: &[2],
        detail: "q[7, 1, 7] = inf",
    },
    Boundary {
        rule: "owned-values-finite",
        kept: |_, b| b.kv_pages.set_f32(16, f32::NAN), // page 0, slot 1: past the 5 tokens of sequence 0
        broken: |_, b| b.kv_pages.set_f32(15, f32::NAN),
        sequences: &[0],
        detail: "kv_pages[0, 0, 1, 7] = NaN (V of KV head 0)",
    },
    Boundary {
        rule: "scores-below-f32-max",
        kept: |_, b| b.q.set_f32(0, 2f32.powi(127)), // times 0.25, plus 7/8: below f32::MAX less the mask value
        broken: |_, b| {
            (b.q.set_f32(0, 2f32.powi(127)), b.q.set_f32(1, 2f32.powi(127)), b.q.set_f32(2, 2f32.powi(127))).0
        },
        sequences: &[0],
        detail: "scores reach 1.276e38 (limit 1.021e38)",
    },
    Boundary {
        rule: "v-sum-below-f32-max",
        kept: |_, b| v_of_sequence_1(b, 2f32.powi(123)), // 12 tokens
        broken: |_, b| v_of_sequence_1(b, 2f32.powi(124)),
        sequences: &[1],
        detail: "|V| sums to 2.552e38",
    },
    Boundary {
        rule: "mask-value-finite",
        kept: |v, _| v.options.mask_value = -1e30,
        broken: |v, _| v.options.mask_value = -9e29,
        sequences: &[],
        detail: "mask_value = -9",
    },
    Boundary {
        rule: "mask-value-finite",
        kept: |_, _| {},
        broken: |v, _| v.options.mask_value = f32::NEG_INFINITY,
        sequences: &[],
        detail: "mask_value = -inf",
    },
    Boundary {
        rule: "window-positive",
        kept: |v, _| v.options.sliding_window = Some(1),
        broken: |v, _| v.options.sliding_window = Some(0),
        sequences: &[],
        detail: "sliding_window = 0",
    },
    Boundary {
        rule: "pages-per-block-in-range",
        kept: |v, _| v.pages_per_block = Some(3),
        broken: |v, _| v.pages_per_block = Some(4),
        sequences: &[],
        detail: "num_kv_pages_per_block = 4; page_indices has 3 columns",
    },
];

/// The fourth row of the table in use as well.
fn four_sequences(batch: &mut Batch, num_seqs: i32) {
    let metadata = &mut batch.metadata;
    (metadata.num_seqs, metadata.kv_lens[3], metadata.page_indices[9], metadata.cu_q_lens[4]) =
        (num_seqs, 4, 9, 12);
    batch.q.bytes.fill(0);
}

/// Sequences of 3, 1 and `total - 4` query tokens.
fn total(batch: &mut Batch, total: i32) {
    (batch.metadata.cu_q_lens[2], batch.metadata.cu_q_lens[3]) = (total - 4, total);
    batch.metadata.kv_lens = vec![5, 12, 4, 0];
    batch.metadata.cu_q_lens[1] = 3;
    batch.q.bytes.fill(0);
}

fn share_page(batch: &mut Batch, page: i32) {
    batch.metadata.page_indices[5] = page;
    batch.kv_pages.bytes.fill(0);
}

fn v_of_sequence_1(batch: &mut Batch, value: f32) {
    for page in [5, 6, 7] {
        for slot in 0..4 {
            batch.kv_pages.set_f32(page * 64 + slot * 16 + 8, value);
        }
    }
}

#[test]
fn each_rule_is_kept_and_broken_at_its_boundary() {
    for Boundary { rule, kept, broken: edit, sequences, detail } in BOUNDARIES {
        assert_eq!(contract(*kept).breaches, [], "{rule}: the kept side");
        let found = contract(*edit);
        assert_eq!(broken(&found), [*rule], "{found:#?}");
        assert_eq!(found.own_sequences(), *sequences, "{rule}");
        assert!(found.breaches[0].detail.contains(detail), "{rule}: {}", found.breaches[0].detail);
        for breach in &found.breaches {
            let of_metadata = ["num_seqs", "cu_q_lens", "kv_lens", "page_indices"];
            let speaks_of_one = of_metadata.iter().any(|array| breach.detail.starts_with(array));
            assert_eq!(speaks_of_one, !breach.entries.is_empty(), "{breach:?}");
            for Entry { array, index } in &breach.entries {
                let entry = if index.is_empty() { (*array).to_owned() } else { format!("{array}{index:?}") };
                // Of a row of pages only the first is spelled out.
                let counted = *array == "page_indices" && breach.detail.contains("so are");
                assert!(breach.detail.contains(&entry) || counted, "{entry} in {breach:?}");
            }
        }
        let disputed = found.breaches[0].rule.standing == Standing::Disputed;
        assert_eq!(found.keeping(), if disputed { Keeping::Disputed } else { Keeping::Broken });
    }
}

#[test]
fn each_static_rule_is_kept_and_broken_at_its_boundary() {
    type Edit = fn(&mut StaticCall);
    let cases: &[(&str, Edit, Edit)] = &[
        ("operand-ranks", |_| {}, |c| c.q.shape = vec![16, 2]),
        ("operand-ranks", |_| {}, |c| c.kv_pages.shape.push(1)),
        ("operand-ranks", |_| {}, |c| c.page_indices.shape = vec![4]),
        ("combined-heads-even", |c| c.kv_pages.shape[2] = 4, |c| c.kv_pages.shape[2] = 3),
        ("combined-heads-even", |c| c.kv_pages.shape[2] = 2, |c| c.kv_pages.shape[2] = 0),
        ("scales-float", |c| c.k_scale = Some(Number::Float(1.0)), |c| c.k_scale = Some(Number::Int(1))),
        ("scales-float", |c| c.v_scale = Some(Number::Float(1.0)), |c| c.v_scale = Some(Number::Int(1))),
        ("num-seqs-shape", |_| {}, |c| c.num_seqs.shape = vec![2]),
        ("num-seqs-shape", |_| {}, |c| c.num_seqs.shape = vec![]),
        ("num-seqs-int32", |_| {}, |c| c.num_seqs = Shaped::new(&[1], "int16")),
        ("head-dim-equal", |_| {}, |c| c.kv_pages.shape[3] = 9),
        ("kv-lens-shape", |_| {}, |c| c.kv_lens.shape = vec![5]),
        ("cu-q-lens-shape", |_| {}, |c| c.cu_q_lens.shape = vec![4]),
        ("metadata-int32", |_| {}, |c| c.cu_q_lens.dtype = "uint32".to_string()),
        (
            "heads-divisible",
            |c| (c.q.shape[1], c.kv_pages.shape[2]) = (4, 4),
            |c| {
                (c.q.shape[1], c.kv_pages.shape[2]) = (3, 4);
            },
        ),
        ("page-size-positive", |c| c.kv_pages.shape[1] = 1, |c| c.kv_pages.shape[1] = 0),
        (
            "window-positive",
            |c| c.sliding_window = Some(Number::Int(1)),
            |c| c.sliding_window = Some(Number::Int(0)),
        ),
        (
            "cap-nonzero",
            |c| c.soft_cap = Some(Number::Float(1e-30)),
            |c| c.soft_cap = Some(Number::Float(-0.0)),
        ),
        (
            "options-finite",
            |c| c.sm_scale = Some(Number::Float(0.0)),
            |c| c.sm_scale = Some(Number::Float(f64::NAN)),
        ),
        ("options-finite", |_| {}, |c| c.soft_cap = Some(Number::Float(f64::INFINITY))),
        ("mask-value-finite", |c| c.mask_value = None, |c| c.mask_value = Some(Number::Float(f64::NAN))),
        (
            "pages-per-block-in-range",
            |c| c.num_kv_pages_per_block = Some(1),
            |c| c.num_kv_pages_per_block = Some(0),
        ),
        (
            "queries-per-block-positive",
            |c| c.num_queries_per_block = Some(1),
            |c| c.num_queries_per_block = Some(0),
        ),
        ("vmem-limit-positive", |c| c.vmem_limit_bytes = Some(1), |c| c.vmem_limit_bytes = Some(0)),
    ];
    for (rule, kept, edit) in cases {
        let mut call = StaticCall::of(&variant());
        kept(&mut call);
        assert_eq!(check_static(&call), [], "{rule}: the kept side");
        let mut call = StaticCall::of(&variant());
        edit(&mut call);
        let found = check_static(&call);
        assert_eq!(found.iter().map(|breach| breach.rule.id).collect::<Vec<_>>(), [*rule], "{found:#?}");
    }
    let tested: BTreeSet<_> =
        cases.iter().map(|case| case.0).chain(BOUNDARIES.iter().map(|boundary| boundary.rule)).collect();
    let all: BTreeSet<_> = rules().iter().map(|rule| rule.id).collect();
    assert_eq!(tested, all, "every rule has a boundary");
}

/// A batch with 0.5 in all that is stored, and the edge's values.
fn batch_of(variant: &Variant, metadata: &Metadata, values: &[Value]) -> Batch {
    let filled = |dtype, shape: &[usize]| Array::from_f32(dtype, shape, &vec![0.5; shape.iter().product()]);
    let (heads, dim) = (2 * variant.kv_heads, variant.head_dim);
    let mut q = filled(variant.q_dtype, &[variant.tokens, variant.q_heads, dim]);
    let mut kv_pages = filled(variant.kv_dtype, &[variant.pages, variant.page_size, heads, dim]);
    for Value { of, sequence, token, head, lane, value } in values {
        let row =
            metadata.page_indices[sequence * metadata.pages_per_seq + token / variant.page_size] as usize;
        let slot = row * variant.page_size + token % variant.page_size;
        let (array, first) = match of {
            Of::Q => (&mut q, (metadata.cu_q_lens[*sequence] as usize + token) * variant.q_heads + head),
            Of::K => (&mut kv_pages, slot * heads + 2 * head),
            Of::V => (&mut kv_pages, slot * heads + 2 * head + 1),
        };
        for lane in lane.map_or(0..dim, |lane| lane..lane + 1) {
            array.set_f32(first * dim + lane, *value);
        }
    }
    Batch { metadata: metadata.clone(), q, kv_pages }
}

fn breaches_of(variant: &Variant, edge: &Edge) -> Contract {
    match &edge.input {
        Input::Batch(metadata, values) => check(variant, &batch_of(variant, metadata, values)),
        Input::Call(call) => Contract { breaches: check_static(call) },
    }
}

/// On every variant of the small tier.
#[test]
fn probes_stand_on_both_sides_of_their_rule_alone() {
    let catalogue = Catalogue::builtin().unwrap();
    let variants: Vec<&Variant> = catalogue.kernel("jax-rpa").unwrap().variants(Tier::Small).collect();
    for rule in rules() {
        let (mut kept, mut alone, mut with_others) = (0, 0, 0);
        for variant in &variants {
            let Probe { kept: inside, broken: outside } = probe(rule, variant);
            for edge in inside {
                let at = format!("{}: {}: {}", rule.id, variant.name, edge.name);
                assert_eq!(breaches_of(variant, &edge).breaches, [], "{at}");
                kept += 1;
            }
            for edge in outside {
                let at = format!("{}: {}: {}", rule.id, variant.name, edge.name);
                let found: BTreeSet<_> =
                    breaches_of(variant, &edge).rules().iter().map(|rule| rule.id).collect();
                let expected: BTreeSet<_> = edge.besides.iter().copied().chain([rule.id]).collect();
                assert_eq!(found, expected, "{at}");
                *(if edge.besides.is_empty() { &mut alone } else { &mut with_others }) += 1;
            }
        }
        println!("{}: {kept} kept, {alone} broken alone, {with_others} with others", rule.id);
        assert!(kept > 0 && alone > 0, "{} has no probe", rule.id);
    }
}

#[test]
fn a_rule_can_be_asked_alone() {
    let (variant, mut batch) = (variant(), batch());
    (batch.metadata.num_seqs, batch.metadata.cu_q_lens[0], batch.metadata.kv_lens[0]) = (3, 1, 1);
    for rule in rules() {
        let alone = rule.breaches(&variant, &batch);
        let expected = matches!(rule.id, "cu-q-lens-starts-at-zero" | "q-len-within-kv-len");
        assert_eq!(!alone.is_empty(), expected, "{}", rule.id);
    }
    let mut call = StaticCall::of(&variant);
    call.num_seqs.shape = vec![2];
    assert_eq!(Rule::named("num-seqs-shape").unwrap().breaches_of_call(&call).len(), 1);
    assert_eq!(Rule::named("num-seqs-int32").unwrap().breaches_of_call(&call), []);
    let words = Rule::named("total-q-within-rows").unwrap().messages();
    assert_eq!(words, ["Total q tokens … must be less or equal to max_num_batched_tokens=…"]);
}

#[test]
fn a_wrong_entry_is_reported_once() {
    // A negative entry and the lengths that follow from it; the sequences on both sides of it are to blame.
    let negative = contract(|_, b| b.metadata.cu_q_lens = vec![0, 3, -100, 8, 0]);
    assert_eq!((broken(&negative), negative.own_sequences()), (vec!["cu-q-lens-nonnegative"], vec![1, 2]));
    // A middle entry + 1: one sequence longer, the next shorter.
    let shifted = contract(|_, b| b.metadata.cu_q_lens = vec![0, 3, 5, 8, 0]);
    assert_eq!(broken(&shifted), Vec::<&str>::new(), "2 of 12 and 3 of 4 are lengths like others");
    // A last entry far out breaks two rules, each by itself: the rows of q, and the tokens in the cache.
    let far = contract(|_, b| b.metadata.cu_q_lens[3] = i32::MAX);
    assert_eq!(
        (broken(&far), far.own_sequences()),
        (vec!["total-q-within-rows", "q-len-within-kv-len"], vec![2])
    );
    // Lengths instead of their sum.
    let lengths = contract(|_, b| b.metadata.cu_q_lens = vec![3, 1, 4, 0, 0]);
    let expected = vec!["cu-q-lens-starts-at-zero", "cu-q-lens-nondecreasing"];
    assert_eq!((broken(&lengths), lengths.own_sequences()), (expected, vec![0, 2]));
}

#[test]
fn payload_rules_look_at_scales_and_narrow_types() {
    let scaled = |k_scale: f32| {
        let (mut variant, mut batch) = (variant(), batch());
        variant.options.k_scale = Some(k_scale);
        batch.kv_pages.set_f32(5 * 64, 3e38);
        broken(&check(&variant, &batch))
    };
    assert_eq!(scaled(1e-30), Vec::<&str>::new());
    assert_eq!(scaled(2.0), ["owned-values-finite"]);
    for dtype in [DType::Bf16, DType::F8E5M2, DType::F8E4M3FN] {
        let (variant, mut batch) = (Variant { kv_dtype: dtype, ..variant() }, batch());
        batch.kv_pages = Array::from_f32(dtype, &batch.kv_pages.shape, &batch.kv_pages.to_f32_vec());
        assert_eq!(check(&variant, &batch).breaches, [], "{dtype:?}");
        batch.kv_pages.set_f32(0, f32::NAN);
        assert_eq!(broken(&check(&variant, &batch)), ["owned-values-finite"], "{dtype:?}");
    }
}

/// The six refusals that upstream is known for, from the caller's mistake to its words.
#[test]
fn known_refusals_have_their_rule_check_and_words() {
    let seed = || {
        let variant =
            Variant { tokens: 1024, page_size: 16, pages: 80, max_seqs: 8, pages_per_seq: 40, ..variant() };
        let metadata = Metadata {
            kv_lens: vec![600, 600, 0, 0, 0, 0, 0, 0],
            page_indices: (0..320).map(|entry| entry % 80).collect(),
            pages_per_seq: 40,
            cu_q_lens: vec![0, 600, 1200, 1200, 1200, 1200, 1200, 1200, 1200],
            num_seqs: 2,
        };
        (variant, metadata)
    };
    type Edit = fn(&mut Variant, &mut Metadata);
    let cases: &[(&str, Edit, &str)] = &[
        (
            "total-q-within-rows",
            |_, _| {},
            "Total q tokens 1200 must be less or equal to max_num_batched_tokens=1024.",
        ),
        (
            "num-seqs-within-table",
            |v, m| (v.tokens, m.num_seqs) = (1200, 9),
            "num_seqs[0]=Array(9, dtype=int32) must be less or equal to max_num_seqs=8",
        ),
        (
            "kv-lens-in-table",
            |v, m| (v.tokens, m.kv_lens[1]) = (1200, 641),
            "pages_per_seq=40 must be greater or equal to min_pages_per_seq=Array(41, dtype=int32) given \
             max_kv_len=Array(641, dtype=int32) and page_size=16.",
        ),
        (
            "q-len-within-kv-len",
            |v, m| (v.tokens, m.kv_lens[1]) = (1200, 599),
            "q_len=Array(600, dtype=int32) must be less or equal to kv_len=Array(599, dtype=int32) at sequence 1.",
        ),
    ];
    for (rule, edit, words) in cases {
        let (mut variant, mut metadata) = seed();
        edit(&mut variant, &mut metadata);
        let found = check_metadata(&variant, &metadata);
        let mut ids = broken(&found);
        if *rule == "num-seqs-within-table" {
            // the six rows past the two sequences are wholly empty, which is a (disputed) fact of its own
            assert_eq!(ids.pop(), Some("kv-len-positive"));
        }
        assert_eq!(ids, [*rule]);
        assert_eq!(
            dynamic_check(&variant, &metadata),
            Verdict::Refuses { check: rule, message: words.to_string() }
        );
    }

    let mut call = StaticCall::of(&seed().0);
    call.num_seqs.shape = vec![2];
    let words = "num_seqs.shape=(2,) must be (1,)".to_string();
    assert_eq!(static_check(&call), Verdict::Refuses { check: "num-seqs-shape", message: words });
    assert_eq!(check_static(&call)[0].rule.id, "num-seqs-shape");
    let mut call = StaticCall::of(&seed().0);
    (call.q.shape[2], call.kv_pages.shape[3]) = (64, 128);
    let words = "Q head_dim 64 must be the same as that of K/V 128.".to_string();
    assert_eq!(static_check(&call), Verdict::Refuses { check: "head-dim-equal", message: words });
    assert_eq!(check_static(&call)[0].rule.id, "head-dim-equal");
}

/// Small values, boundaries and limits.
fn entry(small: i32) -> impl Strategy<Value = i32> {
    prop_oneof![8 => -1..=small, 1 => prop::sample::select(vec![i32::MIN, i32::MAX, i32::MAX - 3, 13, 16, 17])]
}

/// Metadata of any kind for the variant of these tests.
pub(super) fn any_metadata() -> impl Strategy<Value = Metadata> {
    let lengths = (prop::collection::vec(entry(13), 4), prop::collection::vec(entry(17), 5), any::<bool>());
    (lengths, prop::collection::vec(entry(12), 12), entry(5)).prop_map(
        |((kv_lens, mut cu, ordered), table, num_seqs)| {
            if ordered {
                cu.sort_unstable();
                cu[0] = 0;
            }
            Metadata { kv_lens, page_indices: table, pages_per_seq: 3, cu_q_lens: cu, num_seqs }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// What the reference leaves undefined, and why, is what the contract says is broken.
    #[test]
    fn the_reference_and_the_contract_agree(metadata in any_metadata()) {
        let variant = variant();
        let mut batch = Batch { metadata, ..batch() };
        batch.q.bytes.fill(0);
        batch.kv_pages.bytes.fill(0);
        let found = check(&variant, &batch);
        let blocking = Blocking { kv_per_block: 8, weights: DType::F32 };
        let reference = attend(&batch, &variant.options, &blocking, &Profile::EXACT);
        let own = found.own_sequences();
        for (row, status) in reference.rows.iter().enumerate() {
            match *status {
                RowStatus::Value { sequence } => {
                    let blamed = found.breaches.iter().filter(|breach| breach.sequence == Some(sequence));
                    let standing: Vec<_> = blamed.map(|breach| breach.rule.standing).collect();
                    prop_assert!(standing.iter().all(|s| *s == Standing::Disputed), "row {row}: {found:#?}");
                }
                RowStatus::Undefined { rule: "row-past-last-token", .. } => {}
                RowStatus::Undefined { rule, sequence } => {
                    // A row that a sequence reaches through a negative entry is shared with the row's owner, too.
                    let negative = rule == "cu-q-lens-nondecreasing" && sequence.is_none();
                    let names = |id: &str| id == rule || negative && id == "cu-q-lens-nonnegative";
                    let named = found.breaches.iter().any(|breach| names(breach.rule.id));
                    prop_assert!(named, "row {row}: {rule} of {sequence:?}, but {found:#?}");
                    if let Some(sequence) = sequence && rule != "total-q-within-rows" {
                        prop_assert!(own.contains(&sequence), "row {row}: {rule} of {sequence}, but {found:#?}");
                    }
                }
            }
        }
    }
}
