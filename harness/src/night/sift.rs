//! Which cases of a grown corpus reach something that those before them don't.
//!
//! Invariant: whatever the cases covered together, those that are worth keeping cover. A case that nobody tried is kept.

use countersign_kernels::engine::Policy;

use super::Target;
use crate::campaign::Subject as _;
use crate::case::Case;
use crate::fuzzing::{Guidance, Hunt, Probe};
use crate::known::KnownFile;
use crate::loaded::Loaded;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sifted {
    /// Points of the kernel (or rules with an answer of the checks) that are covered.
    pub covered: u64,
    /// Whether each case is worth keeping; the rest, after a Ctrl-C, wasn't tried.
    pub worthy: Vec<bool>,
}

/// Tries the cases in their order while `go_on` says so.
pub fn sift(
    loaded: &Loaded,
    target: Target,
    known: &KnownFile,
    policy: Policy,
    cases: Vec<Case>,
    go_on: &dyn Fn() -> bool,
) -> Sifted {
    let mut worthy = Vec::new();
    let covered = match target {
        Target::Differential => {
            let mut hunt = Hunt::new(loaded, known, policy, Guidance::Coverage, cases, 0);
            while hunt.waiting() > 0 && go_on() {
                worthy.push(hunt.step().fresh > 0);
            }
            hunt.covered().count()
        }
        Target::Validators => {
            let mut probe = Probe::new(loaded.kernel(), loaded.variants(), known, cases, 0);
            while probe.waiting() > 0 && go_on() {
                worthy.push(probe.step(&mut |_| {}).1);
            }
            probe.covered()
        }
    };
    Sifted { covered, worthy }
}
