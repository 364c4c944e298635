//! `exp` and `tanh` without branches, so that loops over them vectorise.
//!
//! Invariant: errors, as the reference's profile counts them (units of 2^-23, relative), stay within its `exact` profile; a
//! test measures them.

use std::f32::consts::LOG2_E;

/// e^x for x <= 0, denormal results included; 0 for -infinity.
///
/// x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial of degree 7 (coefficients of Cephes' `expf`); 2^n in two steps, since
/// n reaches -158.
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    const P: [f32; 6] = [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5];
    let x = x.max(-110.0);
    let shifted = x.mul_add(LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LN_2_LOW, n.mul_add(-LN_2_HIGH, x));
    let polynomial = P[1..].iter().fold(P[0], |sum, &term| sum.mul_add(r, term));
    let e_r = (r * r).mul_add(polynomial, r) + 1.0;
    let n = shifted.to_bits() as i32 - ROUND.to_bits() as i32;
    let power = |n: i32| f32::from_bits(((n + 127) << 23) as u32);
    e_r * power(n >> 1) * power(n - (n >> 1))
}

/// tanh: near 0 an odd polynomial (Cephes' `tanhf`), elsewhere by [`exp`].
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    const P: [f32; 5] = [-5.704_988_7e-3, 2.063_908_8e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1];
    let z = x * x;
    let polynomial = P[1..].iter().fold(P[0], |sum, &term| sum.mul_add(z, term));
    let near = (polynomial * z).mul_add(x, x);
    let e = exp(-2.0 * x.abs());
    let far = ((1.0 - e) / (1.0 + e)).copysign(x);
    if x.abs() < 0.625 { near } else { far }
}

#[cfg(test)]
mod tests {
    use countersign_reference::Profile;

    use super::*;

    /// The largest error in units of 2^-23 over `values` whose exact result is a normal number.
    fn largest(function: fn(f32) -> f32, exact: fn(f64) -> f64, values: impl Iterator<Item = f32>) -> f64 {
        let error = |x: f32| {
            let exact = exact(f64::from(x));
            if exact.abs() < f64::from(f32::MIN_POSITIVE) {
                return 0.0;
            }
            (f64::from(function(x)) - exact).abs() / exact.abs() * f64::from(1u32 << 23)
        };
        values.map(error).fold(0.0, f64::max)
    }

    #[test]
    fn errors_stay_within_the_exact_profile() {
        let negative = || (0..3_000_000u32).map(|i| -(i as f32) * 3.3e-5);
        let tiny = || (1..2_000_000u32).map(|i| f32::from_bits(i * 500));
        let exps = largest(exp, libm::exp, negative().chain(tiny().map(|x| -x)));
        let tanhs = largest(tanh, libm::tanh, negative().map(|x| x * 0.2).chain(tiny()));
        println!("exp {exps:.3}, tanh {tanhs:.3} of 2^-23");
        assert!(exps <= Profile::EXACT.exp_ulp, "{exps}");
        assert!(tanhs <= Profile::EXACT.tanh_ulp, "{tanhs}");
    }

    #[test]
    fn edges() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(exp(-1e30), 0.0);
        let denormal = f64::from(exp(-95.0));
        assert!((denormal - libm::exp(-95.0)).abs() <= 2f64.powi(-149), "{denormal}");
        assert_eq!([tanh(-30.0), tanh(0.0), tanh(30.0)], [-1.0, 0.0, 1.0]);
    }
}
