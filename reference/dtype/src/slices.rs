//! Conversions of whole runs of elements between little-endian bytes of any type and f32.
//!
//! Invariant: equal, element by element, to the scalar conversions; no allocation. Ranges are in elements, so that packed
//! types (int4, masks) may start in the middle of a byte.

use crate::float::*;
use crate::{Array, DType};

/// Widens bfloat16 bits; both slices have the same length.
pub fn bf16_bits_to_f32_slice(source: &[u16], target: &mut [f32]) {
    assert_eq!(source.len(), target.len());
    for (value, &bits) in target.iter_mut().zip(source) {
        *value = bf16_bits_to_f32(bits);
    }
}

/// Rounds to bfloat16 bits; both slices have the same length.
pub fn f32_to_bf16_bits_slice(source: &[f32], target: &mut [u16]) {
    assert_eq!(source.len(), target.len());
    for (bits, &value) in target.iter_mut().zip(source) {
        *bits = f32_to_bf16_bits(value);
    }
}

/// Sign extension of the low nibble of `bits`.
#[inline]
pub const fn sign_extend_i4(bits: u8) -> i8 {
    ((bits << 4) as i8) >> 4
}

/// The nearest integer (ties to even) within `lowest..=highest`; NaN gives 0.
#[inline]
fn round_to_integer(value: f32, lowest: f32, highest: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.round_ties_even().clamp(lowest, highest) }
}

/// `value` rounded to `dtype` and back: ties to even; floats overflow as their conversions say, integers are clamped to
/// their range (NaN gives 0), a mask lane is 1 for everything but zero. An i32 beyond 2^24 is as exact as f32 is.
#[inline]
pub fn round_to(dtype: DType, value: f32) -> f32 {
    match dtype {
        DType::F32 => value,
        DType::Bf16 => bf16_bits_to_f32(f32_to_bf16_bits(value)),
        DType::F16 => f16_bits_to_f32(f32_to_f16_bits(value)),
        DType::F8E4M3FN => f8e4m3fn_bits_to_f32(f32_to_f8e4m3fn_bits(value)),
        DType::F8E5M2 => f8e5m2_bits_to_f32(f32_to_f8e5m2_bits(value)),
        DType::I32 => round_to_integer(value, i32::MIN as f32, i32::MAX as f32) as i32 as f32,
        DType::I16 => round_to_integer(value, -32768.0, 32767.0),
        DType::I8 => round_to_integer(value, -128.0, 127.0),
        DType::I4 => round_to_integer(value, -8.0, 7.0),
        DType::I1 => f32::from(u8::from(value != 0.0)),
    }
}

/// Reads `target.len()` elements of `dtype`, from element `first` on, as f32 (an i32 is rounded to nearest).
///
/// # Panics
/// If `bytes` holds fewer elements.
pub fn read_f32(dtype: DType, bytes: &[u8], first: usize, target: &mut [f32]) {
    if dtype.bits() < 8 {
        for (offset, value) in target.iter_mut().enumerate() {
            let bit = (first + offset) * dtype.bits();
            let field = bytes[bit / 8] >> (bit % 8);
            *value = if dtype == DType::I4 { f32::from(sign_extend_i4(field)) } else { f32::from(field & 1) };
        }
        return;
    }
    let source = &bytes[Array::byte_len(dtype, first)..Array::byte_len(dtype, first + target.len())];
    match dtype {
        DType::F32 => read(source, target, f32::from_le_bytes),
        DType::Bf16 => read(source, target, |b| bf16_bits_to_f32(u16::from_le_bytes(b))),
        DType::F16 => read(source, target, |b| f16_bits_to_f32(u16::from_le_bytes(b))),
        DType::F8E4M3FN => read(source, target, |[b]| f8e4m3fn_bits_to_f32(b)),
        DType::F8E5M2 => read(source, target, |[b]| f8e5m2_bits_to_f32(b)),
        DType::I32 => read(source, target, |b| i32::from_le_bytes(b) as f32),
        DType::I16 => read(source, target, |b| f32::from(i16::from_le_bytes(b))),
        DType::I8 => read(source, target, |[b]| f32::from(b as i8)),
        DType::I4 | DType::I1 => unreachable!("packed types are read above"),
    }
}

/// Writes `values`, each as [`round_to`] rounds it, to the elements of `dtype` from element `first` on.
///
/// # Panics
/// If `bytes` holds fewer elements.
pub fn write_f32(dtype: DType, values: &[f32], bytes: &mut [u8], first: usize) {
    if dtype.bits() < 8 {
        for (offset, &value) in values.iter().enumerate() {
            let bit = (first + offset) * dtype.bits();
            let mask = ((1u8 << dtype.bits()) - 1) << (bit % 8);
            let field = (round_to(dtype, value) as i8 as u8) << (bit % 8);
            let byte = &mut bytes[bit / 8];
            *byte = (*byte & !mask) | (field & mask);
        }
        return;
    }
    let target = &mut bytes[Array::byte_len(dtype, first)..Array::byte_len(dtype, first + values.len())];
    match dtype {
        DType::F32 => write(values, target, f32::to_le_bytes),
        DType::Bf16 => write(values, target, |v| f32_to_bf16_bits(v).to_le_bytes()),
        DType::F16 => write(values, target, |v| f32_to_f16_bits(v).to_le_bytes()),
        DType::F8E4M3FN => write(values, target, |v| [f32_to_f8e4m3fn_bits(v)]),
        DType::F8E5M2 => write(values, target, |v| [f32_to_f8e5m2_bits(v)]),
        DType::I32 => write(values, target, |v| (v.round_ties_even() as i32).to_le_bytes()),
        DType::I16 => write(values, target, |v| (round_to(dtype, v) as i16).to_le_bytes()),
        DType::I8 => write(values, target, |v| [round_to(dtype, v) as i8 as u8]),
        DType::I4 | DType::I1 => unreachable!("packed types are written above"),
    }
}

#[inline]
fn read<const N: usize>(source: &[u8], target: &mut [f32], convert: impl Fn([u8; N]) -> f32) {
    for (value, chunk) in target.iter_mut().zip(source.as_chunks::<N>().0) {
        *value = convert(*chunk);
    }
}

#[inline]
fn write<const N: usize>(values: &[f32], target: &mut [u8], convert: impl Fn(f32) -> [u8; N]) {
    for (chunk, &value) in target.as_chunks_mut::<N>().0.iter_mut().zip(values) {
        *chunk = convert(value);
    }
}
