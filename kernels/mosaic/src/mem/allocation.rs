//! An allocation: bytes, a shadow that says which elements are undefined, and its logical shape.
//!
//! Invariant: an own shadow has one byte an element, 0 for defined. Operands are lent: their bytes and undefined ranges stay
//! with the caller until the kernel writes to them, which makes a copy first. Semaphores have no bytes, only `counts`.

use std::ops::Range;

use countersign_dtype::{Array, DType};

use crate::fault::{Origin, Place};
use crate::ir::MemorySpace;
use crate::value::Dims;

use crate::simd;

use super::view::View;

/// Memory of one operand, window, output or scratch buffer.
#[derive(Debug, Clone)]
pub(crate) struct Allocation<'r> {
    /// What a person should call it: `kv_pages`, `scratch 0`, `window of output 0`.
    pub(crate) label: String,
    pub(crate) origin: Origin,
    pub(crate) space: MemorySpace,
    pub(crate) dtype: DType,
    pub(crate) dims: Dims,
    bytes: Bytes<'r>,
    shadow: Shadow<'r>,
    /// Bytes that each semaphore has received and not yet given; empty for data.
    pub(crate) counts: Vec<i64>,
}

#[derive(Debug, Clone)]
enum Bytes<'r> {
    Own(Vec<u8>),
    Lent(&'r [u8]),
}

#[derive(Debug, Clone)]
enum Shadow<'r> {
    /// One byte an element; 0 is defined.
    Own(Vec<u8>),
    /// Undefined element ranges, sorted and disjoint.
    Lent(&'r [Range<usize>]),
    /// Definedness isn't tracked: all counts as defined.
    Off,
}

/// Buffers of an earlier run, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    bytes: Vec<u8>,
    shadow: Vec<u8>,
}

/// What is wrong with memory at its beginning.
const UNDEFINED: u8 = 1;

