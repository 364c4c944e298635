//! What MLIR's verifier would say of one op's types, as far as lowering and machine rely on it.
//!
//! Texts come from files, and modules from edits, so nothing here is taken for granted: numbers of operands and results,
//! element types, shapes that must agree, indices for each dimension, and sizes.
//!
//! Invariant: an op that passes can be executed on whatever values its types allow without a panic; values, addresses among
//! them, are the machine's to check. Nothing is allocated for a type that is larger than its limit.

use countersign_dtype::DType;

use crate::ir::{ElementType, MemRefType, MemorySpace, Op, Type};
use crate::op::{Lowering, Special};
use crate::value::Dims;

use super::read::{Lowered, element, segments, shape, wait_segments};
use super::static_dims;

/// Most lanes of a vector: as f32, half of the largest TPU's vector memory.
pub(crate) const MAX_LANES: usize = 1 << 24;
/// Most bytes of a memref.
pub(crate) const MAX_BYTES: usize = 1 << 31;
/// Most steps of a grid.
pub(crate) const MAX_GRID: u64 = 1 << 24;

/// Whether `op` may be lowered as the table says.
pub(super) fn op(op: &Op, lowering: &Lowering) -> Lowered<()> {
    op.operand_types.iter().chain(&op.result_types).try_for_each(size)?;
    match lowering {
        Lowering::FloatUnary(_) => {
            counts(op, 1, 1)?;
            same(op, &[0], "operand and result")?;
            floats(op, true)
        }
        Lowering::FloatBinary(_) | Lowering::IntBinary(_) | Lowering::WordBinary(_) => {
            counts(op, 2, 1)?;
            same(op, &[0, 1], "operands and result")?;
            floats(op, matches!(lowering, Lowering::FloatBinary(_)))
        }
        Lowering::CompareInt | Lowering::CompareFloat => {
            counts(op, 2, 1)?;
            floats(op, matches!(lowering, Lowering::CompareFloat))?;
            agree(&op.operand_types[0], &op.operand_types[1], "operands")?;
            mask_of(&op.result_types[0], &op.operand_types[0], "the result")
        }
        Lowering::Convert(_) => {
            counts(op, 1, 1)?;
            alike(&op.operand_types[0], &op.result_types[0])
        }
        Lowering::Special(special) => special_op(op, *special),
    }
}

