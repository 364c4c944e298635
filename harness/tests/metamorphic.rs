//! The metamorphic relations on the reference: they hold of the right one, and each of these faults in it breaks one.
//!
//! Faults are put around the reference, which stays as it is: it is given another batch or other options, or its values are changed,
//! always as a plausible mistake in it would do. A fault that is the same for both batches of every relation can't be seen: one of those is to
//! take a sequence's first page for its second.
//!
//! Invariant: no kernel and no VM here.

#![allow(clippy::unwrap_used, reason = "in tests a failed step is a failed test")]

use countersign::generate::generate;
use countersign::metamorphic::{Oracle, Outcome, RELATIONS, reference};
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::rpa::contract::Keeping;
use countersign_reference::{Batch, Reference, RowStatus};

type Faulty = fn(&Variant, &Batch) -> Reference;

struct Wrapped<'a> {
    variant: &'a Variant,
    attend: Faulty,
}

impl Oracle for Wrapped<'_> {
    fn values(&mut self, batch: &Batch) -> Option<Vec<f64>> {
        Some((self.attend)(self.variant, batch).values)
    }

    fn bounds(&mut self, batch: &Batch) -> Vec<f64> {
        (self.attend)(self.variant, batch).bounds
    }
}

fn on(variant: &Variant, batch: &Batch, edit: impl FnOnce(&mut Variant, &mut Batch)) -> Reference {
    let (mut variant, mut batch) = (variant.clone(), batch.clone());
    edit(&mut variant, &mut batch);
    reference(&variant, &batch)
}

/// Changes the values of each row, which is given with its sequence.
fn valued(variant: &Variant, batch: &Batch, change: impl Fn(usize, usize, &mut [f64])) -> Reference {
    let mut right = reference(variant, batch);
    let width = variant.q_heads * variant.head_dim;
    for (row, (status, values)) in right.rows.iter().zip(right.values.chunks_mut(width)).enumerate() {
        if let RowStatus::Value { sequence } = *status {
            change(row, sequence, values);
        }
    }
    right
}

fn sequences(batch: &Batch) -> std::ops::Range<usize> {
    0..batch.metadata.sequences_in_table()
}

const FAULTS: [(&str, Faulty); 11] = [
    ("every sequence has the first one's page row", |variant, batch| {
        on(variant, batch, |_, batch| {
            let columns = batch.metadata.pages_per_seq;
            for sequence in sequences(batch).skip(1) {
                batch.metadata.page_indices.copy_within(0..columns, sequence * columns);
            }
        })
    }),
    ("the page table isn't looked at", |variant, batch| {
        on(variant, batch, |variant, batch| {
            let pages = variant.pages as i32;
            (0..).zip(&mut batch.metadata.page_indices).for_each(|(entry, page)| *page = entry % pages);
        })
    }),
    ("pages are numbered from the end", |variant, batch| {
        on(variant, batch, |variant, batch| {
            let pages = variant.pages as i32;
            batch.metadata.page_indices.iter_mut().filter(|page| (0..pages).contains(*page)).for_each(
                |page| {
                    *page = pages - 1 - *page;
                },
            );
        })
    }),
    ("kv_len is one less where there are more keys than queries", |variant, batch| {
        on(variant, batch, |_, batch| {
            let meta = &mut batch.metadata;
            for sequence in 0..meta.sequences_in_table() {
                let q_len = meta.cu_q_lens[sequence + 1] - meta.cu_q_lens[sequence];
                meta.kv_lens[sequence] -= i32::from(meta.kv_lens[sequence] > q_len);
            }
        })
    }),
    ("keys are visible by their distance from the first query, not the last", |variant, batch| {
        on(variant, batch, |_, batch| {
            let meta = &mut batch.metadata;
            for sequence in 0..meta.sequences_in_table() {
                meta.kv_lens[sequence] = meta.cu_q_lens[sequence + 1] - meta.cu_q_lens[sequence];
            }
        })
    }),
    ("query heads are interleaved over KV heads", |variant, batch| {
        on(variant, batch, |variant, batch| {
            let (heads, dim) = (variant.q_heads, variant.head_dim);
            let (group, kv_heads) = (heads / variant.kv_heads, variant.kv_heads);
            let old = batch.q.to_f32_vec();
            for row in 0..variant.tokens {
                for head in 0..heads {
                    let from = head % group * kv_heads + head / group;
                    for lane in 0..dim {
                        batch.q.set_f32(
                            (row * heads + head) * dim + lane,
                            old[(row * heads + from) * dim + lane],
                        );
                    }
                }
            }
        })
    }),
    ("weights don't sum to 1", |variant, batch| {
        valued(variant, batch, |_, _, values| values.iter_mut().for_each(|value| *value *= 0.999))
    }),
    ("a constant is added to the output", |variant, batch| {
        valued(variant, batch, |_, _, values| values.iter_mut().for_each(|value| *value += 0.01))
    }),
    ("the second sequence's rows are the first row", |variant, batch| {
        let first: Vec<f64> = reference(variant, batch).values;
        valued(variant, batch, |_, sequence, values| {
            if sequence == 1 {
                values.copy_from_slice(&first[..values.len()]);
            }
        })
    }),
    ("values depend on the row's place in the batch", |variant, batch| {
        valued(variant, batch, |row, _, values| {
            values.iter_mut().for_each(|value| *value *= 1.0 + row as f64 / 1024.0);
        })
    }),
    ("all heads are the first one's", |variant, batch| {
        valued(variant, batch, |_, _, values| {
            let (first, rest) = values.split_at_mut(values.len() / 2);
            rest.copy_from_slice(&first[..rest.len()]);
        })
    }),
];

/// The relation that fails first over some kept cases of several variants, with how many pairs held until then.
fn first_failure(attend: Faulty) -> (Option<(&'static str, String)>, usize) {
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel("jax-rpa").unwrap();
    let mut held = 0;
    for variant in kernel.variants(Tier::Small) {
        // Block sizes of the tuning table are known from a lowered module alone.
        if variant.blocks().is_none() {
            continue;
        }
        for index in 0..8 {
            let kept = Some(Keeping::Kept);
            let case = generate(5, index, "jax-rpa", std::slice::from_ref(variant), kept).case;
            let batch = case.batch(variant).unwrap();
            for relation in &RELATIONS {
                match relation.ask(&mut Wrapped { variant, attend }, variant, &batch, index) {
                    Outcome::Failed(why) => return (Some((relation.name, why)), held),
                    Outcome::Held => held += 1,
                    Outcome::NotApplicable | Outcome::Silent => {}
                }
            }
        }
    }
    (None, held)
}

#[test]
fn relations_hold_of_the_reference() {
    let (failure, held) = first_failure(reference);
    println!("{held} pairs");
    assert_eq!(failure, None);
    assert!(held > 500, "{held}");
}

#[test]
fn each_fault_in_the_reference_breaks_a_relation() {
    let mut missed = Vec::new();
    for (fault, attend) in FAULTS {
        match first_failure(attend).0 {
            Some((relation, why)) => println!("{fault}: {relation}: {why}"),
            None => missed.push(fault),
        }
    }
    assert_eq!(missed, Vec::<&str>::new());
}
