//! A view: an address computation over an allocation, as `tpu.memref_slice`, `_squeeze`, `_reshape`, `_bitcast` build it.
//!
//! Invariant: strides and offset count elements of the allocation's own type. A view that leaves its base carries the
//! complaint along and faults where it is accessed, since computing an address is no access.

use countersign_dtype::DType;

use crate::value::{Dims, MAX_RANK};

/// Index into the machine's allocations.
pub(crate) type AllocationId = u32;

/// Why a view must not be accessed: an index that lies outside, or isn't defined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Complaint {
    /// `index .. index + size` against `extent` in dimension `dim` of the sliced view.
    Outside { dim: usize, index: i64, size: i64, extent: i64, site: u32 },
    /// The index of dimension `dim` is undefined.
    UndefinedIndex { dim: usize, site: u32 },
}

/// A strided window onto an allocation.
#[derive(Debug, Clone)]
pub(crate) struct View {
    pub(crate) allocation: AllocationId,
    /// Element type seen through the view.
    pub(crate) dtype: DType,
    /// How many elements of the allocation one element of the view packs (1, 2, 4, 8), and their distance.
    pub(crate) pack: usize,
    pub(crate) pack_stride: i64,
    pub(crate) offset: i64,
    pub(crate) dims: Dims,
    pub(crate) strides: [i64; MAX_RANK],
    pub(crate) complaint: Option<Box<Complaint>>,
}

/// A view by rows of its allocation.
#[derive(Debug)]
pub(crate) struct InRows {
    /// Its offset and strides count rows.
    pub(super) view: View,
    /// Where in its row each row of the view begins.
    pub(super) column: usize,
    /// Whether the view consists of whole rows.
    pub(super) whole: bool,
}

impl InRows {
    /// Calls `f` with each row of the allocation that the view touches.
    #[inline(always)]
    pub(super) fn each(&self, mut f: impl FnMut(usize)) {
        for packed in 0..self.view.pack {
            let skip = packed * self.view.pack_stride as usize;
            self.view.rows(|row| f(row as usize + skip));
        }
    }
}

impl View {
    /// A whole allocation, row-major.
    pub(crate) fn whole(allocation: AllocationId, dtype: DType, dims: Dims) -> View {
        let strides = row_major(&dims);
        View { allocation, dtype, pack: 1, pack_stride: 0, offset: 0, dims, strides, complaint: None }
    }

    /// `sizes` elements from `start` on in each dimension; leaving the view becomes a complaint.
    pub(crate) fn slice(&self, start: &[Option<i64>], sizes: &Dims, site: u32) -> View {
        let mut offset = self.offset;
        let mut complaint = None;
        for dim in 0..self.dims.rank() {
            let (size, extent) = (sizes.get(dim) as i64, self.dims.get(dim) as i64);
            match start[dim] {
                Some(index) => {
                    if (index < 0 || index + size > extent) && complaint.is_none() {
                        complaint = Some(Complaint::Outside { dim, index, size, extent, site });
                    }
                    offset += index * self.strides[dim];
                }
                None if complaint.is_none() => complaint = Some(Complaint::UndefinedIndex { dim, site }),
                None => {}
            }
        }
        let complaint = self.complaint.clone().or(complaint.map(Box::new));
        View { offset, dims: *sizes, complaint, ..*self }
    }

    /// Keeps the dimensions in `kept`; the others have extent 1.
    pub(crate) fn squeeze(&self, kept: &[usize]) -> View {
        let mut dims = Dims::ones(kept.len());
        let mut strides = [0; MAX_RANK];
        for (to, &from) in kept.iter().enumerate() {
            dims.set(to, self.dims.get(from));
            strides[to] = self.strides[from];
        }
        View { dims, strides, complaint: self.complaint.clone(), ..*self }
    }

    /// Whether the elements lie one after the other in row-major order.
    pub(crate) fn is_contiguous(&self) -> bool {
        let dense = row_major(&self.dims);
        (0..self.dims.rank()).all(|dim| self.dims.get(dim) == 1 || self.strides[dim] == dense[dim])
    }

