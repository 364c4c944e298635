//! The inner loops of a product: register tiles, four rows by sixteen columns.
//!
//! Invariant: each sum is one chain, k ascending, whichever loops run; where denormals flush, the start does and every sum.

use crate::ops::arithmetic::flushed;

use super::pack::Operand;

/// Rows and columns of a register tile: eight accumulators of eight lanes.
const ROWS: usize = 4;
pub(super) const COLUMNS: usize = 16;

/// A register tile.
type Tile = [[f32; COLUMNS]; ROWS];

/// Sixteen columns of the right operand, by depth.
pub(super) type Panel<'a> = &'a [[f32; COLUMNS]];

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
        // Whole tiles go from registers to registers.
        let mut row = 0;
        if across == COLUMNS {
            let lines = rows.chunks_exact(ROWS * depth);
            for (lines, sums) in lines.zip(sums.chunks_exact_mut(ROWS * width)) {
                if let (Some(lines), Some(sums)) = (four(lines, depth), tile_of(sums, width, column)) {
                    whole::<FLUSH>(lines, start, sums, panel, &chains);
                }
                row += ROWS;
            }
        }
        for row in (row..height).step_by(ROWS) {
            let down = ROWS.min(height - row);
            let mut tile = [[start.unwrap_or(0.0); COLUMNS]; ROWS];
            if start.is_none() {
                for (line, sums) in tile.iter_mut().zip(sums[row * width..].chunks(width)).take(down) {
                    line.iter_mut().zip(&sums[column..column + across]).for_each(|(lane, &sum)| *lane = sum);
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
                sums[column..column + across].iter_mut().zip(line).for_each(|(sum, &lane)| *sum = lane);
            }
        }
    }
}

/// A whole tile.
#[inline(always)]
fn whole<const FLUSH: bool>(
    lines: [&[f32]; ROWS],
    start: Option<f32>,
    [a, b, c, d]: [&mut [f32; COLUMNS]; ROWS],
    panel: Panel<'_>,
    chains: &impl Fn(Tile, [&[f32]; ROWS], Panel<'_>) -> Tile,
) {
    let mut tile = match start {
        Some(start) => [[start; COLUMNS]; ROWS],
        None => [*a, *b, *c, *d],
    };
    if FLUSH {
        tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = flushed(*sum));
    }
    [*a, *b, *c, *d] = chains(tile, lines, panel);
}

/// The lines of a tile, each `depth` long, one after the other.
#[inline(always)]
fn four(lines: &[f32], depth: usize) -> Option<[&[f32]; ROWS]> {
    let (a, rest) = lines.split_at_checked(depth)?;
    let (b, rest) = rest.split_at_checked(depth)?;
    let (c, d) = rest.split_at_checked(depth)?;
    Some([a, b, c, d])
}

/// The sums of a whole tile that begins at `column` of rows `width` long.
#[inline(always)]
fn tile_of(sums: &mut [f32], width: usize, column: usize) -> Option<[&mut [f32; COLUMNS]; ROWS]> {
    let (a, rest) = sums.split_at_mut_checked(width)?;
    let (b, rest) = rest.split_at_mut_checked(width)?;
    let (c, d) = rest.split_at_mut_checked(width)?;
    let [a, b, c, d] = [a, b, c, d].map(|row| row.get_mut(column..)?.first_chunk_mut());
    Some([a?, b?, c?, d?])
}

fn chains<const FLUSH: bool>(mut tile: Tile, lines: [&[f32]; ROWS], panel: Panel<'_>) -> Tile {
    for (k, right) in panel.iter().enumerate() {
        for (line, left) in tile.iter_mut().zip(lines) {
            for (sum, &right) in line.iter_mut().zip(right) {
                let next = left[k].mul_add(right, *sum);
                *sum = if FLUSH { flushed(next) } else { next };
            }
        }
    }
    tile
}

/// The loops with their vectors written out. Left to itself, the compiler vectorises [`chains`] over rows and spills the tile,
/// which took five times as long.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Operand, Panel, ROWS, Tile};

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
            for ((((a, b), c), d), right) in a.iter().zip(b).zip(c).zip(d).zip(panel) {
                let vectors: [__m256; 2] = bytemuck::cast(*right);
                for (line, left) in sums.iter_mut().zip([a, b, c, d]) {
                    let left = _mm256_broadcast_ss(left);
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
}
