//! Rows of elements between memory bytes and 32-bit lanes, and between shadow bytes and lane masks.
//!
//! Invariant: `read` after `write` gives the same lanes for every lane that the type can hold. Offsets count elements.

use countersign_dtype as dtype;
use countersign_dtype::DType;

/// Reads `out.len()` elements from element `first` on, `stride` apart.
pub(crate) fn read(element: DType, bytes: &[u8], first: usize, stride: usize, out: &mut [u32]) {
    match element {
        DType::F32 | DType::I32 => gather::<4>(bytes, first, stride, out, u32::from_le_bytes),
        DType::Bf16 => gather::<2>(bytes, first, stride, out, |raw| u32::from(u16::from_le_bytes(raw)) << 16),
        DType::F16 => gather::<2>(bytes, first, stride, out, |raw| {
            dtype::f16_bits_to_f32(u16::from_le_bytes(raw)).to_bits()
        }),
        DType::I16 => gather::<2>(bytes, first, stride, out, |raw| i16::from_le_bytes(raw) as i32 as u32),
        DType::I8 => gather::<1>(bytes, first, stride, out, |[raw]| raw as i8 as i32 as u32),
        DType::I1 => gather::<1>(bytes, first, stride, out, |[raw]| u32::from(raw & 1)),
        DType::F8E4M3FN => {
            gather::<1>(bytes, first, stride, out, |[raw]| dtype::f8e4m3fn_bits_to_f32(raw).to_bits())
        }
        DType::F8E5M2 => {
            gather::<1>(bytes, first, stride, out, |[raw]| dtype::f8e5m2_bits_to_f32(raw).to_bits())
        }
        DType::I4 => {
            for (i, lane) in out.iter_mut().enumerate() {
                let at = first + i * stride;
                let nibble = u32::from(bytes[at / 2] >> (4 * (at % 2)));
                *lane = (((nibble << 28) as i32) >> 28) as u32;
            }
        }
    }
}

/// Raw bits, zero-extended, for views that pack narrow elements into words.
pub(crate) fn read_raw(element: DType, bytes: &[u8], first: usize, stride: usize, out: &mut [u32]) {
    match element.bits() {
        32 => gather::<4>(bytes, first, stride, out, u32::from_le_bytes),
        16 => gather::<2>(bytes, first, stride, out, |raw| u32::from(u16::from_le_bytes(raw))),
        8 | 1 => gather::<1>(bytes, first, stride, out, |[raw]| u32::from(raw)),
        _ => {
            for (i, lane) in out.iter_mut().enumerate() {
                let at = first + i * stride;
                *lane = u32::from(bytes[at / 2] >> (4 * (at % 2)) & 0xF);
            }
        }
    }
}

/// Masks of undefined bits in an element's own width (before any sign extension or widening).
pub(crate) fn read_shadow(element: DType, shadow: &[u8], first: usize, stride: usize, out: &mut [u32]) {
    let byte = |shadow: u8| if shadow == 0 { 0u32 } else { 0xFF };
    match element.bits() {
        32 => gather::<4>(shadow, first, stride, out, |raw| {
            raw.iter().rev().fold(0, |word, &shadow| word << 8 | byte(shadow))
        }),
        16 => gather::<2>(shadow, first, stride, out, |raw| byte(raw[1]) << 8 | byte(raw[0])),
        8 | 1 => gather::<1>(shadow, first, stride, out, |[raw]| byte(raw)),
        _ => {
            for (i, lane) in out.iter_mut().enumerate() {
                let at = first + i * stride;
                *lane = if shadow[at / 2] >> (at % 2) & 1 != 0 { 0xF } else { 0 };
            }
        }
    }
}

/// Whether any of the row's elements has an undefined bit.
pub(crate) fn any_undefined(
    element: DType,
    shadow: &[u8],
    first: usize,
    stride: usize,
    count: usize,
) -> bool {
    let bits = element.bits();
    if count == 0 {
        return false;
    }
    if stride == 1 && (bits >= 8 || (first.is_multiple_of(2) && count.is_multiple_of(2))) {
        let from = first * bits / 8;
        let to = (first + count) * bits / 8;
        if bits >= 8 || bits == 4 {
            return shadow[from..to].iter().fold(0, |seen, &byte| seen | byte) != 0;
        }
    }
    let mut lane = [0];
    (0..count).any(|i| {
        read_shadow(element, shadow, first + i * stride, 1, &mut lane);
        lane[0] != 0
    })
}

