//! Cases through contract and validators alone. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

countersign_fuzz::case_target!(countersign::fuzzing::validators);
