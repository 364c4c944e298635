//! Reading an op's operands, types and attributes.
//!
//! Invariant: an `Err` is the reason, in words, for which the op is unsupported.

use countersign_dtype::DType;

use crate::ir::{Attribute, ElementType, MemRefType, MemorySpace, Op, Type};
use crate::value::Dims;

use super::inst::{Matmul, Slot};
use super::static_dims;

/// What reading answers: `Err` says what is unsupported.
pub(super) type Lowered<T> = Result<T, String>;

/// The slot of an operand.
pub(super) fn operand(op: &Op, index: usize) -> Lowered<Slot> {
    op.operands.get(index).map(|value| value.0).ok_or_else(|| format!("no operand {index}"))
}

/// The slots of a run of operands.
pub(super) fn slots(op: &Op, first: usize, count: usize) -> Vec<Slot> {
    op.operands.iter().skip(first).take(count).map(|value| value.0).collect()
}

/// An attribute that is a list of integers.
pub(super) fn ints<'o>(op: &'o Op, name: &str) -> Lowered<&'o [i64]> {
    op.attribute(name)
        .and_then(Attribute::as_ints)
        .ok_or_else(|| format!("attribute {name} is not a list of integers"))
}

/// The operand segments, which must add up and be `N`.
pub(super) fn segments<const N: usize>(op: &Op) -> Lowered<[i64; N]> {
    let segments = ints(op, "operandSegmentSizes")?;
    let total: i64 = segments.iter().sum();
    if total != op.operands.len() as i64 {
        return Err("operand segments don't add up".into());
    }
    segments.try_into().map_err(|_| format!("operand segments {segments:?}"))
}

/// The operand segments of a wait: semaphore, source, target, and those of a remote copy. In JAX 0.6 it had the first three alone
/// and no segments.
pub(super) fn wait_segments(op: &Op) -> Lowered<[i64; 5]> {
    match op.attribute("operandSegmentSizes") {
        None if op.operands.len() == 3 => Ok([1, 1, 1, 0, 0]),
        _ => segments(op),
    }
}

/// Element type of a scalar or vector; `index` is a 32-bit integer here.
pub(super) fn element(ty: &Type) -> Lowered<DType> {
    match ty {
        Type::Scalar(dtype) => Ok(*dtype),
        Type::Index => Ok(DType::I32),
        Type::Vector(vector) => match vector.element {
            ElementType::Data(dtype) => Ok(dtype),
            other => Err(format!("vector of {other:?}")),
        },
        other => Err(format!("type {other:?}")),
    }
}

/// Element type of the first result.
pub(super) fn result_element(op: &Op) -> Lowered<DType> {
    element(op.result_types.first().ok_or("no result")?)
}

/// Extents of a vector; rank 0 for a scalar.
pub(super) fn shape(ty: &Type) -> Lowered<Dims> {
    match ty {
        Type::Vector(vector) => {
            Dims::new(&vector.shape).ok_or_else(|| format!("rank {}", vector.shape.len()))
        }
        _ => Ok(Dims::ones(0)),
    }
}

/// Extents of the first result.
pub(super) fn result_dims(op: &Op) -> Lowered<Dims> {
    shape(op.result_types.first().ok_or("no result")?)
}

/// The type as a memref.
pub(super) fn memref(ty: &Type) -> Lowered<&MemRefType> {
    match ty {
        Type::MemRef(memref) => Ok(memref),
        other => Err(format!("type {other:?} where a memref belongs")),
    }
}

/// Static extents of a memref.
pub(super) fn memref_dims(ty: &Type) -> Lowered<Dims> {
    static_dims(memref(ty)?).ok_or_else(|| "memref of dynamic shape".into())
}

/// Element type, extents and space of a memref that holds data.
pub(super) fn data_memref(ty: &Type) -> Lowered<(DType, Dims, MemorySpace)> {
    let memref = memref(ty)?;
    let dims = memref_dims(ty)?;
    match (memref.element, memref.space) {
        (ElementType::Data(DType::I1), _) => Err("memref of i1".into()),
        (ElementType::Data(dtype), Some(space)) => Ok((dtype, dims, space)),
        (_, None) => Err("memref without memory space".into()),
        (other, _) => Err(format!("memref of {other:?}")),
    }
}

