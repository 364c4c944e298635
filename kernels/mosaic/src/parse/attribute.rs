//! Attribute values and dictionaries, and alias definitions with `#`.
//!
//! Invariant: numbers are checked against their type; dialect attributes are text, balanced but not understood.

use super::token::{
    Failure, Input, Outcome, at, balanced, eat, eat_word, expected, list, name, peek, punct, rest,
    sigil_name, string, trivia,
};
use super::{expand, float, location, nested, types};
use crate::ir::{Attribute, ElementType, Type, VectorType, mlir_name, wide_integers};
use countersign_dtype::DType;
use std::borrow::Cow;
use winnow::Parser;
use winnow::ascii::{digit0, digit1, hex_digit1};
use winnow::combinator::{alt, opt, preceded};
use winnow::stream::Location as _;
use winnow::token::one_of;

/// `#loc3 = loc(…)` or `#name = attribute`.
pub(super) fn definition(input: &mut Input<'_>) -> Outcome<()> {
    trivia(input);
    let start = input.current_token_start();
    let alias = sigil_name(input, "#", "an alias such as `#loc3`")?;
    punct(input, "=")?;
    if at(input, "loc(") {
        return location::definition(input, alias, start);
    }
    let value = parse(input)?;
    input.state.attribute_aliases.insert(alias, value);
    Ok(())
}

/// `{key = value, key}`.
pub(super) fn dictionary(input: &mut Input<'_>) -> Outcome<Vec<(String, Attribute)>> {
    list(input, "{", "}", |input| {
        let key = if at(input, "\"") {
            string(input, "a key")?
        } else {
            Cow::Borrowed(name(input, "an attribute's name")?)
        };
        let value = if eat(input, "=") { parse(input)? } else { Attribute::Unit };
        Ok((key.into_owned(), value))
    })
}

/// Any attribute.
pub(super) fn parse(input: &mut Input<'_>) -> Outcome<Attribute> {
    nested(input, |input| {
        trivia(input);
        match peek(input) {
            Some('"') => Ok(Attribute::Str(string(input, "a string")?.into_owned())),
            Some('@') => symbol(input),
            Some('[') => Ok(Attribute::Array(list(input, "[", "]", parse)?)),
            Some('{') => Ok(Attribute::Dict(dictionary(input)?)),
            Some('#') => dialect(input),
            Some('-' | '0'..='9') => number(input),
            Some('(' | '!') => Ok(Attribute::Type(types::parse(input)?)),
            Some(c) if c.is_ascii_alphabetic() => word(input),
            _ => expected(input, "an attribute"),
        }
    })
}

/// An attribute that starts with a bare word.
fn word(input: &mut Input<'_>) -> Outcome<Attribute> {
    if eat_word(input, "unit") {
        Ok(Attribute::Unit)
    } else if eat_word(input, "true") {
        Ok(Attribute::Bool(true))
    } else if eat_word(input, "false") {
        Ok(Attribute::Bool(false))
    } else if eat_word(input, "dense") {
        dense(input)
    } else if eat_word(input, "array") {
        array(input)
    } else if ["affine_map", "affine_set", "strided", "dense_resource", "sparse", "distinct"]
        .iter()
        .any(|word| at(input, word))
    {
        let head = name(input, "an attribute")?;
        Ok(Attribute::Opaque(format!("{head}{}", balanced(input)?)))
    } else {
        Ok(Attribute::Type(types::parse(input)?))
    }
}

/// `@name`, `@"name"`, `@outer::@inner`.
fn symbol(input: &mut Input<'_>) -> Outcome<Attribute> {
    let mut text = String::new();
    loop {
        punct(input, "@")?;
        if at(input, "\"") {
            text.push_str(&string(input, "a symbol")?);
        } else {
            text.push_str(name(input, "a symbol")?);
        }
        if !at(input, "::@") {
            return Ok(Attribute::Symbol(text));
        }
        punct(input, "::")?;
        text.push_str("::");
    }
}

