//! Element types as files name them.
//!
//! Invariant: a type that we can't convert still has its name and its size.

use npyz::{Endianness, TypeChar};

/// An element type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    /// NumPy's name (`int64`, `bfloat16`), or the file's own (`|V2`).
    pub name: String,
    /// How its bytes are read.
    pub kind: Kind,
    /// Bytes of an element.
    pub size: usize,
    /// Whether the most significant byte comes first.
    pub is_big_endian: bool,
}

/// How an element's bytes are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Two's complement.
    Signed,
    /// Unsigned, or a bool.
    Unsigned,
    /// IEEE, of 2, 4 or 8 bytes.
    Float,
    /// Bits whose meaning the file doesn't say, as NumPy writes bf16 and fp8.
    Raw,
    /// Something else: only its name counts.
    Other,
}

impl Element {
    /// How an npy header describes it; bits without a meaning where NumPy has no name for it.
    pub fn descr(&self) -> String {
        let order = if self.size < 2 {
            '|'
        } else if self.is_big_endian {
            '>'
        } else {
            '<'
        };
        match (self.kind, self.name.as_str()) {
            (_, "bool") => "|b1".to_owned(),
            (Kind::Signed, _) => format!("{order}i{}", self.size),
            (Kind::Unsigned, _) => format!("{order}u{}", self.size),
            (Kind::Float, _) => format!("{order}f{}", self.size),
            (Kind::Raw | Kind::Other, _) => format!("|V{}", self.size),
        }
    }

    /// Of the description in an npy header.
    pub(super) fn of_npy(dtype: &npyz::DType) -> Element {
        let npyz::DType::Plain(plain) = dtype else {
            return Element { name: dtype.descr(), kind: Kind::Other, size: 0, is_big_endian: false };
        };
        let size = plain.num_bytes().unwrap_or(0);
        let (word, kind) = match plain.type_char() {
            TypeChar::Int => ("int", Kind::Signed),
            TypeChar::Uint => ("uint", Kind::Unsigned),
            TypeChar::Bool => ("bool", Kind::Unsigned),
            TypeChar::Float => ("float", Kind::Float),
            TypeChar::RawData => ("", Kind::Raw),
            _ => ("", Kind::Other),
        };
        let name = match (kind, word) {
            // NumPy writes `<V2` for a type of ml_dtypes and `|V2` for its bits.
            (Kind::Raw, _) => format!("|V{size}"),
            (Kind::Other, _) => plain.to_string(),
            (_, "bool") => word.to_owned(),
            (_, word) => format!("{word}{}", 8 * size),
        };
        Element { name, kind, size, is_big_endian: plain.endianness() == Endianness::Big }
    }

    /// Of the name in a safetensors header.
    pub(super) fn of_safetensors(dtype: safetensors::Dtype) -> Element {
        use safetensors::Dtype;
        let (name, kind) = match dtype {
            Dtype::BOOL => ("bool", Kind::Unsigned),
            Dtype::U8 => ("uint8", Kind::Unsigned),
            Dtype::I8 => ("int8", Kind::Signed),
            Dtype::I16 => ("int16", Kind::Signed),
            Dtype::U16 => ("uint16", Kind::Unsigned),
            Dtype::I32 => ("int32", Kind::Signed),
            Dtype::U32 => ("uint32", Kind::Unsigned),
            Dtype::I64 => ("int64", Kind::Signed),
            Dtype::U64 => ("uint64", Kind::Unsigned),
            Dtype::F16 => ("float16", Kind::Float),
            Dtype::F32 => ("float32", Kind::Float),
            Dtype::F64 => ("float64", Kind::Float),
            Dtype::BF16 => ("bfloat16", Kind::Other),
            Dtype::F8_E4M3 => ("float8_e4m3fn", Kind::Other),
            Dtype::F8_E5M2 => ("float8_e5m2", Kind::Other),
            _ => ("", Kind::Other),
        };
        let name = if name.is_empty() { dtype.to_string() } else { name.to_owned() };
        Element { name, kind, size: dtype.bitsize() / 8, is_big_endian: false }
    }
}
