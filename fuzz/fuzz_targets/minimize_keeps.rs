//! What a case shows, its minimised case shows. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

countersign_fuzz::case_target!(countersign::fuzzing::minimize_keeps);
