//! The VM, the reference and JAX's interpreter on the same kept cases, one thread, in one run: times and ratios.
//!
//! Invariant: each side is timed on exactly the same batches; the smallest of several runs counts for VM and reference,
//! and for the interpreter the second run of a shape (its first, with tracing, is shown beside it).

#![allow(clippy::unwrap_used, reason = "a bench that can't run may stop")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use countersign::generate::generate;
use countersign_dtype::{Array, DType};
use countersign_kernels::call::Call;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::engine::{Engine, VmEngine};
use countersign_kernels::env::{Environment, Silent};
use countersign_kernels::export::export;
use countersign_kernels::rpa::bind::{Role, bind};
use countersign_kernels::rpa::contract::Keeping;
use countersign_kernels::rpa::facts;
use countersign_kernels::worker::{InterpretOptions, Worker};
use countersign_mosaic::{Program, parse};
use countersign_reference::{Blocking, Profile, attend};

const REPEATS: usize = 9;

fn smallest(mut run: impl FnMut()) -> Duration {
    let timed = (0..REPEATS).map(|_| {
        let start = Instant::now();
        run();
        start.elapsed()
    });
    timed.min().unwrap()
}

fn once(run: impl FnOnce()) -> Duration {
    let start = Instant::now();
    run();
    start.elapsed()
}

fn main() {
    let environment = Environment::open(None, None, &Silent).unwrap();
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel("jax-rpa").unwrap();
    let variants: Vec<_> = kernel.variants(Tier::Small).cloned().collect();
    let entry_point = format!("{}:{}", kernel.python.module, kernel.python.entry_point);
    let exported = export(&environment, &entry_point, &variants, &Silent).unwrap();
    let mut worker = Worker::start(&environment).unwrap();
    println!(
        "{:<24} {:>8} {:>10} {:>12} {:>12} {:>9} {:>9}",
        "variant", "VM ms", "ref. ms", "interp. ms", "first ms", "interp/VM", "ref./VM"
    );
    let (mut to_interpreter, mut to_reference) = (Vec::new(), Vec::new());
    for (variant, exported) in variants.iter().zip(exported) {
        let exported = exported.unwrap();
        let program = Program::lower(&parse(&exported.mlir).unwrap(), 1).unwrap();
        let mut engine = VmEngine::new(Arc::new(program), &exported.manifest, variant).unwrap();
        // The longest of a few kept cases: small ones measure only the set-up.
        let batch = (0..8)
            .map(|index| {
                generate(7, index, &kernel.id, std::slice::from_ref(variant), Some(Keeping::Kept)).case
            })
            .max_by_key(|case| {
                case.metadata.kv_lens.iter().map(|&len| i64::from(len).clamp(0, 1000)).sum::<i64>()
            })
            .unwrap()
            .batch(variant)
            .unwrap();
        let bound = bind(variant, &batch);
        let vm = smallest(|| drop(black_box(engine.run(&batch, &bound))));
        let blocking = Blocking { kv_per_block: facts::kv_block(variant).unwrap(), weights: DType::F32 };
        let reference =
            smallest(|| drop(black_box(attend(&batch, &variant.options, &blocking, &Profile::EXACT))));
        let call = Call::ragged_paged_attention(&entry_point, variant);
        let values: Vec<(&str, &Array)> =
            Role::ALL.iter().map(|&role| (role.name(), &*bound[role as usize].array)).collect();
        let mut interpret =
            || once(|| drop(worker.interpret(&call, &values, InterpretOptions::default()).unwrap()));
        let first = interpret();
        let warm = interpret().min(interpret());
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        to_interpreter.push(ms(warm) / ms(vm));
        to_reference.push(ms(reference) / ms(vm));
        println!(
            "{:<24} {:>8.3} {:>10.3} {:>12.0} {:>12.0} {:>9.0} {:>9.2}",
            variant.name,
            ms(vm),
            ms(reference),
            ms(warm),
            ms(first),
            ms(warm) / ms(vm),
            ms(reference) / ms(vm)
        );
    }
    for (name, ratios) in [("interpreter / VM", &to_interpreter), ("reference / VM", &to_reference)] {
        let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
        let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        println!("{name}: geometric mean {mean:.1}, smallest {least:.1}");
    }
}
