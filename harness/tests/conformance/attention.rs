//! The real kernel on kept batches over all variants, in the VM and in JAX's own TPU interpreter.
//!
//! Classes of difference, and why they are there:
//! - exp and tanh: the VM calls a pure-Rust libm, the interpreter XLA's vectorised polynomials; each within its own ulps (JAX's
//!   published tables give 1.5 and 5 for the CPU).
//! - the order in which a row's weights are summed: MLIR leaves it open; the VM's is stated in `ops/reduce.rs`.
//! - matrix products: both are chains of fused multiply-adds with k ascending, but XLA may split long ones.
//!   Where q·k is large (common offsets, saturated scores) exp turns that rounding into many ulps of the weights; the bound
//!   knows it (eta), so such batches show large ulps and small r.
//! - denormals: XLA's CPU code flushes them, the VM keeps them (profile `exact`); the interpreter's side of the bound flushes.
//! - bf16 outputs: where the f32 values straddle a rounding boundary, one step of bf16.
//!
//! Invariant: the two share no code; every difference stays below the elementwise bound that both must keep.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use countersign::campaign::Subject;
use countersign::generate::{Generated, generate};
use countersign::payload::Pattern;
use countersign_dtype::{Array, DType};
use countersign_kernels::Variant;
use countersign_kernels::call::Call;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{EngineEnd, Policy};
use countersign_kernels::rpa::bind::{Role, bind};
use countersign_kernels::rpa::facts;
use countersign_kernels::worker::{InterpretOptions, Interpreted, Worker};
use countersign_reference::{Batch, Blocking, Profile, RowStatus, attend};

use crate::kernel::{Kernel, real};
use crate::page::{self, Section};

/// More cases than one a variant are for those who have the minutes: the interpreter takes seconds for a new shape.
fn cases(variants: usize) -> usize {
    match std::env::var("COUNTERSIGN_INTERPRETER_CASES") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => variants,
    }
}

/// Element types of q and of the cache, and whether the payload is of denormals: apart, since XLA's CPU code flushes those,
/// so that such batches differ by whole values.
type Kind = (DType, DType, bool);

/// Largest differences over the batches of one kind.
#[derive(Debug, Default)]
struct Difference {
    cases: usize,
    elements: usize,
    differing: usize,
    /// Of |VM - interpreter| in ulps of sum p|v|.
    ulps: f64,
    /// Of |VM - interpreter| over the sum of both bounds.
    of_bound: f64,
    /// Of each side's own error over the bound.
    r_vm: f64,
    r_interpreter: f64,
    /// Elements that are further apart than both bounds allow, or that one side gives and the other doesn't.
    unexplained: usize,
}

#[test]
fn kept_cases_agree_within_the_bound() {
    let real = real();
    let kernel = Kernel::unedited();
    let mut worker = Worker::start(&real.environment).unwrap();
    let mut differences: BTreeMap<Kind, Difference> = BTreeMap::new();
    let mut failures = Vec::new();
    let count = cases(real.variants.len());
    // One variant after the other: the interpreter compiles anew when the generation changes.
    let by_variant = |(position, variant)| {
        (position..count).step_by(real.variants.len()).map(move |index| (index, position, variant))
    };
    for (index, position, variant) in real.variants.iter().enumerate().flat_map(by_variant) {
        let one = std::slice::from_ref(variant);
        let generated = generate(40, index as u64, &real.kernel.id, one, Some(Keeping::Kept));
        let kind = (variant.q_dtype, variant.kv_dtype, generated.tags.pattern == Pattern::Denormal);
        let difference = differences.entry(kind).or_default();
        difference.cases += 1;
        if let Err(error) = compare(&kernel, position, variant, &generated, &mut worker, difference) {
            let pattern = generated.tags.pattern.name();
            failures.push(format!("case {index} ({}, {pattern}): {error}", variant.name));
        }
    }
    assert!(failures.is_empty(), "{} cases differ:\n{}", failures.len(), failures.join("\n"));
    for (kind, difference) in &differences {
        assert!(difference.elements > 0, "{kind:?}");
        assert!(difference.r_vm <= 1.0 && difference.r_interpreter <= 1.0, "{kind:?}: {difference:?}");
    }
    for variant in &real.variants {
        let kind = (variant.q_dtype, variant.kv_dtype, false);
        assert!(differences.contains_key(&kind), "{kind:?} was never compared outside of denormals");
    }
    page::publish(Section::Attention, &table(&differences));
}

