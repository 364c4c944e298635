//! Any bytes as a case: the kernel beside the reference, guided by the kernel's own coverage. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

countersign_fuzz::kernel_counters!();

countersign_fuzz::case_target!(|data: &[u8]| {
    with_counters(|counters, bug| countersign::fuzzing::one_input(data, counters, bug))
});
