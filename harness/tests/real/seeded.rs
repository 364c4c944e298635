//! Bugs put into the kernel: each has a place in the variants that suit it, and the guided search finds one from nothing.
//!
//! `countersign guidance` measures how soon, for all of them and over many seeds.

use countersign::fuzzing::{Guidance, steps_until_found};
use countersign::known::KnownFile;
use countersign_kernels::rpa::seeded::Bug;
use countersign_mosaic::Program;

use crate::{Kernel, real};

/// Every bug is a kernel that lowers, in some variant; a variant that doesn't suit is left as it was.
#[test]
fn each_bug_has_a_place() {
    for bug in &Bug::ALL {
        let mut places = 0;
        for (variant, original) in real().variants.iter().zip(&real().modules) {
            let mut module = original.clone();
            let put = bug.put_into(variant, &mut module);
            places += usize::from(put);
            assert_eq!(module != *original, put, "{} in {}", bug.name, variant.name);
            Program::lower(&module, 1).unwrap();
        }
        println!("{}: {places} variants", bug.name);
        assert!(places > 0, "{}", bug.name);
    }
}

#[test]
fn a_bug_is_found_from_nothing() {
    const BUDGET: u64 = 4000;
    let bug = Bug::named("kv-one-over-a-block").unwrap();
    let kernel = Kernel::edited_by_variant(|variant, module| bug.put_into(variant, module));
    let known = KnownFile::builtin().unwrap();
    let found = steps_until_found(&kernel, &known, Guidance::Coverage, 1, BUDGET);
    println!("{}: in execution {found:?}", bug.name);
    assert!(found.is_some(), "{} isn't found in {BUDGET} executions", bug.name);
}
