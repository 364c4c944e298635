//! An allocation: bytes, a shadow that says which elements are undefined, and its logical shape.
//!
//! Invariant: operands are lent: their bytes and undefined ranges stay with the caller until the kernel writes to them, which
//! makes a copy first. Semaphores have no bytes, only `counts`. Bytes are looked at only where no row is kept as the element
//! that it repeats; [`Allocation::settle`] sees to that.

use std::ops::Range;

use countersign_dtype::{Array, DType};

use crate::fault::{Origin, Place};
use crate::ir::MemorySpace;
use crate::simd;
use crate::value::{Dims, Row};

use super::codec;
use super::shadow::{Contents, Element, Shadow};
use super::view::{InRows, View};

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
    defined: Defined<'r>,
    /// The operand whose rows are borrowed; empty if none are.
    lender: &'r [u8],
    /// Bytes that each semaphore has received and not yet given; empty for data.
    pub(crate) counts: Vec<i64>,
}

#[derive(Debug, Clone)]
enum Bytes<'r> {
    Own(Vec<u8>),
    Lent(&'r [u8]),
}

#[derive(Debug, Clone)]
enum Defined<'r> {
    Own(Shadow),
    /// All but these element ranges, sorted and disjoint.
    Lent(&'r [Range<usize>]),
}

/// Buffers of an earlier run, to be used again.
#[derive(Debug, Default)]
pub(crate) struct Buffers {
    bytes: Vec<u8>,
    shadow: Shadow,
}

/// Bytes to write to, and the shadow, which [`Writable::mark`] keeps.
pub(super) struct Writable<'a> {
    contents: Contents<'a>,
    shadow: Option<&'a mut Shadow>,
}