fn special_op(op: &Op, special: Special) -> Lowered<()> {
    let (operands, results) = (&op.operand_types, &op.result_types);
    match special {
        Special::Nop => counts(op, 0, 0),
        Special::Constant => {
            counts(op, 0, 1)?;
            match op.attribute("value") {
                Some(crate::ir::Attribute::Splat(_, ty) | crate::ir::Attribute::Dense(_, ty)) => {
                    agree(ty, &results[0], "value and result")
                }
                _ if is_vector(&results[0]) => Err("a scalar value for a vector".into()),
                _ => Ok(()),
            }
        }
        Special::Select => {
            counts(op, 3, 1)?;
            element(&results[0])?;
            agree(&operands[1], &operands[2], "arms")?;
            agree(&operands[1], &results[0], "arms and result")?;
            match &operands[0] {
                Type::Scalar(DType::I1) => Ok(()),
                condition => mask_of(condition, &results[0], "the condition"),
            }
        }
        Special::Iota => {
            counts(op, 0, 1)?;
            vector(&results[0])?;
            floats(op, false)
        }
        Special::Broadcast => {
            counts(op, 1, 1)?;
            vector(&results[0])?;
            elements(&operands[0], &results[0])
        }
        Special::ShapeCast => {
            counts(op, 1, 1)?;
            vector(&operands[0])?;
            vector(&results[0])?;
            elements(&operands[0], &results[0])
        }
        Special::MultiReduction => {
            counts(op, 2, 1)?;
            let from = vector(&operands[0])?;
            agree(&operands[1], &results[0], "accumulator and result")?;
            elements(&operands[0], &results[0])?;
            let to = shape(&results[0])?;
            match from.as_slice() {
                [kept @ .., _] if *kept == *to.as_slice() => Ok(()),
                _ => Err("a result that isn't its operand's shape without the last dimension".into()),
            }
        }
        Special::Matmul => {
            counts(op, 3, 1)?;
            agree(&operands[2], &results[0], "accumulator and result")?;
            operands.iter().try_for_each(|ty| vector(ty).map(drop))
        }
        Special::Concatenate => concatenate(op),
        Special::MemRefSlice => {
            let [base, indices, sizes] = segments::<3>(op)?;
            if base != 1 || sizes != 0 {
                return Ok(()); // refused by name at lowering
            }
            exactly("result", results.len(), 1)?;
            let (from, to) = (memref(&operands[0])?, memref(&results[0])?);
            access(from, &operands[1..], indices)?;
            stays(from, to)?;
            exactly("dimension of the result", to.shape.len(), from.shape.len())
        }
        Special::MemRefSqueeze => {
            counts(op, 1, 1)?;
            stays(memref(&operands[0])?, memref(&results[0])?)
        }
        Special::MemRefReshape => {
            counts(op, 1, 1)?;
            let (from, to) = (memref(&operands[0])?, memref(&results[0])?);
            stays(from, to)?;
            match (static_dims(from), static_dims(to)) {
                (Some(from), Some(to)) if from.len() != to.len() => {
                    Err("a reshape that changes the number of elements".into())
                }
                _ => Ok(()),
            }
        }
        Special::MemRefBitcast => {
            counts(op, 1, 1)?;
            data(&operands[0])?;
            data(&results[0])?;
            Ok(())
        }
        Special::MemRefLoad => {
            at_least(op, 1)?;
            exactly("result", results.len(), 1)?;
            let (base, dtype) = data(&operands[0])?;
            access(base, &operands[1..], operands.len() as i64 - 1)?;
            scalar(&results[0], dtype, "the result")
        }
        Special::MemRefStore => {
            at_least(op, 2)?;
            exactly("result", results.len(), 0)?;
            let (base, dtype) = data(&operands[1])?;
            access(base, &operands[2..], operands.len() as i64 - 2)?;
            scalar(&operands[0], dtype, "the value")
        }
        Special::VectorLoad | Special::StridedLoad => {
            at_least(op, 1)?;
            exactly("result", results.len(), 1)?;
            let (base, dtype) = data(&operands[0])?;
            access(base, &operands[1..], operands.len() as i64 - 1)?;
            lanes(&results[0], dtype, "the result")
        }
        Special::VectorStore => vector_store(op),
        Special::EnqueueDma => {
            let segments = segments::<6>(op)?;
            if segments != [1, 0, 1, 1, 0, 0] {
                return Ok(()); // refused by name at lowering
            }
            exactly("result", results.len(), 0)?;
            data(&operands[0])?;
            data(&operands[1])?;
            semaphore(&operands[2])
        }
        Special::WaitDma2 => {
            if wait_segments(op)? != [1, 1, 1, 0, 0] {
                return Ok(()); // refused by name at lowering
            }
            exactly("result", results.len(), 0)?;
            semaphore(&operands[0])?;
            data(&operands[2]).map(drop)
        }
        Special::If => {
            exactly("operand", operands.len(), 1)?;
            agree(&operands[0], &Type::Scalar(DType::I1), "the condition and i1")?;
            match op.regions.len() {
                1 if !results.is_empty() => Err("results without an else".into()),
                1 | 2 => Ok(()),
                count => Err(format!("{count} regions")),
            }
        }
        Special::While => exactly("region", op.regions.len(), 2),
        Special::For => {
            at_least(op, 3)?;
            exactly("region", op.regions.len(), 1)?;
            exactly("result", results.len(), operands.len() - 3)?;
            if !matches!(operands[0], Type::Index | Type::Scalar(DType::I32)) {
                return Err(format!("a counter of type {}", operands[0]));
            }
            agree(&operands[0], &operands[1], "the bounds")?;
            agree(&operands[0], &operands[2], "the bounds and the step")?;
            operands[3..]
                .iter()
                .zip(results)
                .try_for_each(|(a, b)| agree(a, b, "what is carried and the result"))
        }
    }
}

