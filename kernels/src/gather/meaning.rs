//! What the values on the way to a fault mean: which sequence, page column and row of the output.
//!
//! Invariant: says only what follows from the indices that the fault's own path read.

use countersign_mosaic::{Step, Trace};

use crate::rpa::bind::Role;
use crate::variant::Variant;

pub(super) fn meaning(_variant: &Variant, trace: &Trace) -> Vec<String> {
    let mut sentences: Vec<String> = Vec::new();
    for sentence in trace.path.iter().filter_map(read) {
        if !sentences.contains(&sentence) {
            sentences.push(sentence);
        }
    }
    if let [sequence] = trace.fault.grid[..] {
        sentences.push(format!("the grid point is row {sequence} of the page table"));
    }
    sentences
}

fn read(step: &Step) -> Option<String> {
    let (place, indices) = step.read.as_ref()?;
    let role = Role::from_name(&place.label)?;
    let Some(value) = step.scalar else {
        return Some(format!("{}{indices:?} is not defined by the batch", place.label));
    };
    match (role, indices.as_slice()) {
        (Role::PageIndices, &[sequence, column]) => {
            Some(format!("page {value} stands in column {column} of sequence {sequence}"))
        }
        (Role::KvLens, &[sequence]) => Some(format!("sequence {sequence} has {value} tokens in the cache")),
        (Role::CuQLens, &[at]) => Some(format!("cu_q_lens[{at}] is row {value} of the output")),
        (Role::NumSeqs, _) => Some(format!("num_seqs is {value}")),
        _ => None,
    }
}
