//! The value functions of elementwise ops: one lane in, one lane out, on 32-bit lanes (see `value`).
//!
//! Invariant: total functions without side effects; f32 results are IEEE binary32, round to nearest even.
//! Narrow results are produced by `Unary::Round…`/`Wrap…` after the f32 or i32 op, which is exact for + - * / because
//! f32 has more than twice the bits of every narrower float.

use countersign_dtype as dtype;

#[inline(always)]
fn f(lane: u32) -> f32 {
    f32::from_bits(lane)
}

#[inline(always)]
fn mask(condition: bool) -> u32 {
    u32::from(condition)
}

/// Defines an enum of ops, its scalar function, and its application to grids.
macro_rules! unary_ops {
    ($($(#[$doc:meta])* $op:ident => $function:expr,)*) => {
        /// One-operand lane functions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Unary { $($(#[$doc])* $op,)* }

        impl Unary {
            pub(crate) fn lane(self, a: u32) -> u32 {
                match self { $(Unary::$op => $function(a),)* }
            }

            pub(crate) fn grid(self, pool: &mut Pool, a: &Grid) -> Grid {
                simd::widest(
                    #[inline(always)]
                    || match self { $(Unary::$op => a.map(pool, #[inline(always)] |a| $function(a)),)* },
                )
            }
        }
    };
}

macro_rules! binary_ops {
    ($($(#[$doc:meta])* $op:ident => $function:expr,)*) => {
        /// Two-operand lane functions.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(crate) enum Binary { $($(#[$doc])* $op,)* }

        impl Binary {
            pub(crate) fn lane(self, a: u32, b: u32) -> u32 {
                match self { $(Binary::$op => $function(a, b),)* }
            }

            pub(crate) fn grid(self, pool: &mut Pool, a: &Grid, b: &Grid) -> Grid {
                simd::widest(
                    #[inline(always)]
                    || match self { $(Binary::$op => a.zip(b, pool, #[inline(always)] |a, b| $function(a, b)),)* },
                )
            }
        }
    };
}

use super::functions;
use crate::simd;
use crate::value::{Grid, Pool};

impl Unary {
    /// Whether the machine must look at the operand first: a lane that doesn't survive is a fault.
    pub(crate) fn is_checked(self) -> bool {
        matches!(self, Unary::Fit16 | Unary::Fit8 | Unary::Fit4)
    }
}

unary_ops! {
    Exp => |a| functions::exp(f(a)).to_bits(),
    Tanh => |a| functions::tanh(f(a)).to_bits(),
    /// Rounds an f32 lane to bf16 (kept as f32 lane).
    RoundBf16 => |a| dtype::bf16_bits_to_f32(dtype::f32_to_bf16_bits(f(a))).to_bits(),
    RoundF16 => |a| dtype::f16_bits_to_f32(dtype::f32_to_f16_bits(f(a))).to_bits(),
    RoundF8E4M3FN => |a| functions::round_to_f8::<3>(a, 0x3c80_0000, 0x43e0_0000, 0x7fc0_0000),
    RoundF8E5M2 => |a| functions::round_to_f8::<2>(a, 0x3880_0000, 0x4760_0000, 0x7f80_0000),
    /// Keeps the low 16, 8, 4 bits, sign-extended.
    Wrap16 => |a: u32| a as i16 as i32 as u32,
    Wrap8 => |a: u32| a as i8 as i32 as u32,
    Wrap4 => |a: u32| (((a << 28) as i32) >> 28) as u32,
    Wrap1 => |a: u32| a & 1,
    /// The same as `Wrap…` where the value fits; the machine faults where it doesn't (`program::narrowing`).
    Fit16 => |a: u32| a as i16 as i32 as u32,
    Fit8 => |a: u32| a as i8 as i32 as u32,
    Fit4 => |a: u32| (((a << 28) as i32) >> 28) as u32,
    /// Keeps the low 16, 8, 4 bits, zero-extended (`arith.extui`).
    Zero16 => |a: u32| a & 0xFFFF,
    Zero8 => |a: u32| a & 0xFF,
    Zero4 => |a: u32| a & 0xF,
    /// A mask bit sign-extended: 0 or -1.
    Negate => |a: u32| a.wrapping_neg(),
    IntToFloat => |a: u32| (a as i32 as f32).to_bits(),
    /// Towards zero; saturates, NaN gives 0.
    FloatToInt => |a| (f(a) as i32) as u32,
    /// Saturates to 16, 8, 4 bits.
    Clamp16 => |a: u32| (a as i32).clamp(-1 << 15, (1 << 15) - 1) as u32,
    Clamp8 => |a: u32| (a as i32).clamp(-1 << 7, (1 << 7) - 1) as u32,
    Clamp4 => |a: u32| (a as i32).clamp(-1 << 3, (1 << 3) - 1) as u32,
    /// The bits of an f32 lane that holds a bf16, as a sign-extended 16-bit integer, and back.
    Bf16Bits => |a: u32| ((a as i32) >> 16) as u32,
    Bf16FromBits => |a: u32| a << 16,
    F16Bits => |a| dtype::f32_to_f16_bits(f(a)) as i16 as i32 as u32,
    F16FromBits => |a: u32| dtype::f16_bits_to_f32(a as u16).to_bits(),
    F8E4M3FNBits => |a| dtype::f32_to_f8e4m3fn_bits(f(a)) as i8 as i32 as u32,
    F8E4M3FNFromBits => |a: u32| dtype::f8e4m3fn_bits_to_f32(a as u8).to_bits(),
    F8E5M2Bits => |a| dtype::f32_to_f8e5m2_bits(f(a)) as i8 as i32 as u32,
    F8E5M2FromBits => |a: u32| dtype::f8e5m2_bits_to_f32(a as u8).to_bits(),
    /// Wrong on purpose: no op is lowered to it (`program::corrupt`).
    FlipLowest => |a: u32| a ^ 1,
}

binary_ops! {
    AddI => |a: u32, b: u32| a.wrapping_add(b),
    SubI => |a: u32, b: u32| a.wrapping_sub(b),
    MulI => |a: u32, b: u32| a.wrapping_mul(b),
    /// Signed division towards zero; the machine faults on a zero divisor and on the one overflow before this runs.
    DivSI => |a: u32, b: u32| (a as i32).checked_div(b as i32).unwrap_or(0) as u32,
    RemSI => |a: u32, b: u32| (a as i32).checked_rem(b as i32).unwrap_or(0) as u32,
    AndI => |a: u32, b: u32| a & b,
    OrI => |a: u32, b: u32| a | b,
    XorI => |a: u32, b: u32| a ^ b,
    /// Shifts by the lane width or more give 0 (poison in MLIR; what the hardware does).
    ShlI => |a: u32, b: u32| a.checked_shl(b).unwrap_or(0),
    ShrUI => |a: u32, b: u32| a.checked_shr(b).unwrap_or(0),
    MinSI => |a: u32, b: u32| (a as i32).min(b as i32) as u32,
    MaxSI => |a: u32, b: u32| (a as i32).max(b as i32) as u32,
    CmpEq => |a: u32, b: u32| mask(a == b),
    CmpNe => |a: u32, b: u32| mask(a != b),
    CmpSlt => |a: u32, b: u32| mask((a as i32) < b as i32),
    CmpSle => |a: u32, b: u32| mask(a as i32 <= b as i32),
    CmpSgt => |a: u32, b: u32| mask(a as i32 > b as i32),
    CmpSge => |a: u32, b: u32| mask(a as i32 >= b as i32),
    CmpUlt => |a: u32, b: u32| mask(a < b),
    CmpUle => |a: u32, b: u32| mask(a <= b),
    CmpUgt => |a: u32, b: u32| mask(a > b),
    CmpUge => |a: u32, b: u32| mask(a >= b),
    CmpOeq => |a, b| mask(f(a) == f(b)),
    CmpOgt => |a, b| mask(f(a) > f(b)),
    CmpOge => |a, b| mask(f(a) >= f(b)),
    CmpOlt => |a, b| mask(f(a) < f(b)),
    CmpOle => |a, b| mask(f(a) <= f(b)),
    CmpOne => |a, b| mask(f(a) < f(b) || f(a) > f(b)),
    CmpUne => |a, b| mask(f(a) != f(b)),
    AddF => |a, b| (f(a) + f(b)).to_bits(),
    SubF => |a, b| (f(a) - f(b)).to_bits(),
    MulF => |a, b| (f(a) * f(b)).to_bits(),
    DivF => |a, b| (f(a) / f(b)).to_bits(),
    MaximumF => maximum,
}

/// The larger; NaN if either is; +0 over -0 (`arith.maximumf`).
#[inline(always)]
pub(crate) fn maximum(a: u32, b: u32) -> u32 {
    let (x, y) = (f(a), f(b));
    let larger = if x > y { a } else { b };
    let larger = if x == y { a & b } else { larger };
    if x.is_nan() { a } else { larger }
}

/// All bits if any.
#[inline(always)]
pub(crate) fn spread(mask: u32) -> u32 {
    u32::from(mask != 0).wrapping_neg()
}
