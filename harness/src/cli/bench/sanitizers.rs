//! What each sanitizer costs: the VM with all on beside all off, and beside each alone off.
//!
//! Invariant: a sanitizer is named once, in `SWITCHES`, with how the policy leaves it out.

use std::hint::black_box;

use countersign_kernels::engine::Policy;
use countersign_kernels::rpa::bind::bind;
use countersign_reports::{SanitizerCost, Spread};

use super::clock::{Side, smallest};
use super::subjects::Subjects;
use super::{Run, Stop, unsound};
use crate::campaign::Subject;

/// A sanitizer, and how a policy leaves it out.
type Switch = (&'static str, fn(&mut Policy));

/// Every sanitizer that the VM can do without. Bounds, semaphores and divisions it can't.
const SWITCHES: &[Switch] = &[
    ("definedness", |policy| policy.sanitizers.definedness = false),
    ("races", |policy| policy.sanitizers.races = false),
];

/// The policy without any sanitizer; `None` if there were none that the VM can do without.
pub(super) fn all_off() -> Option<Policy> {
    let mut policy = Policy::default();
    SWITCHES.iter().for_each(|(_, leave_out)| leave_out(&mut policy));
    (!SWITCHES.is_empty()).then_some(policy)
}

/// The cost of all, then of each, over the chosen variants.
pub(super) fn measure(subjects: &Subjects, run: &Run) -> Result<Vec<SanitizerCost>, Stop> {
    let Some(off) = all_off() else { return Ok(Vec::new()) };
    let alone = SWITCHES.iter().map(|(name, leave_out)| {
        let mut policy = Policy::default();
        leave_out(&mut policy);
        (*name, policy)
    });
    let policies: Vec<(&str, Policy)> = std::iter::once(("all", off)).chain(alone).collect();
    let mut ratios: Vec<Vec<(String, f64)>> = vec![Vec::new(); policies.len()];
    for position in subjects.chosen() {
        let variant = &subjects.loaded.variants()[position];
        run.step(&format!("sanitizers: {}", variant.name))?;
        for (_, case) in subjects.longest(position, 1) {
            let batch = case.batch(variant).map_err(|error| unsound(error.to_string()))?;
            let bound = bind(variant, &batch);
            let side = |policy: Policy| -> Side<'_> {
                let mut engine = subjects.loaded.engine(position);
                let (batch, bound) = (&batch, &bound);
                Box::new(move || drop(black_box(engine.run(batch, bound, &policy))))
            };
            let others = policies.iter().map(|(_, policy)| side(*policy));
            let mut sides: Vec<Side<'_>> = std::iter::once(side(Policy::default())).chain(others).collect();
            let times = smallest(&mut sides);
            for (ratios, time) in ratios.iter_mut().zip(&times[1..]) {
                ratios.push((variant.name.clone(), times[0] / time));
            }
        }
    }
    let cost = |((name, _), ratios): (&(&str, Policy), &Vec<(String, f64)>)| {
        let spread = Spread::of(ratios.iter().map(|(variant, ratio)| (variant.as_str(), *ratio)))?;
        let Spread { geometric_mean, largest, .. } = spread;
        Some(SanitizerCost { name: (*name).to_owned(), on_over_off: geometric_mean, largest })
    };
    Ok(policies.iter().zip(&ratios).filter_map(cost).collect())
}
