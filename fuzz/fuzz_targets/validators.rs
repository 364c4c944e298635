//! Cases through contract and validators alone. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

use countersign::fuzzing::{self, Taken};
use libfuzzer_sys::{Corpus, fuzz_crossover, fuzz_mutator, fuzz_target};

fuzz_target!(|data: &[u8]| -> Corpus {
    match fuzzing::validators(data) {
        Taken::Tried => Corpus::Keep,
        Taken::Rejected => Corpus::Reject,
    }
});
fuzz_mutator!(|data: &mut [u8], size: usize, max: usize, seed: u32| {
    fuzzing::mutate(data, size, max, seed)
});
fuzz_crossover!(|one: &[u8], other: &[u8], out: &mut [u8], seed: u32| {
    fuzzing::crossover(one, other, out, seed)
});
