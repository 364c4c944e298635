//! The accuracy of the libm crate's f32 exp and tanh, on which the exact profile rests.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use countersign_reference::Profile;

/// The largest error in ulp of 2^-23 relative, over every 149th f32 in `range` whose exact result is a normal number.
fn largest_error(range: std::ops::Range<u32>, computed: fn(f32) -> f32, exact: fn(f64) -> f64) -> f64 {
    let mut largest: f64 = 0.0;
    for bits in range.step_by(149) {
        let x = f32::from_bits(bits);
        let truth = exact(f64::from(x));
        if truth.abs() >= f64::from(f32::MIN_POSITIVE) {
            let relative = ((f64::from(computed(x)) - truth) / truth).abs();
            largest = largest.max(relative * f64::from(1 << 23));
        }
    }
    largest
}

const SIGN: u32 = 1 << 31;

#[test]
fn exp_is_within_the_exact_profile() {
    // Arguments of the softmax: 0 down to where the result is denormal.
    let error = largest_error(SIGN..SIGN | 88f32.to_bits(), libm::expf, f64::exp);
    println!("expf: {error:.3} ulp");
    assert!(error <= Profile::EXACT.exp_ulp);
    assert_eq!(libm::expf(0.0), 1.0);
}

#[test]
fn tanh_is_within_the_exact_profile() {
    let error = largest_error(f32::MIN_POSITIVE.to_bits()..20f32.to_bits(), libm::tanhf, f64::tanh);
    println!("tanhf: {error:.3} ulp");
    assert!(error <= Profile::EXACT.tanh_ulp);
}
