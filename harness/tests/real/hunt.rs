//! The guided search on the real kernel.

use countersign::fuzzing::{Guidance, Hunt};
use countersign::known::KnownFile;
use countersign_kernels::engine::Policy;

use crate::Kernel;

/// What a case covers doesn't depend on what the machine ran before, and known findings are passed over.
#[test]
fn what_is_kept_covers_the_same_alone() {
    const STEPS: u64 = 400;
    let (kernel, known) = (Kernel::unedited(), KnownFile::builtin().unwrap());
    let hunt = |start, seed| Hunt::new(&kernel, &known, Policy::default(), Guidance::Coverage, start, seed);
    let mut first = hunt(Vec::new(), 1);
    for _ in 0..STEPS {
        let step = first.step();
        assert_eq!((step.findings, step.panic), (Vec::new(), None), "{}", step.case.to_toml());
    }
    let tally = first.tally();
    println!("{tally:?}, {} points by {} cases", first.covered().count(), first.parents().len());
    assert_eq!((tally.decoded, tally.rejected, first.unsupported()), (STEPS, 0, 0));
    assert!(tally.known > 0 && first.covered().count() > 1000);

    let mut again = hunt(first.parents().rev().cloned().collect(), 2);
    while again.waiting() > 0 {
        again.step();
    }
    assert_eq!(again.covered(), first.covered());
    assert!(again.parents().len() <= first.parents().len());
}
