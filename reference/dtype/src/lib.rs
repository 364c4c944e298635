//! Element types of TPU kernels: their names, widths, and bit-exact conversions to and from f32.
//!
//! Invariant: the only code of ours that the reference and the VM share. It knows bits, never attention or memory.

mod array;
mod float;
mod slices;

pub use array::Array;
pub use float::{
    bf16_bits_to_f32, f8e4m3fn_bits_to_f32, f8e5m2_bits_to_f32, f16_bits_to_f32, f32_to_bf16_bits,
    f32_to_f8e4m3fn_bits, f32_to_f8e5m2_bits, f32_to_f16_bits,
};
pub use slices::{
    bf16_bits_to_f32_slice, f32_to_bf16_bits_slice, read_f32, round_to, sign_extend_i4, write_f32,
};

/// An element type. Integers are two's complement; `I1` is a mask lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// IEEE binary32.
    F32,
    /// bfloat16: the upper half of binary32.
    Bf16,
    /// IEEE binary16.
    F16,
    /// OCP e4m3, no infinities, NaN is S.1111.111.
    F8E4M3FN,
    /// OCP e5m2, IEEE-like.
    F8E5M2,
    /// 32-bit integer.
    I32,
    /// 16-bit integer.
    I16,
    /// 8-bit integer.
    I8,
    /// 4-bit integer, two to a byte, low nibble first.
    I4,
    /// One-bit mask lane.
    I1,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 10] = [
        DType::F32,
        DType::Bf16,
        DType::F16,
        DType::F8E4M3FN,
        DType::F8E5M2,
        DType::I32,
        DType::I16,
        DType::I8,
        DType::I4,
        DType::I1,
    ];

    /// Width of an element in bits.
    pub const fn bits(self) -> usize {
        match self {
            DType::F32 | DType::I32 => 32,
            DType::Bf16 | DType::F16 | DType::I16 => 16,
            DType::F8E4M3FN | DType::F8E5M2 | DType::I8 => 8,
            DType::I4 => 4,
            DType::I1 => 1,
        }
    }

    /// Whether elements are floating-point numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::Bf16 | DType::F16 | DType::F8E4M3FN | DType::F8E5M2)
    }

    /// The name used in case files, catalogues and MLIR-independent text (`f32`, `bf16`, `f8e4m3fn`, `i8`, …).
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::Bf16 => "bf16",
            DType::F16 => "f16",
            DType::F8E4M3FN => "f8e4m3fn",
            DType::F8E5M2 => "f8e5m2",
            DType::I32 => "i32",
            DType::I16 => "i16",
            DType::I8 => "i8",
            DType::I4 => "i4",
            DType::I1 => "i1",
        }
    }

    /// The inverse of [`DType::name`].
    pub fn from_name(name: &str) -> Option<DType> {
        DType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }
}
