//! exp and tanh without branches, so that they vectorise.
//!
//! Invariant: the bits are those of the libm crate, for every argument (tested over all of them): the same reduction by
//! multiples of ln 2, the same polynomials, the same order of operations; only what libm branches on is selected here. A NaN
//! stays a NaN.

/// e to the `x`, as `libm::expf`.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    const LN2_HIGH: f32 = f32::from_bits(0x3f31_7200);
    const LN2_LOW: f32 = f32::from_bits(0x35bf_be8e);
    const P1: f32 = 1.666_662_6e-1;
    const P2: f32 = -2.766_733_3e-3;
    let size = x.abs().to_bits();
    let k = multiple(x, size > 0x3f85_1592, size > 0x3eb1_7218);
    let high = x - k * LN2_HIGH;
    let low = k * LN2_LOW;
    let r = high - low;
    let rr = r * r;
    let c = r - rr * (P1 + rr * P2);
    let y = 1.0 + (r * c / (2.0 - c) - low + high);
    // Two factors: the product may be denormal, or 2^128 times a number below 1. Only the second product is rounded.
    let k = integer(k);
    let half = k >> 1;
    let scaled = y * power(half) * power(k.wrapping_sub(half));
    let result = if size <= 0x3900_0000 { 1.0 + x } else { scaled };
    let result = if x >= f32::from_bits(0x42b1_7218) { f32::INFINITY } else { result };
    let result = if x <= f32::from_bits(0xc2cf_f1b5) { 0.0 } else { result };
    if x.is_nan() { x } else { result }
}

/// The hyperbolic tangent, as `libm::tanhf`.
#[inline(always)]
pub(crate) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let bits = size.to_bits();
    // From log(5/3)/2 on, expm1 of 2x; below, of -2x.
    let large = bits > 0x3e82_c578;
    let t = expm1(if large { 2.0 * size } else { -2.0 * size });
    let quotient = (if bits > 0x3f0c_9f54 {
        2.0
    } else if large {
        t
    } else {
        -t
    }) / (t + 2.0);
    let result = if bits > 0x3f0c_9f54 { 1.0 - quotient } else { quotient };
    let result = if bits > 0x4120_0000 { 1.0 } else { result };
    let result = if (0x0080_0000..=0x7f80_0000).contains(&bits) { result } else { size };
    f32::from_bits(result.to_bits() ^ (x.to_bits() & 0x8000_0000))
}

/// An f32 lane rounded to an 8-bit float with `MANTISSA` bits of mantissa, ties to even, as an f32 lane. `smallest` and
/// `largest` are the format's smallest normal and largest finite number, `beyond` what is larger becomes, all as f32 bits; a
/// NaN gives the format's NaN of that sign and, where there is more than one, of that payload.
#[inline(always)]
pub(crate) fn round_to_f8<const MANTISSA: u32>(lane: u32, smallest: u32, largest: u32, beyond: u32) -> u32 {
    let (sign, size) = (lane & 0x8000_0000, lane & 0x7fff_ffff);
    let dropped = 23 - MANTISSA;
    let kept = u32::MAX << dropped;
    let normal = (size + (1 << (dropped - 1)) - 1 + (size >> dropped & 1)) & kept;
    // Below the normal numbers the grid is even: adding 2^23 steps of it leaves the sum no finer digits.
    let grid = f32::from_bits(smallest + ((23 - MANTISSA) << 23));
    let denormal = ((f32::from_bits(size) + grid) - grid).to_bits();
    let rounded = if size < smallest { denormal } else { normal };
    let rounded = if rounded > largest { beyond } else { rounded };
    let payload = size & kept;
    let quiet = if payload == 0x7f80_0000 { 0x7fc0_0000 } else { payload };
    let nan = if beyond > 0x7f80_0000 { beyond } else { quiet }; // of e4m3fn there is one
    sign | if size > 0x7f80_0000 { nan } else { rounded }
}

/// e to the `x` minus 1, as `libm::expm1f`, from -0.6 to 20.
#[inline(always)]
fn expm1(x: f32) -> f32 {
    const LN2_HIGH: f32 = f32::from_bits(0x3f31_7180);
    const LN2_LOW: f32 = f32::from_bits(0x3717_f7d1);
    const Q1: f32 = -3.333_321_2e-2;
    const Q2: f32 = 1.580_717e-3;
    let size = x.abs().to_bits();
    let k = multiple(x, size >= 0x3f85_1592, size > 0x3eb1_7218);
    let high = x - k * LN2_HIGH;
    let low = k * LN2_LOW;
    let r = high - low;
    let lost = (high - r) - low;
    let half = 0.5 * r;
    let s = r * half;
    let r1 = 1.0 + s * (Q1 + s * Q2);
    let t = 3.0 - r1 * half;
    let e = s * ((r1 - t) / (6.0 - r * t));
    let near = r - (r * e - s);
    let e = (r * (e - lost) - lost) - s;
    let minus_one = 0.5 * (r - e) - 0.5;
    let one = if r < -0.25 { -2.0 * (e - (r + 0.5)) } else { 1.0 + 2.0 * (r - e) };
    let k = integer(k);
    let tiny = power(k.wrapping_neg());
    let sum = if k < 23 { r - e + (1.0 - tiny) } else { r - (e + tiny) + 1.0 };
    let result = sum * power(k);
    let result = if k == 1 { one } else { result };
    let result = if k == -1 { minus_one } else { result };
    let result = if k == 0 { near } else { result };
    if size < 0x3300_0000 { x } else { result }
}

