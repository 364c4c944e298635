//! Distances between two elements of one type, and the operands that explain them.
//!
//! Invariant: 0 means equal bits, or two NaN; a NaN and a number are infinitely far apart.

use countersign_dtype::{Array, DType};

/// How many steps from value to value of their type lie between the two elements; zeros of different sign are one apart.
pub(crate) fn distance(a: &Array, b: &Array, element: usize) -> f64 {
    let (x, y) = (a.get_f32(element), b.get_f32(element));
    if a.dtype.is_float() && (x.is_nan() || y.is_nan()) {
        return if x.is_nan() && y.is_nan() { 0.0 } else { f64::INFINITY };
    }
    (place(a, element) - place(b, element)).abs() as f64
}

/// The difference in units of the last place that `magnitude` has.
pub(crate) fn scaled_distance(a: &Array, b: &Array, magnitude: &Array, element: usize) -> f64 {
    if distance(a, b, element) == 0.0 {
        return 0.0;
    }
    let [x, y, scale] = [a, b, magnitude].map(|array| f64::from(array.get_f32(element)));
    let digits = match a.dtype {
        DType::F32 => 23,
        DType::Bf16 => 7,
        DType::F16 => 10,
        other => unreachable!("sums of {}", other.name()),
    };
    let ulp = 2f64.powi(scale.log2().floor() as i32 - digits);
    let apart = (x - y).abs() / ulp;
    if apart.is_nan() { f64::INFINITY } else { apart }
}

/// The array with zeros of the same sign for denormals of f32 and bf16.
pub(crate) fn without_denormals(array: &Array) -> Array {
    let is_wide = matches!(array.dtype, DType::F32 | DType::Bf16);
    mapped(array, |value| if is_wide && value.is_subnormal() { 0f32.copysign(value) } else { value })
}

/// The array without its signs.
pub(crate) fn absolute(array: &Array) -> Array {
    mapped(array, f32::abs)
}

/// Integers of 32 bits pass through f32, which only small ones survive; nothing here is asked for others.
fn mapped(array: &Array, change: impl Fn(f32) -> f32) -> Array {
    let mut changed = array.clone();
    for element in 0..array.len() {
        let value = array.get_f32(element);
        let new = change(value);
        if new.to_bits() != value.to_bits() {
            changed.set_f32(element, new);
        }
    }
    changed
}

/// The element's place in the order of its type's values.
fn place(array: &Array, element: usize) -> i64 {
    let sign = 1i64 << (array.dtype.bits() - 1);
    match (pattern(array, element), array.dtype.is_float()) {
        (bits, true) if bits & sign != 0 => -1 - (bits & !sign),
        (bits, true) => bits,
        (bits, false) => (bits ^ sign) - sign,
    }
}

/// An element's bits.
fn pattern(array: &Array, element: usize) -> i64 {
    let width = array.dtype.bits();
    let bit = element * width;
    let bytes = &array.bytes[bit / 8..(bit + width).div_ceil(8)];
    let wide = bytes.iter().rev().fold(0i64, |wide, &byte| wide << 8 | i64::from(byte));
    (wide >> (bit % 8)) & ((1 << width) - 1)
}

#[test]
fn neighbours_are_one_apart() {
    for dtype in [DType::F32, DType::Bf16, DType::F16, DType::F8E4M3FN, DType::F8E5M2] {
        let values = Array::from_f32(dtype, &[6], &[0.0, -0.0, 1.0, -1.0, f32::NAN, 2.0]);
        let at =
            |element| Array { shape: vec![1], ..Array::from_f32(dtype, &[1], &[values.get_f32(element)]) };
        assert_eq!(distance(&at(0), &at(1), 0), 1.0, "{}", dtype.name());
        assert_eq!(distance(&at(2), &at(2), 0), 0.0);
        assert_eq!(distance(&at(2), &at(3), 0), 1.0 + 2.0 * distance(&at(2), &at(0), 0));
        assert_eq!(distance(&at(4), &at(4), 0), 0.0);
        assert_eq!(distance(&at(4), &at(2), 0), f64::INFINITY);
    }
    let nibbles = Array { dtype: DType::I4, shape: vec![2], bytes: vec![0x7F] };
    assert_eq!((place(&nibbles, 0), place(&nibbles, 1)), (-1, 7));
}
