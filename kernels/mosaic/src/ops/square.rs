//! Squares of lanes, transposed in registers.
//!
//! Invariant: `transposed(square)[i][j]` is `square[j][i]`, bit for bit, whichever way is taken.

/// Lanes of a vector, and vectors of a square.
pub(crate) const SIDE: usize = 8;

/// Rows to columns. With its vectors written out it takes half as long as what the compiler makes of the plain version.
#[inline(always)]
pub(crate) fn transposed(square: [[f32; SIDE]; SIDE]) -> [[f32; SIDE]; SIDE] {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the feature that the function is compiled for was detected on this processor just above; it is safe code
        // otherwise.
        #[allow(unsafe_code)]
        return unsafe { avx2::transposed(square) };
    }
    plain(square)
}

fn plain(square: [[f32; SIDE]; SIDE]) -> [[f32; SIDE]; SIDE] {
    std::array::from_fn(|i| std::array::from_fn(|j| square[j][i]))
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::SIDE;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_agree_and_twice_is_nothing() {
        let square: [[f32; SIDE]; SIDE] =
            std::array::from_fn(|i| std::array::from_fn(|j| (i * SIDE + j) as f32));
        assert_eq!(transposed(square), plain(square));
        assert_eq!(transposed(transposed(square)), square);
    }
}