/// The multiple of ln 2 next to `x`: rounded where it is `far`, else 1 or -1 where it isn't `near` 0.
#[inline(always)]
fn multiple(x: f32, far: bool, away: bool) -> f32 {
    const INVERSE_LN2: f32 = f32::from_bits(0x3fb8_aa3b);
    let x = if x > 100.0 { 100.0 } else { x };
    let x = if x < -110.0 { -110.0 } else { x };
    let rounded = (INVERSE_LN2 * x + 0.5f32.copysign(x)).trunc();
    let k = if far { rounded } else { 1.0f32.copysign(x) };
    if away { k } else { 0.0 }
}

/// A small whole number as an integer; what it gives for a NaN doesn't matter.
#[inline(always)]
fn integer(whole: f32) -> i32 {
    const ONES: f32 = 12_582_912.0; // 1.5 * 2^23: the last bit of a sum is 1
    ((whole + ONES).to_bits() as i32).wrapping_sub(ONES.to_bits() as i32)
}

/// 2 to the `k`, for a normal result.
#[inline(always)]
fn power(k: i32) -> f32 {
    f32::from_bits((0x7fi32.wrapping_add(k) << 23) as u32)
}

#[cfg(test)]
mod tests {
    use super::super::scalar::Unary;
    use super::*;

    fn check(patterns: impl Iterator<Item = u32>) {
        for bits in patterns {
            let x = f32::from_bits(bits);
            for (ours, theirs, name) in [(exp(x), libm::expf(x), "exp"), (tanh(x), libm::tanhf(x), "tanh")] {
                let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
                assert!(same, "{name} of {x:e} (0x{bits:08X}): {ours:e}, libm has {theirs:e}");
            }
        }
    }

    #[test]
    fn the_bits_are_those_of_libm_for_a_sample_of_all_arguments() {
        check((0..=u32::MAX).step_by(1009));
    }

    #[test]
    fn the_bits_are_those_of_libm_around_every_threshold() {
        let thresholds = [
            0x3f85_1592u32,
            0x3eb1_7218,
            0x3900_0000,
            0x42b1_7218,
            0x42cf_f1b5,
            0x42ae_ac50,
            0x3e82_c578,
            0x3f0c_9f54,
            0x4120_0000,
            0x0080_0000,
            0x3300_0000,
            0x3280_0000,
            0x7f80_0000,
            0x3e31_7218,
            0x3f05_1592,
            0,
        ];
        for threshold in thresholds {
            let around = (0..4000).map(move |i| threshold.wrapping_add(i).wrapping_sub(2000));
            check(around.clone());
            check(around.map(|bits| bits ^ 0x8000_0000));
        }
    }

    fn check_f8(patterns: impl Iterator<Item = u32>) {
        use countersign_dtype as dtype;
        for bits in patterns {
            let value = f32::from_bits(bits);
            let e4m3fn = dtype::f8e4m3fn_bits_to_f32(dtype::f32_to_f8e4m3fn_bits(value));
            let e5m2 = dtype::f8e5m2_bits_to_f32(dtype::f32_to_f8e5m2_bits(value));
            for (rounding, expected) in [(Unary::RoundF8E4M3FN, e4m3fn), (Unary::RoundF8E5M2, e5m2)] {
                assert_eq!(
                    rounding.lane(bits),
                    expected.to_bits(),
                    "{rounding:?} of {value:e} (0x{bits:08X})"
                );
            }
        }
    }

    #[test]
    fn eight_bit_floats_round_as_their_conversions_do() {
        check_f8((0..=u32::MAX).step_by(1009));
        // Every mantissa of three bits more than are kept, at every exponent.
        check_f8((0..=u32::MAX >> 17).flat_map(|high| [0, 1, 0xFFFF].map(|low| high << 17 | low)));
    }

    /// All 2^32 arguments: some minutes. `cargo test --release -p countersign-mosaic -- --ignored every_argument`
    #[test]
    #[ignore = "takes minutes; the sample above runs always"]
    fn the_bits_are_those_of_libm_for_every_argument() {
        check(0..=u32::MAX);
        check_f8(0..=u32::MAX);
    }
}