    /// Another shape over the same elements, row-major order kept; `None` if the view isn't contiguous or packs.
    pub(crate) fn reshape(&self, dims: &Dims) -> Option<View> {
        if !self.is_contiguous() || self.pack != 1 || dims.len() != self.dims.len() {
            return None;
        }
        Some(View { dims: *dims, strides: row_major(dims), ..self.clone() })
    }

    /// Other element type; a wider one packs neighbours of the second-minor dimension, low bits first.
    pub(crate) fn bitcast(&self, dtype: DType, dims: &Dims) -> Option<View> {
        if dtype.bits() == self.dtype.bits() && *dims == self.dims {
            return Some(View { dtype, ..self.clone() });
        }
        let rank = self.dims.rank();
        let ratio = dtype.bits() / self.dtype.bits();
        if self.pack != 1 || ratio < 2 || rank < 2 || dims.rank() != rank {
            return None;
        }
        let packed = rank - 2;
        let fits = (0..rank).all(|dim| {
            let factor = if dim == packed { ratio } else { 1 };
            dims.get(dim) * factor == self.dims.get(dim)
        });
        if !fits {
            return None;
        }
        let mut view =
            View { dtype, dims: *dims, pack: ratio, pack_stride: self.strides[packed], ..self.clone() };
        view.strides[packed] *= ratio as i64;
        Some(view)
    }

    /// Smallest and one past the largest element of the allocation that the view touches; `None` if it is empty.
    pub(crate) fn span(&self) -> Option<(i64, i64)> {
        if self.dims.len() == 0 {
            return None;
        }
        let mut last = self.offset + self.pack_stride * (self.pack as i64 - 1);
        for dim in 0..self.dims.rank() {
            last += (self.dims.get(dim) as i64 - 1) * self.strides[dim];
        }
        Some((self.offset, last + 1))
    }

    /// How the view splits into runs of elements that lie `stride` apart: the number of outer dimensions to walk, the length
    /// of a run, and the stride. Inner dimensions that lie one after the other make one run.
    pub(crate) fn runs(&self) -> (usize, usize, usize) {
        let mut outer = self.dims.rank();
        let mut run = 1usize;
        while outer > 0 && (self.dims.get(outer - 1) == 1 || self.strides[outer - 1] == run as i64) {
            outer -= 1;
            run *= self.dims.get(outer);
        }
        if run > 1 || outer == 0 {
            return (outer, run, 1);
        }
        (outer - 1, self.dims.get(outer - 1), self.strides[outer - 1] as usize)
    }

    /// Calls `f` with the first element of each row (run over the last dimension).
    #[inline(always)]
    pub(crate) fn rows(&self, f: impl FnMut(i64)) {
        self.outer(self.dims.rank().saturating_sub(1), f);
    }

    /// Calls `f` with the element at which each point of the first `outer` dimensions begins.
    #[inline(always)]
    pub(crate) fn outer(&self, outer: usize, mut f: impl FnMut(i64)) {
        self.outer_pair(self, outer, |offset, _| f(offset));
    }

    /// [`View::outer`] of two views of equal extents.
    #[inline(always)]
    pub(crate) fn outer_pair(&self, other: &View, outer: usize, mut f: impl FnMut(i64, i64)) {
        if self.dims.len() == 0 {
            return;
        }
        // The innermost dimension that has more than one place is a loop of its own, which does nothing but count.
        let inner = (0..outer).rev().find(|&dim| self.dims.get(dim) != 1).unwrap_or(0);
        let count = if outer == 0 { 1 } else { self.dims.get(inner) };
        let mut index = [0usize; MAX_RANK];
        let (mut offset, mut second) = (self.offset, other.offset);
        loop {
            for place in 0..count as i64 {
                f(offset + place * self.strides[inner], second + place * other.strides[inner]);
            }
            let mut dim = inner;
            loop {
                if dim == 0 {
                    return;
                }
                dim -= 1;
                index[dim] += 1;
                offset += self.strides[dim];
                second += other.strides[dim];
                if index[dim] < self.dims.get(dim) {
                    break;
                }
                offset -= self.strides[dim] * self.dims.get(dim) as i64;
                second -= other.strides[dim] * self.dims.get(dim) as i64;
                index[dim] = 0;
            }
        }
    }

