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
pub(super) type Panel = [[f32; COLUMNS]];

/// `sums += rows * columns`: `rows` is `[rows, depth]`, `sums` is `[rows, width]`, both row-major; `buffer` holds a panel.
#[inline(always)]
pub(super) fn product<const FLUSH: bool>(
    rows: &[f32],
    columns: &Operand<'_>,
    sums: &mut [f32],
    [depth, width]: [usize; 2],
    buffer: &mut [f32],
) {
    if depth == 0 {
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
            let mut tile = [[0.0f32; COLUMNS]; ROWS];
            let down = ROWS.min(height - row);
            for (i, line) in tile.iter_mut().enumerate().take(down) {
                let at = (row + i) * width + column;
                line[..across].copy_from_slice(&sums[at..at + across]);
            }
            if FLUSH {
                tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = flushed(*sum));
            }
            // Past the last row its line is used again; what comes of it is dropped.
            let lines = std::array::from_fn(|i| {
                let line = row + i.min(down - 1);
                &rows[line * depth..(line + 1) * depth]
            });
            continue_chains::<FLUSH>(&mut tile, lines, panel);
            for (i, line) in tile.iter().enumerate().take(down) {
                let at = (row + i) * width + column;
                sums[at..at + across].copy_from_slice(&line[..across]);
            }
        }
    }
}

fn continue_chains<const FLUSH: bool>(tile: &mut Tile, lines: [&[f32]; ROWS], panel: &Panel) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma") {
        // SAFETY: the two features that the function is compiled for were detected on this processor just above; it is
        // safe code otherwise.
        #[allow(unsafe_code)]
        return unsafe { avx2::chains::<FLUSH>(tile, lines, panel) };
    }
    chains::<FLUSH>(tile, lines, panel);
}

fn chains<const FLUSH: bool>(tile: &mut Tile, lines: [&[f32]; ROWS], panel: &Panel) {
    for (k, right) in panel.iter().enumerate() {
        for (line, left) in tile.iter_mut().zip(lines) {
            for (sum, &right) in line.iter_mut().zip(right) {
                let next = left[k].mul_add(right, *sum);
                *sum = if FLUSH { flushed(next) } else { next };
            }
        }
    }
}

/// [`chains`] with the vectors written out: left to itself, the compiler vectorises over rows and spills the tile, which
/// took five times as long.
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{Panel, ROWS, Tile};

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn chains<const FLUSH: bool>(tile: &mut Tile, lines: [&[f32]; ROWS], panel: &Panel) {
        let mut sums: [[__m256; 2]; ROWS] = bytemuck::cast(*tile);
        let [a, b, c, d] = lines;
        for ((((a, b), c), d), right) in a.iter().zip(b).zip(c).zip(d).zip(panel) {
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
        *tile = bytemuck::cast(sums);
    }

    #[target_feature(enable = "avx2,fma")]
    fn flushed(value: __m256) -> __m256 {
        let sign = _mm256_set1_ps(-0.0);
        let size = _mm256_andnot_ps(sign, value);
        let denormal = _mm256_cmp_ps::<_CMP_LT_OQ>(size, _mm256_set1_ps(f32::MIN_POSITIVE));
        _mm256_blendv_ps(value, _mm256_and_ps(value, sign), denormal)
    }
}
