//! Cases as dumped batches: kept ones have no cause. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

countersign_fuzz::case_target!(countersign::fuzzing::diagnose);
