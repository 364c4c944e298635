//! A plain array: element type, shape, and little-endian bytes, row-major. No strides, no views.
//!
//! Invariant: `bytes.len() == Array::byte_len(dtype, elements)`.

use std::borrow::Cow;

use crate::DType;
use crate::slices::{read_f32, write_f32};

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

    /// An array of `dtype` with each of `values` rounded as [`crate::round_to`] says; `values` has `shape`'s elements.
    pub fn from_f32(dtype: DType, shape: &[usize], values: &[f32]) -> Array {
        let mut array = Array::zeros(dtype, shape);
        assert_eq!(array.len(), values.len(), "values for shape {shape:?}");
        write_f32(dtype, values, &mut array.bytes, 0);
        array
    }

    /// Element `index` (row-major) as f32: exact for every type but i32, which is rounded.
    ///
    /// # Panics
    /// If `index` is past the end.
    pub fn get_f32(&self, index: usize) -> f32 {
        let mut value = [0.0];
        read_f32(self.dtype, &self.bytes, index, &mut value);
        value[0]
    }

    /// Sets element `index` (row-major) to `value`, rounded as [`crate::round_to`] says.
    ///
    /// # Panics
    /// If `index` is past the end.
    pub fn set_f32(&mut self, index: usize, value: f32) {
        write_f32(self.dtype, &[value], &mut self.bytes, index);
    }

    /// All elements as f32, row-major.
    pub fn to_f32_vec(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.len()];
        read_f32(self.dtype, &self.bytes, 0, &mut values);
        values
    }

    /// The elements of an i32 array: a view where the bytes are aligned and the machine is little-endian, else a copy.
    ///
    /// # Panics
    /// If the array is not of i32.
    pub fn to_i32(&self) -> Cow<'_, [i32]> {
        assert_eq!(self.dtype, DType::I32);
        match bytemuck::try_cast_slice(&self.bytes) {
            Ok(values) if cfg!(target_endian = "little") => Cow::Borrowed(values),
            _ => {
                Cow::Owned(self.bytes.as_chunks().0.iter().map(|&chunk| i32::from_le_bytes(chunk)).collect())
            }
        }
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