    /// The same places counted in rows of `width` elements, as an allocation keeps them; `None` unless each row of the view
    /// lies within one of those. Dividing once a dimension, here, is what makes walking rows cheap.
    pub(super) fn in_rows(&self, width: usize) -> Option<InRows> {
        let outer = self.dims.rank().checked_sub(1)?;
        let (width, last) = (width as i64, self.dims.last() as i64);
        if width == 0 || self.last_stride() != 1 {
            return None;
        }
        let column = self.offset % width;
        let mut view = View { offset: self.offset / width, complaint: None, ..*self };
        let mut aligned = column + last <= width;
        let mut divide = |place: &mut i64| {
            aligned &= *place % width == 0;
            *place /= width;
        };
        for dim in (0..outer).filter(|&dim| self.dims.get(dim) != 1) {
            divide(&mut view.strides[dim]);
        }
        if self.pack != 1 {
            divide(&mut view.pack_stride);
        }
        aligned.then_some(InRows { view, column: column as usize, whole: last == width && self.pack == 1 })
    }

    /// Stride of the last dimension; 1 for rank 0.
    pub(crate) fn last_stride(&self) -> i64 {
        match self.dims.rank() {
            0 => 1,
            rank => self.strides[rank - 1],
        }
    }
}

/// Strides of a dense row-major layout, in elements.
pub(crate) fn row_major(dims: &Dims) -> [i64; MAX_RANK] {
    let mut strides = [0; MAX_RANK];
    let mut stride = 1;
    for dim in (0..dims.rank()).rev() {
        strides[dim] = stride;
        stride *= dims.get(dim) as i64;
    }
    strides
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dims(extents: &[usize]) -> Dims {
        Dims::new(extents).unwrap()
    }

    #[test]
    fn slice_squeeze_reshape_compute_the_same_address() {
        let view = View::whole(0, DType::F32, dims(&[2, 3, 4]));
        let slice = view.slice(&[Some(1), Some(0), Some(0)], &dims(&[1, 3, 4]), 0);
        assert_eq!(slice.complaint, None);
        let plane = slice.squeeze(&[1, 2]);
        assert_eq!(plane.offset + 2 * plane.strides[0] + 3 * plane.strides[1], 23);
        assert_eq!(plane.reshape(&dims(&[12])).unwrap().offset, 12);
        let column = plane.slice(&[Some(0), Some(1)], &dims(&[3, 1]), 0);
        assert!(!column.is_contiguous());
        assert!(column.reshape(&dims(&[3])).is_none());
    }

    #[test]
    fn leaving_the_base_is_a_complaint_that_sticks() {
        let view = View::whole(0, DType::F32, dims(&[4]));
        let bad = view.slice(&[Some(2)], &dims(&[3]), 7);
        let expected = Complaint::Outside { dim: 0, index: 2, size: 3, extent: 4, site: 7 };
        assert_eq!(bad.complaint.as_deref(), Some(&expected));
        assert_eq!(bad.slice(&[Some(0)], &dims(&[1]), 8).complaint.as_deref(), Some(&expected));
        let undefined = view.slice(&[None], &dims(&[1]), 9);
        assert_eq!(undefined.complaint.as_deref(), Some(&Complaint::UndefinedIndex { dim: 0, site: 9 }));
    }

    #[test]
    fn bitcast_packs_the_second_minor_dimension() {
        let view = View::whole(0, DType::Bf16, dims(&[4, 8]));
        let words = view.bitcast(DType::I32, &dims(&[2, 8])).unwrap();
        assert_eq!((words.pack, words.pack_stride, words.strides[0]), (2, 8, 16));
        assert!(view.bitcast(DType::I32, &dims(&[4, 4])).is_none());
    }

    #[test]
    fn rows_visits_each_row_once() {
        let mut seen = Vec::new();
        View::whole(0, DType::F32, dims(&[2, 2, 3])).rows(|offset| seen.push(offset));
        assert_eq!(seen, [0, 3, 6, 9]);
        seen.clear();
        View::whole(0, DType::F32, dims(&[])).rows(|offset| seen.push(offset));
        assert_eq!(seen, [0]);
    }
}
