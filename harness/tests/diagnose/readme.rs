//! What README says of `diagnose`: its snippet dumps a batch out of a jitted function, and its printed page is the real one.
//!
//! Invariant: the text of README is what is run.

use std::path::Path;

use super::dumped::dumps;
use super::{diagnose, python};

/// The block of README of that language after the heading on dumps.
fn block(language: &str) -> String {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let section = readme.split("## A batch that fails in your server").nth(1).unwrap();
    let block = section.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

#[test]
fn the_snippet_dumps_a_batch_from_a_jitted_function() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("serve.py");
    let path = folder.path().join("batch.npz");
    let serve = "
import sys
import jax, jax.numpy as jnp

@jax.jit
def step(q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs):
    dump(sys.argv[1], q, kv_pages, kv_lens, page_indices, cu_q_lens, num_seqs)
    return q * 2

table = jnp.array([[3, 0], [1, 2]], jnp.int32)
q, cache = jnp.ones((8, 8, 128), jnp.bfloat16), jnp.ones((4, 16, 4, 128), jnp.bfloat16)
step(q, cache, jnp.array([5, 29], jnp.int32), table, jnp.array([0, 5, 6], jnp.int32), jnp.array([2], jnp.int32))
jax.effects_barrier()
";
    std::fs::write(&script, block("python") + serve).unwrap();
    python(&[script.to_str().unwrap(), path.to_str().unwrap()]);
    let output = diagnose(&path, &[]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(
        text.contains("the batch is right") && text.contains("q is |V2 in the file, taken for bf16"),
        "{text}"
    );
}

#[test]
fn the_printed_page_is_the_real_one() {
    let (_, file, args, _) = dumps().each().find(|(name, ..)| *name == "lengths-not-sums.npz").unwrap();
    let output = diagnose(&file, &args);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with(&block("text")), "{text}");
}