/// `#dialect.name<…>` kept as text without `#`, or an alias.
fn dialect(input: &mut Input<'_>) -> Outcome<Attribute> {
    let start = input.current_token_start();
    let text = sigil_name(input, "#", "an attribute")?;
    if text.contains('.') {
        let body = if rest(input).starts_with('<') { balanced(input)? } else { "" };
        return Ok(Attribute::Opaque(format!("{text}{body}")));
    }
    let parts = input.state.attribute_aliases.get(text).map(Attribute::parts);
    expand(input, start, parts.unwrap_or(0))?;
    let alias = input.state.attribute_aliases.get(text).cloned();
    alias.ok_or_else(|| Failure::at(start, format!("the alias #{text} isn't defined before its use")))
}

/// `<i64: 1, 2>`, after `array`.
fn array(input: &mut Input<'_>) -> Outcome<Attribute> {
    let body = rest(input);
    punct(input, "<")?;
    let element = types::parse(input)?;
    if !matches!(element, Type::I64 | Type::Scalar(DType::I1 | DType::I8 | DType::I16 | DType::I32)) {
        let text = body.find('>').map_or(body, |end| &body[..=end]);
        let wanted = format!("i1, i8, i16, i32 or i64 as the element type of `array{text}`");
        return expected(input, &wanted);
    }
    let mut values = Vec::new();
    if eat(input, ":") {
        loop {
            trivia(input);
            let offset = input.current_token_start();
            let value = literal(input)?;
            values.push(integer(&value, &element, offset)?);
            if !eat(input, ",") {
                break;
            }
        }
    }
    if !eat(input, ">") {
        return expected(input, "`,` or `>`");
    }
    Ok(Attribute::IntArray(values))
}

/// A number as written, before its type is known.
#[derive(Debug, Clone, Copy)]
enum Literal<'a> {
    /// `true`, `false`.
    Bool(bool),
    /// `-12`.
    Integer(&'a str),
    /// `-1.5e-3`.
    Decimal(&'a str),
    /// The digits after `0x`, and whether a minus stands before it.
    Hex(&'a str, bool),
}

/// A number without its type.
fn literal<'a>(input: &mut Input<'a>) -> Outcome<Literal<'a>> {
    if eat_word(input, "true") {
        return Ok(Literal::Bool(true));
    }
    if eat_word(input, "false") {
        return Ok(Literal::Bool(false));
    }
    trivia(input);
    let start = rest(input);
    if let Ok(Some((minus, digits))) =
        opt((opt('-'), preceded("0x", hex_digit1::<_, Failure>))).parse_next(input)
    {
        return Ok(Literal::Hex(digits, minus.is_some()));
    }
    let exponent = opt((one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1::<_, Failure>));
    let decimal = ('.', digit0::<_, Failure>, exponent).void();
    let Ok(fraction) = preceded((opt('-'), digit1::<_, Failure>), opt(alt((decimal,)))).parse_next(input)
    else {
        return expected(input, "a number");
    };
    let text = &start[..start.len() - rest(input).len()];
    Ok(if fraction.is_some() { Literal::Decimal(text) } else { Literal::Integer(text) })
}

/// A number and the type after `:`, which is i64 or f64 where none is given.
fn number(input: &mut Input<'_>) -> Outcome<Attribute> {
    let offset = input.current_token_start();
    let value = literal(input)?;
    let ty = if eat(input, ":") {
        types::parse(input)?
    } else if matches!(value, Literal::Decimal(_)) {
        Type::Opaque("f64".to_owned())
    } else {
        Type::I64
    };
    typed(&value, &ty, offset)
}

/// A number of a scalar type.
fn typed(value: &Literal<'_>, ty: &Type, offset: usize) -> Outcome<Attribute> {
    match ty {
        Type::Scalar(dtype) if dtype.is_float() => {
            Ok(Attribute::Float { bits: float_bits(value, *dtype, offset)?, ty: ty.clone() })
        }
        Type::Opaque(name) if name == "f64" => {
            let bits = match *value {
                Literal::Integer(text) | Literal::Decimal(text) => text.parse().map(f64::to_bits).ok(),
                Literal::Hex(digits, false) => u64::from_str_radix(digits, 16).ok(),
                Literal::Hex(_, true) | Literal::Bool(_) => None,
            };
            let bits = bits.ok_or_else(|| Failure::at(offset, "this is no value of type f64"))?;
            Ok(Attribute::Float { bits, ty: ty.clone() })
        }
        Type::Scalar(DType::I1) if matches!(value, Literal::Bool(_)) => {
            Ok(Attribute::Bool(matches!(value, Literal::Bool(true))))
        }
        Type::Scalar(_) | Type::Index | Type::I64 => {
            Ok(Attribute::Int(integer(value, ty, offset)?, ty.clone()))
        }
        Type::Vector(_) | Type::MemRef(_) | Type::Tensor(_) | Type::Function(..) | Type::Opaque(_) => {
            Err(Failure::at(offset, "the type of this number isn't supported"))
        }
    }
}

