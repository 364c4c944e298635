//! Element types that a caller can hand over: the VM's own, and others that JAX knows and a check may let pass.
//!
//! Invariant: names are one to one. A type that is not the VM's is only ever traced, never run.
//!
//! JAX makes 32 bits of 64-bit arrays on the way into `jit`, so these aren't here: a kernel never sees one. With
//! `JAX_ENABLE_X64` it would, but there `ragged_paged_attention` of jax 0.10.2 lowers for no operands at all.

use countersign_dtype::DType;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Element type of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandType {
    /// One that the VM runs, and masks (`i1`).
    Of(DType),
    /// Unsigned 8-bit integer.
    U8,
    /// Unsigned 32-bit integer.
    U32,
}

impl OperandType {
    /// Every element type.
    pub fn all() -> impl Iterator<Item = OperandType> {
        DType::ALL.into_iter().map(OperandType::Of).chain([OperandType::U8, OperandType::U32])
    }

    /// The name in cases and requests: `f32`, `i1`, `u32`.
    pub const fn name(self) -> &'static str {
        match self {
            OperandType::Of(dtype) => dtype.name(),
            OperandType::U8 => "u8",
            OperandType::U32 => "u32",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<OperandType> {
        OperandType::all().find(|dtype| dtype.name() == name)
    }

    /// NumPy's name: `float32`, `bool`, `uint32`.
    pub const fn numpy_name(self) -> &'static str {
        match self {
            OperandType::Of(DType::F32) => "float32",
            OperandType::Of(DType::Bf16) => "bfloat16",
            OperandType::Of(DType::F16) => "float16",
            OperandType::Of(DType::F8E4M3FN) => "float8_e4m3fn",
            OperandType::Of(DType::F8E5M2) => "float8_e5m2",
            OperandType::Of(DType::I32) => "int32",
            OperandType::Of(DType::I16) => "int16",
            OperandType::Of(DType::I8) => "int8",
            OperandType::Of(DType::I4) => "int4",
            OperandType::Of(DType::I1) => "bool",
            OperandType::U8 => "uint8",
            OperandType::U32 => "uint32",
        }
    }

    /// The type of that NumPy name.
    pub fn from_numpy_name(name: &str) -> Option<OperandType> {
        OperandType::all().find(|dtype| dtype.numpy_name() == name)
    }
}

impl From<DType> for OperandType {
    fn from(dtype: DType) -> OperandType {
        OperandType::Of(dtype)
    }
}

impl Serialize for OperandType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for OperandType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OperandType, D::Error> {
        let name = String::deserialize(deserializer)?;
        OperandType::from_name(&name).ok_or_else(|| D::Error::custom(format!("unknown element type {name}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_to_one() {
        for dtype in OperandType::all() {
            assert_eq!(OperandType::from_name(dtype.name()), Some(dtype));
            assert_eq!(OperandType::from_numpy_name(dtype.numpy_name()), Some(dtype));
        }
        assert_eq!(OperandType::from_name("i64"), None);
    }
}
