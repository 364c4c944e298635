//! The yardstick against the reference. Invariant: every variant of the small tier, every pattern; nothing above its bound.

use countersign_dtype::DType;
use countersign_kernels::catalogue::{Catalogue, Tier};
use countersign_kernels::contract::Keeping;
use countersign_kernels::variant::Blocks;
use countersign_reference::{Blocking, Profile, attend};

use super::{Native, Tiles};
use crate::compare::compare;
use crate::generate::generate;

#[test]
fn right_on_kept_batches_of_every_variant() {
    let catalogue = Catalogue::builtin().unwrap();
    let kernel = catalogue.kernel("jax-rpa").unwrap();
    let (mut rows, mut largest) = (0, 0.0f64);
    for variant in kernel.variants(Tier::Small) {
        let mut variant = variant.clone();
        if variant.blocks().is_none() {
            variant.tuned = Some(Blocks { pages: 2, queries: 16 }); // any will do
        }
        let blocking = Blocking {
            kv_per_block: variant.blocks().unwrap().pages * variant.page_size,
            weights: DType::F32,
        };
        for tiles in [Tiles::Whole, Tiles::Filled] {
            let mut native = Native::new(&variant, tiles).unwrap();
            for index in 0..24 {
                let only = std::slice::from_ref(&variant);
                let case = generate(3, index, &kernel.id, only, Some(Keeping::Kept)).case;
                let batch = case.batch(&variant).unwrap();
                let reference = attend(&batch, &variant.options, &blocking, &Profile::EXACT);
                let comparison = compare(&native.run(&batch), &[], &reference);
                assert!(comparison.wrong_rows.is_empty(), "{} case {index}: {comparison:?}", variant.name);
                rows += comparison.compared_rows;
                largest = comparison.largest_right.map_or(largest, |right| largest.max(right.r));
            }
        }
    }
    println!("{rows} rows, largest r {largest:.3}");
    assert!(rows > 10_000, "{rows}");
}
