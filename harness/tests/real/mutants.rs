//! The mutation engine on the real kernel: every mutant is a kernel, the kernel itself is never called wrong, and most mutants are
//! noticed within few cases.
//!
//! Invariant: the numbers asserted are floors; the score itself is for `countersign mutants` to say.

use std::collections::BTreeSet;

use countersign::campaign::Subject as _;
use countersign::generate::generate;
use countersign::known::KnownFile;
use countersign::loaded::Loaded;
use countersign::mutants::{Fate, Plan, run};
use countersign_kernels::engine::{Lowered, Policy};
use countersign_kernels::rpa::contract::Keeping;
use countersign_kernels::rpa::{bind, facts};
use countersign_mosaic::Program;
use countersign_mosaic::ir::Module;
use countersign_mosaic::mutation::{Mutation, Operator, by_operator, simplified};

use crate::real;

#[test]
fn each_operator_changes_some_op_and_what_it_makes_lowers() {
    let real = real();
    let (mut seen, mut sames) = (BTreeSet::new(), [0, 0]);
    for (variant, module) in real.variants.iter().zip(&real.modules) {
        let all = Mutation::all(module);
        seen.extend(
            by_operator(&all).into_iter().filter(|(_, count)| *count > 0).map(|(operator, _)| operator),
        );
        let unedited = Program::lower(module, 1).unwrap().optimized();
        // A prime step meets every operator and most of the module.
        for mutation in all.iter().step_by(97) {
            let mutant = mutation.of(module).unwrap();
            assert_ne!(mutant, *module, "{}: {mutation:?}", variant.name);
            let program = Program::lower(&mutant, 1).unwrap_or_else(|error| {
                panic!("{}: {mutation:?} of {}: {error}", variant.name, mutation.target(module).unwrap().name)
            });
            // Without a copy, a wait or a store, or with a branch turned round, it can't be the same program.
            let never = [Operator::NoStart, Operator::NoWait, Operator::NoStore, Operator::Branch];
            let same = program.optimized().does_the_same(&unedited);
            assert!(!same || !never.contains(&mutation.operator), "{}: {mutation:?}", variant.name);
            sames[usize::from(same)] += 1;
        }
    }
    println!("{} mutants of another program, {} of the same", sames[0], sames[1]);
    assert!(sames[1] > 0 && sames[1] < sames[0], "{sames:?}");
    let missing: Vec<&str> =
        Operator::ALL.into_iter().filter(|operator| !seen.contains(operator)).map(Operator::name).collect();
    // No variant has a KV block of as many rows as a head has elements.
    assert_eq!(missing, ["transpose"]);
}

#[test]
fn most_mutants_are_noticed_soon_and_threads_do_not_show() {
    let real = real();
    let exports = real.exported.iter().cloned().map(Ok).collect();
    let loaded = Loaded::new(&real.kernel, real.variants.clone(), exports, false);
    let known = KnownFile::builtin().unwrap();
    let plan = Plan { seed: 2, mutants: 54, cases: 60, orders: 6, controls: 72, jobs: 2, known: &known };
    let score = run(&loaded, &plan, &|_, _| {}).unwrap();
    let counts = score.counts();
    println!("{counts:?}, score {:.3}", counts.score());
    assert_eq!(score.alarms, Vec::<String>::new());
    let not_run: Vec<_> = score.mutants.iter().filter(|(_, fate)| matches!(fate, Fate::NotRun(_))).collect();
    assert!(not_run.is_empty(), "{not_run:?}");
    assert!(counts.score() > 0.6, "{counts:?}");
    let one = run(&loaded, &Plan { jobs: 1, ..plan }, &|_, _| {}).unwrap();
    assert_eq!(one, score);
}

#[test]
fn the_simpler_form_of_the_kernel_gives_the_same_rows() {
    let real = real();
    let exports = real.exported.iter().cloned().map(Ok).collect();
    let loaded = Loaded::new(&real.kernel, real.variants.clone(), exports, false);
    let (mut runs, mut smaller) = (0, 0);
    for (position, variant) in loaded.variants().iter().enumerate() {
        let module = loaded.module(position).unwrap();
        let reach = facts::table_reach(variant.page_size, variant.pages_per_seq);
        let once = facts::kv_block(variant).is_some_and(|block| reach <= block);
        let simpler = simplified(&module, once);
        smaller += usize::from(ops(&simpler) < ops(&module));
        let program = Lowered::new(Program::lower(&simpler, loaded.outputs(position)).unwrap());
        let (mut one, mut other) = (loaded.engine(position), loaded.engine_for(position, &program));
        for index in 0..6 {
            let kept = Some(Keeping::Kept);
            let case = generate(3, index, &real.kernel.id, std::slice::from_ref(variant), kept).case;
            let batch = case.batch(variant).unwrap();
            let bound = bind::bind(variant, &batch);
            let [one, other] =
                [&mut one, &mut other].map(|engine| engine.run(&batch, &bound, &Policy::default()));
            assert_eq!((one.output, one.end), (other.output, other.end), "{} case {index}", variant.name);
            runs += 1;
        }
    }
    println!("{runs} runs of {smaller} smaller modules");
    assert_eq!(smaller, loaded.variants().len());
}

fn ops(module: &Module) -> usize {
    let mut count = 0;
    module.walk(|_, _| count += 1);
    count
}
