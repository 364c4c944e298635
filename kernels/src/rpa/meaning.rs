//! What the values on the way to a fault mean: which sequence, page column, KV block and block of queries.
//!
//! Invariant: says only what follows from the indices that the fault's own path read from the batch's operands, and from the
//! grid point; nothing is guessed from what the kernel is known to do.

use countersign_mosaic::{Step, Trace};

use super::bind::Role;
use crate::variant::Variant;

/// One sentence without its full stop for each element of the metadata that the path read, in its order, then the grid point.
pub fn meaning(variant: &Variant, trace: &Trace) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for sentence in trace.path.iter().filter_map(|step| read(variant, step)) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    if let [heads, queries] = trace.fault.grid[..] {
        let rows = variant.blocks().map_or_else(String::new, |blocks| {
            let first = queries * blocks.queries as i64;
            format!(", which holds the rows of q from {first} on")
        });
        sentences.push(format!("the grid point is head block {heads} and query block {queries}{rows}"));
    }
    sentences
}

fn read(variant: &Variant, step: &Step) -> Option<String> {
    let (place, indices) = step.read.as_ref()?;
    let role = Role::from_name(&place.label)?;
    let Some(value) = step.scalar else {
        return Some(format!("{}{indices:?} is not defined by the batch", place.label));
    };
    match (role, indices.as_slice()) {
        (Role::PageIndices, &[sequence, column]) => {
            let block = variant.blocks().filter(|blocks| blocks.pages > 0);
            let block = block.map_or_else(String::new, |blocks| {
                format!(", in its KV block {}", column / blocks.pages as i64)
            });
            Some(format!("page {value} stands in column {column} of sequence {sequence}{block}"))
        }
        (Role::KvLens, &[sequence]) => Some(format!("sequence {sequence} has kv_len {value}")),
        (Role::CuQLens, &[at]) => {
            let of = match at {
                0 => "sequence 0 starts".to_owned(),
                at => format!("sequence {} ends and sequence {at} would start", at - 1),
            };
            Some(format!("{of} at row {value} of q"))
        }
        (Role::NumSeqs, _) => Some(format!("num_seqs is {value}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use countersign_dtype::DType;
    use countersign_mosaic::ir::MemorySpace;
    use countersign_mosaic::{Fault, FaultClass, Origin, Place};

    use super::*;
    use crate::rpa::testing::variant;

    fn step(label: &str, indices: &[i64], scalar: Option<i64>) -> Step {
        let place = Place {
            label: label.to_owned(),
            origin: Origin::Operand,
            dtype: Some(DType::I32),
            shape: vec![4; indices.len()],
            space: MemorySpace::Smem,
        };
        Step {
            depth: 0,
            what: String::new(),
            value: String::new(),
            read: Some((place, indices.to_vec())),
            scalar,
            stack: Vec::new(),
        }
    }

    #[test]
    fn reads_of_the_metadata_become_sentences_each_once() {
        let fault = Fault {
            class: FaultClass::OutOfBounds,
            op: "tpu.enqueue_dma".to_owned(),
            site: None,
            index_site: None,
            stack: Vec::new(),
            grid: vec![0, 1],
            place: None,
            indices: Vec::new(),
            message: String::new(),
            other: None,
        };
        let path = vec![
            step("page_indices", &[2, 1], Some(77)),
            step("scratch 0", &[0], Some(1)),
            step("kv_lens", &[2], None),
            step("kv_lens", &[2], None),
            step("cu_q_lens", &[1], Some(9)),
        ];
        let sentences = meaning(&variant(), &Trace { fault, path, cut: false });
        let expected = [
            "page 77 stands in column 1 of sequence 2",
            "kv_lens[2] is not defined by the batch",
            "sequence 0 ends and sequence 1 would start at row 9 of q",
            "the grid point is head block 0 and query block 1",
        ];
        assert_eq!(sentences.len(), expected.len(), "{sentences:?}");
        for (sentence, start) in sentences.iter().zip(expected) {
            assert!(sentence.starts_with(start), "{sentence}");
        }
    }
}
