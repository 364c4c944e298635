#![no_main]
//! Any text as a module: parsed, lowered, run. Invariant: all logic is in `countersign_mosaic::fuzzing`.

use countersign_mosaic::fuzzing;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

fuzz_target!(|text: &str| {
    fuzzing::one_text(text);
});

// Bytes spell new tokens; lines and tokens of a module make ill-typed ones.
fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed.is_multiple_of(4) {
        fuzzer_mutate(data, size, max_size)
    } else {
        fuzzing::mutate(data, size, max_size, seed)
    }
});
