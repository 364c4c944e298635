//! Extents of a value, up to rank 6, as a plain copyable thing.
//!
//! Invariant: `rank <= 6`; extents past the rank are 1.

/// Highest rank that a value or memref may have here; lowering refuses more by name.
pub(crate) const MAX_RANK: usize = 6;

/// Extents, outermost first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Dims {
    rank: u8,
    extent: [u32; MAX_RANK],
}

impl Dims {
    /// Extents from a slice of at most [`MAX_RANK`] entries that each fit 32 bits.
    pub(crate) fn new(extents: &[usize]) -> Option<Dims> {
        if extents.len() > MAX_RANK {
            return None;
        }
        let mut dims = Dims { rank: extents.len() as u8, extent: [1; MAX_RANK] };
        for (slot, &extent) in dims.extent.iter_mut().zip(extents) {
            *slot = u32::try_from(extent).ok()?;
        }
        Some(dims)
    }

    /// All extents 1.
    pub(crate) fn ones(rank: usize) -> Dims {
        Dims { rank: rank.min(MAX_RANK) as u8, extent: [1; MAX_RANK] }
    }

    pub(crate) fn rank(&self) -> usize {
        self.rank as usize
    }

    pub(crate) fn get(&self, dim: usize) -> usize {
        self.extent[dim] as usize
    }

    pub(crate) fn set(&mut self, dim: usize, extent: usize) {
        self.extent[dim] = extent as u32;
    }

    pub(crate) fn as_slice(&self) -> &[u32] {
        &self.extent[..self.rank as usize]
    }

    /// Number of elements.
    pub(crate) fn len(&self) -> usize {
        self.as_slice().iter().map(|&extent| extent as usize).product()
    }

    /// Indices of the element at `offset`, row-major.
    pub(crate) fn indices(&self, offset: usize) -> Vec<i64> {
        let mut indices = vec![0; self.rank()];
        let mut rest = offset;
        for (index, &extent) in indices.iter_mut().zip(self.as_slice()).rev() {
            *index = (rest % extent as usize) as i64;
            rest /= extent as usize;
        }
        indices
    }

    /// Extent of the last dimension; 1 for rank 0.
    pub(crate) fn last(&self) -> usize {
        self.as_slice().last().map_or(1, |&extent| extent as usize)
    }

    /// Row-major strides in elements; a dimension of extent 1 has stride 0, so that it broadcasts.
    pub(crate) fn broadcast_strides(&self) -> [usize; MAX_RANK] {
        let mut strides = [0; MAX_RANK];
        let mut stride = 1;
        for dim in (0..self.rank()).rev() {
            if self.get(dim) != 1 {
                strides[dim] = stride;
            }
            stride *= self.get(dim);
        }
        strides
    }

    /// The extents of a broadcast of the two, which must agree wherever neither is 1.
    pub(crate) fn broadcast(&self, other: &Dims) -> Dims {
        debug_assert_eq!(self.rank, other.rank);
        let mut out = *self;
        for dim in 0..self.rank() {
            debug_assert!(self.get(dim) == other.get(dim) || self.get(dim) == 1 || other.get(dim) == 1);
            out.extent[dim] = self.extent[dim].max(other.extent[dim]);
        }
        out
    }
}
