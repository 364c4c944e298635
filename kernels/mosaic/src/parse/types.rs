//! Types: scalars, vectors, memrefs, tensors, functions, and dialect types as text.
//!
//! Invariant: a type that the IR can't name is kept whole as [`Type::Opaque`], so that lowering can name it to the user;
//! only broken syntax and memref layouts are failures.

use super::token::{
    Failure, Input, Outcome, at, balanced, eat, expected, list, name, punct, rest, sigil_name, trivia,
    unsigned,
};
use super::{attribute, expand, nested};
use crate::ir::{Attribute, ElementType, MemRefType, MemorySpace, Type, VectorType, from_mlir_name};
use winnow::stream::Location as _;

/// `!name = type`.
pub(super) fn definition(input: &mut Input<'_>) -> Outcome<()> {
    let alias = sigil_name(input, "!", "a type alias such as `!name`")?;
    punct(input, "=")?;
    let value = parse(input)?;
    input.state.type_aliases.insert(alias, value);
    Ok(())
}

/// Any type.
pub(super) fn parse(input: &mut Input<'_>) -> Outcome<Type> {
    nested(input, |input| {
        if at(input, "(") {
            return function(input);
        }
        if at(input, "!") {
            return dialect(input);
        }
        let text = name(input, "a type")?;
        match text {
            "vector" => shaped(input, "vector"),
            "tensor" => shaped(input, "tensor"),
            "memref" => memref(input),
            "index" => Ok(Type::Index),
            "i64" => Ok(Type::I64),
            _ => match from_mlir_name(text) {
                Some(dtype) => Ok(Type::Scalar(dtype)),
                None => opaque(input, text),
            },
        }
    })
}

/// `(types) -> (types)` or `(types) -> type`.
pub(super) fn function(input: &mut Input<'_>) -> Outcome<Type> {
    let (inputs, results) = signature(input)?;
    Ok(Type::Function(inputs, results))
}

/// The two lists of a function type.
pub(super) fn signature(input: &mut Input<'_>) -> Outcome<(Vec<Type>, Vec<Type>)> {
    let inputs = list(input, "(", ")", parse)?;
    punct(input, "->")?;
    let results = if at(input, "(") { list(input, "(", ")", parse)? } else { vec![parse(input)?] };
    Ok((inputs, results))
}

/// Another builtin type, such as `f64` or `tuple<…>`, kept as text.
fn opaque(input: &mut Input<'_>, text: &str) -> Outcome<Type> {
    let starts_as_type = text.starts_with(|c: char| c.is_ascii_lowercase());
    if rest(input).starts_with('<') {
        return Ok(Type::Opaque(format!("{text}{}", balanced(input)?)));
    }
    if starts_as_type {
        return Ok(Type::Opaque(text.to_owned()));
    }
    expected(input, "a type")
}

/// `!dialect.name<…>` kept as text, or an alias.
fn dialect(input: &mut Input<'_>) -> Outcome<Type> {
    let start = input.current_token_start();
    let text = sigil_name(input, "!", "a dialect type such as `!tpu.dma_semaphore`")?;
    if !text.contains('.') {
        let parts = input.state.type_aliases.get(text).map(Type::parts);
        expand(input, start, parts.unwrap_or(0))?;
        let alias = input.state.type_aliases.get(text).cloned();
        return alias.ok_or_else(|| Failure::at(start, format!("the type alias !{text} isn't defined")));
    }
    let body = if rest(input).starts_with('<') { balanced(input)? } else { "" };
    Ok(Type::Opaque(format!("!{text}{body}")))
}

/// Extents up to the element type: `16x?x`.
fn shape(input: &mut Input<'_>) -> Outcome<Vec<Option<usize>>> {
    let mut shape = Vec::new();
    loop {
        trivia(input);
        if eat(input, "?") {
            shape.push(None);
        } else if rest(input).starts_with(|c: char| c.is_ascii_digit()) {
            shape.push(Some(unsigned(input, "an extent")?));
        } else {
            return Ok(shape);
        }
        punct(input, "x")?;
    }
}

/// The element type of a shaped type; `None` where the IR has no name for it.
fn element(input: &mut Input<'_>) -> Outcome<Option<ElementType>> {
    Ok(match parse(input)? {
        Type::Scalar(dtype) => Some(ElementType::Data(dtype)),
        Type::Index => Some(ElementType::Index),
        Type::Opaque(text) if text == "!tpu.dma_semaphore" => Some(ElementType::DmaSemaphore),
        Type::Opaque(text) if text == "!tpu.semaphore" => Some(ElementType::Semaphore),
        Type::I64
        | Type::Vector(_)
        | Type::MemRef(_)
        | Type::Tensor(_)
        | Type::Function(..)
        | Type::Opaque(_) => None,
    })
}

/// The body of `vector<…>` or `tensor<…>`.
fn shaped(input: &mut Input<'_>, head: &'static str) -> Outcome<Type> {
    let start = rest(input);
    punct(input, "<")?;
    if at(input, "*") || at(input, "[") {
        return expected(input, "a shape with fixed extents");
    }
    let extents = shape(input)?;
    let element = element(input)?;
    let encoding = eat(input, ",");
    if encoding {
        attribute::parse(input)?;
    }
    if !eat(input, ">") {
        return expected(input, "`>`");
    }
    let shape: Option<Vec<usize>> = extents.into_iter().collect();
    Ok(match (shape, element, encoding) {
        (Some(shape), Some(element), false) => {
            let shaped = VectorType { shape, element };
            if head == "vector" { Type::Vector(shaped) } else { Type::Tensor(shaped) }
        }
        _ => Type::Opaque(format!("{head}{}", read_since(start, input))),
    })
}

/// What was read since the rest of the text was `start`.
fn read_since<'a>(start: &'a str, input: &Input<'a>) -> &'a str {
    &start[..start.len() - rest(input).len()]
}

/// The body of `memref<…>`.
fn memref(input: &mut Input<'_>) -> Outcome<Type> {
    let start = rest(input);
    punct(input, "<")?;
    if at(input, "*") {
        return expected(input, "a memref with a rank");
    }
    let shape = shape(input)?;
    let element = element(input)?;
    let mut space = None;
    let mut known = true;
    while eat(input, ",") {
        trivia(input);
        let offset = input.current_token_start();
        match attribute::parse(input)? {
            Attribute::Opaque(text) if space.is_none() && text.starts_with("tpu.memory_space<") => {
                space = memory_space(&text);
                known &= space.is_some();
            }
            // JAX before 0.9 repeats on each view how slicing left it strided, which the view's own op says.
            Attribute::Opaque(text) if text.starts_with("strided<") => {}
            _ => {
                return Err(Failure::at(
                    offset,
                    "this memref has a layout or a memory space that isn't supported",
                ));
            }
        }
    }
    if !eat(input, ">") {
        return expected(input, "`,` or `>`");
    }
    Ok(match element {
        Some(element) if known => Type::MemRef(MemRefType { shape, element, space }),
        _ => Type::Opaque(format!("memref{}", read_since(start, input))),
    })
}

/// The memory space that `tpu.memory_space<…>` names.
fn memory_space(text: &str) -> Option<MemorySpace> {
    match text.strip_prefix("tpu.memory_space<")?.strip_suffix('>')?.trim() {
        "smem" => Some(MemorySpace::Smem),
        "vmem" => Some(MemorySpace::Vmem),
        "hbm" => Some(MemorySpace::Hbm),
        "any" => Some(MemorySpace::Any),
        "semaphore_mem" => Some(MemorySpace::Semaphore),
        _ => None,
    }
}
