//! Slips over many generated batches: which rules they break, what the dynamic check says, what the kernel does, who is hit.
//!
//! Invariant: batch i is that of a campaign with the same seed; results are added up in the order of i.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use countersign_kernels::engine::Policy;
use countersign_reports::SlipRow;

use super::{Gallery, count, harms, verdict_name};
use crate::campaign::Subject;
use crate::generate::{Slip, generate};
use crate::judge::effect_name;
use crate::ordered::in_order;
use crate::trial::run_trial;

/// Cases 0 to `cases` - 1 of the campaign with `seed`, on `jobs` threads; their gaps go to `gallery`.
pub fn slips(
    subject: &dyn Subject,
    policy: &Policy,
    seed: u64,
    cases: usize,
    jobs: usize,
    interrupted: &AtomicBool,
    gallery: &mut Gallery,
) -> Vec<SlipRow> {
    let mut rows: BTreeMap<Slip, SlipRow> = BTreeMap::new();
    let has_checks = subject.kernel().family.model().has_checks();
    let work = |index: usize| {
        let generated = generate(seed, index as u64, &subject.kernel().id, subject.variants(), None);
        let named = generated.case.variant.name();
        let position = subject.variants().iter().position(|variant| variant.name == named)?;
        let variant = &subject.variants()[position];
        let mut engine = subject.engine(position);
        let trial =
            run_trial(Some(engine.as_mut()), subject.kernel(), variant, &generated.case, policy).ok()?;
        Some((generated, trial))
    };
    let go_on = || !interrupted.load(Ordering::Relaxed);
    in_order(cases, jobs, &go_on, &work, &mut |index, done| {
        let Ok(Some((generated, trial))) = done else {
            tracing::warn!("case {index} of seed {seed} could not be tried");
            return;
        };
        gallery.offer(&format!("seed {seed}, case {index}"), &generated.case, &trial);
        let Some(slip) = generated.tags.slip else { return };
        let row = rows.entry(slip).or_insert_with(|| SlipRow {
            slip: slip.name().to_owned(),
            keeping: slip.keeping().name().to_owned(),
            ..SlipRow::default()
        });
        row.cases += 1;
        trial.contract.rules().iter().for_each(|rule| count(&mut row.rules, rule.id));
        if has_checks {
            count(&mut row.dynamic, verdict_name(&trial.dynamic_verdict));
        }
        count(&mut row.effects, effect_name(&trial));
        row.others += u64::from(harms(&trial, &generated.case.metadata).iter().any(|harm| !harm.own));
    });
    rows.into_values().collect()
}
