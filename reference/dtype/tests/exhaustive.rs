//! Every bit pattern and every rounding boundary of every type, against an exact model written here and two libraries.
//!
//! The model knows a float format by its two widths: it decodes by the formula and rounds by looking for the nearest entry in the
//! list of all values. All values, and the midpoints between neighbours, are exact in f64, so that comparing f64 is comparing
//! the numbers themselves.
//!
//! Invariant: shares nothing with the code under test, not even constants of the formats.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "in tests a failed step is a failed test")]

use countersign_dtype::*;

/// A format as its standard states it.
struct Model {
    dtype: DType,
    exponent: u32,
    mantissa: u32,
    /// Whether the largest exponent means infinity and NaN; else only all ones is NaN.
    has_infinity: bool,
    narrow: fn(f32) -> u32,
    widen: fn(u32) -> f32,
}

const MODELS: [Model; 4] = [
    Model {
        dtype: DType::Bf16,
        exponent: 8,
        mantissa: 7,
        has_infinity: true,
        narrow: |value| f32_to_bf16_bits(value).into(),
        widen: |bits| bf16_bits_to_f32(bits as u16),
    },
    Model {
        dtype: DType::F16,
        exponent: 5,
        mantissa: 10,
        has_infinity: true,
        narrow: |value| f32_to_f16_bits(value).into(),
        widen: |bits| f16_bits_to_f32(bits as u16),
    },
    Model {
        dtype: DType::F8E4M3FN,
        exponent: 4,
        mantissa: 3,
        has_infinity: false,
        narrow: |value| f32_to_f8e4m3fn_bits(value).into(),
        widen: |bits| f8e4m3fn_bits_to_f32(bits as u8),
    },
    Model {
        dtype: DType::F8E5M2,
        exponent: 5,
        mantissa: 2,
        has_infinity: true,
        narrow: |value| f32_to_f8e5m2_bits(value).into(),
        widen: |bits| f8e5m2_bits_to_f32(bits as u8),
    },
];

impl Model {
    fn sign(&self) -> u32 {
        1 << (self.exponent + self.mantissa)
    }

    /// The magnitude bits that overflow gives: infinity, or NaN where there is none.
    fn overflow(&self) -> u32 {
        match self.has_infinity {
            true => ((1 << self.exponent) - 1) << self.mantissa,
            false => self.sign() - 1,
        }
    }

    /// The number that magnitude bits stand for, as if there were no infinities and NaN.
    fn number(&self, magnitude: u32) -> f64 {
        let field = magnitude >> self.mantissa;
        let fraction = magnitude & ((1 << self.mantissa) - 1);
        let bias = (1 << (self.exponent - 1)) - 1;
        let hidden = if field > 0 { 1 << self.mantissa } else { 0 };
        let exponent = field.max(1) as i32 - bias - self.mantissa as i32;
        f64::from(hidden + fraction) * 2f64.powi(exponent)
    }

    /// All finite magnitudes in their order, and what the next one would be if the format went on.
    fn numbers(&self) -> Vec<f64> {
        (0..=self.overflow()).map(|magnitude| self.number(magnitude)).collect()
    }

    /// The nearest magnitude bits to `value`, which isn't negative; halfway, those that end in 0.
    fn nearest(&self, numbers: &[f64], value: f64) -> u32 {
        let above = numbers.partition_point(|&number| number <= value);
        if above == numbers.len() {
            return self.overflow();
        }
        let below = above - 1;
        let middle = (numbers[below] + numbers[above]) / 2.0;
        let up = value > middle || value == middle && below % 2 == 1;
        if up { above as u32 } else { below as u32 }
    }

    /// Checks one value of each sign against the model and the libraries.
    fn check(&self, numbers: &[f64], value: f32) {
        let expected = self.nearest(numbers, value.abs().into());
        for value in [value.abs(), -value.abs()] {
            let sign = if value.is_sign_negative() { self.sign() } else { 0 };
            let found = (self.narrow)(value);
            assert_eq!(found, sign | expected, "{} {value:e} ({:#x})", self.dtype.name(), value.to_bits());
            if let Some(theirs) = library(self.dtype, value, expected == self.overflow()) {
                assert_eq!(found, theirs, "{} {value:e}: another library", self.dtype.name());
            }
        }
    }
}