/// The bits of a float literal in `dtype`.
fn float_bits(value: &Literal<'_>, dtype: DType, offset: usize) -> Outcome<u64> {
    let bits = match *value {
        Literal::Integer(text) | Literal::Decimal(text) => {
            text.parse().ok().and_then(|value| float::encode(value, dtype))
        }
        Literal::Hex(digits, false) => u64::from_str_radix(digits, 16)
            .ok()
            .filter(|bits| bits.checked_shr(dtype.bits() as u32) == Some(0)),
        Literal::Hex(_, true) | Literal::Bool(_) => None,
    };
    bits.ok_or_else(|| Failure::at(offset, format!("this is no value of type {}", mlir_name(dtype))))
}

/// The value of an integer literal, if it fits `ty` as a signed or an unsigned number; as signed.
fn integer(value: &Literal<'_>, ty: &Type, offset: usize) -> Outcome<i64> {
    let wide: Option<i128> = match *value {
        Literal::Bool(value) => Some(i128::from(value)),
        Literal::Integer(text) => text.parse().ok(),
        Literal::Hex(digits, minus) => {
            i128::from_str_radix(digits, 16).ok().map(|value| if minus { -value } else { value })
        }
        Literal::Decimal(_) => None,
    };
    let bits = match ty {
        Type::Scalar(dtype) => dtype.bits(),
        Type::Index | Type::I64 => 64,
        Type::Vector(_) | Type::MemRef(_) | Type::Tensor(_) | Type::Function(..) | Type::Opaque(_) => 0,
    };
    let fits = |value: i128| (-(1i128 << bits) / 2..1i128 << bits).contains(&value);
    let Some(value) = wide.filter(|&value| bits > 0 && fits(value)) else {
        return Err(Failure::at(offset, "this number doesn't fit its type"));
    };
    // One-bit values are 0 and 1, wider ones are signed.
    let wraps = bits > 1 && value >= 1i128 << (bits - 1);
    let signed =
        if wraps { value - (1i128 << bits) } else { value.abs() * if bits > 1 { value.signum() } else { 1 } };
    i64::try_from(signed).map_err(|_| Failure::at(offset, "this number doesn't fit its type"))
}

