//! The inner loops of a product: register tiles over packed operands.
//!
//! Invariant: each sum is one chain, k ascending, whichever loops run; where denormals flush, the start does and every sum.

use crate::ops::arithmetic::flushed;

/// Rows and columns of a register tile: eight accumulators of eight lanes.
pub(super) const ROWS: usize = 4;
pub(super) const COLUMNS: usize = 16;

/// A register tile.
type Tile = [[f32; COLUMNS]; ROWS];

/// Extents of a product.
pub(super) struct Shape {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
}

/// `sums += rows * columns`: `rows` packed by [`ROWS`], `columns` by [`COLUMNS`], `sums` row-major.
pub(super) fn product(rows: &[f32], columns: &[f32], sums: &mut [f32], shape: &Shape, flush: bool) {
    match flush {
        true => tiles::<true>(rows, columns, sums, shape),
        false => tiles::<false>(rows, columns, sums, shape),
    }
}

fn tiles<const FLUSH: bool>(rows: &[f32], columns: &[f32], sums: &mut [f32], shape: &Shape) {
    let depth = shape.depth;
    if depth == 0 {
        if FLUSH {
            sums.iter_mut().for_each(|sum| *sum = flushed(*sum));
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    let wide = std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma");
    for (right_tile, right) in columns.chunks_exact(COLUMNS * depth).enumerate() {
        let column = right_tile * COLUMNS;
        let width = COLUMNS.min(shape.columns - column);
        for (left_tile, left) in rows.chunks_exact(ROWS * depth).enumerate() {
            let row = left_tile * ROWS;
            let height = ROWS.min(shape.rows - row);
            let mut tile = [[0.0f32; COLUMNS]; ROWS];
            for (i, line) in tile.iter_mut().enumerate().take(height) {
                let at = (row + i) * shape.columns + column;
                line[..width].copy_from_slice(&sums[at..at + width]);
            }
            if FLUSH {
                tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = flushed(*sum));
            }
            let (left, right) = (left.as_chunks::<ROWS>().0, right.as_chunks::<COLUMNS>().0);
            #[cfg(target_arch = "x86_64")]
            if wide {
                // SAFETY: the two features that the function is compiled for were detected on this processor; it is safe
                // code otherwise.
                #[allow(unsafe_code)]
                unsafe {
                    avx2::chains::<FLUSH>(&mut tile, left, right);
                }
            } else {
                chains::<FLUSH>(&mut tile, left, right);
            }
            #[cfg(not(target_arch = "x86_64"))]
            chains::<FLUSH>(&mut tile, left, right);
            for (i, line) in tile.iter().enumerate().take(height) {
                let at = (row + i) * shape.columns + column;
                sums[at..at + width].copy_from_slice(&line[..width]);
            }
        }
    }
}

/// Continues the chains of a tile.
fn chains<const FLUSH: bool>(tile: &mut Tile, left: &[[f32; ROWS]], right: &[[f32; COLUMNS]]) {
    for (left, right) in left.iter().zip(right) {
        for (line, &left) in tile.iter_mut().zip(left) {
            for (sum, &right) in line.iter_mut().zip(right) {
                let next = left.mul_add(right, *sum);
                *sum = if FLUSH { flushed(next) } else { next };
            }
        }
    }
}

/// [`chains`] with the vectors written out: left to itself, the compiler vectorises over rows and spills the tile, five
/// times slower (`countersign bench`, f32).
#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{COLUMNS, ROWS, Tile};

    #[target_feature(enable = "avx2,fma")]
    pub(super) fn chains<const FLUSH: bool>(tile: &mut Tile, left: &[[f32; ROWS]], right: &[[f32; COLUMNS]]) {
        let mut sums: [[__m256; 2]; ROWS] = bytemuck::cast(*tile);
        for (left, right) in left.iter().zip(right) {
            let right: [__m256; 2] = bytemuck::cast(*right);
            for (line, &left) in sums.iter_mut().zip(left) {
                let left = _mm256_set1_ps(left);
                for (sum, right) in line.iter_mut().zip(right) {
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