/// What `half` or `float8` gives; `float8` saturates as CUDA does, so it has no say about overflow.
fn library(dtype: DType, value: f32, overflows: bool) -> Option<u32> {
    match dtype {
        DType::Bf16 => Some(half::bf16::from_f32(value).to_bits().into()),
        DType::F16 => Some(half::f16::from_f32(value).to_bits().into()),
        DType::F8E4M3FN if !overflows => Some(float8::F8E4M3::from_f32(value).to_bits().into()),
        DType::F8E5M2 if !overflows => Some(float8::F8E5M2::from_f32(value).to_bits().into()),
        _ => None,
    }
}

#[test]
fn every_float_pattern_is_decoded() {
    for model in &MODELS {
        for bits in 0..2 * model.sign() {
            let (found, magnitude) = ((model.widen)(bits), bits & (model.sign() - 1));
            let place = format!("{} {bits:#x} = {found:e}", model.dtype.name());
            assert_eq!(found.is_sign_negative(), bits & model.sign() != 0, "{place}");
            if magnitude < model.overflow() {
                assert_eq!(f64::from(found.abs()), model.number(magnitude), "{place}");
            } else if magnitude == model.overflow() && model.has_infinity {
                assert!(found.is_infinite(), "{place}");
            } else {
                assert!(found.is_nan(), "{place}");
            }
            assert_eq!((model.narrow)(found), bits, "{place}: the way back");
        }
    }
}

/// Each midpoint between neighbours, each value itself, and the f32 on either side of both, of both signs; past the largest
/// value the grid goes on by one step, which makes the midpoint there the limit of overflow.
#[test]
fn every_rounding_boundary_of_floats() {
    for model in &MODELS {
        let numbers = model.numbers();
        let mut checked = 0;
        for pair in numbers.windows(2) {
            let middle = (pair[0] + pair[1]) / 2.0;
            for exact in [pair[0], middle] {
                let value = exact as f32;
                assert_eq!(f64::from(value), exact, "{}: exact in f32", model.dtype.name());
                for value in [value.next_down().abs(), value, value.next_up()] {
                    model.check(&numbers, value);
                    checked += 2;
                }
            }
        }
        for value in [f32::MAX, f32::INFINITY] {
            model.check(&numbers, value);
            checked += 2;
        }
        assert_eq!(checked, 12 * u64::from(model.overflow()) + 4, "{}", model.dtype.name());
    }
}

/// f32 denormals: those with one bit set, their neighbours, and a stride through all.
#[test]
fn f32_denormals_round_to_the_nearest() {
    let powers = (0..23).map(|bit| 1u32 << bit).flat_map(|bits| [bits - 1, bits, bits + 1]);
    let bits: Vec<u32> = powers.chain((0..1 << 23).step_by(97)).collect();
    for model in &MODELS {
        let numbers = model.numbers();
        bits.iter().for_each(|&bits| model.check(&numbers, f32::from_bits(bits)));
    }
}

/// Every NaN of f32: it stays one, of the same sign, with the upper bits of its payload; where none of them is set, quiet.
#[test]
fn every_nan_stays_a_nan() {
    for model in &MODELS {
        let dropped = 23 - model.mantissa;
        for payload in 1..1u32 << 23 {
            let kept = match payload >> dropped {
                0 => 1 << (model.mantissa - 1),
                kept => kept,
            };
            let expected = if model.has_infinity { model.overflow() | kept } else { model.overflow() };
            for (sign, narrow) in [(0, 0), (1 << 31, model.sign())] {
                let found = (model.narrow)(f32::from_bits(sign | 0x7f80_0000 | payload));
                assert_eq!(found, narrow | expected, "{} {payload:#x}", model.dtype.name());
            }
        }
    }
}

