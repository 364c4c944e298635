//! One case on our own sides: the VM, the algorithm by hand, the reference.
//!
//! Invariant: each side's answer is compared with the reference before it is timed; a wrong one ends the benchmark.

use std::hint::black_box;

use countersign_dtype::Array;
use countersign_kernels::Variant;
use countersign_kernels::engine::{EngineEnd, Policy};
use countersign_kernels::rpa::bind::bind;
use countersign_reference::{Profile, Reference};
use countersign_reports::Times;

use super::super::console::Failure;
use super::clock::{Side, smallest};
use super::native::{Native, Tiles};
use super::parts::{Part, Parts};
use super::subjects::Subjects;
use super::{sanitizers, unsound};
use crate::campaign::Subject;
use crate::case::Case;
use crate::compare::compare;

/// Times `case` of the loaded variant at `position`.
pub(super) fn time(
    subjects: &Subjects,
    position: usize,
    case: &Case,
    parts: Parts,
) -> Result<Times, Failure> {
    let variant = &subjects.loaded.variants()[position];
    let batch = case.batch(variant).map_err(|error| unsound(error.to_string()))?;
    let bound = bind(variant, &batch);
    let model = variant.family.model();
    let mut reference = Reference::default();
    model.reference(&mut reference, variant, &batch, &Profile::EXACT);

    let on = Policy::default();
    let mut engine = subjects.loaded.engine(position);
    let run = engine.run(&batch, &bound, &on);
    match (&run.end, &run.output) {
        (EngineEnd::Finished, Some(output)) => check("the VM", variant, output, &run.undefined, &reference)?,
        (end, _) => return Err(unsound(format!("{}: a kept case doesn't end: {end:?}", variant.name))),
    }
    let mut natives = [None, None];
    if parts.has(Part::Native) {
        natives = [Tiles::Whole, Tiles::Filled].map(|tiles| Native::new(variant, tiles));
    }
    for native in natives.iter_mut().flatten() {
        check("the native version", variant, &native.run(&batch), &[], &reference)?;
    }
    let mut unwatched = subjects.loaded.engine(position);
    let off = if parts.has(Part::Sanitizers) { sanitizers::all_off() } else { None };

    let mut times = Times::default();
    let [whole, filled] = &mut natives;
    let (batch, bound, on) = (&batch, &bound, &on);
    let mut sides: Vec<(&mut Option<f64>, Side<'_>)> =
        vec![(&mut times.vm_ms, Box::new(|| drop(black_box(engine.run(batch, bound, on)))))];
    if parts.has(Part::Interpreter) {
        let new = || subjects.loaded.engine_from_text(position);
        sides.push((&mut times.vm_new_ms, Box::new(move || drop(black_box(new().run(batch, bound, on))))));
    }
    if let Some(off) = off {
        let run = move || drop(black_box(unwatched.run(batch, bound, &off)));
        sides.push((&mut times.vm_unwatched_ms, Box::new(run)));
    }
    if let Some(native) = whole {
        sides.push((&mut times.native_ms, Box::new(|| drop(black_box(native.run(batch))))));
    }
    if let Some(native) = filled {
        sides.push((&mut times.native_filled_ms, Box::new(|| drop(black_box(native.run(batch))))));
    }
    if parts.has(Part::Reference) {
        let run = || {
            model.reference(&mut reference, variant, batch, &Profile::EXACT);
            black_box(&reference);
        };
        sides.push((&mut times.reference_ms, Box::new(run)));
    }
    let (slots, mut runs): (Vec<_>, Vec<_>) = sides.into_iter().unzip();
    for (slot, ms) in slots.into_iter().zip(smallest(&mut runs)) {
        *slot = Some(ms);
    }
    drop(runs);
    Ok(times)
}

fn check(
    side: &str,
    variant: &Variant,
    output: &Array,
    undefined: &[std::ops::Range<usize>],
    reference: &Reference,
) -> Result<(), Failure> {
    let comparison = compare(output, undefined, reference);
    match comparison.worst {
        None => Ok(()),
        Some(worst) => Err(unsound(format!("{}: {side} is wrong at {worst}", variant.name))),
    }
}
