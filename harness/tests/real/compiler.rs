//! The TPU's own compiler on the real kernel. Ignored: it needs `countersign setup --with-libtpu`, whose terms a person must accept.

use std::time::Duration;

use countersign_kernels::Generation;
use countersign_kernels::call::Call;
use countersign_kernels::compile::{Compilation, Effort, Stage, compile_calls};
use countersign_kernels::env::Silent;
use countersign_kernels::export::NamedCall;

use crate::real;

#[test]
#[ignore = "needs libtpu: `countersign setup --with-libtpu`"]
fn the_compiler_takes_what_it_took_and_names_what_it_refuses() {
    let real = real();
    let libtpu = real.environment.libtpu().expect("`countersign setup --with-libtpu` first");
    let entry_point = real.kernel.python.call();
    let calls: Vec<NamedCall> = ["bf16-q4-kv4", "f32-f8e4m3fn-q4-kv2-window"]
        .into_iter()
        .flat_map(|name| Generation::ALL.map(|generation| (name, generation)))
        .map(|(name, generation)| {
            let mut variant = real.kernel.variant(name).unwrap().clone();
            variant.generation = generation;
            NamedCall {
                name: format!("{name} on {}", generation.name()),
                call: Call::of(&entry_point, &variant),
            }
        })
        .collect();
    let effort = Effort { jobs: 2, time_limit: Duration::from_secs(300) };
    let ask = || compile_calls(&real.environment, &libtpu, &calls, effort, &Silent, &|_| {}).unwrap();
    let answers = ask();
    for (call, answer) in calls.iter().zip(&answers) {
        match (call.name.as_str(), answer) {
            (
                "f32-f8e4m3fn-q4-kv2-window on v4",
                Compilation::Refused { by: Stage::Compiler, refusal, .. },
            ) => {
                assert!(refusal.message.contains("Unsupported matmul RHS type"), "{refusal}");
            }
            (_, Compilation::Compiled { code_bytes, .. }) => assert!(*code_bytes > 0, "{}", call.name),
            (name, other) => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(ask(), answers, "what is kept is what was said");
}
