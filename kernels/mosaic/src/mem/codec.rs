//! Elements between memory bytes and 32-bit lanes.
//!
//! Invariant: `read` after `write` gives the same lanes for every lane that the type can hold. Offsets count elements; the
//! type is decided once a view, not once an element.

use std::sync::LazyLock;

use countersign_dtype as dtype;
use countersign_dtype::DType;

use crate::simd;

use super::view::View;

/// Lanes of every byte of an 8-bit float.
struct Bytes {
    e4m3fn: [u32; 256],
    e5m2: [u32; 256],
}

static BYTES: LazyLock<Bytes> = LazyLock::new(|| Bytes {
    e4m3fn: std::array::from_fn(|raw| dtype::f8e4m3fn_bits_to_f32(raw as u8).to_bits()),
    e5m2: std::array::from_fn(|raw| dtype::f8e5m2_bits_to_f32(raw as u8).to_bits()),
});

/// Where the elements of a view are read from.
pub(crate) trait Source {
    /// The view as runs of elements ([`View::runs`]) that each lie in one piece here.
    fn runs(&self, view: &View) -> (usize, usize, usize);

    /// `count` elements of `N` bytes.
    fn run<const N: usize>(&self, first: usize, count: usize) -> &[u8];
}

impl Source for [u8] {
    fn runs(&self, view: &View) -> (usize, usize, usize) {
        view.runs()
    }

    #[inline(always)]
    fn run<const N: usize>(&self, first: usize, count: usize) -> &[u8] {
        &self[N * first..N * (first + count)]
    }
}

/// Reads the elements of a view in row-major order; `element` is the type of what it packs.
pub(crate) fn read<S: Source + ?Sized>(view: &View, element: DType, source: &S, out: &mut [u32]) {
    simd::widest(
        #[inline(always)]
        || match view.pack {
            1 => read_elements(view, source, out),
            _ => read_packed(view, element, source, out),
        },
    );
}

#[inline(always)]
fn read_elements<S: Source + ?Sized>(view: &View, source: &S, out: &mut [u32]) {
    match view.dtype {
        DType::F32 | DType::I32 => rows::<4, S>(view, source, out, u32::from_le_bytes),
        DType::Bf16 => rows::<2, S>(view, source, out, |raw| u32::from(u16::from_le_bytes(raw)) << 16),
        DType::F16 => {
            rows::<2, S>(view, source, out, |raw| dtype::f16_bits_to_f32(u16::from_le_bytes(raw)).to_bits())
        }
        DType::I16 => rows::<2, S>(view, source, out, |raw| i16::from_le_bytes(raw) as i32 as u32),
        DType::I8 => rows::<1, S>(view, source, out, |[raw]| raw as i8 as i32 as u32),
        DType::I1 => rows::<1, S>(view, source, out, |[raw]| u32::from(raw & 1)),
        DType::F8E4M3FN => {
            let table = &BYTES.e4m3fn;
            rows::<1, S>(view, source, out, |[raw]| table[usize::from(raw)]);
        }
        DType::F8E5M2 => {
            let table = &BYTES.e5m2;
            rows::<1, S>(view, source, out, |[raw]| table[usize::from(raw)]);
        }
        DType::I4 => {
            nibbles(view, source, out, |lane, nibble| *lane = (((nibble << 28) as i32) >> 28) as u32)
        }
    }
}

/// Words that pack several elements each, low bits first.
#[inline(always)]
fn read_packed<S: Source + ?Sized>(view: &View, element: DType, source: &S, out: &mut [u32]) {
    out.fill(0);
    for packed in 0..view.pack {
        let part = View { offset: view.offset + packed as i64 * view.pack_stride, ..view.clone() };
        let shift = packed * element.bits();
        match element.bits() {
            16 => gather::<2, S>(&part, source, out, |lane, raw| {
                *lane |= u32::from(u16::from_le_bytes(raw)) << shift;
            }),
            8 => gather::<1, S>(&part, source, out, |lane, [raw]| *lane |= u32::from(raw) << shift),
            4 => nibbles(&part, source, out, |lane, nibble| *lane |= nibble << shift),
            _ => {}
        }
    }
}

fn nibble(bytes: &[u8], at: usize) -> u32 {
    u32::from(bytes[at / 2] >> (4 * (at % 2)) & 0xF)
}

fn nibbles<S: Source + ?Sized>(view: &View, source: &S, out: &mut [u32], f: impl Fn(&mut u32, u32)) {
    let (outer, run, stride) = source.runs(view);
    let mut lanes = out.iter_mut();
    view.outer(outer, |offset| {
        for (i, lane) in (0..run).zip(&mut lanes) {
            let at = offset as usize + i * stride;
            f(lane, nibble(source.run::<1>(at / 2, 1), at % 2));
        }
    });
}

#[inline(always)]
fn rows<const N: usize, S: Source + ?Sized>(
    view: &View,
    source: &S,
    out: &mut [u32],
    f: impl Fn([u8; N]) -> u32,
) {
    gather::<N, S>(view, source, out, |lane, raw| *lane = f(raw));
}

