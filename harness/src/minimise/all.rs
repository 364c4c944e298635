//! The findings of a campaign, minimised on several threads.
//!
//! Invariant: the number of threads never shows.

use super::{BUDGET, Minimal, Minimiser, Target};
use crate::campaign::{Plan, Subject, Totals};
use crate::confirm::first_case;
use crate::ordered::in_order;

/// What becomes of the first case of each finding, in the order of `totals.findings`; absent where `go_on` forbade to begin. A
/// panic of ours leaves the findings of its thread as they are and is returned as text.
pub fn minimise_all(
    subject: &dyn Subject,
    plan: &Plan<'_>,
    totals: &Totals,
    go_on: &(dyn Fn() -> bool + Sync),
) -> (Vec<Option<Minimal>>, Vec<String>) {
    let count = totals.findings.len();
    let mut minimised: Vec<Option<Minimal>> = vec![None; count];
    let mut panics = Vec::new();
    // A thread takes every so-many-th finding, so that its engines are made once.
    let jobs = plan.jobs.clamp(1, count.max(1));
    let work = |job: usize| {
        let mut minimiser = Minimiser::new(subject, plan.known, plan.policy);
        let one = |index: usize| {
            let found = &totals.findings[index];
            let target = Target(vec![(found.finding.signature.clone(), found.known)]);
            let draft = first_case(subject, plan, found);
            go_on().then(|| minimiser.minimise(draft, &target, BUDGET, go_on).ok()).flatten()
        };
        (job..count).step_by(jobs).map(one).collect::<Vec<Option<Minimal>>>()
    };
    in_order(jobs, jobs, &|| true, &work, &mut |job, done| match done {
        Ok(mine) => {
            for (slot, minimal) in minimised.iter_mut().skip(job).step_by(jobs).zip(mine) {
                *slot = minimal;
            }
        }
        Err(panic) => panics.push(panic),
    });
    (minimised, panics)
}
