//! Reading one head's keys and values through the page table, as the matmuls see them.
//!
//! With a scale, the stored value is widened to f32, multiplied by the scale in f32, and rounded to q's type: that is the
//! kernel's definition of its cache, bit for bit, so it is no source of error. Without, the stored value is taken as it is.
//!
//! Invariant: reads slots that the sequence owns, and no other.

use countersign_dtype::{DType, read_f32, round_to};

use crate::lanes::{LANES, Lanes, fill_lanes, groups};
use crate::ragged::Sequence;
use crate::{Batch, Options, Shape, paging};

/// The type in which keys (or values) enter the matmul.
pub(crate) fn operand_dtype(batch: &Batch, scale: Option<f32>) -> DType {
    if scale.is_some() { batch.q.dtype } else { batch.kv_pages.dtype }
}

/// Keys and values of one sequence and KV head, in groups of lanes. Every value is exact in f64.
#[derive(Debug, Default)]
pub(crate) struct HeadCache {
    /// `[kv_len, groups]`: a key's groups lie together, since scores run over elements.
    pub(crate) keys: Vec<Lanes>,
    /// `[groups, kv_len]`: a group's keys lie together, since outputs run over keys.
    pub(crate) values: Vec<Lanes>,
    stored: Vec<f32>,
}

impl HeadCache {
    /// Gathers the head's cache. The sequence's pages must all be in range. Says whether every value is finite.
    pub(crate) fn gather(
        &mut self,
        batch: &Batch,
        shape: &Shape,
        options: &Options,
        sequence: &Sequence,
        kv_head: usize,
    ) -> bool {
        let groups = groups(shape.head_dim);
        self.keys.resize(groups * sequence.kv_len, [0.0; LANES]);
        self.values.resize(groups * sequence.kv_len, [0.0; LANES]);
        self.stored.resize(shape.head_dim, 0.0);
        let pages = paging::pages_in_use(&batch.metadata, sequence.index, sequence.kv_len, shape.page_size);
        let slots = pages.iter().flat_map(|&page| {
            let first = page as usize * shape.page_size;
            first..first + shape.page_size
        });
        let mut finite = true;
        for (index, slot) in slots.take(sequence.kv_len).enumerate() {
            let key = (slot * 2 * shape.kv_heads + 2 * kv_head) * shape.head_dim;
            finite &= self.read_stored(batch, key, options.k_scale);
            fill_lanes(&self.stored, &mut self.keys[index * groups..(index + 1) * groups]);
            finite &= self.read_stored(batch, key + shape.head_dim, options.v_scale);
            fill_lanes(&self.stored, self.values[index..].iter_mut().step_by(sequence.kv_len));
        }
        finite
    }

    /// Reads `head_dim` elements of the cache from element `first` on, as the matmul sees them.
    fn read_stored(&mut self, batch: &Batch, first: usize, scale: Option<f32>) -> bool {
        read_f32(batch.kv_pages.dtype, &batch.kv_pages.bytes, first, &mut self.stored);
        if let Some(scale) = scale {
            for value in &mut self.stored {
                *value = round_to(batch.q.dtype, *value * scale);
            }
        }
        self.stored.iter().all(|value| value.is_finite())
    }
}
