//! Rounding f32 to a narrow float format and back, bit by bit.
//!
//! One algorithm serves every format: round the significand to nearest, ties to even, where the format's grid lies
//! (normal or denormal), and let a carry run into the exponent. Formats differ in three numbers and in what overflow gives.
//!
//! Invariant: `narrow(widen(bits)) == bits` for every bit pattern, NaN payloads included; a NaN never becomes a number.

/// What the largest exponent field of a format means, and what a value too large for the format becomes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Top {
    /// Infinity and NaN, as in IEEE 754; overflow gives infinity.
    Ieee,
    /// Numbers, except all ones, which is NaN; overflow and infinity give NaN.
    FiniteOnly,
}

/// A sign bit, `exponent` bits and `mantissa` bits, bias `2^(exponent-1) - 1`.
#[derive(Clone, Copy)]
struct Format {
    exponent: u32,
    mantissa: u32,
    top: Top,
}

const F16: Format = Format { exponent: 5, mantissa: 10, top: Top::Ieee };
const F8E4M3FN: Format = Format { exponent: 4, mantissa: 3, top: Top::FiniteOnly };
const F8E5M2: Format = Format { exponent: 5, mantissa: 2, top: Top::Ieee };

const F32_MANTISSA: u32 = 23;
const F32_BIAS: u32 = 127;
const F32_INFINITY: u32 = 0x7f80_0000;
const F32_QUIET: u32 = 0x0040_0000;

impl Format {
    const fn bias(self) -> u32 {
        (1 << (self.exponent - 1)) - 1
    }

    /// Bits that are dropped from an f32's mantissa when the result is a normal number.
    const fn dropped(self) -> u32 {
        F32_MANTISSA - self.mantissa
    }

    const fn sign_shift(self) -> u32 {
        self.exponent + self.mantissa
    }

    /// The magnitude bits of infinity, or of NaN where there is no infinity: the result of overflow.
    const fn overflow(self) -> u32 {
        match self.top {
            Top::Ieee => ((1 << self.exponent) - 1) << self.mantissa,
            Top::FiniteOnly => (1 << (self.exponent + self.mantissa)) - 1,
        }
    }

    /// Round to nearest, ties to even.
    const fn narrow(self, value: f32) -> u32 {
        let bits = value.to_bits();
        let sign = (bits >> 31) << self.sign_shift();
        let magnitude = bits & 0x7fff_ffff;
        if magnitude > F32_INFINITY {
            return sign | self.narrow_nan(magnitude);
        }
        let smallest_normal = F32_BIAS + 1 - self.bias(); // as an f32 exponent field; at least 1 in every format
        let exponent = magnitude >> F32_MANTISSA;
        let rounded = if exponent >= smallest_normal {
            round_half_even(magnitude, self.dropped()) - ((F32_BIAS - self.bias()) << self.mantissa)
        } else if exponent == 0 {
            0 // an f32 denormal is below half of the smallest value of each format here
        } else {
            let significand = (magnitude & ((1 << F32_MANTISSA) - 1)) | (1 << F32_MANTISSA);
            round_half_even(significand, self.dropped() + smallest_normal - exponent)
        };
        sign | if rounded >= self.overflow() { self.overflow() } else { rounded }
    }

    /// Keeps the payload's upper bits; if none of them is set, sets the quiet bit.
    const fn narrow_nan(self, magnitude: u32) -> u32 {
        match self.top {
            Top::FiniteOnly => self.overflow(),
            Top::Ieee => {
                let payload = (magnitude >> self.dropped()) & ((1 << self.mantissa) - 1);
                self.overflow() | if payload == 0 { 1 << (self.mantissa - 1) } else { payload }
            }
        }
    }

