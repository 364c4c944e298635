//! The inner loops of a product: register tiles, four rows by sixteen columns.
//!
//! Invariant: each sum is one chain, k ascending, whichever loops run; where denormals flush, the start does and every sum.

use crate::ops::arithmetic::flushed;

use super::pack::Operand;

/// Rows and columns of a register tile: eight accumulators of eight lanes.
const ROWS: usize = 4;
pub(super) const COLUMNS: usize = 16;
/// Side of the squares in which an operand is transposed.
pub(super) const SIDE: usize = 8;

/// A register tile.
type Tile = [[f32; COLUMNS]; ROWS];

/// Sixteen columns of the right operand: every `step`th of the chunks, by depth.
#[derive(Clone, Copy)]
pub(super) struct Panel<'a> {
    pub(super) chunks: &'a [[f32; COLUMNS]],
    pub(super) step: usize,
}

/// `sums += rows * columns`: `rows` is `[rows, depth]`, `sums` is `[rows, width]`, both row-major; `buffer` holds a panel.
/// Where all sums start from one value it is `start`, and `sums` holds anything.
pub(super) fn product<const FLUSH: bool>(
    rows: &[f32],
    columns: &Operand<'_>,
    start: Option<f32>,
    sums: &mut [f32],
    extents: [usize; 2],
    buffer: &mut [f32],
) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the two features that the function is compiled for were detected on this processor just above; it is
        // safe code otherwise.
        #[allow(unsafe_code)]
        return unsafe { avx2::product::<FLUSH>(rows, columns, start, sums, extents, buffer) };
    }
    tiles::<FLUSH>(rows, columns, start, sums, extents, buffer, chains::<FLUSH>);
}

/// Tile by tile; `chains` continues the sums of one.
#[inline(always)]
fn tiles<const FLUSH: bool>(
    rows: &[f32],
    columns: &Operand<'_>,
    start: Option<f32>,
    sums: &mut [f32],
    [depth, width]: [usize; 2],
    buffer: &mut [f32],
    chains: impl Fn(Tile, [&[f32]; ROWS], Panel<'_>) -> Tile,
) {
    if depth == 0 {
        if let Some(start) = start {
            sums.fill(start);
        }
        if FLUSH {
            sums.iter_mut().for_each(|sum| *sum = flushed(*sum));
        }
        return;
    }
    let height = rows.len() / depth;
    for column in (0..width).step_by(COLUMNS) {
        let panel = columns.panel(column, buffer);
        let across = COLUMNS.min(width - column);
        for row in (0..height).step_by(ROWS) {
            let down = ROWS.min(height - row);
            let mut tile = [[start.unwrap_or(0.0); COLUMNS]; ROWS];
            if start.is_none() {
                for (line, sums) in tile.iter_mut().zip(sums[row * width..].chunks(width)).take(down) {
                    read(line, &sums[column..column + across]);
                }
            }
            if FLUSH {
                tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = flushed(*sum));
            }
            // Past the last row its line is used again; what comes of it is dropped.
            let lines = std::array::from_fn(|i| {
                let line = row + i.min(down - 1);
                &rows[line * depth..(line + 1) * depth]
            });
            let tile = chains(tile, lines, panel);
            for (line, sums) in tile.iter().zip(sums[row * width..].chunks_mut(width)).take(down) {
                write(line, &mut sums[column..column + across]);
            }
        }
    }
}

/// A whole line of a tile in registers, the rest of one lane by lane.
#[inline(always)]
fn read(line: &mut [f32; COLUMNS], sums: &[f32]) {
    match sums.first_chunk() {
        Some(sums) => *line = *sums,
        None => line.iter_mut().zip(sums).for_each(|(lane, &sum)| *lane = sum),
    }
}

/// The inverse of [`read`].
#[inline(always)]
fn write(line: &[f32; COLUMNS], sums: &mut [f32]) {
    match sums.first_chunk_mut() {
        Some(sums) => *sums = *line,
        None => sums.iter_mut().zip(line).for_each(|(sum, &lane)| *sum = lane),
    }
}