impl<'r> Allocation<'r> {
    /// Undefined memory, whose bytes hold whatever `buffers` held before; with `tracked` off all of it counts as defined.
    pub(crate) fn undefined(
        label: String,
        origin: Origin,
        space: MemorySpace,
        dtype: DType,
        dims: Dims,
        tracked: bool,
        buffers: Buffers,
    ) -> Allocation<'r> {
        let Buffers { mut bytes, mut shadow } = buffers;
        bytes.resize(Array::byte_len(dtype, dims.len()), 0);
        let shadow = if tracked {
            shadow.clear();
            shadow.resize(dims.len(), UNDEFINED);
            Shadow::Own(shadow)
        } else {
            bytes.fill(0);
            Shadow::Off
        };
        Allocation { label, origin, space, dtype, dims, bytes: Bytes::Own(bytes), shadow, counts: Vec::new() }
    }

    /// An operand: `undefined` are element ranges that nobody may rely on.
    pub(crate) fn lent(
        label: String,
        space: MemorySpace,
        dims: Dims,
        array: &'r Array,
        undefined: &'r [Range<usize>],
        tracked: bool,
    ) -> Allocation<'r> {
        let shadow = if tracked { Shadow::Lent(undefined) } else { Shadow::Off };
        let bytes = Bytes::Lent(&array.bytes);
        let origin = Origin::Operand;
        Allocation { label, origin, space, dtype: array.dtype, dims, bytes, shadow, counts: Vec::new() }
    }

    /// Semaphores at zero.
    pub(crate) fn semaphores(label: String, dims: Dims) -> Allocation<'r> {
        Allocation {
            label,
            origin: Origin::Scratch,
            space: MemorySpace::Semaphore,
            dtype: DType::I32,
            dims,
            bytes: Bytes::Lent(&[]),
            shadow: Shadow::Off,
            counts: vec![0; dims.len()],
        }
    }

    /// As a fault names it.
    pub(crate) fn place(&self) -> Place {
        Place {
            label: self.label.clone(),
            origin: self.origin,
            dtype: (self.space != MemorySpace::Semaphore).then_some(self.dtype),
            shape: self.dims.as_slice().iter().map(|&extent| extent as usize).collect(),
            space: self.space,
        }
    }

    /// Back to undefined memory.
    pub(crate) fn reset(&mut self) {
        match &mut self.shadow {
            Shadow::Own(shadow) => shadow.fill(UNDEFINED),
            Shadow::Lent(_) | Shadow::Off => {}
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Lent(bytes) => bytes,
        }
    }

    /// Bytes and shadow to write to; what was lent is copied first. The shadow is empty where it isn't tracked.
    pub(crate) fn writable(&mut self) -> (&mut [u8], &mut [u8]) {
        if let Bytes::Lent(bytes) = self.bytes {
            self.bytes = Bytes::Own(bytes.to_vec());
        }
        if let Shadow::Lent(ranges) = self.shadow {
            let mut shadow = vec![0; self.dims.len()];
            ranges.iter().for_each(|range| shadow[range.clone()].fill(UNDEFINED));
            self.shadow = Shadow::Own(shadow);
        }
        let bytes = match &mut self.bytes {
            Bytes::Own(bytes) => bytes.as_mut_slice(),
            Bytes::Lent(_) => &mut [],
        };
        let shadow = match &mut self.shadow {
            Shadow::Own(shadow) => shadow.as_mut_slice(),
            Shadow::Lent(_) | Shadow::Off => &mut [],
        };
        (bytes, shadow)
    }

    /// Whether nothing is undefined, as far as that is known without looking.
    pub(crate) fn is_defined(&self) -> bool {
        matches!(self.shadow, Shadow::Off | Shadow::Lent([]))
    }

    /// Whether any of `count` elements from `first` on, `stride` apart, is undefined.
    #[inline(always)]
    pub(crate) fn any_undefined(&self, first: usize, stride: usize, count: usize) -> bool {
        match &self.shadow {
            Shadow::Off => false,
            Shadow::Own(shadow) if stride == 1 => {
                shadow[first..first + count].iter().fold(0, |seen, &byte| seen | byte) != 0
            }
            Shadow::Own(shadow) => (0..count).any(|i| shadow[first + i * stride] != 0),
            Shadow::Lent([]) => false,
            Shadow::Lent(ranges) if stride == 1 => {
                let next = ranges.partition_point(|range| range.end <= first);
                ranges.get(next).is_some_and(|range| range.start < first + count)
            }
            Shadow::Lent(ranges) => (0..count).any(|i| {
                let element = first + i * stride;
                ranges.iter().any(|range| range.contains(&element))
            }),
        }
    }

    /// Whether all of the elements, at least one, are undefined, or all defined; `None` where some are.
    pub(crate) fn uniformly_undefined(&self, first: usize, count: usize) -> Option<bool> {
        match &self.shadow {
            Shadow::Own(shadow) => {
                let row = &shadow[first..first + count];
                let of_first = row.first().copied().unwrap_or(0);
                let differs = row.iter().fold(0, |seen, &byte| seen | (byte ^ of_first)) != 0;
                (!differs).then_some(of_first != 0)
            }
            Shadow::Lent(_) | Shadow::Off => (!self.any_undefined(first, 1, count)).then_some(false),
        }
    }

    /// Whether any element that the view touches is undefined.
    pub(crate) fn any_undefined_in(&self, view: &View) -> bool {
        let (outer, run, stride) = view.runs();
        let mut any = false;
        simd::widest(
            #[inline(always)]
            || {
                for packed in 0..view.pack {
                    let skip = packed * view.pack_stride as usize;
                    view.outer(outer, |offset| {
                        any = any || self.any_undefined(offset as usize + skip, stride, run);
                    });
                }
            },
        );
        any
    }

    /// Copies the shadow of `count` elements from `first` on to `out`, which may be empty: nothing is tracked there.
    pub(crate) fn shadow_into(&self, first: usize, out: &mut [u8]) {
        match &self.shadow {
            Shadow::Own(shadow) if !out.is_empty() => out.copy_from_slice(&shadow[first..first + out.len()]),
            Shadow::Lent(ranges) => {
                out.fill(0);
                let end = first + out.len();
                let next = ranges.partition_point(|range| range.end <= first);
                for range in ranges[next..].iter().take_while(|range| range.start < end) {
                    out[range.start.max(first) - first..range.end.min(end) - first].fill(UNDEFINED);
                }
            }
            Shadow::Own(_) | Shadow::Off => out.fill(0),
        }
    }

    /// Element ranges that are undefined, sorted and disjoint.
    pub(crate) fn undefined_ranges(&self) -> Vec<Range<usize>> {
        let shadow = match &self.shadow {
            Shadow::Own(shadow) => shadow,
            Shadow::Lent(ranges) => return ranges.to_vec(),
            Shadow::Off => return Vec::new(),
        };
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut at = 0;
        while at < shadow.len() {
            let run = same_run(&shadow[at..]);
            if shadow[at] != 0 {
                ranges.push(at..at + run);
            }
            at += run;
        }
        ranges
    }

    /// The bytes, and the buffers that are left to be used again.
    pub(crate) fn into_bytes(self) -> (Vec<u8>, Buffers) {
        let shadow = match self.shadow {
            Shadow::Own(shadow) => shadow,
            Shadow::Lent(_) | Shadow::Off => Vec::new(),
        };
        match self.bytes {
            Bytes::Own(bytes) => (bytes, Buffers { bytes: Vec::new(), shadow }),
            Bytes::Lent(bytes) => (bytes.to_vec(), Buffers { bytes: Vec::new(), shadow }),
        }
    }

    /// What a later run can use again.
    pub(crate) fn into_buffers(self) -> Buffers {
        match self.bytes {
            Bytes::Own(_) => {
                let (bytes, buffers) = self.into_bytes();
                Buffers { bytes, ..buffers }
            }
            Bytes::Lent(_) => Buffers::default(),
        }
    }
}

/// How many of the first bytes are the same, at least one of a slice that isn't empty; by whole chunks where it goes.
fn same_run(bytes: &[u8]) -> usize {
    let first = bytes.first().copied().unwrap_or_default();
    let chunks = bytes.as_chunks::<64>().0;
    let same = |chunk: &&[u8; 64]| chunk.iter().fold(0, |seen, &byte| seen | (byte ^ first)) == 0;
    let whole = 64 * chunks.iter().take_while(same).count();
    whole + bytes[whole..].iter().take_while(|&&byte| byte == first).count()
}
