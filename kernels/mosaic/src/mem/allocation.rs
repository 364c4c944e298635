//! An allocation: bytes, a shadow that says which of them are undefined, and its logical shape.
//!
//! Invariant: `shadow.len() == bytes.len()`; a shadow byte of 0 means defined, bit 0 (bit 1) means that the low (high)
//! nibble isn't. For types of a byte and more both bits go together. Semaphores have no bytes, only `counts`.

use std::ops::Range;

use countersign_dtype::{Array, DType};

use crate::ir::MemorySpace;
use crate::value::Dims;

/// Both nibbles undefined.
pub(crate) const UNDEFINED: u8 = 3;

/// Memory of one operand, window, output or scratch buffer.
#[derive(Debug, Clone)]
pub(crate) struct Allocation {
    /// What a person should call it: `kv_pages`, `scratch 0`, `window of output 0`.
    pub(crate) label: String,
    pub(crate) space: MemorySpace,
    pub(crate) dtype: DType,
    pub(crate) dims: Dims,
    pub(crate) bytes: Vec<u8>,
    pub(crate) shadow: Vec<u8>,
    /// Bytes that each semaphore has received and not yet given; empty for data.
    pub(crate) counts: Vec<i64>,
}

impl Allocation {
    /// Undefined memory.
    pub(crate) fn undefined(label: String, space: MemorySpace, dtype: DType, dims: Dims) -> Allocation {
        let len = Array::byte_len(dtype, dims.len());
        Allocation {
            label,
            space,
            dtype,
            dims,
            bytes: vec![0; len],
            shadow: vec![UNDEFINED; len],
            counts: Vec::new(),
        }
    }

    /// Semaphores at zero.
    pub(crate) fn semaphores(label: String, dims: Dims) -> Allocation {
        let mut allocation = Allocation::undefined(label, MemorySpace::Semaphore, DType::I32, Dims::ones(0));
        allocation.dims = dims;
        allocation.bytes.clear();
        allocation.shadow.clear();
        allocation.counts = vec![0; dims.len()];
        allocation
    }

    /// Back to undefined memory, or to semaphores at zero.
    pub(crate) fn reset(&mut self) {
        self.shadow.fill(UNDEFINED);
        self.counts.fill(0);
    }

    /// Takes an operand's values; `undefined` are element ranges that nobody may rely on.
    pub(crate) fn fill(&mut self, array: &Array, undefined: &[Range<usize>]) {
        self.bytes.copy_from_slice(&array.bytes);
        self.shadow.fill(0);
        for range in undefined {
            self.mark(range.clone(), true);
        }
    }

    /// Marks elements as undefined or defined.
    pub(crate) fn mark(&mut self, elements: Range<usize>, undefined: bool) {
        let value = if undefined { UNDEFINED } else { 0 };
        match self.dtype.bits() {
            4 => {
                for element in elements {
                    let bit = 1 << (element % 2);
                    let shadow = &mut self.shadow[element / 2];
                    *shadow = if undefined { *shadow | bit } else { *shadow & !bit };
                }
            }
            bits => self.shadow[elements.start * bits / 8..elements.end * bits / 8].fill(value),
        }
    }

    /// Element ranges that are undefined, sorted and disjoint.
    pub(crate) fn undefined_ranges(&self) -> Vec<Range<usize>> {
        let elements = self.dims.len();
        let bits = self.dtype.bits();
        let undefined = |element: usize| match bits {
            4 => self.shadow[element / 2] >> (element % 2) & 1 != 0,
            _ => {
                let width = bits.div_ceil(8);
                self.shadow[element * width..(element + 1) * width].iter().any(|&byte| byte != 0)
            }
        };
        let mut ranges: Vec<Range<usize>> = Vec::new();
        if self.shadow.iter().fold(0, |seen, &byte| seen | byte) == 0 {
            return ranges;
        }
        for element in (0..elements).filter(|&element| undefined(element)) {
            match ranges.last_mut() {
                Some(last) if last.end == element => last.end += 1,
                _ => ranges.push(element..element + 1),
            }
        }
        ranges
    }
}