fn chains<const FLUSH: bool>(mut tile: Tile, lines: [&[f32]; ROWS], panel: Panel<'_>) -> Tile {
    for (k, right) in panel.chunks.iter().step_by(panel.step).enumerate() {
        for (line, left) in tile.iter_mut().zip(lines) {
            for (sum, &right) in line.iter_mut().zip(right) {
                let next = left[k].mul_add(right, *sum);
                *sum = if FLUSH { flushed(next) } else { next };
            }
        }
    }
    tile
}

/// Rows to columns.
#[inline(always)]
pub(super) fn transposed(square: [[f32; SIDE]; SIDE]) -> [[f32; SIDE]; SIDE] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature that the function is compiled for was detected on this processor just above; it is safe code
        // otherwise.
        #[allow(unsafe_code)]
        return unsafe { avx2::transposed(square) };
    }
    std::array::from_fn(|i| std::array::from_fn(|j| square[j][i]))
}

/// The loops with their vectors written out. Left to itself, the compiler vectorises [`chains`] over rows and spills the tile,
/// which took five times as long; its transposition took twice as long.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Operand, Panel, ROWS, SIDE, Tile};

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn product<const FLUSH: bool>(
        rows: &[f32],
        columns: &Operand<'_>,
        start: Option<f32>,
        sums: &mut [f32],
        extents: [usize; 2],
        buffer: &mut [f32],
    ) {
        let chains = |tile: Tile, [a, b, c, d]: [&[f32]; ROWS], panel: Panel<'_>| {
            let mut sums: [[__m256; 2]; ROWS] = bytemuck::cast(tile);
            let columns = panel.chunks.iter().step_by(panel.step);
            for ((((a, b), c), d), right) in a.iter().zip(b).zip(c).zip(d).zip(columns) {
                let vectors: [__m256; 2] = bytemuck::cast(*right);
                for (line, &left) in sums.iter_mut().zip([a, b, c, d]) {
                    let left = _mm256_set1_ps(left);
                    for (sum, right) in line.iter_mut().zip(vectors) {
                        *sum = _mm256_fmadd_ps(left, right, *sum);
                        if FLUSH {
                            *sum = flushed(*sum);
                        }
                    }
                }
            }
            bytemuck::cast(sums)
        };
        super::tiles::<FLUSH>(rows, columns, start, sums, extents, buffer, chains);
    }

    #[target_feature(enable = "avx2,fma")]
    fn flushed(value: __m256) -> __m256 {
        let sign = _mm256_set1_ps(-0.0);
        let size = _mm256_andnot_ps(sign, value);
        let denormal = _mm256_cmp_ps::<_CMP_LT_OQ>(size, _mm256_set1_ps(f32::MIN_POSITIVE));
        _mm256_blendv_ps(value, _mm256_and_ps(value, sign), denormal)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn transposed(square: [[f32; SIDE]; SIDE]) -> [[f32; SIDE]; SIDE] {
        let [a, b, c, d, e, f, g, h]: [__m256; SIDE] = bytemuck::cast(square);
        // Pairs of lines, then fours within each half of a register, then the halves.
        let pairs = |a, b| [_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)];
        let ([a, b], [c, d], [e, f], [g, h]) = (pairs(a, b), pairs(c, d), pairs(e, f), pairs(g, h));
        let fours = |a, b| [_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xEE>(a, b)];
        let ([a, b], [c, d], [e, f], [g, h]) = (fours(a, c), fours(b, d), fours(e, g), fours(f, h));
        let low = |a, b| _mm256_permute2f128_ps::<0x20>(a, b);
        let high = |a, b| _mm256_permute2f128_ps::<0x31>(a, b);
        let columns =
            [low(a, e), low(b, f), low(c, g), low(d, h), high(a, e), high(b, f), high(c, g), high(d, h)];
        bytemuck::cast(columns)
    }
}
