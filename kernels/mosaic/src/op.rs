//! The op table: every op that we know, one line each: its name, the attributes it may carry, how it is lowered.
//!
//! Invariant: an op or attribute that isn't here is refused by name at lowering; nothing is ignored silently except the
//! attributes listed in `HARMLESS`, which carry no meaning for execution.

use countersign_dtype::DType;

use crate::ops::scalar::{Binary, Unary};
use crate::program::Reduction;

/// Attributes without meaning for what an op computes here: fast-math and overflow flags are promises of the
/// producer (Pallas emits `none`), trace levels and priorities concern profiling and scheduling.
pub(crate) const HARMLESS: [&str; 5] = ["fastmath", "overflowFlags", "priority", "level", "message"];

/// How an op becomes an instruction.
pub(crate) enum Lowering {
    /// Lane function of floats; narrow results are rounded.
    FloatUnary(Unary),
    FloatBinary(Binary),
    /// Lane function of integers; narrow results are wrapped.
    IntBinary(Binary),
    /// Unsigned or bitwise right shift: only on 32-bit lanes.
    WordBinary(Binary),
    CompareInt,
    CompareFloat,
    Convert(Conversion),
    Special(Special),
}

/// Conversions, decided by operand and result type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Conversion {
    ExtF,
    TruncF,
    ExtSI,
    ExtUI,
    TruncI,
    SIToFP,
    FPToSI,
    IndexCast,
    Bitcast,
}

/// Ops with a lowering of their own (see `program::lower`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Special {
    Constant,
    Select,
    Iota,
    Broadcast,
    ShapeCast,
    MultiReduction,
    Matmul,
    Concatenate,
    MemRefSlice,
    MemRefSqueeze,
    MemRefReshape,
    MemRefBitcast,
    MemRefLoad,
    MemRefStore,
    VectorLoad,
    StridedLoad,
    VectorStore,
    EnqueueDma,
    WaitDma2,
    If,
    While,
    For,
    Nop,
}

/// Name, known attributes, lowering.
pub(crate) type Entry = (&'static str, &'static [&'static str], Lowering);

use Lowering::Special as S;
use Lowering::{CompareFloat, CompareInt, Convert, FloatBinary, FloatUnary, IntBinary, WordBinary};

/// Every op that we know.
pub(crate) const TABLE: &[Entry] = &[
    ("arith.addf", &[], FloatBinary(Binary::AddF)),
    ("arith.addi", &[], IntBinary(Binary::AddI)),
    ("arith.andi", &[], IntBinary(Binary::AndI)),
    ("arith.bitcast", &[], Convert(Conversion::Bitcast)),
    ("arith.cmpf", &["predicate"], CompareFloat),
    ("arith.cmpi", &["predicate"], CompareInt),
    ("arith.constant", &["value"], S(Special::Constant)),
    ("arith.divf", &[], FloatBinary(Binary::DivF)),
    ("arith.divsi", &[], IntBinary(Binary::DivSI)),
    ("arith.extf", &[], Convert(Conversion::ExtF)),
    ("arith.extsi", &[], Convert(Conversion::ExtSI)),
    ("arith.extui", &[], Convert(Conversion::ExtUI)),
    ("arith.fptosi", &[], Convert(Conversion::FPToSI)),
    ("arith.index_cast", &[], Convert(Conversion::IndexCast)),
    ("arith.maximumf", &[], FloatBinary(Binary::MaximumF)),
    ("arith.maxsi", &[], IntBinary(Binary::MaxSI)),
    ("arith.minsi", &[], IntBinary(Binary::MinSI)),
    ("arith.mulf", &[], FloatBinary(Binary::MulF)),
    ("arith.muli", &[], IntBinary(Binary::MulI)),
    ("arith.ori", &[], IntBinary(Binary::OrI)),
    ("arith.remsi", &[], IntBinary(Binary::RemSI)),
    ("arith.select", &[], S(Special::Select)),
    ("arith.shli", &[], IntBinary(Binary::ShlI)),
    ("arith.shrui", &[], WordBinary(Binary::ShrUI)),
    ("arith.sitofp", &[], Convert(Conversion::SIToFP)),
    ("arith.subf", &[], FloatBinary(Binary::SubF)),
    ("arith.subi", &[], IntBinary(Binary::SubI)),
    ("arith.truncf", &["roundingmode"], Convert(Conversion::TruncF)),
    ("arith.trunci", &[], Convert(Conversion::TruncI)),
    ("arith.xori", &[], IntBinary(Binary::XorI)),
    ("math.exp", &[], FloatUnary(Unary::Exp)),
    ("math.tanh", &[], FloatUnary(Unary::Tanh)),
    ("memref.load", &[], S(Special::MemRefLoad)),
    ("memref.store", &[], S(Special::MemRefStore)),
    ("scf.for", &[], S(Special::For)),
    ("scf.if", &[], S(Special::If)),
    ("scf.while", &[], S(Special::While)),
    ("tpu.bitcast", &[], Convert(Conversion::Bitcast)),
    ("tpu.concatenate", &["dimension"], S(Special::Concatenate)),
    ("tpu.enqueue_dma", &["operandSegmentSizes", "strict_ordering"], S(Special::EnqueueDma)),
    ("tpu.iota", &["dimensions", "dimension"], S(Special::Iota)),
    ("tpu.matmul", &["dimension_numbers", "transpose_lhs", "transpose_rhs", "precision"], S(Special::Matmul)),
    ("tpu.memref_bitcast", &[], S(Special::MemRefBitcast)),
    ("tpu.memref_reshape", &[], S(Special::MemRefReshape)),
    ("tpu.memref_slice", &["operandSegmentSizes"], S(Special::MemRefSlice)),
    ("tpu.memref_squeeze", &[], S(Special::MemRefSqueeze)),
    ("tpu.strided_load", &["strides"], S(Special::StridedLoad)),
    ("tpu.trace_start", &[], S(Special::Nop)),
    ("tpu.trace_stop", &[], S(Special::Nop)),
    ("tpu.vector_store", &["operandSegmentSizes", "strides", "add"], S(Special::VectorStore)),
    ("tpu.wait_dma2", &["operandSegmentSizes", "strict_ordering"], S(Special::WaitDma2)),
    ("vector.broadcast", &[], S(Special::Broadcast)),
    ("vector.load", &[], S(Special::VectorLoad)),
    ("vector.multi_reduction", &["kind", "reduction_dims"], S(Special::MultiReduction)),
    ("vector.shape_cast", &[], S(Special::ShapeCast)),
];

/// The table's line for `name`.
pub(crate) fn entry(name: &str) -> Option<&'static Entry> {
    TABLE.iter().find(|entry| entry.0 == name)
}

/// Names of all ops that the machine executes, sorted.
pub fn known_ops() -> Vec<&'static str> {
    TABLE.iter().map(|entry| entry.0).collect()
}

