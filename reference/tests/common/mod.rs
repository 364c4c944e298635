//! Batches for tests: a small generator of kept batches with aimed payloads, from a seeded stream.

#![allow(dead_code, unreachable_pub)] // shared by test files, each of which uses a part
#![allow(clippy::unwrap_used)] // test code, also where a benchmark uses it

pub mod model;

use countersign_dtype::{Array, DType};
use countersign_reference::{Batch, Blocking, Metadata, Options};

/// A seeded stream of numbers (splitmix64).
pub struct Stream(pub u64);

impl Stream {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In `low..=high`.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        low + (self.next() % (high - low + 1) as u64) as usize
    }

    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.between(0, choices.len() - 1)]
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f32 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        (radius * (std::f64::consts::TAU * self.unit()).cos()) as f32
    }
}

pub const PLAIN: Options = Options {
    sm_scale: 1.0,
    sliding_window: None,
    soft_cap: None,
    mask_value: -0.7 * f32::MAX,
    k_scale: None,
    v_scale: None,
};

pub const BLOCKING: Blocking = Blocking { kv_per_block: 16, weights: DType::F32 };

/// Extents of a batch to be filled.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    pub tokens: usize,
    pub q_heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub page_size: usize,
    pub pages_per_seq: usize,
    pub q_dtype: DType,
    pub kv_dtype: DType,
}

impl Extents {
    /// A kept batch: sequences of (q_len, kv_len), pages shuffled, one spare page; `fill` draws q, K and V elements
    /// (role, key or row, element); what the batch doesn't own is NaN.
    pub fn batch(
        &self,
        lengths: &[(usize, usize)],
        stream: &mut Stream,
        fill: &mut dyn FnMut(Role, usize, usize, &mut Stream) -> f32,
    ) -> Batch {
        let pages = lengths.len() * self.pages_per_seq + 1;
        let mut order: Vec<i32> = (0..pages as i32).collect();
        for last in (1..pages).rev() {
            order.swap(last, stream.between(0, last));
        }
        let page_indices: Vec<i32> = order[..pages - 1].to_vec();
        let mut cu_q_lens = vec![0];
        for &(q_len, _) in lengths {
            cu_q_lens.push(cu_q_lens.last().unwrap() + q_len as i32);
        }
        let total = *cu_q_lens.last().unwrap() as usize;
        assert!(total <= self.tokens);
        let nan = |dtype: DType| if dtype.is_float() { f32::NAN } else { 77.0 };
        let row = self.q_heads * self.head_dim;
        let mut q = vec![nan(self.q_dtype); self.tokens * row];
        for index in 0..total * row {
            q[index] = fill(Role::Query, index / row, index % self.head_dim, stream);
        }
        let slot_len = 2 * self.kv_heads * self.head_dim;
        let mut kv = vec![nan(self.kv_dtype); pages * self.page_size * slot_len];
        for (sequence, &(_, kv_len)) in lengths.iter().enumerate() {
            for key in 0..kv_len {
                let page = page_indices[sequence * self.pages_per_seq + key / self.page_size] as usize;
                let slot = page * self.page_size + key % self.page_size;
                for index in 0..slot_len {
                    let role =
                        if (index / self.head_dim).is_multiple_of(2) { Role::Key } else { Role::Value };
                    kv[slot * slot_len + index] = fill(role, key, index % self.head_dim, stream);
                }
            }
        }
        Batch {
            metadata: Metadata {
                kv_lens: lengths.iter().map(|&(_, kv_len)| kv_len as i32).collect(),
                page_indices,
                pages_per_seq: self.pages_per_seq,
                cu_q_lens,
                num_seqs: lengths.len() as i32,
            },
            q: Array::from_f32(self.q_dtype, &[self.tokens, self.q_heads, self.head_dim], &q),
            kv_pages: Array::from_f32(
                self.kv_dtype,
                &[pages, self.page_size, 2 * self.kv_heads, self.head_dim],
                &kv,
            ),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    Query,
    Key,
    Value,
}

/// A small batch of normal values: two or three sequences, some padding rows.
pub fn normal_batch(seed: u64, dtype: DType) -> Batch {
    let mut stream = Stream(seed);
    let extents = Extents {
        tokens: 16,
        q_heads: 4,
        kv_heads: 2,
        head_dim: stream.pick(&[8, 12, 32]),
        page_size: stream.pick(&[1, 4, 8]),
        pages_per_seq: 24,
        q_dtype: dtype,
        kv_dtype: dtype,
    };
    let lengths: Vec<(usize, usize)> = (0..stream.between(1, 3))
        .map(|_| {
            let q_len = stream.between(1, 5);
            (q_len, q_len + stream.between(0, 18))
        })
        .collect();
    extents.batch(&lengths, &mut stream, &mut |_, _, _, stream| stream.normal())
}