/// Every f32 there is, walked in order beside the list of the format's values: 17 billion conversions.
#[test]
#[ignore = "minutes: cargo test --release -p countersign-dtype -- --ignored"]
fn every_f32_rounds_to_the_nearest() {
    std::thread::scope(|scope| {
        for model in &MODELS {
            scope.spawn(move || {
                let numbers = model.numbers();
                let mut above = 1;
                for bits in 0..=f32::INFINITY.to_bits() {
                    let value = f32::from_bits(bits);
                    let wide = f64::from(value);
                    while above < numbers.len() && numbers[above] <= wide {
                        above += 1;
                    }
                    let expected = if above == numbers.len() {
                        model.overflow()
                    } else {
                        let below = above - 1;
                        let middle = (numbers[below] + numbers[above]) / 2.0;
                        let up = wide > middle || wide == middle && below % 2 == 1;
                        (below + usize::from(up)) as u32
                    };
                    assert_eq!((model.narrow)(value), expected, "{} {value:e}", model.dtype.name());
                    assert_eq!(
                        (model.narrow)(-value),
                        expected | model.sign(),
                        "{} {:e}",
                        model.dtype.name(),
                        -value
                    );
                }
            });
        }
    });
}

/// Integer types: name, smallest, largest.
const INTEGERS: [(DType, i32, i32); 3] =
    [(DType::I4, -8, 7), (DType::I8, -128, 127), (DType::I16, -32768, 32767)];

#[test]
fn every_integer_pattern_to_f32_and_back() {
    for (dtype, smallest, largest) in INTEGERS {
        let count = (largest - smallest + 1) as usize;
        // Pattern i at place i, so that each nibble stands in both halves of a byte over the two arrays.
        for shift in [0, 1] {
            let mut array = Array::zeros(dtype, &[count + shift]);
            for pattern in 0..count {
                write_pattern(&mut array, pattern + shift, pattern as u32);
            }
            let values = array.to_f32_vec();
            let mut back = Array::zeros(dtype, &[count + shift]);
            for pattern in 0..count {
                let value =
                    if pattern as i32 > largest { pattern as i32 - count as i32 } else { pattern as i32 };
                assert_eq!(values[pattern + shift], value as f32, "{} {pattern:#x}", dtype.name());
                assert_eq!(array.get_f32(pattern + shift), value as f32);
                back.set_f32(pattern + shift, value as f32);
            }
            assert_eq!(back, array, "{}", dtype.name());
        }
    }
}

fn write_pattern(array: &mut Array, index: usize, pattern: u32) {
    match array.dtype.bits() {
        4 => array.bytes[index / 2] |= (pattern as u8) << (4 * (index % 2)),
        bits => {
            let width = bits / 8;
            array.bytes[index * width..(index + 1) * width].copy_from_slice(&pattern.to_le_bytes()[..width]);
        }
    }
}

/// Each integer, each half between two, and the f32 on either side of both; beyond the limits they saturate, NaN gives 0.
#[test]
fn every_rounding_boundary_of_integers() {
    for (dtype, smallest, largest) in INTEGERS {
        for below in smallest - 2..=largest + 1 {
            let even = if below % 2 == 0 { below } else { below + 1 };
            let (whole, middle) = (below as f32, below as f32 + 0.5);
            let cases = [
                (whole.next_down(), below),
                (whole, below),
                (whole.next_up(), below),
                (middle.next_down(), below),
                (middle, even),
                (middle.next_up(), below + 1),
            ];
            for (value, expected) in cases {
                let expected = expected.clamp(smallest, largest) as f32;
                assert_eq!(round_to(dtype, value), expected, "{} {value}", dtype.name());
            }
        }
        let limits =
            [(f32::INFINITY, largest), (f32::MAX, largest), (f32::NEG_INFINITY, smallest), (f32::NAN, 0)];
        for (value, expected) in limits {
            assert_eq!(round_to(dtype, value), expected as f32, "{} {value}", dtype.name());
        }
    }
}