    /// Exact.
    const fn widen(self, bits: u32) -> f32 {
        let sign = (bits >> self.sign_shift()) << 31;
        let magnitude = bits & ((1 << self.sign_shift()) - 1);
        let mantissa = magnitude & ((1 << self.mantissa) - 1);
        let exponent = magnitude >> self.mantissa;
        let wide = if magnitude >= self.overflow() {
            match self.top {
                Top::Ieee => F32_INFINITY | (mantissa << self.dropped()),
                Top::FiniteOnly => F32_INFINITY | F32_QUIET,
            }
        } else if exponent > 0 {
            (magnitude << self.dropped()) + ((F32_BIAS - self.bias()) << F32_MANTISSA)
        } else if mantissa > 0 {
            let leading = 31 - mantissa.leading_zeros(); // value = 1.f * 2^(leading - mantissa bits + 1 - bias)
            let field = F32_BIAS + 1 + leading - self.bias() - self.mantissa;
            (field << F32_MANTISSA) | ((mantissa << (F32_MANTISSA - leading)) & ((1 << F32_MANTISSA) - 1))
        } else {
            0
        };
        f32::from_bits(sign | wide)
    }
}

/// `value / 2^drop` to the nearest integer, ties to even; 0 when even the top bit is below half.
const fn round_half_even(value: u32, drop: u32) -> u32 {
    if drop > F32_MANTISSA + 2 {
        return 0;
    }
    let odd = (value >> drop) & 1;
    (value + (1 << (drop - 1)) - 1 + odd) >> drop
}

const fn widen_table(format: Format) -> [f32; 256] {
    let mut table = [0.0; 256];
    let mut bits = 0;
    while bits < 256 {
        table[bits] = format.widen(bits as u32);
        bits += 1;
    }
    table
}

static F8E4M3FN_VALUES: [f32; 256] = widen_table(F8E4M3FN);
static F8E5M2_VALUES: [f32; 256] = widen_table(F8E5M2);

/// Rounds to bfloat16, ties to even; overflow gives infinity, a NaN keeps its sign and upper payload bits.
#[inline]
pub const fn f32_to_bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    if bits & 0x7fff_ffff > F32_INFINITY {
        let upper = bits >> 16;
        let vanished = (upper & 0x7f == 0) as u32;
        return (upper | (vanished << 6)) as u16;
    }
    ((bits + 0x7fff + ((bits >> 16) & 1)) >> 16) as u16
}

/// The exact value of a bfloat16; NaN payloads are kept.
#[inline]
pub const fn bf16_bits_to_f32(bits: u16) -> f32 {
    f32::from_bits((bits as u32) << 16)
}

/// Rounds to IEEE binary16, ties to even; overflow gives infinity, a NaN keeps its sign and upper payload bits.
#[inline]
pub const fn f32_to_f16_bits(value: f32) -> u16 {
    F16.narrow(value) as u16
}

/// The exact value of an IEEE binary16; NaN payloads are kept.
#[inline]
pub const fn f16_bits_to_f32(bits: u16) -> f32 {
    F16.widen(bits as u32)
}

/// Rounds to OCP e4m3fn, ties to even; magnitudes above 464 (half-way past the largest, 448) and infinities give NaN.
#[inline]
pub const fn f32_to_f8e4m3fn_bits(value: f32) -> u8 {
    F8E4M3FN.narrow(value) as u8
}

/// The exact value of an OCP e4m3fn.
#[inline]
pub fn f8e4m3fn_bits_to_f32(bits: u8) -> f32 {
    F8E4M3FN_VALUES[bits as usize]
}

/// Rounds to OCP e5m2, ties to even; magnitudes of 61440 and above give infinity, a NaN keeps its sign and upper payload.
#[inline]
pub const fn f32_to_f8e5m2_bits(value: f32) -> u8 {
    F8E5M2.narrow(value) as u8
}

/// The exact value of an OCP e5m2; NaN payloads are kept.
#[inline]
pub fn f8e5m2_bits_to_f32(bits: u8) -> f32 {
    F8E5M2_VALUES[bits as usize]
}