/// Extents of a vector access in the memref's rank: a vector of lower rank covers the last dimensions.
pub(super) fn window(base: &Dims, vector: &Dims) -> Lowered<Dims> {
    let lead = base.rank().checked_sub(vector.rank()).ok_or("vector of higher rank than the memref")?;
    let mut window = Dims::ones(base.rank());
    for dim in 0..vector.rank() {
        window.set(lead + dim, vector.get(dim));
    }
    Ok(window)
}

/// Which dimensions of `from` stay in `to`, dropping only extents of 1, outermost first.
pub(super) fn squeezed(from: &Dims, to: &Dims) -> Option<Vec<usize>> {
    let mut drop = from.rank().checked_sub(to.rank())?;
    let mut kept = Vec::new();
    for dim in 0..from.rank() {
        let wanted = to.as_slice().get(kept.len()).map(|&extent| extent as usize);
        if drop > 0 && from.get(dim) == 1 {
            drop -= 1;
        } else if wanted == Some(from.get(dim)) {
            kept.push(dim);
        } else {
            return None;
        }
    }
    (kept.len() == to.rank()).then_some(kept)
}

/// A matrix product, with the layouts that we know.
pub(super) fn matmul(op: &Op) -> Lowered<Matmul> {
    let numbers = match op.attribute("dimension_numbers") {
        Some(Attribute::Opaque(text)) => text.chars().filter(|c| !c.is_whitespace()).collect::<String>(),
        _ => return Err("no dimension numbers".into()),
    };
    let inner = numbers.strip_prefix("tpu.dot_dimension_numbers<").and_then(|rest| rest.strip_suffix('>'));
    let (lhs_contracts, rhs_contracts) = match inner {
        Some("[1],[0],[0],[1],[0,0,1,1],[],[]") => (1, 0),
        Some("[1],[1],[0],[0],[0,0,1,0],[],[]") => (1, 1),
        Some("[0],[0],[1],[1],[0,1,1,1],[],[]") => (0, 0),
        _ => return Err(format!("dimension numbers {numbers}")),
    };
    for name in ["transpose_lhs", "transpose_rhs"] {
        if op.attribute(name).and_then(Attribute::as_bool) == Some(true) {
            return Err(name.into());
        }
    }
    let exact = match op.attribute("precision") {
        None => false,
        Some(Attribute::Opaque(text)) if text == "tpu.contract_precision<fp32>" => true,
        Some(other) => return Err(format!("precision {other:?}")),
    };
    let [lhs, rhs, accumulator] = op.operands.as_slice() else { return Err("not three operands".into()) };
    let integers = |dtype: DType| matches!(dtype, DType::I16 | DType::I8 | DType::I4);
    let (lhs_type, rhs_type) = (element(&op.operand_types[0])?, element(&op.operand_types[1])?);
    let mixed = |dtype: DType, other: DType| dtype.is_float() || integers(dtype) && other.is_float();
    if !mixed(lhs_type, rhs_type) || !mixed(rhs_type, lhs_type) {
        return Err(format!("product of {} and {}", lhs_type.name(), rhs_type.name()));
    }
    let (lhs_dims, rhs_dims, to) =
        (shape(&op.operand_types[0])?, shape(&op.operand_types[1])?, result_dims(op)?);
    let fits = lhs_dims.rank() == 2
        && rhs_dims.rank() == 2
        && lhs_dims.get(lhs_contracts) == rhs_dims.get(rhs_contracts)
        && to == Dims::new(&[lhs_dims.get(1 - lhs_contracts), rhs_dims.get(1 - rhs_contracts)]).unwrap_or(to);
    if !fits {
        return Err("shapes that don't fit".into());
    }
    if result_element(op)? != DType::F32 {
        return Err("accumulator of a type other than f32".into());
    }
    Ok(Matmul {
        lhs: lhs.0,
        rhs: rhs.0,
        accumulator: accumulator.0,
        lhs_dims,
        rhs_dims,
        lhs_contracts,
        rhs_contracts,
        lhs_integers: integers(lhs_type),
        rhs_integers: integers(rhs_type),
        exact,
        to,
    })
}