fn concatenate(op: &Op) -> Lowered<()> {
    at_least(op, 1)?;
    exactly("result", op.result_types.len(), 1)?;
    let to = vector(&op.result_types[0])?;
    let dimension = op.attribute("dimension").and_then(crate::ir::Attribute::as_int).unwrap_or(-1);
    let Some(dimension) = usize::try_from(dimension).ok().filter(|&dim| dim < to.rank()) else {
        return Ok(()); // refused by name at lowering
    };
    let mut extent = 0;
    for ty in &op.operand_types {
        let mut part = vector(ty)?;
        elements(ty, &op.result_types[0])?;
        exactly("dimension of a part", part.rank(), to.rank())?;
        extent += part.get(dimension);
        part.set(dimension, to.get(dimension));
        if part != to {
            return Err("a part that doesn't fit the result".into());
        }
    }
    exactly("row of the parts", extent, to.get(dimension))
}

fn vector_store(op: &Op) -> Lowered<()> {
    let [value, base, indices, masks] = segments::<4>(op)?;
    if value != 1 || base != 1 || !matches!(masks, 0 | 1) {
        return Ok(()); // refused by name at lowering
    }
    exactly("result", op.result_types.len(), 0)?;
    let (memref, dtype) = data(&op.operand_types[1])?;
    lanes(&op.operand_types[0], dtype, "the value")?;
    let (indices_given, mask) = op.operand_types[2..].split_at(op.operand_types.len() - 2 - masks as usize);
    access(memref, indices_given, indices)?;
    mask.iter().try_for_each(|mask| mask_of(mask, &op.operand_types[0], "the mask"))
}

/// Whether a value of this type is within its limit, and no extent is 0.
pub(super) fn size(ty: &Type) -> Lowered<()> {
    match ty {
        Type::Vector(vector) if count(ty, vector.shape.iter().copied())? > MAX_LANES => {
            Err(format!("{ty} has more than {MAX_LANES} lanes"))
        }
        Type::MemRef(memref) => {
            let bits = match memref.element {
                ElementType::Data(dtype) => dtype.bits(),
                // A count each.
                ElementType::Index | ElementType::DmaSemaphore | ElementType::Semaphore => 64,
            };
            let count = count(ty, memref.shape.iter().map(|extent| extent.unwrap_or(1)))?;
            match count.checked_mul(bits).is_some_and(|bits| bits / 8 <= MAX_BYTES) {
                true => Ok(()),
                false => Err(format!("{ty} has more than {MAX_BYTES} bytes")),
            }
        }
        _ => Ok(()),
    }
}

/// The product of extents, none of which may be 0.
fn count(ty: &Type, mut extents: impl Iterator<Item = usize>) -> Lowered<usize> {
    extents.try_fold(1usize, |count, extent| match extent {
        0 => Err(format!("{ty} has an extent of 0")),
        _ => count.checked_mul(extent).ok_or_else(|| format!("{ty} is too large")),
    })
}

fn exactly(what: &str, given: usize, wanted: usize) -> Lowered<()> {
    match given == wanted {
        true => Ok(()),
        false => Err(format!("{given} {what}(s) instead of {wanted}")),
    }
}

fn counts(op: &Op, operands: usize, results: usize) -> Lowered<()> {
    exactly("operand", op.operand_types.len(), operands)?;
    exactly("result", op.result_types.len(), results)
}

fn at_least(op: &Op, operands: usize) -> Lowered<()> {
    match op.operand_types.len() >= operands {
        true => Ok(()),
        false => Err(format!("{} operand(s), at least {operands} needed", op.operand_types.len())),
    }
}

/// Both types are equal.
pub(super) fn agree(a: &Type, b: &Type, what: &str) -> Lowered<()> {
    match a == b {
        true => Ok(()),
        false => Err(format!("{what} differ: {a} and {b}")),
    }
}

