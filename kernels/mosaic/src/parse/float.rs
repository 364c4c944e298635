//! Decimal text of floats to the bits of an element type.
//!
//! Invariant: one rounding, to nearest, ties to even, from the f64 that the decimal text means.

use countersign_dtype::{DType, f32_to_bf16_bits, f32_to_f8e4m3fn_bits, f32_to_f8e5m2_bits, f32_to_f16_bits};

/// The bits of `value` in `dtype`; `None` where `dtype` is no float.
pub(super) fn encode(value: f64, dtype: DType) -> Option<u64> {
    let odd = to_odd_f32(value);
    match dtype {
        DType::F32 => Some(u64::from((value as f32).to_bits())),
        DType::Bf16 => Some(u64::from(f32_to_bf16_bits(odd))),
        DType::F16 => Some(u64::from(f32_to_f16_bits(odd))),
        DType::F8E4M3FN => Some(u64::from(f32_to_f8e4m3fn_bits(odd))),
        DType::F8E5M2 => Some(u64::from(f32_to_f8e5m2_bits(odd))),
        DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => None,
    }
}

/// Rounds to odd: an inexact result is the neighbour whose last bit is one, so that rounding it once more to a format at
/// least two bits narrower is as good as rounding `value` itself.
fn to_odd_f32(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) == value || !value.is_finite() {
        return nearest;
    }
    let towards_zero =
        if f64::from(nearest).abs() > value.abs() { nearest.to_bits() - 1 } else { nearest.to_bits() };
    f32::from_bits(towards_zero | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_once_to_nearest_even_in_every_type() {
        let half_past_one_in_bf16 = 1.0 + 2f64.powi(-8);
        let cases: &[(f64, DType, u64)] = &[
            (1.0, DType::F32, 0x3F80_0000),
            (-0.0, DType::F32, 0x8000_0000),
            (f64::NEG_INFINITY, DType::F32, 0xFF80_0000),
            (1e39, DType::F32, 0x7F80_0000),
            (half_past_one_in_bf16, DType::Bf16, 0x3F80),
            (half_past_one_in_bf16 + 2f64.powi(-40), DType::Bf16, 0x3F81),
            (half_past_one_in_bf16 - 2f64.powi(-40), DType::Bf16, 0x3F80),
            (1.0 + 3.0 * 2f64.powi(-8), DType::Bf16, 0x3F82),
            (-1.0 - 3.0 * 2f64.powi(-8) + 2f64.powi(-40), DType::Bf16, 0xBF81),
            (3.4e38, DType::Bf16, 0x7F80),
            (1e300, DType::Bf16, 0x7F80),
            (65519.999, DType::F16, 0x7BFF),
            (65520.0, DType::F16, 0x7C00),
            (2f64.powi(-25), DType::F16, 0x0000),
            (2f64.powi(-25) + 2f64.powi(-60), DType::F16, 0x0001),
            (61440.0, DType::F8E5M2, 0x7C),
            (464.0, DType::F8E4M3FN, 0x7E),
            (464.0001, DType::F8E4M3FN, 0x7F),
            (-1e-300, DType::F8E4M3FN, 0x80),
        ];
        for &(value, dtype, bits) in cases {
            assert_eq!(encode(value, dtype), Some(bits), "{value} as {}", dtype.name());
        }
        assert_eq!(encode(1.0, DType::I32), None);
    }
}
