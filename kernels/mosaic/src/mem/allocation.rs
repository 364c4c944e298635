//! An allocation: bytes, a shadow that says which elements are undefined, and its logical shape.
//!
//! Invariant: an own shadow has one byte an element, 0 for defined. Operands are lent: their bytes and undefined ranges stay
//! with the caller until the kernel writes to them, which makes a copy first. Semaphores have no bytes, only `counts`.
//! Bytes and shadow are looked at only while no row is `repeated`; [`Allocation::settle`] sees to that.

use std::ops::Range;

use countersign_dtype::{Array, DType};

use crate::fault::{Origin, Place};
use crate::ir::MemorySpace;
use crate::value::Dims;

use crate::simd;

use super::codec;
use super::repeated::{Element, Repeated};
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
    repeated: Repeated,
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
    repeated: Repeated,
}

/// What is wrong with memory at its beginning.
const UNDEFINED: u8 = 1;

impl<'r> Allocation<'r> {
    /// Undefined memory, all zeros, so that a run depends on no other; with `tracked` off all of it counts as defined.
    pub(crate) fn undefined(
        label: String,
        origin: Origin,
        space: MemorySpace,
        dtype: DType,
        dims: Dims,
        tracked: bool,
        buffers: Buffers,
    ) -> Allocation<'r> {
        let Buffers { mut bytes, mut shadow, repeated } = buffers;
        bytes.resize(Array::byte_len(dtype, dims.len()), 0);
        let width = if tracked && dtype.bits() >= 8 { dims.last() } else { 0 };
        let repeated = Repeated::unwritten(dims.len().checked_div(width).unwrap_or(0), width, repeated);
        let shadow = if tracked {
            if repeated.is_empty() {
                shadow.clear();
                bytes.fill(0);
            }
            shadow.resize(dims.len(), UNDEFINED);
            Shadow::Own(shadow)
        } else {
            bytes.fill(0);
            Shadow::Off
        };
        let (bytes, counts) = (Bytes::Own(bytes), Vec::new());
        Allocation { label, origin, space, dtype, dims, bytes, shadow, repeated, counts }
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
        let (dtype, repeated, counts) = (array.dtype, Repeated::default(), Vec::new());
        Allocation { label, origin, space, dtype, dims, bytes, shadow, repeated, counts }
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
            repeated: Repeated::default(),
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
            Shadow::Own(shadow) => {
                if !self.repeated.forget() {
                    shadow.fill(UNDEFINED);
                }
            }
            Shadow::Lent(_) | Shadow::Off => {}
        }
    }

    /// Whether bytes and shadow hold what they should.
    pub(super) fn is_settled(&self) -> bool {
        self.repeated.is_empty()
    }

    /// Writes out the rows that repeat an element, so that bytes and shadow hold what they should.
    pub(crate) fn settle(&mut self) {
        if self.repeated.is_empty() {
            return;
        }
        if let (Bytes::Own(bytes), Shadow::Own(shadow)) = (&mut self.bytes, &mut self.shadow) {
            let (width, dtype) = (self.repeated.width, self.dtype);
            self.repeated.take(|row, rows, Element { raw, undefined }| {
                let (first, count) = (row * width, rows * width);
                shadow[first..first + count].fill(if undefined { UNDEFINED } else { 0 });
                codec::fill_row(dtype, bytes, first, count, raw);
            });
        }
    }

    /// What the rows of a view repeat, if it consists of whole rows that each do.
    pub(super) fn repeated_rows(&self, view: &View, mut f: impl FnMut(Element)) -> bool {
        let width = self.repeated.width;
        if self.repeated.is_empty() || !view.is_of_rows(width) {
            return false;
        }
        let mut all = true;
        view.rows(|offset| match self.repeated.get(offset as usize / width) {
            Some(element) if all => f(element),
            _ => all = false,
        });
        all
    }

    /// Lets rows of a view repeat elements: `f` says which, and nothing for a row that stays. `false`, and nothing done,
    /// unless the view consists of whole rows.
    pub(super) fn repeat_rows(&mut self, view: &View, mut f: impl FnMut() -> Option<Element>) -> bool {
        let width = self.repeated.width;
        if width == 0 || !view.is_of_rows(width) {
            return false;
        }
        view.rows(|offset| {
            if let Some(element) = f() {
                self.repeated.set(offset as usize / width, element);
            }
        });
        true
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        debug_assert!(self.repeated.is_empty());
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Lent(bytes) => bytes,
        }
    }

    /// Bytes and shadow to write to; what was lent is copied first. The shadow is empty where it isn't tracked.
    pub(crate) fn writable(&mut self) -> (&mut [u8], &mut [u8]) {
        self.settle();
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
    #[inline(always)]
    pub(crate) fn uniformly_undefined(&self, first: usize, count: usize) -> Option<bool> {
        match &self.shadow {
            Shadow::Own(shadow) => {
                let row = &shadow[first..first + count];
                let any = row.iter().fold(0, |seen, &byte| seen | byte) != 0;
                let all = any && row.iter().fold(UNDEFINED, |seen, &byte| seen & byte) == UNDEFINED;
                (any == all).then_some(any)
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
        debug_assert!(self.repeated.is_empty());
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
    pub(crate) fn into_bytes(mut self) -> (Vec<u8>, Buffers) {
        self.settle();
        let shadow = match self.shadow {
            Shadow::Own(shadow) => shadow,
            Shadow::Lent(_) | Shadow::Off => Vec::new(),
        };
        match self.bytes {
            Bytes::Own(bytes) => (bytes, Buffers { bytes: Vec::new(), shadow, repeated: self.repeated }),
            Bytes::Lent(bytes) => {
                (bytes.to_vec(), Buffers { bytes: Vec::new(), shadow, repeated: self.repeated })
            }
        }
    }

    /// What a later run can use again.
    pub(crate) fn into_buffers(self) -> Buffers {
        let Bytes::Own(bytes) = self.bytes else { return Buffers::default() };
        let shadow = match self.shadow {
            Shadow::Own(shadow) => shadow,
            Shadow::Lent(_) | Shadow::Off => Vec::new(),
        };
        Buffers { bytes, shadow, repeated: self.repeated }
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
