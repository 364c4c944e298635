//! Which mutants are run: operator by operator, in an order drawn from the seed.
//!
//! Invariant: a function of modules, seed and number; a larger number adds mutants and keeps those of a smaller one.

use std::collections::BTreeMap;

use countersign_mosaic::ir::Module;
use countersign_mosaic::mutation::{Mutation, Operator};

use crate::payload::Stream;

/// Keeps these draws apart from those of cases.
const MUTANTS: u64 = 0x6d75_7461;

/// `count` mutations, each with the position of its module, and how many there are of each operator.
pub(super) fn draw(
    modules: &[Option<&Module>],
    seed: u64,
    count: usize,
) -> (Vec<(usize, Mutation)>, BTreeMap<Operator, usize>) {
    let mut decks: BTreeMap<Operator, Vec<(u64, usize, Mutation)>> = BTreeMap::new();
    for (position, module) in modules.iter().enumerate() {
        for (number, mutation) in module.iter().flat_map(|module| Mutation::all(module)).enumerate() {
            let rank = Stream::at(seed, [MUTANTS, position as u64, number as u64, 0]).bits();
            decks.entry(mutation.operator).or_default().push((rank, position, mutation));
        }
    }
    let sites =
        Operator::ALL.iter().map(|operator| (*operator, decks.get(operator).map_or(0, Vec::len))).collect();
    // The lowest rank last, to be taken first.
    decks.values_mut().for_each(|deck| deck.sort_by(|a, b| b.cmp(a)));
    let mut drawn = Vec::new();
    while drawn.len() < count && decks.values().any(|deck| !deck.is_empty()) {
        for deck in decks.values_mut() {
            if let Some((_, position, mutation)) = deck.pop().filter(|_| drawn.len() < count) {
                drawn.push((position, mutation));
            }
        }
    }
    (drawn, sites)
}
