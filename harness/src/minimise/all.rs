//! The findings of a campaign, minimised on several threads.
//!
//! Invariant: the number of threads never shows. A panic costs the finding that met it, no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{BUDGET, Minimal, Minimiser, Target};
use crate::campaign::{Plan, Subject, Totals, panic_message};
use crate::confirm::first_case;
use crate::ordered::in_order;

/// What became of a finding's first case: a smaller one, or the text of a panic of ours. `None`: nobody began.
pub type Tried = Option<Result<Minimal, String>>;

/// Minimises the first case of each finding, in the order of `totals.findings`. `go_on` is asked before each execution.
pub fn minimise_all(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    totals: &Totals,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Vec<Tried> {
    let count = totals.findings.len();
    // A thread takes every so-many-th finding, so that its engines are made once.
    let jobs = plan.jobs.clamp(1, count.max(1));
    let work = |job: usize| {
        let mut minimiser = Minimiser::new(subject, plan.known, plan.policy);
        let mut one = |index: usize| -> Tried {
            if !go_on() {
                return None;
            }
            let found = &totals.findings[index];
            let target = Target(vec![(found.finding.signature.clone(), found.known)]);
            let draft = first_case(subject, plan, found);
            let minimise = AssertUnwindSafe(|| minimiser.minimise(draft, &target, BUDGET, go_on));
            Some(match catch_unwind(minimise) {
                Ok(minimal) => minimal.map_err(|error| error.to_string()),
                Err(panic) => {
                    // An engine may be in any state now.
                    minimiser = Minimiser::new(subject, plan.known, plan.policy);
                    Err(panic_message(&*panic))
                }
            })
        };
        (job..count).step_by(jobs).map(&mut one).collect::<Vec<Tried>>()
    };
    let mut tried: Vec<Tried> = vec![None; count];
    in_order(jobs, jobs, &|| true, &work, &mut |job, done| {
        let mine = done.unwrap_or_default();
        tried.iter_mut().skip(job).step_by(jobs).zip(mine).for_each(|(slot, mine)| *slot = mine);
    });
    tried
}
