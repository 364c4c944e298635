//! The control suite over the real kernel: every variant of the small tier, and some with many kv blocks, which no variant of
//! the catalogue has.
//!
//! `cargo test --release -p countersign --test real controls -- --nocapture` prints the table of largest r; `countersign controls`
//! prints the same for the catalogue's variants, or for a kernel of one's own.
//!
//! Invariant: nothing lies above its bound, nothing is unsupported, and no row's bound is infinite.

use countersign::controls::{Plan, run};
use countersign::loaded::Loaded;
use countersign_kernels::Variant;
use countersign_kernels::catalogue::Tier;
use countersign_kernels::env::Silent;
use countersign_kernels::export::export;

use crate::real;

/// Small kv blocks under a long table.
fn many_blocks() -> Vec<Variant> {
    let long = |base: &str, blocks: usize| {
        let base = real().kernel.variant(base).unwrap().clone();
        Variant {
            name: format!("{}-long", base.name),
            tokens: 24,
            max_seqs: 3,
            pages_per_block: Some(1),
            pages_per_seq: blocks,
            pages: 3 * blocks + 2,
            page_size: 8,
            ..base
        }
    };
    vec![
        long("f32-q4-kv2-page1", 40),
        long("f32-q8-kv1-cap", 40),
        long("bf16-q3-kv1", 40),
        long("bf16-q8-kv2-window-cap", 20),
    ]
}

#[test]
fn controls_stay_at_or_under_their_bounds() {
    let real = real();
    let mut variants: Vec<Variant> = real.kernel.variants(Tier::Small).cloned().collect();
    variants.extend(many_blocks());
    let entry_point = format!("{}:{}", real.kernel.python.module, real.kernel.python.entry_point);
    let exports = export(&real.environment, &entry_point, &variants, &Silent).unwrap();
    let loaded = Loaded::new(&real.kernel, variants, exports, false);
    let failures: Vec<(&Variant, &str)> = loaded.failures().collect();
    assert!(failures.is_empty(), "{failures:?}");

    let controls = run(&loaded, &Plan { seed: 1, rounds: 1, jobs: 2, orders: true });
    println!("{controls}");
    let total = controls.total();
    assert_eq!(controls.alarms, Vec::<String>::new());
    assert_eq!((controls.unsupported, total.vacuous), (0, 0));
    assert!(total.cases >= 2000 && controls.most_blocks >= 40, "{controls}");
    // Every pair of types that the kernel takes.
    let mut types: Vec<String> = real
        .variants
        .iter()
        .map(|variant| format!("{}/{}", variant.q_dtype.name(), variant.kv_dtype.name()))
        .collect();
    types.sort();
    types.dedup();
    assert_eq!(controls.types(), types);
    assert!(total.largest_r > 0.5, "a bound that nothing comes near proves nothing");
}