/// What stands between the brackets of `dense<…>`.
#[derive(Debug)]
enum DenseBody<'a> {
    Empty,
    Splat(Literal<'a>, usize),
    List(Vec<(Literal<'a>, usize)>, Vec<usize>),
    Bytes(Vec<u8>, usize),
}

/// `<body> : type`, after `dense`.
fn dense(input: &mut Input<'_>) -> Outcome<Attribute> {
    punct(input, "<")?;
    trivia(input);
    let offset = input.current_token_start();
    let body = if at(input, ">") {
        DenseBody::Empty
    } else if at(input, "\"") {
        DenseBody::Bytes(hex_bytes(&string(input, "bytes")?, offset)?, offset)
    } else if at(input, "[") {
        let (mut items, mut extents) = (Vec::new(), Vec::new());
        dense_list(input, 0, &mut items, &mut extents)?;
        DenseBody::List(items, extents)
    } else {
        DenseBody::Splat(literal(input)?, offset)
    };
    if !eat(input, ">") {
        return expected(input, "`>`");
    }
    punct(input, ":")?;
    let ty = types::parse(input)?;
    let (shape, element) = match &ty {
        Type::Vector(VectorType { shape, element }) | Type::Tensor(VectorType { shape, element }) => {
            match element {
                ElementType::Data(dtype) => (shape.clone(), Type::Scalar(*dtype)),
                ElementType::Index => (shape.clone(), Type::Index),
                ElementType::DmaSemaphore | ElementType::Semaphore => {
                    return Err(Failure::at(offset, "dense values can't be semaphores"));
                }
            }
        }
        Type::Opaque(text) => match wide_integers(text) {
            Some(shape) => (shape, Type::I64),
            None => return Err(Failure::at(offset, "the type of these dense values isn't supported")),
        },
        Type::Scalar(_) | Type::Index | Type::I64 | Type::MemRef(_) | Type::Function(..) => {
            return Err(Failure::at(offset, "dense values need a vector or tensor type"));
        }
    };
    let items = match body {
        DenseBody::Splat(value, offset) => {
            return Ok(Attribute::Splat(Box::new(typed(&value, &element, offset)?), ty));
        }
        DenseBody::Empty if shape.contains(&0) => Vec::new(),
        DenseBody::List(items, extents) if extents == shape => {
            items.iter().map(|(value, offset)| typed(value, &element, *offset)).collect::<Outcome<_>>()?
        }
        DenseBody::Bytes(bytes, offset) => from_bytes(&bytes, &element, offset)?,
        DenseBody::Empty | DenseBody::List(..) => {
            return Err(Failure::at(offset, "the shape of these dense values isn't that of their type"));
        }
    };
    if shape.iter().try_fold(1usize, |product, &extent| product.checked_mul(extent)) != Some(items.len()) {
        return Err(Failure::at(offset, "the number of these dense values isn't that of their type"));
    }
    Ok(Attribute::Dense(items, ty))
}

/// A nested list of numbers: the numbers row-major, the extents by depth.
fn dense_list<'a>(
    input: &mut Input<'a>,
    depth: usize,
    items: &mut Vec<(Literal<'a>, usize)>,
    extents: &mut Vec<usize>,
) -> Outcome<()> {
    trivia(input);
    let start = input.current_token_start();
    if extents.len() == depth {
        extents.push(usize::MAX);
    }
    let entries = list(input, "[", "]", |input| {
        trivia(input);
        if at(input, "[") {
            nested(input, |input| dense_list(input, depth + 1, items, extents))
        } else if extents.len() > depth + 1 {
            expected(input, "`[`")
        } else {
            let offset = input.current_token_start();
            items.push((literal(input)?, offset));
            Ok(())
        }
    })?;
    let extent = &mut extents[depth];
    if *extent != usize::MAX && *extent != entries.len() {
        return Err(Failure::at(start, "this list isn't as long as those beside it"));
    }
    *extent = entries.len();
    Ok(())
}

/// The bytes of `"0x…"`.
fn hex_bytes(text: &str, offset: usize) -> Outcome<Vec<u8>> {
    let failure = || Failure::at(offset, "dense bytes are written as \"0x\" and pairs of hexadecimal digits");
    let digits = text.strip_prefix("0x").filter(|digits| digits.len() % 2 == 0 && digits.is_ascii());
    let digits = digits.ok_or_else(failure)?;
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).map_err(|_| failure()))
        .collect()
}

/// Elements from their little-endian bytes.
fn from_bytes(bytes: &[u8], element: &Type, offset: usize) -> Outcome<Vec<Attribute>> {
    let width = match element {
        Type::Scalar(dtype) if dtype.bits() >= 8 => dtype.bits() / 8,
        Type::Index | Type::I64 => 8,
        _ => {
            return Err(Failure::at(offset, "dense bytes of elements narrower than a byte aren't supported"));
        }
    };
    if !bytes.len().is_multiple_of(width) {
        return Err(Failure::at(offset, "the number of these dense bytes doesn't fit their type"));
    }
    let elements = bytes.chunks_exact(width).map(|chunk| {
        let bits = chunk.iter().rev().fold(0u64, |bits, &byte| bits << 8 | u64::from(byte));
        match element {
            Type::Scalar(dtype) if dtype.is_float() => Attribute::Float { bits, ty: element.clone() },
            _ => {
                let shift = 64 - 8 * width as u32;
                Attribute::Int((bits << shift) as i64 >> shift, element.clone())
            }
        }
    });
    Ok(elements.collect())
}
