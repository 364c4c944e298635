//! What broken sequences do to others, on an engine whose interference is known: it answers with the reference's values, and
//! spoils the first row after each empty sequence.

#![allow(clippy::unwrap_used, reason = "helpers of tests are not recognised as tests")]

use countersign::case::{Case, Payload, VariantRef};
use countersign::interference::{Interference, Other, interference};
use countersign_dtype::Array;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::Catalogue;
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_reference::{Batch, Blocking, Metadata, Profile, attend};

struct Spoils {
    variant: Variant,
    /// Whether it does.
    spoils: bool,
}

impl Engine for Spoils {
    fn run(&mut self, batch: &Batch, _bound: &[Bound<'_>; 6], _policy: &Policy) -> EngineRun {
        let v = &self.variant;
        let blocking = Blocking { kv_per_block: v.page_size, weights: v.q_dtype };
        let reference = attend(batch, &v.options, &blocking, &Profile::EXACT);
        let mut output = Array::zeros(v.q_dtype, &[v.tokens, v.q_heads, v.head_dim]);
        for (element, value) in reference.values.iter().enumerate() {
            output.set_f32(element, *value as f32);
        }
        let meta = &batch.metadata;
        for sequence in 0..meta.sequences_in_table() {
            if self.spoils && meta.kv_lens[sequence] == 0 {
                let row = meta.cu_q_lens[sequence + 1] as usize;
                output.set_f32(row * v.q_heads * v.head_dim, 1234.0);
            }
        }
        EngineRun { output: Some(output), undefined: Vec::new(), end: EngineEnd::Finished, fuel_used: 1 }
    }

    fn coverage(&self) -> &[u64] {
        &[]
    }
}

/// Four sequences of two rows each; the second is what `kv_len` says.
fn looked_at(spoils: bool, kv_len: i32) -> Option<Interference> {
    let variant =
        Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().variant("f32-q4-kv4").unwrap().clone();
    let mut page_indices = vec![0; variant.max_seqs * variant.pages_per_seq];
    for sequence in 0..4 {
        page_indices[sequence * variant.pages_per_seq] = sequence as i32;
    }
    let empty = kv_len == 0;
    let cu_q_lens = if empty { vec![0, 2, 2, 4, 6, 0, 0] } else { vec![0, 2, 4, 6, 8, 0, 0] };
    let case = Case {
        kernel: "jax-rpa".to_owned(),
        variant: VariantRef::Named(variant.name.clone()),
        metadata: Metadata {
            kv_lens: vec![9, kv_len, 5, 7, 0, 0],
            page_indices,
            pages_per_seq: variant.pages_per_seq,
            cu_q_lens,
            num_seqs: 4,
        },
        payload: Payload { pattern: "normal@1".to_owned(), seed: 3, patches: Vec::new(), file: None },
        checksum: None,
        statics: None,
    };
    let mut engine = Spoils { variant: variant.clone(), spoils };
    interference(&mut engine, &variant, &case, &Policy::default()).unwrap()
}

#[test]
fn the_sequence_after_an_empty_one_is_named_with_its_rows() {
    let other = |sequence, changed| Other { sequence, rows: 2, changed };
    let found = looked_at(true, 0).unwrap();
    assert_eq!(found.broken, [1]);
    assert_eq!(found.others, [other(0, 0), other(2, 1), other(3, 0)]);
    assert_eq!(
        found.to_string(),
        "Sequence 1 changes the output of others: 1 of 2 row(s) of sequence 2 come out otherwise without it"
    );
}

#[test]
fn a_kernel_that_keeps_sequences_apart_changes_nothing() {
    let found = looked_at(false, 0).unwrap();
    assert!(found.others.iter().all(|other| other.changed == 0));
    assert_eq!(found.to_string(), "Without sequence 1, the outputs of sequence 0, 2, 3 are the same bits");
}

#[test]
fn where_no_sequence_is_to_blame_there_is_nothing_to_say() {
    assert_eq!(looked_at(true, 6), None);
}
