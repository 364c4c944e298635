//! f32 arithmetic as a device has it: denormals kept or flushed, functions as exact as ours or worse by a stated error.
//!
//! A worse function is not the device's own, whose bits nobody publishes, but one as bad as its accuracy allows: the exact
//! result times 1 ± the largest error. Nothing promises that exp(0) is 1, so that is skewed as well.
//!
//! Which ops count as arithmetic: additions, subtractions, products, divisions, exp, tanh, sums over lanes and matrix
//! products. Comparisons, maxima, selects and conversions move bits and flush nothing. What is flushed is what is denormal
//! as an f32 lane: denormals of f32 and bf16, not those of narrower floats.
//!
//! Invariant: every result is a function of the operands' bits and of the [`Arithmetic`] alone, the same in scalar and in
//! vector code; plain arithmetic takes the paths of `scalar` and costs one comparison an op.

use crate::value::{Grid, Pool};

use super::functions;
use super::matmul::MatmulMode;
use super::scalar::{Binary, Unary};
use crate::simd;

/// How f32 arithmetic is done. The default is plain: IEEE binary32, exp and tanh of libm, exact matmul operands.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Arithmetic {
    /// How f32 operands enter a matrix product.
    pub matmul: MatmulMode,
    /// Whether denormal operands and results become zeros of the same sign.
    pub flush_denormals: bool,
    /// Errors of functions, where they are larger than our own.
    pub errors: Option<FunctionErrors>,
}

/// Largest errors of functions, relative to the exact result, in units of 2^-23 (at least 0.5, what rounding needs).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FunctionErrors {
    /// Of `math.exp`.
    pub exp_ulp: f64,
    /// Of `math.tanh`.
    pub tanh_ulp: f64,
    /// Of `arith.divf`.
    pub div_ulp: f64,
    /// Which way they go.
    pub sign: ErrorSign,
}

/// Which way a function errs; always by all that its error allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorSign {
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
    /// Either, by a hash of the argument's bits with this salt.
    Hashed(u64),
}

impl Arithmetic {
    fn is_plain(&self) -> bool {
        !self.flush_denormals && self.errors.is_none()
    }

    fn flush(&self, value: f32) -> f32 {
        if self.flush_denormals { flushed(value) } else { value }
    }

    /// One lane.
    pub(crate) fn unary(&self, op: Unary, a: u32) -> u32 {
        let x = || self.flush(f32::from_bits(a));
        let result = match (op, &self.errors) {
            (Unary::Exp, None) => functions::exp(x()),
            (Unary::Tanh, None) => functions::tanh(x()),
            (Unary::Exp, Some(errors)) => {
                errors.sign.skew(libm::exp(f64::from(x())), errors.exp_ulp, [x(), 0.0])
            }
            (Unary::Tanh, Some(errors)) => {
                errors.sign.skew(libm::tanh(f64::from(x())), errors.tanh_ulp, [x(), 1.0])
            }
            _ => return op.lane(a),
        };
        self.flush(result).to_bits()
    }

    /// One pair of lanes.
    pub(crate) fn binary(&self, op: Binary, a: u32, b: u32) -> u32 {
        let (x, y) = (self.flush(f32::from_bits(a)), self.flush(f32::from_bits(b)));
        let result = match (op, &self.errors) {
            (Binary::AddF, _) => x + y,
            (Binary::SubF, _) => x - y,
            (Binary::MulF, _) => x * y,
            (Binary::DivF, None) => x / y,
            (Binary::DivF, Some(errors)) => {
                errors.sign.skew(f64::from(x) / f64::from(y), errors.div_ulp, [x, y])
            }
            _ => return op.lane(a, b),
        };
        self.flush(result).to_bits()
    }

    /// [`Arithmetic::unary`] of every lane.
    pub(crate) fn unary_grid(&self, op: Unary, a: &Grid, pool: &mut Pool) -> Grid {
        match op {
            Unary::Exp | Unary::Tanh if !self.is_plain() => a.map(pool, |a| self.unary(op, a)),
            _ => op.grid(pool, a),
        }
    }

