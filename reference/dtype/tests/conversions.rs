//! Two independent libraries as witnesses over all of f32, and arrays and slices against scalars; `exhaustive.rs` has the boundaries.
//!
//! Invariant: where a library means something else, the test says what.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use countersign_dtype::*;

/// f32 values that are not near a boundary of one format: a stride through all bit patterns, with every exponent.
fn f32_samples() -> impl Iterator<Item = f32> {
    (0..=u32::MAX / 4099).map(|i| f32::from_bits(i * 4099))
}

#[test]
fn half_agrees() {
    for bits in 0..=u16::MAX {
        assert_eq!(bf16_bits_to_f32(bits).to_bits(), u32::from(bits) << 16);
        let (bf16, f16) = (half::bf16::from_bits(bits), half::f16::from_bits(bits));
        if !bf16.is_nan() {
            assert_eq!(bf16_bits_to_f32(bits).to_bits(), bf16.to_f32().to_bits());
        }
        if !f16.is_nan() {
            assert_eq!(f16_bits_to_f32(bits).to_bits(), f16.to_f32().to_bits());
        }
    }
    // `half` sets the quiet bit of a NaN when it narrows; here the payload's upper bits are kept as they are.
    for value in f32_samples() {
        if value.is_nan() {
            let (bf16, f16) = (f32_to_bf16_bits(value), f32_to_f16_bits(value));
            assert!(half::bf16::from_bits(bf16).is_nan() && half::f16::from_bits(f16).is_nan());
            assert_eq!(bf16 >> 15 == 1, value.is_sign_negative());
        } else {
            assert_eq!(f32_to_bf16_bits(value), half::bf16::from_f32(value).to_bits(), "{value:e}");
            assert_eq!(f32_to_f16_bits(value), half::f16::from_f32(value).to_bits(), "{value:e}");
        }
    }
}

/// `float8` follows CUDA's saturating conversion: overflow and infinities give the largest finite value where ml_dtypes (and
/// so JAX) gives NaN (e4m3fn) or infinity (e5m2), and it drops the sign of NaN. Everything else agrees.
#[test]
fn float8_agrees_but_for_saturation() {
    for bits in 0..=u8::MAX {
        let theirs = (float8::F8E4M3::from_bits(bits).to_f32(), float8::F8E5M2::from_bits(bits).to_f32());
        let ours = (f8e4m3fn_bits_to_f32(bits), f8e5m2_bits_to_f32(bits));
        assert!(
            ours.0.to_bits() == theirs.0.to_bits() || (ours.0.is_nan() && theirs.0.is_nan()),
            "{bits:#x}"
        );
        assert!(
            ours.1.to_bits() == theirs.1.to_bits() || (ours.1.is_nan() && theirs.1.is_nan()),
            "{bits:#x}"
        );
    }
    let mut saturated = 0;
    for value in f32_samples().filter(|value| !value.is_nan()) {
        let (ours, theirs) = (f32_to_f8e4m3fn_bits(value), float8::F8E4M3::from_f32(value).to_bits());
        if value.abs() > 464.0 {
            assert_eq!((ours & 0x7f, theirs & 0x7f), (0x7f, 0x7e), "{value:e}");
            saturated += 1;
        } else {
            assert_eq!(ours, theirs, "{value:e}");
        }
        let (ours, theirs) = (f32_to_f8e5m2_bits(value), float8::F8E5M2::from_f32(value).to_bits());
        if value.abs() >= 61440.0 {
            assert_eq!((ours & 0x7f, theirs & 0x7f), (0x7c, 0x7b), "{value:e}");
            saturated += 1;
        } else {
            assert_eq!(ours, theirs, "{value:e}");
        }
    }
    assert!(saturated > 1000);
}

#[test]
fn integers_extend_their_sign_and_clamp() {
    let nibbles: Vec<i8> = (0..16).map(sign_extend_i4).collect();
    assert_eq!(nibbles, [0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1]);
    assert_eq!(sign_extend_i4(0xf7), 7, "the high nibble is another element");

    let array = Array { dtype: DType::I4, shape: vec![3], bytes: vec![0x8f, 0x07] };
    assert_eq!(array.to_f32_vec(), [-1.0, -8.0, 7.0]);
    let bytes = Array { dtype: DType::I8, shape: vec![256], bytes: (0..=255).collect() };
    let expected: Vec<f32> = (0..=255u8).map(|b| f32::from(b as i8)).collect();
    assert_eq!(bytes.to_f32_vec(), expected);

    let rounded = |dtype, values: &[f32]| values.iter().map(|&v| round_to(dtype, v)).collect::<Vec<_>>();
    assert_eq!(
        rounded(DType::I8, &[0.5, 1.5, -2.5, 200.0, -200.0, f32::NAN]),
        [0.0, 2.0, -2.0, 127.0, -128.0, 0.0]
    );
    assert_eq!(rounded(DType::I4, &[7.4, 7.6, -9.0]), [7.0, 7.0, -8.0]);
    assert_eq!(rounded(DType::I16, &[40000.0, -40000.0]), [32767.0, -32768.0]);
    assert_eq!(rounded(DType::I1, &[0.0, -0.0, 0.25]), [0.0, 0.0, 1.0]);
}

#[test]
fn slices_equal_scalars_from_any_start() {
    let values: Vec<f32> = (0..37).map(|i| (i as f32 - 18.0) * 1.37).collect();
    for dtype in DType::ALL {
        let array = Array::from_f32(dtype, &[37], &values);
        let expected: Vec<f32> = values.iter().map(|&v| round_to(dtype, v)).collect();
        assert_eq!(array.to_f32_vec(), expected, "{}", dtype.name());
        for first in [0, 1, 2, 7, 36] {
            let mut tail = vec![0.0; 37 - first];
            read_f32(dtype, &array.bytes, first, &mut tail);
            assert_eq!(tail, expected[first..], "{} from {first}", dtype.name());
        }
        let mut changed = array.clone();
        for index in [0, 1, 17, 36] {
            changed.set_f32(index, 1.0);
            assert_eq!(changed.get_f32(index), 1.0);
        }
        for index in (0..37).filter(|index| ![0, 1, 17, 36].contains(index)) {
            assert_eq!(
                changed.get_f32(index),
                array.get_f32(index),
                "{} {index}: a neighbour changed",
                dtype.name()
            );
        }
    }
    let mut bits = vec![0; 37];
    f32_to_bf16_bits_slice(&values, &mut bits);
    let mut back = vec![0.0; 37];
    bf16_bits_to_f32_slice(&bits, &mut back);
    assert_eq!(back, values.iter().map(|&v| round_to(DType::Bf16, v)).collect::<Vec<_>>());
}

#[test]
fn i32_arrays_are_read_as_they_were_written() {
    let values = [0, 1, -1, i32::MAX, i32::MIN, 0x0102_0304];
    let array = Array::from_i32(&[2, 3], &values);
    assert_eq!(*array.to_i32(), values);
    assert_eq!(array.get_f32(2), -1.0);
}

#[test]
fn names_are_inverse() {
    for dtype in DType::ALL {
        assert_eq!(DType::from_name(dtype.name()), Some(dtype));
    }
    assert_eq!(DType::from_name("f64"), None);
}
