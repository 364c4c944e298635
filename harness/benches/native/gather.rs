//! One KV block of one head, read through the page table and widened to f32.
//!
//! Types of eight bits and fewer go through a table from a byte to its one or two elements, into which the scale and its
//! rounding are folded.
//!
//! Invariant: slots past the keys asked for are zero, as the kernel's mask makes them.

use std::ops::Range;

use countersign_dtype::{Array, DType, read_f32, round_to};
use countersign_kernels::Variant;
use countersign_reference::Batch;

use super::tile::LINES;
use super::{LANES, Lanes};

/// Keys and values of a block.
#[derive(Debug)]
pub(super) struct Cache {
    /// `[key][element]`, with room for a multiple of [`LINES`] keys.
    pub(super) keys: Vec<f32>,
    /// `[column chunk][key]`, lanes are elements.
    pub(super) values: Vec<Lanes>,
    read_key: Reader,
    read_value: Reader,
    line: Vec<f32>,
    room: usize,
}

impl Cache {
    pub(super) fn new(variant: &Variant, keys_per_block: usize) -> Cache {
        let head_dim = variant.head_dim;
        Cache {
            keys: vec![0.0; keys_per_block.next_multiple_of(LINES) * head_dim],
            values: vec![[0.0; LANES]; keys_per_block * head_dim / LANES],
            read_key: Reader::new(variant, variant.options.k_scale),
            read_value: Reader::new(variant, variant.options.v_scale),
            line: vec![0.0; head_dim],
            room: keys_per_block,
        }
    }

    /// Reads the keys at positions `wanted` of a sequence to the front of the block.
    #[inline(always)]
    pub(super) fn gather(
        &mut self,
        batch: &Batch,
        variant: &Variant,
        sequence: usize,
        kv_head: usize,
        wanted: Range<usize>,
    ) {
        let Variant { page_size, kv_heads, head_dim, .. } = *variant;
        let count = wanted.len();
        let table = &batch.metadata.page_indices[sequence * batch.metadata.pages_per_seq..];
        for (slot, position) in wanted.enumerate() {
            let token = table[position / page_size] as usize * page_size + position % page_size;
            let key = (token * 2 * kv_heads + 2 * kv_head) * head_dim;
            let target = &mut self.keys[slot * head_dim..][..head_dim];
            self.read_key.read(&batch.kv_pages, key, target);
            self.read_value.read(&batch.kv_pages, key + head_dim, &mut self.line);
            let columns = self.values[slot..].iter_mut().step_by(self.room);
            for (target, lanes) in columns.zip(self.line.as_chunks::<LANES>().0) {
                *target = *lanes;
            }
        }
        self.keys[count * head_dim..].fill(0.0);
        for column in self.values.chunks_exact_mut(self.room) {
            column[count..].fill([0.0; LANES]);
        }
    }
}

/// From stored elements to what enters the products.
#[derive(Debug)]
enum Reader {
    /// By byte: all elements of byte 0, then of byte 1, and so on.
    Table(Vec<f32>),
    /// Widened, and scaled and rounded to q's type where there is a scale.
    Widened(Option<(f32, DType)>),
}

impl Reader {
    fn new(variant: &Variant, scale: Option<f32>) -> Reader {
        let scale = scale.map(|scale| (scale, variant.q_dtype));
        let dtype = variant.kv_dtype;
        if dtype.bits() > 8 {
            return Reader::Widened(scale);
        }
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let mut table = vec![0.0; bytes.len() * 8 / dtype.bits()];
        read_f32(dtype, &bytes, 0, &mut table);
        scaled(&mut table, scale);
        Reader::Table(table)
    }

    /// Elements of `array` from `first` on, which is the start of a byte.
    #[inline(always)]
    fn read(&self, array: &Array, first: usize, target: &mut [f32]) {
        match self {
            Reader::Table(table) => {
                let bytes = &array.bytes[Array::byte_len(array.dtype, first)..];
                if let Some(table) = table.first_chunk::<256>().filter(|_| table.len() == 256) {
                    for (value, &byte) in target.iter_mut().zip(bytes) {
                        *value = table[usize::from(byte)];
                    }
                } else {
                    let table = table.as_chunks::<2>().0;
                    for (pair, &byte) in target.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
                        *pair = table[usize::from(byte)];
                    }
                }
            }
            Reader::Widened(scale) => {
                read_f32(array.dtype, &array.bytes, first, target);
                scaled(target, *scale);
            }
        }
    }
}

#[inline(always)]
fn scaled(values: &mut [f32], scale: Option<(f32, DType)>) {
    match scale {
        None => {}
        Some((scale, DType::F32)) => values.iter_mut().for_each(|value| *value *= scale),
        Some((scale, DType::Bf16)) => {
            values.iter_mut().for_each(|value| *value = round_to(DType::Bf16, *value * scale));
        }
        Some((scale, dtype)) => values.iter_mut().for_each(|value| *value = round_to(dtype, *value * scale)),
    }
}