#[inline(always)]
fn gather<const N: usize, S: Source + ?Sized>(
    view: &View,
    source: &S,
    out: &mut [u32],
    f: impl Fn(&mut u32, [u8; N]),
) {
    let (outer, run, stride) = source.runs(view);
    let mut rest = out;
    view.outer(outer, |offset| {
        let offset = offset as usize;
        let (row, tail) = std::mem::take(&mut rest).split_at_mut(run);
        rest = tail;
        if stride == 1 {
            let (elements, _) = source.run::<N>(offset, run).as_chunks::<N>();
            for (lane, raw) in row.iter_mut().zip(elements) {
                f(lane, *raw);
            }
        } else {
            for (i, lane) in row.iter_mut().enumerate() {
                if let Some(raw) = source.run::<N>(offset + i * stride, 1).first_chunk::<N>() {
                    f(lane, *raw);
                }
            }
        }
    });
}

/// One element's raw bits, zero-extended.
pub(crate) fn read_raw(element: DType, bytes: &[u8], at: usize) -> u32 {
    match element.bits() {
        32 => bytes[4 * at..].first_chunk().map_or(0, |raw| u32::from_le_bytes(*raw)),
        16 => bytes[2 * at..].first_chunk().map_or(0, |raw| u32::from(u16::from_le_bytes(*raw))),
        8 | 1 => u32::from(bytes[at]),
        _ => nibble(bytes, at),
    }
}

/// The lane that an element's raw bits mean.
pub(crate) fn lane(element: DType, raw: u32) -> u32 {
    match element {
        DType::F32 | DType::I32 => raw,
        DType::Bf16 => raw << 16,
        DType::F16 => dtype::f16_bits_to_f32(raw as u16).to_bits(),
        DType::I16 => raw as i16 as i32 as u32,
        DType::I8 => raw as i8 as i32 as u32,
        DType::I1 => raw & 1,
        DType::F8E4M3FN => BYTES.e4m3fn[(raw & 0xFF) as usize],
        DType::F8E5M2 => BYTES.e5m2[(raw & 0xFF) as usize],
        DType::I4 => (((raw << 28) as i32) >> 28) as u32,
    }
}

/// The raw bits of a lane, in the low bits.
pub(crate) fn raw(element: DType, lane: u32) -> u32 {
    let value = f32::from_bits(lane);
    match element {
        DType::F32 | DType::I32 => lane,
        DType::Bf16 => lane >> 16,
        DType::F16 => u32::from(dtype::f32_to_f16_bits(value)),
        DType::I16 => lane & 0xFFFF,
        DType::I8 => lane & 0xFF,
        DType::I1 => lane & 1,
        DType::F8E4M3FN => u32::from(dtype::f32_to_f8e4m3fn_bits(value)),
        DType::F8E5M2 => u32::from(dtype::f32_to_f8e5m2_bits(value)),
        DType::I4 => lane & 0xF,
    }
}

/// Writes one element's raw bits, the low ones of `raw`.
pub(crate) fn write_raw(element: DType, bytes: &mut [u8], at: usize, raw: u32) {
    match element.bits() {
        32 => bytes[4 * at..4 * at + 4].copy_from_slice(&raw.to_le_bytes()),
        16 => bytes[2 * at..2 * at + 2].copy_from_slice(&(raw as u16).to_le_bytes()),
        8 | 1 => bytes[at] = raw as u8,
        _ => {
            let shift = 4 * (at % 2);
            bytes[at / 2] = bytes[at / 2] & !(0xF << shift) | ((raw & 0xF) as u8) << shift;
        }
    }
}

/// Writes the same raw bits to `count` elements of a type of at least a byte, one after the other.
pub(crate) fn fill_row(element: DType, bytes: &mut [u8], first: usize, count: usize, raw: u32) {
    let width = element.bits().div_ceil(8);
    let target = &mut bytes[width * first..width * (first + count)];
    match width {
        4 => target.as_chunks_mut::<4>().0.fill(raw.to_le_bytes()),
        2 => target.as_chunks_mut::<2>().0.fill((raw as u16).to_le_bytes()),
        _ => target.fill(raw as u8),
    }
}

/// Writes elements of a type of at least a byte one after the other; to be called within [`simd::widest`].
#[inline(always)]
pub(crate) fn write_elements(element: DType, bytes: &mut [u8], first: usize, lanes: &[u32]) {
    match element {
        DType::F32 | DType::I32 => {
            let target = &mut bytes[4 * first..4 * (first + lanes.len())];
            for (raw, lane) in target.as_chunks_mut::<4>().0.iter_mut().zip(lanes) {
                *raw = lane.to_le_bytes();
            }
        }
        DType::Bf16 => {
            let target = &mut bytes[2 * first..2 * (first + lanes.len())];
            for (raw, lane) in target.as_chunks_mut::<2>().0.iter_mut().zip(lanes) {
                *raw = ((lane >> 16) as u16).to_le_bytes();
            }
        }
        _ => {
            for (i, &lane) in lanes.iter().enumerate() {
                write_raw(element, bytes, first + i, raw(element, lane));
            }
        }
    }
}