/// Rounds or wraps a 32-bit lane to what `dtype` can hold; `None` where every lane can be held.
pub(crate) fn narrow(dtype: DType) -> Option<Unary> {
    match dtype {
        DType::F32 | DType::I32 => None,
        DType::Bf16 => Some(Unary::RoundBf16),
        DType::F16 => Some(Unary::RoundF16),
        DType::F8E4M3FN => Some(Unary::RoundF8E4M3FN),
        DType::F8E5M2 => Some(Unary::RoundF8E5M2),
        DType::I16 => Some(Unary::Wrap16),
        DType::I8 => Some(Unary::Wrap8),
        DType::I4 => Some(Unary::Wrap4),
        DType::I1 => Some(Unary::Wrap1),
    }
}

/// `arith.cmpi` by predicate number.
pub(crate) fn compare_int(predicate: i64) -> Option<Binary> {
    Some(match predicate {
        0 => Binary::CmpEq,
        1 => Binary::CmpNe,
        2 => Binary::CmpSlt,
        3 => Binary::CmpSle,
        4 => Binary::CmpSgt,
        5 => Binary::CmpSge,
        6 => Binary::CmpUlt,
        7 => Binary::CmpUle,
        8 => Binary::CmpUgt,
        9 => Binary::CmpUge,
        _ => return None,
    })
}

/// The same op on mask lanes, where true is -1 to signed ops but 1 in the lane; `None` where there is none.
pub(crate) fn on_masks(binary: Binary) -> Option<Binary> {
    match binary {
        Binary::MinSI => Some(Binary::OrI),
        Binary::MaxSI => Some(Binary::AndI),
        Binary::CmpSlt => Some(Binary::CmpUgt),
        Binary::CmpSle => Some(Binary::CmpUge),
        Binary::CmpSgt => Some(Binary::CmpUlt),
        Binary::CmpSge => Some(Binary::CmpUle),
        Binary::DivSI | Binary::RemSI | Binary::ShlI | Binary::ShrUI => None,
        other => Some(other),
    }
}