impl Writable<'_> {
    /// To be called before `count` elements from `first` on are written.
    pub(super) fn mark(&mut self, first: usize, count: usize, undefined: Row<'_>) {
        if let Some(shadow) = &mut self.shadow {
            shadow.write(first, count, undefined, &mut self.contents);
        }
    }

    /// [`Writable::mark`] of a whole row.
    pub(super) fn mark_row(&mut self, row: usize, undefined: Row<'_>) {
        if let Some(shadow) = &mut self.shadow {
            shadow.write_row(row, undefined, &mut self.contents);
        }
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        self.contents.own
    }

    /// [`Writable::mark`] with the definedness of as many elements of `from`.
    pub(super) fn mark_like(&mut self, first: usize, count: usize, from: &Allocation<'_>, at: usize) {
        match from.uniformly_undefined(at, count) {
            Some(undefined) => self.mark(first, count, Row::Same(u32::from(undefined))),
            None => {
                // By pieces, so that rows that are one thing stay so.
                let piece = from.dims.last().max(1);
                let mut shadow = vec![0; piece];
                for skip in (0..count).step_by(piece) {
                    let length = piece.min(count - skip);
                    match from.uniformly_undefined(at + skip, length) {
                        Some(undefined) => {
                            self.mark(first + skip, length, Row::Same(u32::from(undefined)));
                        }
                        None => {
                            from.shadow_into(at + skip, &mut shadow[..length]);
                            let masks: Vec<u32> = shadow[..length].iter().map(|&byte| byte.into()).collect();
                            self.mark(first + skip, length, Row::Each(&masks));
                        }
                    }
                }
            }
        }
    }
}

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
        let Buffers { mut bytes, shadow } = buffers;
        bytes.resize(Array::byte_len(dtype, dims.len()), 0);
        let shadow = Shadow::unwritten(dims.len(), dims.last(), dtype, tracked, shadow);
        if !shadow.spares() {
            bytes.fill(0);
        }
        let (bytes, defined) = (Bytes::Own(bytes), Defined::Own(shadow));
        Allocation { label, origin, space, dtype, dims, bytes, defined, lender: &[], counts: Vec::new() }
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
        let defined = Defined::Lent(if tracked { undefined } else { &[] });
        let bytes = Bytes::Lent(&array.bytes);
        let origin = Origin::Operand;
        let (dtype, counts) = (array.dtype, Vec::new());
        Allocation { label, origin, space, dtype, dims, bytes, defined, lender: &[], counts }
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
            defined: Defined::Lent(&[]),
            lender: &[],
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

    /// Back to undefined memory, or to zeros where definedness isn't `tracked`.
    pub(crate) fn reset(&mut self, tracked: bool) {
        if let Defined::Own(shadow) = &mut self.defined {
            shadow.forget(tracked);
        }
    }

    /// Writes out the rows that a view touches and that are lent or kept as an element, so that their bytes are what they should.
    pub(crate) fn settle(&mut self, view: &View) {
        if let (Bytes::Own(bytes), Defined::Own(shadow)) = (&mut self.bytes, &mut self.defined)
            && shadow.has_away()
            && let Some((first, end)) = view.span()
        {
            let mut contents = Contents { dtype: self.dtype, own: bytes, lender: self.lender };
            shadow.settle(first as usize..end as usize, &mut contents);
        }
    }

    /// A view by the rows that the shadow keeps, if each of its rows lies in one and elements don't share bytes.
    pub(super) fn rows_of(&self, view: &View) -> Option<InRows> {
        match &self.defined {
            Defined::Own(shadow) if self.dtype.bits() >= 8 => view.in_rows(shadow.width()),
            Defined::Own(_) | Defined::Lent(_) => None,
        }
    }

    /// The shadow, and bytes that mean something in all rows but those that repeat an element; operands have neither.
    pub(super) fn rows(&mut self) -> Option<(&mut Shadow, Contents<'_>)> {
        match (&mut self.bytes, &mut self.defined) {
            (Bytes::Own(own), Defined::Own(shadow)) => {
                Some((shadow, Contents { dtype: self.dtype, own, lender: self.lender }))
            }
            _ => None,
        }
    }

    /// Borrows `count` elements of an operand from `at` on, in place of the rows from `to` on; `false` if that can't be, and
    /// then all of them must be copied.
    pub(super) fn borrow(&mut self, to: usize, count: usize, from: &Allocation<'r>, at: usize) -> bool {
        let (&Bytes::Lent(lender), Defined::Own(shadow)) = (&from.bytes, &mut self.defined) else {
            return false;
        };
        let width = shadow.spare_width();
        let whole = width != 0 && to.is_multiple_of(width) && count.is_multiple_of(width);
        let known = self.lender.is_empty() || std::ptr::eq(self.lender, lender);
        let (Ok(_), true) = (u32::try_from(at + count), whole && known && from.dtype == self.dtype) else {
            return false;
        };
        self.lender = lender;
        let all = from.uniformly_undefined(at, count);
        for skip in (0..count).step_by(width) {
            let undefined = all.or_else(|| from.uniformly_undefined(at + skip, width));
            match undefined {
                Some(undefined) => shadow.lend(to + skip, (at + skip) as u32, undefined),
                None => return false,
            }
        }
        true
    }

    /// Lets rows of a view repeat elements: `f` says which, and nothing for a row that stays. `false`, and nothing done,
    /// unless the view consists of whole rows.
    pub(super) fn repeat_rows(&mut self, view: &View, mut f: impl FnMut() -> Option<Element>) -> bool {
        let Defined::Own(shadow) = &mut self.defined else { return false };
        let Some(rows) = view.in_rows(shadow.spare_width()).filter(|rows| rows.whole) else { return false };
        rows.each(|row| {
            if let Some(element) = f() {
                shadow.repeat_row(row, element);
            }
        });
        true
    }

    /// An element's raw bits.
    pub(super) fn raw(&self, at: usize) -> u32 {
        match &self.defined {
            Defined::Own(shadow) if shadow.has_away() => match (shadow.repeated(at), shadow.lent(at)) {
                (Some(element), _) => element.raw,
                (None, Some(at)) => codec::read_raw(self.dtype, self.lender, at),
                (None, None) => codec::read_raw(self.dtype, self.bytes(), at),
            },
            Defined::Own(_) | Defined::Lent(_) => codec::read_raw(self.dtype, self.bytes(), at),
        }
    }

    /// Bytes; those of rows that are lent or kept as an element mean nothing.
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Lent(bytes) => bytes,
        }
    }

    /// To be written to; what was lent is copied first.
    pub(super) fn writable(&mut self) -> Writable<'_> {
        if let Bytes::Lent(bytes) = self.bytes {
            self.bytes = Bytes::Own(bytes.to_vec());
        }
        if let Defined::Lent(ranges) = self.defined {
            self.defined = Defined::Own(Shadow::of_ranges(self.dims.len(), self.dims.last(), ranges));
        }
        let bytes = match &mut self.bytes {
            Bytes::Own(bytes) => bytes.as_mut_slice(),
            Bytes::Lent(_) => &mut [],
        };
        let shadow = match &mut self.defined {
            Defined::Own(shadow) => Some(shadow),
            Defined::Lent(_) => None,
        };
        Writable { contents: Contents { dtype: self.dtype, own: bytes, lender: self.lender }, shadow }
    }

    /// Whether a row that doesn't mix is undefined.
    pub(super) fn is_undefined_row(&self, row: usize) -> bool {
        matches!(&self.defined, Defined::Own(shadow) if shadow.undefined_row(row))
    }

    /// Whether nothing is undefined, as far as that is known without looking.
    pub(crate) fn is_defined(&self) -> bool {
        matches!(self.defined, Defined::Lent([]))
    }

    /// Whether any of `count` elements from `first` on, `stride` apart, is undefined.
    #[inline(always)]
    pub(crate) fn any_undefined(&self, first: usize, stride: usize, count: usize) -> bool {
        match &self.defined {
            Defined::Own(shadow) => shadow.any(first, stride, count),
            Defined::Lent([]) => false,
            Defined::Lent(ranges) if stride == 1 => {
                let next = ranges.partition_point(|range| range.end <= first);
                ranges.get(next).is_some_and(|range| range.start < first + count)
            }
            Defined::Lent(ranges) => (0..count).any(|i| {
                let element = first + i * stride;
                ranges.iter().any(|range| range.contains(&element))
            }),
        }
    }

    /// Whether all of the elements, at least one, are undefined, or all defined; `None` where some are, or ranges meet.
    #[inline(always)]
    pub(crate) fn uniformly_undefined(&self, first: usize, count: usize) -> Option<bool> {
        match &self.defined {
            Defined::Own(shadow) => shadow.uniform(first, count),
            Defined::Lent(ranges) => {
                let next = ranges.partition_point(|range| range.end <= first);
                match ranges.get(next) {
                    Some(range) if range.start <= first && range.end >= first + count => Some(true),
                    Some(range) if range.start < first + count => None,
                    _ => Some(false),
                }
            }
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

    /// Copies the shadow from element `first` on: 1 for an undefined one.
    pub(crate) fn shadow_into(&self, first: usize, out: &mut [u8]) {
        match &self.defined {
            Defined::Own(shadow) => shadow.read(first, out),
            Defined::Lent(ranges) => {
                out.fill(0);
                let end = first + out.len();
                let next = ranges.partition_point(|range| range.end <= first);
                for range in ranges[next..].iter().take_while(|range| range.start < end) {
                    out[range.start.max(first) - first..range.end.min(end) - first].fill(1);
                }
            }
        }
    }

    /// The bytes, the element ranges that are undefined, sorted and disjoint, and the buffers left to be used again.
    pub(crate) fn into_output(mut self) -> (Vec<u8>, Vec<Range<usize>>, Buffers) {
        let bytes = match self.bytes {
            Bytes::Own(bytes) => bytes,
            Bytes::Lent(bytes) => bytes.to_vec(),
        };
        let mut output = (bytes, Vec::new(), Buffers::default());
        match &mut self.defined {
            Defined::Own(shadow) => {
                let mut contents = Contents { dtype: self.dtype, own: &mut output.0, lender: self.lender };
                shadow.settle(0..self.dims.len(), &mut contents);
                output.1 = shadow.ranges();
                output.2.shadow = std::mem::take(shadow);
            }
            Defined::Lent(ranges) => output.1 = ranges.to_vec(),
        }
        output
    }

    /// What a later run can use again.
    pub(crate) fn into_buffers(self) -> Buffers {
        let Bytes::Own(bytes) = self.bytes else { return Buffers::default() };
        let shadow = match self.defined {
            Defined::Own(shadow) => shadow,
            Defined::Lent(_) => Shadow::default(),
        };
        Buffers { bytes, shadow }
    }
}
