//! Time of the reference alone on a small batch: 64 tokens, 4 heads, kv 40, head dimension 128.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::Instant;

use common::{BLOCKING, Extents, PLAIN, Stream};
use countersign_dtype::DType;
use countersign_reference::{Profile, Reference, attend_into, magnitudes};

fn main() {
    for (dtype, kv_heads) in [(DType::F32, 4), (DType::F32, 1), (DType::Bf16, 4)] {
        let extents = Extents {
            tokens: 64,
            q_heads: 4,
            kv_heads,
            head_dim: 128,
            page_size: 8,
            pages_per_seq: 5,
            q_dtype: dtype,
            kv_dtype: dtype,
        };
        let lengths = [(16, 40), (16, 40), (16, 40), (16, 40)];
        let batch = extents.batch(&lengths, &mut Stream(1), &mut |_, _, _, stream| stream.normal());
        let options = countersign_reference::Options { sm_scale: 0.088, ..PLAIN };
        let mut reference = Reference::default();
        let mut best = f64::INFINITY;
        let mut best_magnitudes = f64::INFINITY;
        for _ in 0..200 {
            let start = Instant::now();
            attend_into(&mut reference, &batch, &options, &BLOCKING, &Profile::EXACT);
            best = best.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            std::hint::black_box(magnitudes(&batch, &options));
            best_magnitudes = best_magnitudes.min(start.elapsed().as_secs_f64());
        }
        let (attend, magnitudes) = (best * 1e3, best_magnitudes * 1e3);
        println!("{} 4/{kv_heads} heads: attend {attend:.3} ms, magnitudes {magnitudes:.3} ms", dtype.name());
    }
}