/// Runs one case on both sides and adds it to `difference`; `Err` describes the first unexplained element.
fn compare(
    kernel: &Kernel,
    position: usize,
    variant: &Variant,
    generated: &Generated,
    worker: &mut Worker,
    difference: &mut Difference,
) -> Result<(), String> {
    let real = real();
    let batch = generated.case.batch(variant).unwrap();
    let bound = bind(variant, &batch);
    let run = kernel.engine(position).run(&batch, &bound, &Policy::default());
    let values: Vec<(&str, &Array)> =
        Role::ALL.iter().map(|&role| (role.name(), &*bound[role as usize].array)).collect();
    let entry_point = format!("{}:{}", real.kernel.python.module, real.kernel.python.entry_point);
    let call = Call::of(&entry_point, variant);
    let answer = worker.interpret(&call, &values, InterpretOptions::default()).unwrap();
    let (vm, interpreted) = match (run.end, run.output, answer) {
        (EngineEnd::Finished, Some(vm), Interpreted::Ran { mut outputs, .. }) => (vm, outputs.remove(0)),
        (end, _, answer) => {
            difference.unexplained += 1;
            let answer = match answer {
                Interpreted::Ran { .. } => "ran".to_owned(),
                Interpreted::Raised(refusal) => format!("raised {refusal:?}"),
            };
            return Err(format!("the VM ended with {end:?}, the interpreter {answer}"));
        }
    };

    let blocking = Blocking { kv_per_block: facts::kv_block(variant).unwrap(), weights: DType::F32 };
    let reference = attend(&batch, &variant.options, &blocking, &Profile::EXACT);
    let xla = Profile { flush_denormals: true, exp_ulp: 1.5, tanh_ulp: 5.0, ..Profile::EXACT };
    let flushed = attend(&batch, &variant.options, &blocking, &xla);
    let magnitude = attend(&absolute_v(&batch), &variant.options, &blocking, &Profile::EXACT);
    let width = variant.q_heads * variant.head_dim;
    let mut unexplained = None;
    for (row, status) in reference.rows.iter().enumerate() {
        let RowStatus::Value { .. } = status else { continue };
        for element in row * width..(row + 1) * width {
            let (a, b) = (f64::from(vm.get_f32(element)), f64::from(interpreted.get_f32(element)));
            let (value, limit) = (reference.values[element], reference.bounds[element]);
            let interpreter_limit = flushed.bounds[element];
            difference.elements += 1;
            difference.differing += usize::from(a.to_bits() != b.to_bits());
            let apart = (a - b).abs();
            // A NaN on either side is never within.
            let within = apart <= limit + interpreter_limit;
            if !within {
                difference.unexplained += 1;
                unexplained.get_or_insert_with(|| {
                    format!(
                        "row {row}, element {element}: VM {a:e}, interpreter {b:e}, reference {value:e} within {limit:e} \
                         and {interpreter_limit:e}"
                    )
                });
                continue;
            }
            let scale = magnitude.values[element].max(f64::from(f32::MIN_POSITIVE));
            let ulp = 2f64.powi(scale.log2().floor() as i32 - 23);
            difference.ulps = difference.ulps.max(apart / ulp);
            difference.of_bound = difference.of_bound.max(apart / (limit + interpreter_limit));
            difference.r_vm = difference.r_vm.max((a - value).abs() / limit);
            difference.r_interpreter = difference.r_interpreter.max((b - value).abs() / interpreter_limit);
        }
    }
    unexplained.map_or(Ok(()), Err)
}

fn table(differences: &BTreeMap<Kind, Difference>) -> String {
    let mut text = String::from(
        "| q | KV | payload | cases | elements | differing | largest difference, ulps of sum p\\|v\\| | over both bounds \
         | r of the VM | r of the interpreter | unexplained |\n\
         |---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut total = Difference::default();
    for ((q, kv, denormal), of) in differences {
        let payload = if *denormal { "denormals" } else { "others" };
        let _ = writeln!(text, "| {} | {} | {payload} | {} |", q.name(), kv.name(), row(of));
        total.cases += of.cases;
        total.elements += of.elements;
        total.differing += of.differing;
        total.unexplained += of.unexplained;
        for (largest, value) in [
            (&mut total.ulps, of.ulps),
            (&mut total.of_bound, of.of_bound),
            (&mut total.r_vm, of.r_vm),
            (&mut total.r_interpreter, of.r_interpreter),
        ] {
            *largest = largest.max(value);
        }
    }
    let _ = writeln!(text, "| all | | | {} |", row(&total));
    text
}

fn row(of: &Difference) -> String {
    format!(
        "{} | {} | {} | {:.3} | {:.4} | {:.4} | {:.4} | {}",
        of.cases, of.elements, of.differing, of.ulps, of.of_bound, of.r_vm, of.r_interpreter, of.unexplained
    )
}

/// The batch with |v| for v, whose attention is sum p|v|.
fn absolute_v(batch: &Batch) -> Batch {
    let mut batch = batch.clone();
    let (heads, width) = (batch.kv_pages.shape[2], batch.kv_pages.shape[3]);
    for element in 0..batch.kv_pages.len() {
        if element / width % heads % 2 == 1 {
            let value = batch.kv_pages.get_f32(element);
            batch.kv_pages.set_f32(element, value.abs());
        }
    }
    batch
}