/// `arith.cmpf` by predicate number; the unordered ones that no kernel has used so far are refused by name.
pub(crate) fn compare_float(predicate: i64) -> Option<Binary> {
    Some(match predicate {
        1 => Binary::CmpOeq,
        2 => Binary::CmpOgt,
        3 => Binary::CmpOge,
        4 => Binary::CmpOlt,
        5 => Binary::CmpOle,
        6 => Binary::CmpOne,
        13 => Binary::CmpUne,
        _ => return None,
    })
}

/// Reduction by MLIR's name.
pub(crate) fn reduction(kind: &str) -> Option<Reduction> {
    match kind {
        "vector.kind<add>" => Some(Reduction::AddF),
        "vector.kind<maximumf>" => Some(Reduction::MaximumF),
        _ => None,
    }
}

/// The steps of a conversion between element types, `None` where the pair makes no sense.
pub(crate) fn conversion(conversion: Conversion, from: DType, to: DType) -> Option<Vec<Unary>> {
    let wider = to.bits() > from.bits();
    let narrower = to.bits() < from.bits();
    let steps = match conversion {
        // Every narrow float is an f32 lane already.
        Conversion::ExtF if from.is_float() && to.is_float() && wider => Vec::new(),
        Conversion::TruncF if from.is_float() && to.is_float() && narrower => {
            narrow(to).into_iter().collect()
        }
        Conversion::ExtSI if !from.is_float() && !to.is_float() && wider => match from {
            DType::I1 => vec![Unary::Negate],
            _ => Vec::new(),
        },
        Conversion::ExtUI if !from.is_float() && !to.is_float() && wider => match from {
            DType::I16 => vec![Unary::Zero16],
            DType::I8 => vec![Unary::Zero8],
            DType::I4 => vec![Unary::Zero4],
            _ => Vec::new(),
        },
        Conversion::TruncI if !from.is_float() && !to.is_float() && narrower => {
            narrow(to).into_iter().collect()
        }
        // Through f32: exact for integers of up to 24 bits, else rounded twice for a narrower float.
        Conversion::SIToFP
            if !from.is_float() && to.is_float() && (from != DType::I32 || to == DType::F32) =>
        {
            // i1 true is -1; a mask lane holds 1.
            let negate = (from == DType::I1).then_some(Unary::Negate);
            negate.into_iter().chain([Unary::IntToFloat]).chain(narrow(to)).collect()
        }
        Conversion::FPToSI if from.is_float() && !to.is_float() && to != DType::I1 => {
            [Unary::FloatToInt].into_iter().chain(clamp(to)).collect()
        }
        Conversion::IndexCast if !from.is_float() && !to.is_float() => Vec::new(),
        Conversion::Bitcast if from.bits() == to.bits() && from != DType::I1 => {
            to_bits(from).into_iter().chain(from_bits(to)).collect()
        }
        Conversion::ExtF
        | Conversion::TruncF
        | Conversion::ExtSI
        | Conversion::ExtUI
        | Conversion::TruncI
        | Conversion::SIToFP
        | Conversion::FPToSI
        | Conversion::IndexCast
        | Conversion::Bitcast => return None,
    };
    Some(steps)
}

/// Saturation of an i32 lane to a narrower integer type.
fn clamp(to: DType) -> Option<Unary> {
    match to {
        DType::I16 => Some(Unary::Clamp16),
        DType::I8 => Some(Unary::Clamp8),
        DType::I4 => Some(Unary::Clamp4),
        DType::F32 | DType::Bf16 | DType::F16 | DType::F8E4M3FN | DType::F8E5M2 | DType::I32 | DType::I1 => {
            None
        }
    }
}

/// From a lane of `dtype` to its bits as a sign-extended integer.
pub(crate) fn to_bits(dtype: DType) -> Option<Unary> {
    match dtype {
        DType::Bf16 => Some(Unary::Bf16Bits),
        DType::F16 => Some(Unary::F16Bits),
        DType::F8E4M3FN => Some(Unary::F8E4M3FNBits),
        DType::F8E5M2 => Some(Unary::F8E5M2Bits),
        DType::F32 | DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => None,
    }
}

/// The inverse of [`to_bits`].
pub(crate) fn from_bits(dtype: DType) -> Option<Unary> {
    match dtype {
        DType::Bf16 => Some(Unary::Bf16FromBits),
        DType::F16 => Some(Unary::F16FromBits),
        DType::F8E4M3FN => Some(Unary::F8E4M3FNFromBits),
        DType::F8E5M2 => Some(Unary::F8E5M2FromBits),
        DType::F32 | DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => None,
    }
}
