//! Attribute values of the generic form.

use super::Type;

/// An attribute's value.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    /// `unit`: present without a value.
    Unit,
    /// `true`, `false`.
    Bool(bool),
    /// An integer and its type: `3 : i32`, `0 : index`.
    Int(i64, Type),
    /// A float, decimal or raw bits in the text.
    Float {
        /// The value's bits in its own type, zero-extended, so that a NaN keeps its payload.
        bits: u64,
        /// Its type.
        ty: Type,
    },
    /// `"text"`.
    Str(String),
    /// `@symbol`.
    Symbol(String),
    /// `[a, b]`.
    Array(Vec<Attribute>),
    /// `array<i64: 1, 2>`.
    IntArray(Vec<i64>),
    /// `{key = value}`.
    Dict(Vec<(String, Attribute)>),
    /// A type used as attribute, e.g. `function_type`.
    Type(Type),
    /// `dense<splat> : type`; the element is `Int`, `Float` or `Bool` of the element type.
    Splat(Box<Attribute>, Type),
    /// `dense<[…]> : type`, elements flattened row-major.
    Dense(Vec<Attribute>, Type),
    /// A dialect attribute kept as text without its leading `#`: `tpu.dot_dimension_numbers<[1], [0], …>`, `vector.kind<add>`.
    Opaque(String),
}

impl Attribute {
    /// How many parts it has, itself included: what a copy of it costs.
    pub(crate) fn parts(&self) -> usize {
        1 + match self {
            Attribute::Array(items) => items.iter().map(Attribute::parts).sum(),
            Attribute::Dict(entries) => entries.iter().map(|(key, value)| key.len() + value.parts()).sum(),
            Attribute::IntArray(values) => values.len(),
            Attribute::Type(ty) | Attribute::Int(_, ty) | Attribute::Float { ty, .. } => ty.parts(),
            Attribute::Splat(value, ty) => value.parts() + ty.parts(),
            Attribute::Dense(values, ty) => values.iter().map(Attribute::parts).sum::<usize>() + ty.parts(),
            Attribute::Str(text) | Attribute::Symbol(text) | Attribute::Opaque(text) => text.len(),
            Attribute::Unit | Attribute::Bool(_) => 0,
        }
    }

    /// The text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Attribute::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The value of an integer.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Attribute::Int(value, _) => Some(*value),
            _ => None,
        }
    }

    /// The value of a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Attribute::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The values of `array<i…: …>`.
    pub fn as_ints(&self) -> Option<&[i64]> {
        match self {
            Attribute::IntArray(values) => Some(values),
            _ => None,
        }
    }

    /// The items of `[…]`.
    pub fn as_array(&self) -> Option<&[Attribute]> {
        match self {
            Attribute::Array(items) => Some(items),
            _ => None,
        }
    }
}
