//! Integers have no NaN, so that poison in an integer cache is a value like any other. Hence a second run with other values
//! wherever the batch owns nothing: what it owns must come out the same, bit for bit.

use countersign::campaign::Subject;
use countersign::generate::generate;
use countersign_kernels::contract::Keeping;
use countersign_kernels::engine::{EngineEnd, Policy};
use countersign_kernels::rpa::bind::{Role, bind, owned_output};

use crate::{Kernel, real};

const CASES: u64 = 40;

#[test]
fn what_an_integer_cache_holds_elsewhere_changes_no_owned_bit() {
    let (real, kernel) = (real(), Kernel::unedited());
    let mut compared = 0;
    for (position, variant) in real.variants.iter().enumerate() {
        if variant.kv_dtype.is_float() {
            continue;
        }
        let mut engine = kernel.engine(position);
        for index in 0..CASES {
            let case =
                generate(5, index, &real.kernel.id, std::slice::from_ref(variant), Some(Keeping::Kept)).case;
            let mut batch = case.batch(variant).unwrap();
            let mut outputs = Vec::new();
            for sentinel in [None, Some(1.0), Some(-3.0)] {
                let undefined = bind(variant, &batch)[Role::KvPages as usize].undefined.clone();
                for element in sentinel.iter().flat_map(|_| undefined.iter().cloned()).flatten() {
                    batch.kv_pages.set_f32(element, sentinel.unwrap_or_default());
                }
                let run = engine.run(&batch, &bind(variant, &batch), &Policy::default());
                assert_eq!(run.end, EngineEnd::Finished, "{}, case {index}", variant.name);
                let output = run.output.unwrap();
                let owned = owned_output(variant, &batch.metadata);
                let width = variant.q_dtype.bits() / 8;
                outputs.push(output.bytes[owned.start * width..owned.end * width].to_vec());
            }
            assert!(outputs.windows(2).all(|pair| pair[0] == pair[1]), "{}, case {index}", variant.name);
            compared += 1;
        }
    }
    assert!(compared >= 6 * CASES, "the catalogue has at least six variants with integers");
}