    /// [`Arithmetic::binary`] of every pair of lanes.
    pub(crate) fn binary_grid(&self, op: Binary, a: &Grid, b: &Grid, pool: &mut Pool) -> Grid {
        // Loops of their own, so that they vectorise.
        simd::widest(
            #[inline(always)]
            || match op {
                Binary::AddF if self.flush_denormals => a.zip(b, pool, |a, b| flushing(a, b, |x, y| x + y)),
                Binary::SubF if self.flush_denormals => a.zip(b, pool, |a, b| flushing(a, b, |x, y| x - y)),
                Binary::MulF if self.flush_denormals => a.zip(b, pool, |a, b| flushing(a, b, |x, y| x * y)),
                Binary::DivF if !self.is_plain() => a.zip(b, pool, |a, b| self.binary(op, a, b)),
                _ => op.grid(pool, a, b),
            },
        )
    }
}

/// A zero of the same sign for a denormal, else the value itself.
#[inline(always)]
pub(crate) fn flushed(value: f32) -> f32 {
    if value.abs() < f32::MIN_POSITIVE { 0f32.copysign(value) } else { value }
}

#[inline(always)]
fn flushing(a: u32, b: u32, op: impl Fn(f32, f32) -> f32) -> u32 {
    flushed(op(flushed(f32::from_bits(a)), flushed(f32::from_bits(b)))).to_bits()
}

impl ErrorSign {
    /// `exact`, off by `ulp` in all, half of one left to the rounding to f32 (and a millionth to terms of second order and
    /// to the error of `exact` itself).
    fn skew(self, exact: f64, ulp: f64, arguments: [f32; 2]) -> f32 {
        const ULP: f64 = 1.0 / (1u32 << 23) as f64;
        let error = (ulp - 0.5).max(0.0) * ULP * (1.0 - 1e-6);
        let up = match self {
            ErrorSign::Up => true,
            ErrorSign::Down => false,
            ErrorSign::Hashed(salt) => {
                let [x, y] = arguments.map(|argument| u64::from(argument.to_bits()));
                mixed(mixed(salt) ^ (x << 32 | y)) >> 63 == 1
            }
        };
        (exact * if up { 1.0 + error } else { 1.0 - error }) as f32
    }
}

