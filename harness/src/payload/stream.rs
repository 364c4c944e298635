//! Counter-based random numbers: a value depends on where it is, never on what was drawn before it elsewhere.
//!
//! Invariant: frozen. Another sequence of numbers would change every stored case's payload; golden hashes guard it.

/// Increment of the counter: odd, with no visible structure (2^64 divided by the golden ratio).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
/// A second odd constant for the multiplication.
const FACTOR: u64 = 0xd1b5_4a32_d192_ed03;

/// One over the standard deviation of the sum of four 16-bit uniform integers: 1 / sqrt(4 (2^32 - 1) / 12).
const SUM_PRECISION: f32 = 1.0 / 37_837.23;
/// Mean of that sum: 4 (2^16 - 1) / 2.
const SUM_MEAN: f32 = 131_070.0;

/// Folds the 128-bit product into 64 bits.
#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// The numbers of one row, addressed by its coordinates.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    counter: u64,
}

impl Stream {
    /// The stream at `coordinates` of a payload with this seed.
    #[inline]
    pub(crate) fn at(seed: u64, coordinates: [u64; 4]) -> Stream {
        let mix = |state: u64, coordinate: u64| fold(state ^ coordinate ^ STEP, FACTOR).wrapping_add(STEP);
        Stream { counter: coordinates.into_iter().fold(mix(FACTOR, seed), mix) }
    }

    /// 64 uniform bits.
    #[inline]
    pub(crate) fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(STEP);
        fold(self.counter, self.counter ^ FACTOR)
    }

    /// Approximately standard normal, within ±3.47 (Irwin-Hall of four 16-bit uniforms).
    #[inline]
    pub(crate) fn normal(&mut self) -> f32 {
        normal(self.bits())
    }

    /// A uniform integer below `n`.
    #[inline]
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }
}

/// Four more bits from a draw, independent enough of the normal number that it gives.
#[inline]
pub(crate) fn nibble(bits: u64) -> u32 {
    (bits.wrapping_mul(FACTOR) >> 60) as u32
}

/// Approximately standard normal from 64 uniform bits.
#[inline]
pub(crate) fn normal(bits: u64) -> f32 {
    let sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
    (sum as i32 as f32 - SUM_MEAN) * SUM_PRECISION
}
