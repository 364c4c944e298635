//! Cases there and back in binary form. Invariant: all logic is in `countersign::fuzzing`.

#![no_main]

countersign_fuzz::case_target!(countersign::fuzzing::case_codec);
