//! What the optimiser leaves of the real kernel: the same answers from half the ops or fewer; and what a machine that ran other
//! cases before makes of one: the same as a new one, undefined bits included.

use countersign::generate::generate;
use countersign_kernels::engine::{Engine, Lowered, Policy, VmEngine};
use countersign_kernels::rpa::bind;
use countersign_mosaic::Program;

use crate::real;

#[test]
fn engines_run_the_optimized_program_which_answers_as_the_plain_one() {
    let real = real();
    let policy = Policy::default();
    for ((variant, exported), module) in real.variants.iter().zip(&real.exported).zip(&real.modules) {
        let program = Program::lower(module, 1).unwrap();
        let lowered = [Lowered::new(program.clone()), Lowered::unoptimized(program)];
        let engine = |form: usize| VmEngine::new(&lowered[form], &exported.manifest, variant).unwrap();
        let (mut quick, mut plain) = (engine(0), engine(1));
        let (mut executed, mut plainly) = (0, 0);
        for index in 0..12 {
            let case = generate(3, index, &real.kernel.id, std::slice::from_ref(variant), None).case;
            let batch = case.batch(variant).unwrap();
            let bound = bind::bind(variant, &batch);
            let fresh = engine(0).run(&batch, &bound, &policy);
            let (mut quick, plain) = (quick.run(&batch, &bound, &policy), plain.run(&batch, &bound, &policy));
            assert_eq!(quick, fresh, "{}, case {index}", variant.name);
            executed += quick.fuel_used;
            plainly += plain.fuel_used;
            quick.fuel_used = plain.fuel_used;
            assert_eq!(quick, plain, "{}, case {index}", variant.name);
        }
        assert!(2 * executed < plainly, "{}: {executed} of {plainly}", variant.name);
    }
}