/// Writes one element.
pub(crate) fn write_one(element: DType, bytes: &mut [u8], at: usize, lane: u32) {
    let value = f32::from_bits(lane);
    match element {
        DType::F32 | DType::I32 => bytes[4 * at..4 * at + 4].copy_from_slice(&lane.to_le_bytes()),
        DType::Bf16 => bytes[2 * at..2 * at + 2].copy_from_slice(&((lane >> 16) as u16).to_le_bytes()),
        DType::F16 => bytes[2 * at..2 * at + 2].copy_from_slice(&dtype::f32_to_f16_bits(value).to_le_bytes()),
        DType::I16 => bytes[2 * at..2 * at + 2].copy_from_slice(&(lane as u16).to_le_bytes()),
        DType::I8 => bytes[at] = lane as u8,
        DType::I1 => bytes[at] = (lane & 1) as u8,
        DType::F8E4M3FN => bytes[at] = dtype::f32_to_f8e4m3fn_bits(value),
        DType::F8E5M2 => bytes[at] = dtype::f32_to_f8e5m2_bits(value),
        DType::I4 => {
            let shift = 4 * (at % 2);
            bytes[at / 2] = bytes[at / 2] & !(0xF << shift) | ((lane & 0xF) as u8) << shift;
        }
    }
}

/// Writes one element's raw bits, the low ones of `raw`.
pub(crate) fn write_raw(element: DType, bytes: &mut [u8], at: usize, raw: u32) {
    match element.bits() {
        32 => bytes[4 * at..4 * at + 4].copy_from_slice(&raw.to_le_bytes()),
        16 => bytes[2 * at..2 * at + 2].copy_from_slice(&(raw as u16).to_le_bytes()),
        8 | 1 => bytes[at] = raw as u8,
        _ => write_one(DType::I4, bytes, at, raw),
    }
}

/// Writes a row of elements one after the other.
pub(crate) fn write_row(element: DType, bytes: &mut [u8], first: usize, lanes: &[u32]) {
    match element {
        DType::F32 | DType::I32 => {
            let target = &mut bytes[4 * first..4 * (first + lanes.len())];
            for (raw, lane) in target.chunks_exact_mut(4).zip(lanes) {
                raw.copy_from_slice(&lane.to_le_bytes());
            }
        }
        DType::Bf16 => {
            let target = &mut bytes[2 * first..2 * (first + lanes.len())];
            for (raw, lane) in target.chunks_exact_mut(2).zip(lanes) {
                raw.copy_from_slice(&((lane >> 16) as u16).to_le_bytes());
            }
        }
        _ => {
            for (i, &lane) in lanes.iter().enumerate() {
                write_one(element, bytes, first + i, lane);
            }
        }
    }
}

/// Marks one element's shadow.
pub(crate) fn mark_one(element: DType, shadow: &mut [u8], at: usize, undefined: bool) {
    match element.bits() {
        4 => {
            let bit = 1 << (at % 2);
            shadow[at / 2] = if undefined { shadow[at / 2] | bit } else { shadow[at / 2] & !bit };
        }
        bits => {
            let width = bits.div_ceil(8);
            shadow[at * width..(at + 1) * width].fill(if undefined { super::UNDEFINED } else { 0 });
        }
    }
}

fn gather<const N: usize>(
    bytes: &[u8],
    first: usize,
    stride: usize,
    out: &mut [u32],
    f: impl Fn([u8; N]) -> u32,
) {
    if stride == 1 {
        let (source, _) = bytes[N * first..N * (first + out.len())].as_chunks::<N>();
        for (lane, raw) in out.iter_mut().zip(source) {
            *lane = f(*raw);
        }
        return;
    }
    for (i, lane) in out.iter_mut().enumerate() {
        let at = N * (first + i * stride);
        let mut raw = [0; N];
        raw.copy_from_slice(&bytes[at..at + N]);
        *lane = f(raw);
    }
}