/// The finaliser of SplitMix64: every bit of the result depends on every bit of the argument.
fn mixed(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Dims;

    const SIGNS: [ErrorSign; 4] =
        [ErrorSign::Up, ErrorSign::Down, ErrorSign::Hashed(0), ErrorSign::Hashed(7)];

    fn errors(sign: ErrorSign) -> FunctionErrors {
        FunctionErrors { exp_ulp: 116.0, tanh_ulp: 1365.5, div_ulp: 198.0, sign }
    }

    /// Every kind of f32: any bits, and numbers of moderate size.
    fn samples(count: u64, seed: u64) -> Vec<u32> {
        let any = (0..count).map(|i| mixed(seed + i * 0x9E37_79B9_7F4A_7C15) as u32);
        any.flat_map(|bits| [bits, (bits & 0x8FFF_FFFF) | 0x3800_0000, bits & 0x80FF_FFFF]).collect()
    }

    #[test]
    fn vector_and_scalar_paths_agree_to_the_bit() {
        let pool = &mut Pool::default();
        let (a, b) = (samples(700, 1), samples(700, 2));
        let dims = Dims::new(&[3, a.len() / 3]).unwrap();
        let (x, y) = (Grid::new(dims, a.clone()), Grid::new(dims, b.clone()));
        for flush_denormals in [false, true] {
            for errors in [None, Some(errors(SIGNS[0])), Some(errors(SIGNS[1])), Some(errors(SIGNS[3]))] {
                let arithmetic = Arithmetic { flush_denormals, errors, ..Arithmetic::default() };
                for op in [Unary::Exp, Unary::Tanh, Unary::RoundBf16] {
                    let lanes: Vec<u32> = a.iter().map(|&a| arithmetic.unary(op, a)).collect();
                    assert_eq!(&arithmetic.unary_grid(op, &x, pool).lanes[..], lanes, "{op:?}");
                }
                for op in [Binary::AddF, Binary::SubF, Binary::MulF, Binary::DivF, Binary::MaximumF] {
                    let lanes: Vec<u32> =
                        a.iter().zip(&b).map(|(&a, &b)| arithmetic.binary(op, a, b)).collect();
                    let grid = arithmetic.binary_grid(op, &x, &y, pool);
                    let same = |(&one, &two): (&u32, &u32)| {
                        one == two || f32::from_bits(one).is_nan() && f32::from_bits(two).is_nan()
                    };
                    assert!(grid.lanes.iter().zip(&lanes).all(same), "{op:?} {arithmetic:?}");
                }
            }
        }
    }

    #[test]
    fn plain_arithmetic_is_that_of_the_ops() {
        let plain = Arithmetic::default();
        for (&a, &b) in samples(500, 3).iter().zip(&samples(500, 4)) {
            for op in [Unary::Exp, Unary::Tanh, Unary::RoundF8E4M3FN] {
                assert_eq!(plain.unary(op, a), op.lane(a));
            }
            for op in [Binary::AddF, Binary::SubF, Binary::MulF, Binary::DivF, Binary::MaximumF] {
                let (one, two) = (plain.binary(op, a, b), op.lane(a, b));
                assert!(one == two || f32::from_bits(one).is_nan() && f32::from_bits(two).is_nan());
            }
        }
    }

    /// Errors reach 99.9 % of what they may be, never exceed it, and go the way they should.
    #[test]
    fn errors_are_as_large_as_stated_and_no_larger() {
        type Exact = fn(f64, f64) -> f64;
        let functions: [(&str, f64, Exact); 3] = [
            ("exp", 116.0, |x, _| libm::exp(x)),
            ("tanh", 1365.5, |x, _| libm::tanh(x)),
            ("div", 198.0, |x, y| x / y),
        ];
        for sign in SIGNS {
            let arithmetic = Arithmetic { errors: Some(errors(sign)), ..Arithmetic::default() };
            for (name, ulp, exact) in functions {
                let (mut largest, mut ups, mut count) = (0.0f64, 0, 0);
                for (&a, &b) in samples(4000, 5).iter().zip(&samples(4000, 6)) {
                    let [x, y] = [a, b].map(|bits| f64::from(f32::from_bits(bits)));
                    let result = f64::from(f32::from_bits(match name {
                        "exp" => arithmetic.unary(Unary::Exp, a),
                        "tanh" => arithmetic.unary(Unary::Tanh, a),
                        _ => arithmetic.binary(Binary::DivF, a, b),
                    }));
                    let exact = exact(x, y);
                    let normal = f64::from(f32::MIN_POSITIVE)..f64::from(f32::MAX) * 0.99;
                    if !normal.contains(&exact.abs()) {
                        continue;
                    }
                    let error = (result - exact) / exact * f64::from(1u32 << 23);
                    largest = largest.max(error.abs());
                    (ups, count) = (ups + u32::from(error > 0.0), count + 1);
                }
                assert!(count > 1000, "{name}");
                assert!(largest <= ulp && largest > 0.999 * ulp - 0.5, "{name} {sign:?}: {largest}");
                let share = f64::from(ups) / f64::from(count);
                let expected = match sign {
                    ErrorSign::Up => 1.0..1.01,
                    ErrorSign::Down => 0.0..0.01,
                    ErrorSign::Hashed(_) => 0.45..0.55,
                };
                assert!(expected.contains(&share), "{name} {sign:?}: {share}");
            }
        }
    }
}
