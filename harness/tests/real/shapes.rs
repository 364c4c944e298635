//! What `rpa/facts.rs` says of a variant's grid and blocks, against the modules that JAX lowered.

use countersign_kernels::rpa::facts;
use countersign_mosaic::Program;

use crate::real;

#[test]
fn grids_and_blocks_are_those_of_the_lowered_modules() {
    let real = real();
    for (variant, module) in real.variants.iter().zip(&real.modules) {
        let program = Program::lower(module, 1).unwrap();
        let [head_blocks, query_blocks] = facts::grid(variant).unwrap();
        assert_eq!(program.grid_steps(), (head_blocks * query_blocks) as u64, "{}", variant.name);
        let blocks = variant.blocks().unwrap();
        let (q_heads, combined) = facts::heads_per_block(variant).unwrap();
        let cache = vec![2, blocks.pages, variant.page_size, combined, variant.head_dim];
        assert!(program.scratch().any(|shape| shape == cache), "{}: no {cache:?}", variant.name);
        let queries = vec![blocks.queries, q_heads, variant.head_dim];
        assert!(program.windows().all(|block| block == queries), "{}: not {queries:?}", variant.name);
    }
}

#[test]
fn the_tuning_table_answers_for_each_generation() {
    let tuned = real().variants.iter().filter(|variant| variant.tuned.is_some());
    let mut generations: Vec<&str> = tuned.map(|variant| variant.generation.name()).collect();
    generations.sort_unstable();
    generations.dedup();
    assert_eq!(generations, ["v4", "v5e", "v5p", "v6e", "v7x"]);
}
