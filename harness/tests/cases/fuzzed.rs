//! What the fuzz targets call, with an engine that never ends.

use countersign::campaign::Subject;
use countersign::case::MAGIC;
use countersign::fuzzing::{Fuzzer, decode};
use countersign::known::KnownFile;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::{Catalogue, KernelEntry, Tier};
use countersign_kernels::engine::{Engine, EngineEnd, EngineRun, Policy};
use countersign_kernels::rpa::bind::Bound;
use countersign_reference::Batch;

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
    assert!(fuzzer.one_input(&binary).is_none());
    // No bytes: the first choice of everything, a kept batch; this engine never ends.
    let (case, findings) = fuzzer.one_input(&[]).unwrap();
    assert_eq!(case.metadata.num_seqs, 1);
    assert_eq!(findings.len(), 1, "{findings:?}");
}
