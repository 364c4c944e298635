//! Which lines of the kernel a failing case covers and no passing one: where to look first.
//!
//! Passing cases are drawn from the same campaign, of the same variant: kept batches that the kernel got right. A bug in what
//! every case executes (a mask's comparison, an index) shows no such line, and then that is what is said.
//!
//! Invariant: a function of plan and case; the number of cases is fixed, not the time.

use std::collections::BTreeMap;
use std::fmt;

use countersign_kernels::contract::Keeping;

use crate::campaign::{Plan, Subject, draw};
use crate::judge::judge;
use crate::loaded::Loaded;
use crate::minimise::Draft;
use crate::trial::{Conduct, run_trial};

/// Passing cases that are looked at.
const PASSING: usize = 64;
/// Cases that are drawn for them, a variant.
const DRAWN_PER_VARIANT: u64 = 400;

/// What only a failing case covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspects {
    /// `file:line`, with what happened there where passing cases reach the line, too.
    pub lines: Vec<String>,
    /// Passing cases looked at.
    pub passing: usize,
}

/// A sentence without its full stop.
impl fmt::Display for Suspects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Suspects { lines, passing } = self;
        match (passing, lines.is_empty()) {
            (0, _) => {
                write!(f, "No case of this variant passed, so coverage can't tell which line is to blame")
            }
            (_, true) => write!(
                f,
                "{passing} passing cases cover all that this one covers, so coverage can't tell which line is to blame"
            ),
            (_, false) => {
                write!(f, "Covered by this case and by none of {passing} passing ones: {}", lines.join(", "))
            }
        }
    }
}

/// Finds suspects, and remembers what passing cases of each variant cover.
#[derive(Debug, Default)]
pub struct Finder {
    passing: BTreeMap<usize, (usize, Vec<u64>)>,
}

impl Finder {
    /// What `draft`, which fails, covers and passing cases of the plan don't; `None` where it can't be run.
    pub fn suspects(&mut self, loaded: &Loaded, plan: &Plan<'_>, draft: &Draft) -> Option<Suspects> {
        let (passing, covered) =
            self.passing.entry(draft.position).or_insert_with(|| passing(loaded, plan, draft.position));
        let mut engine = loaded.engine(draft.position);
        let variant = loaded.variants().get(draft.position)?;
        run_trial(Some(engine.as_mut()), loaded.kernel(), variant, &draft.case, &plan.policy).ok()?;
        let lines = match passing {
            0 => Vec::new(),
            _ => loaded.only_covered(draft.position, engine.coverage(), covered),
        };
        Some(Suspects { lines, passing: *passing })
    }
}

/// How many kept batches of a variant the kernel got right, and what they cover together.
fn passing(loaded: &Loaded, plan: &Plan<'_>, position: usize) -> (usize, Vec<u64>) {
    let (mut passing, mut covered) = (0, Vec::new());
    let variant = &loaded.variants()[position];
    let kept = Plan { only: Some(Keeping::Kept), ..*plan };
    for index in 0..DRAWN_PER_VARIANT * loaded.variants().len() as u64 {
        let case = draw(loaded, &kept, index).case;
        if passing == PASSING {
            break;
        }
        if case.variant.name() != variant.name {
            continue;
        }
        let mut engine = loaded.engine(position);
        let trial = run_trial(Some(engine.as_mut()), loaded.kernel(), variant, &case, &plan.policy);
        if trial.is_ok_and(|trial| {
            matches!(trial.conduct, Conduct::Finished(_)) && judge(&trial).findings.is_empty()
        }) {
            passing += 1;
            let bits = engine.coverage();
            covered.resize(covered.len().max(bits.len()), 0);
            covered.iter_mut().zip(bits).for_each(|(sum, bits)| *sum |= bits);
        }
    }
    (passing, covered)
}
