//! A plain array: element type, shape, and little-endian bytes, row-major. No strides, no views.
//!
//! Invariant: `bytes.len() == Array::byte_len(dtype, elements)`.

use crate::DType;

/// An n-dimensional array in row-major order, little-endian; int4 is packed two to a byte, low nibble first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Array {
    /// Element type.
    pub dtype: DType,
    /// Extent of each dimension.
    pub shape: Vec<usize>,
    /// The elements' bytes.
    pub bytes: Vec<u8>,
}

impl Array {
    /// An array of zero bits.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Array {
        let elements = shape.iter().product();
        Array { dtype, shape: shape.to_vec(), bytes: vec![0; Array::byte_len(dtype, elements)] }
    }

    /// A one-dimensional (or reshaped) array of 32-bit integers.
    pub fn from_i32(shape: &[usize], values: &[i32]) -> Array {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Array { dtype: DType::I32, shape: shape.to_vec(), bytes }
    }

    /// Number of bytes that `elements` elements take.
    pub const fn byte_len(dtype: DType, elements: usize) -> usize {
        (elements * dtype.bits()).div_ceil(8)
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
