//! Any bytes as a case: the kernel beside the reference. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| countersign::fuzzing::one_input(data));
