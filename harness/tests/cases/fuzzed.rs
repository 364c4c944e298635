//! What the fuzz targets call, with an engine that never ends.

use countersign::campaign::Subject;
use countersign::case::MAGIC;
use countersign::fuzzing::{Fuzzer, Tally, crossed, decode, mutated, structural};
use countersign::generate::generate;
use countersign::known::KnownFile;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_reference::Batch;
use proptest::prelude::*;

use crate::samples;

/// The catalogue's variants without their kernel.
struct Endless {
    kernel: KernelEntry,
    variants: Vec<Variant>,
}

struct NeverEnds;

impl Engine for NeverEnds {
    fn run(&mut self, _: &Batch, _: &[Bound<'_>; 6], _: &Policy) -> EngineRun {
        EngineRun { output: None, undefined: Vec::new(), end: EngineEnd::OutOfFuel, fuel_used: 0 }
    }

    fn coverage(&self) -> &[u64] {
        &[]
    }
}

impl Subject for Endless {
    fn kernel(&self) -> &KernelEntry {
        &self.kernel
    }

    fn variants(&self) -> &[Variant] {
        &self.variants
    }

    fn engine(&self, _: usize) -> Box<dyn Engine> {
        Box::new(NeverEnds)
    }
}

#[test]
fn inputs_are_cases_and_a_hang_is_a_finding() {
    let kernel = Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone();
    let variants: Vec<Variant> = kernel.variants(Tier::Small).cloned().collect();
    let mut named = samples::case();
    named.variant = countersign::case::VariantRef::Named("no such".to_owned());
    let binary = named.to_bytes().unwrap();
    assert_eq!(decode(&binary, "jax-rpa", &variants), Some(named));
    assert_eq!(decode(MAGIC, "jax-rpa", &variants), None);

    let mut fuzzer = Fuzzer::new(Box::new(Endless { kernel, variants }), KnownFile::default());
    assert!(fuzzer.one_input(&binary, &mut []).is_none());
    // No bytes: the first choice of everything, a kept batch; this engine never ends.
    let (case, findings) = fuzzer.one_input(&[], &mut []).unwrap();
    assert_eq!(case.metadata.num_seqs, 1);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!(fuzzer.tally(), Tally { decoded: 1, rejected: 1, known: 0 });
}

fn small_tier() -> (KernelEntry, Vec<Variant>) {
    let kernel = Catalogue::builtin().unwrap().kernel("jax-rpa").unwrap().clone();
    let variants = kernel.variants(Tier::Small).cloned().collect();
    (kernel, variants)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However long a line of descent, its cases fit their variants and survive the binary form.
    #[test]
    fn mutants_and_crosses_are_cases(seed: u64, index in 0u64..1000, steps in 1u64..30) {
        let (kernel, variants) = small_tier();
        let start = |index| generate(seed, index, &kernel.id, &variants, None).case;
        let (mut case, other) = (start(index), start(index + 1));
        for step in 0..steps {
            let next = mutated(&case, &variants, seed ^ step);
            prop_assert_eq!(&next, &mutated(&case, &variants, seed ^ step));
            case = if step % 5 == 4 { crossed(&next, &other, &variants, step) } else { next };
            prop_assert!(case.check(case.variant(&variants).unwrap()).is_ok());
            let bytes = case.to_bytes().unwrap();
            prop_assert_eq!(&decode(&bytes, &kernel.id, &variants), &Some(case.clone()));
        }
    }
}

#[test]
fn nearly_every_mutation_changes_the_case() {
    let (kernel, variants) = small_tier();
    let mut same = 0;
    for seed in 0..1000 {
        let case = generate(1, seed, &kernel.id, &variants, None).case;
        same += u64::from(mutated(&case, &variants, seed) == case);
    }
    println!("{same} of 1000 mutations change nothing");
    assert!(same < 150, "{same}");
}

#[test]
fn the_ports_words_show_nothing_new_on_generated_cases() {
    let (kernel, variants) = small_tier();
    let known = KnownFile::builtin().unwrap();
    for index in 0..5000 {
        let case = generate(3, index, &kernel.id, &variants, None).case;
        let new = structural(&case, &kernel, &variants, &known).unwrap().0;
        assert!(new.is_empty(), "case {index}: {new:?}");
    }
}