/// These operands have the result's type.
fn same(op: &Op, operands: &[usize], what: &str) -> Lowered<()> {
    operands.iter().try_for_each(|&operand| agree(&op.operand_types[operand], &op.result_types[0], what))
}

/// The first operand, or where there is none the result, has floats (or integers).
fn floats(op: &Op, wanted: bool) -> Lowered<()> {
    let ty = op.operand_types.first().or_else(|| op.result_types.first()).ok_or("no operand")?;
    match element(ty)?.is_float() == wanted {
        true => Ok(()),
        false => Err(format!("{ty} where {} belong", if wanted { "floats" } else { "integers" })),
    }
}

fn is_vector(ty: &Type) -> bool {
    matches!(ty, Type::Vector(_))
}

/// Extents of a vector of numbers or masks.
fn vector(ty: &Type) -> Lowered<Dims> {
    match ty {
        Type::Vector(_) => element(ty).and_then(|_| shape(ty)),
        _ => Err(format!("{ty} where a vector belongs")),
    }
}

/// Both are scalars, or both vectors of one shape.
fn alike(a: &Type, b: &Type) -> Lowered<()> {
    element(a)?;
    element(b)?;
    match is_vector(a) == is_vector(b) && shape(a)? == shape(b)? {
        true => Ok(()),
        false => Err(format!("{a} and {b} have different shapes")),
    }
}

/// Equal element types.
fn elements(a: &Type, b: &Type) -> Lowered<()> {
    match element(a)? == element(b)? {
        true => Ok(()),
        false => Err(format!("{a} and {b} have different elements")),
    }
}

/// `mask` is i1 in the shape of `ty`.
fn mask_of(mask: &Type, ty: &Type, what: &str) -> Lowered<()> {
    match element(mask)? == DType::I1 && alike(mask, ty).is_ok() {
        true => Ok(()),
        false => Err(format!("{what} is {mask}, beside {ty}")),
    }
}

fn memref(ty: &Type) -> Lowered<&MemRefType> {
    super::read::memref(ty)
}

/// A memref of numbers, and of which.
fn data(ty: &Type) -> Lowered<(&MemRefType, DType)> {
    let memref = memref(ty)?;
    match memref.element {
        ElementType::Data(dtype) if dtype != DType::I1 => Ok((memref, dtype)),
        _ => Err(format!("{ty} where a memref of numbers belongs")),
    }
}

fn semaphore(ty: &Type) -> Lowered<()> {
    match memref(ty)? {
        MemRefType { shape, element: ElementType::DmaSemaphore, space }
            if shape.is_empty() && matches!(space, Some(MemorySpace::Semaphore) | None) =>
        {
            Ok(())
        }
        _ => Err(format!("{ty} where one semaphore for copies belongs")),
    }
}

/// An index for each dimension.
fn access(base: &MemRefType, indices: &[Type], count: i64) -> Lowered<()> {
    exactly("index", usize::try_from(count).unwrap_or(0), base.shape.len())?;
    exactly("index", indices.len(), base.shape.len())?;
    match indices.iter().find(|ty| !matches!(ty, Type::Index | Type::Scalar(DType::I32))) {
        Some(ty) => Err(format!("an index of type {ty}")),
        None => Ok(()),
    }
}

/// A view keeps element type and memory space.
fn stays(from: &MemRefType, to: &MemRefType) -> Lowered<()> {
    match (from.element, from.space) == (to.element, to.space) {
        true => Ok(()),
        false => Err("a view of another element type or memory space".into()),
    }
}

fn scalar(ty: &Type, dtype: DType, what: &str) -> Lowered<()> {
    match !is_vector(ty) && element(ty)? == dtype {
        true => Ok(()),
        false => Err(format!("{what} is {ty}, the memref holds {}", dtype.name())),
    }
}

fn lanes(ty: &Type, dtype: DType, what: &str) -> Lowered<()> {
    match is_vector(ty) && element(ty)? == dtype {
        true => Ok(()),
        false => Err(format!("{what} is {ty}, the memref holds {}", dtype.name())),
    }
}
