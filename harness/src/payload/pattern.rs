//! The patterns: what q, K and V hold, each aimed at something that a kernel may get wrong.
//!
//! A value is a function of (pattern, seed, sequence, token, head, lane) and of the variant's scale, cap, head dimension and
//! dtypes: logical coordinates, so that moving pages or shortening a sequence leaves the rest as it was.
//!
//! Invariant: a pattern's numbers never change; an improved one gets a new version beside the old. All but `overflow` keep
//! |q·k| and sums of |v| far below 2^127.

use countersign_dtype::DType;
use countersign_kernels::Variant;

use super::stream::{Stream, nibble, normal};

/// A payload pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// Normal numbers, scores of deviation 2: what a model produces.
    Normal,
    /// A large vector common to all of q and K: scores near 200 that differ by a few.
    CommonOffset,
    /// V encodes sequence, head and position, so that a wrongly read row names itself.
    OneHotV,
    /// Scores of deviation 60: the softmax picks one key.
    Saturated,
    /// Scores around one and a half times the soft cap.
    NearCap,
    /// Scores near zero and very small V.
    Tiny,
    /// Magnitudes over some twenty binades, within a row and between rows.
    Mixed,
    /// Denormal V, and denormal lanes in q and K.
    Denormal,
    /// The first key takes nearly all weight.
    Sink,
    /// Three quarters of all elements are zeros of either sign.
    SignedZeros,
    /// Scores that rise (even seeds) or fall (odd seeds) with the position, so that every block rescales the sums.
    Staircase,
    /// Large norms whose products cancel: moderate scores out of sums some hundred times as large.
    Cancelling,
    /// |q·k| (even seeds) or |v| (odd seeds) at and above 2^127: outside what f32 attention promises.
    Overflow,
    /// q and K are 0 and V is the sequence's number from 1: a right row of sequence 0 holds ones, of sequence 1 twos, …
    SequenceV,
    /// q and K are 0 and V is the position from 1: a right row holds the mean of what it may see.
    PositionV,
}

impl Pattern {
    /// Every pattern, those that campaigns draw first.
    pub fn every() -> impl Iterator<Item = Pattern> {
        Pattern::ALL.into_iter().chain(Pattern::PLAIN)
    }

    /// What minimised cases and cases by hand hold: values that a reader can follow.
    pub const PLAIN: [Pattern; 2] = [Pattern::SequenceV, Pattern::PositionV];

    /// Every pattern that campaigns draw.
    pub const ALL: [Pattern; 13] = [
        Pattern::Normal,
        Pattern::CommonOffset,
        Pattern::OneHotV,
        Pattern::Saturated,
        Pattern::NearCap,
        Pattern::Tiny,
        Pattern::Mixed,
        Pattern::Denormal,
        Pattern::Sink,
        Pattern::SignedZeros,
        Pattern::Staircase,
        Pattern::Cancelling,
        Pattern::Overflow,
    ];

    /// Name and version, as a case writes it.
    pub const fn name(self) -> &'static str {
        match self {
            Pattern::Normal => "normal@1",
            Pattern::CommonOffset => "common-offset@1",
            Pattern::OneHotV => "one-hot-v@1",
            Pattern::Saturated => "saturated@1",
            Pattern::NearCap => "near-cap@1",
            Pattern::Tiny => "tiny@1",
            Pattern::Mixed => "mixed@1",
            Pattern::Denormal => "denormal@1",
            Pattern::Sink => "sink@1",
            Pattern::SignedZeros => "signed-zeros@1",
            Pattern::Staircase => "staircase@1",
            Pattern::Cancelling => "cancelling@1",
            Pattern::Overflow => "overflow@1",
            Pattern::SequenceV => "sequence-v@1",
            Pattern::PositionV => "position-v@1",
        }
    }

    /// The inverse of [`Pattern::name`].
    pub fn from_name(name: &str) -> Option<Pattern> {
        Pattern::every().find(|pattern| pattern.name() == name)
    }

    /// Whether the pattern can do what it says with the variant's dtypes and scales (which would move values out of its range).
    pub fn suits(self, variant: &Variant) -> bool {
        let wide = |dtype| matches!(dtype, DType::F32 | DType::Bf16);
        let unscaled = variant.options.k_scale.is_none() && variant.options.v_scale.is_none();
        self != Pattern::Overflow || wide(variant.q_dtype) && wide(variant.kv_dtype) && unscaled
    }
}

const Q: u64 = 0;
const K: u64 = 1;
const V: u64 = 2;
/// Stream of the signs that all of q and K share.
const SIGNS: u64 = 3;

/// A pattern bound to a variant and a seed.
pub(crate) struct Source {
    pattern: Pattern,
    seed: u64,
    q_dtype: DType,
    kv_dtype: DType,
    kv_heads: usize,
    /// Deviation of K and V as stored, for unit magnitude.
    kv_unit: f32,
    /// Factor on a standard normal q that gives scores of deviation 1 against unit K.
    q_unit: f32,
    /// The cap that `near-cap` aims at.
    cap: f32,
    /// ±1 per lane.
    signs: Vec<f32>,
}

impl Source {
    pub(crate) fn new(pattern: Pattern, seed: u64, variant: &Variant) -> Source {
        let options = &variant.options;
        let kv_unit = match variant.kv_dtype {
            DType::I4 => 2.0,
            DType::I8 | DType::I16 | DType::I32 => 24.0,
            DType::F32 | DType::Bf16 | DType::F16 | DType::F8E4M3FN | DType::F8E5M2 | DType::I1 => 1.0,
        };
        let scale =
            options.sm_scale.abs() * options.k_scale.unwrap_or(1.0).abs() * (variant.head_dim as f32).sqrt();
        let q_unit = if scale.is_normal() { 1.0 / (scale * kv_unit) } else { 1.0 };
        let mut stream = Stream::at(seed, [SIGNS, 0, 0, 0]);
        let signs =
            (0..variant.head_dim).map(|_| if stream.bits() >> 63 == 0 { 1.0 } else { -1.0 }).collect();
        Source {
            pattern,
            seed,
            q_dtype: variant.q_dtype,
            kv_dtype: variant.kv_dtype,
            kv_heads: variant.kv_heads,
            kv_unit,
            q_unit,
            cap: options.soft_cap.map_or(20.0, f32::abs),
            signs,
        }
    }

    fn stream(&self, array: u64, sequence: usize, token: usize, head: usize) -> Stream {
        Stream::at(self.seed, [array, sequence as u64, token as u64, head as u64])
    }

    /// One head's row of q.
    pub(crate) fn q(&self, sequence: usize, token: usize, head: usize, row: &mut [f32]) {
        let mut s = self.stream(Q, sequence, token, head);
        let unit = self.q_unit;
        let signs = self.signs.iter();
        match self.pattern {
            Pattern::Normal | Pattern::OneHotV => each(row, || 2.0 * unit * s.normal()),
            Pattern::CommonOffset => {
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = 0.25 * unit * (s.normal() + 8.0 * sign));
            }
            Pattern::Saturated => each(row, || 60.0 * unit * s.normal()),
            Pattern::NearCap => each(row, || 1.5 * self.cap * unit * s.normal()),
            Pattern::Tiny => each(row, || unit * small(self.q_dtype) * s.normal()),
            Pattern::Mixed => each(row, || uneven(&mut s, 0.05 * unit)),
            Pattern::Denormal => {
                let tiny = 0.5 * smallest_normal(self.q_dtype);
                alternate(row, &mut s, 2.0 * unit, tiny);
            }
            Pattern::Sink => row.iter_mut().zip(signs).for_each(|(x, sign)| *x = unit * (s.normal() + sign)),
            Pattern::SignedZeros => each(row, || zero_or(&mut s, 4.0 * unit)),
            Pattern::Staircase => {
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = unit * (0.1 * s.normal() + sign));
            }
            Pattern::Cancelling => pairs(row, &mut s, 16.0 * unit, 0.1 * unit, 1.0),
            Pattern::Overflow if self.seed.is_multiple_of(2) => {
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = sign * huge(&mut s, 64));
            }
            Pattern::Overflow => each(row, || 2.0 * unit * s.normal()),
            Pattern::SequenceV | Pattern::PositionV => row.fill(0.0),
        }
        within(self.q_dtype, row);
    }

    /// One head's key at a position.
    pub(crate) fn k(&self, sequence: usize, position: usize, head: usize, row: &mut [f32]) {
        let mut s = self.stream(K, sequence, position, head);
        let unit = self.kv_unit;
        let signs = self.signs.iter();
        match self.pattern {
            Pattern::Normal | Pattern::OneHotV | Pattern::Saturated | Pattern::NearCap => {
                each(row, || unit * s.normal());
            }
            Pattern::CommonOffset => {
                let unit = if self.kv_dtype.is_float() { unit } else { unit / 3.0 };
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = unit * (s.normal() + 8.0 * sign));
            }
            Pattern::Tiny => each(row, || small(self.kv_dtype) * s.normal()),
            Pattern::Mixed => each(row, || uneven(&mut s, unit)),
            Pattern::Denormal => {
                let tiny = 0.5 * smallest_normal(self.kv_dtype);
                alternate(row, &mut s, unit, tiny);
            }
            Pattern::Sink if position == 0 => {
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = unit * (0.1 * s.normal() + sign));
            }
            Pattern::Sink => each(row, || unit * s.normal()),
            Pattern::SignedZeros => each(row, || zero_or(&mut s, unit)),
            Pattern::Staircase => {
                // A step of 1.5 in the score.
                let step = 1.5 * unit / (row.len() as f32).sqrt();
                let height = if self.seed.is_multiple_of(2) { step } else { -step } * position as f32;
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = height * sign + 0.1 * unit * s.normal());
            }
            Pattern::Cancelling => {
                let large = if self.kv_dtype.is_float() { 16.0 } else { 2.0 };
                pairs(row, &mut s, large * unit, 0.1 * unit, -1.0);
            }
            Pattern::Overflow if self.seed.is_multiple_of(2) => {
                row.iter_mut().zip(signs).for_each(|(x, sign)| *x = sign * huge(&mut s, 63));
            }
            Pattern::Overflow => each(row, || unit * s.normal()),
            Pattern::SequenceV | Pattern::PositionV => row.fill(0.0),
        }
        within(self.kv_dtype, row);
    }

    /// One head's value at a position.
    pub(crate) fn v(&self, sequence: usize, position: usize, head: usize, row: &mut [f32]) {
        let mut s = self.stream(V, sequence, position, head);
        let unit = self.kv_unit;
        match self.pattern {
            Pattern::Normal
            | Pattern::CommonOffset
            | Pattern::Saturated
            | Pattern::NearCap
            | Pattern::Sink
            | Pattern::Staircase
            | Pattern::Cancelling => each(row, || unit * s.normal()),
            Pattern::OneHotV => one_hot(row, position, sequence * self.kv_heads + head, unit),
            Pattern::Tiny => each(row, || small(self.kv_dtype) * s.normal()),
            Pattern::Mixed => {
                let row_factor = unit * power(s.below(17) as i32 - 8);
                each(row, || uneven(&mut s, row_factor));
            }
            Pattern::Denormal => {
                let tiny = 0.5 * smallest_normal(self.kv_dtype);
                each(row, || tiny * s.normal());
            }
            Pattern::SignedZeros => each(row, || zero_or(&mut s, unit)),
            Pattern::Overflow if self.seed.is_multiple_of(2) => each(row, || unit * s.normal()),
            Pattern::Overflow => each(row, || {
                let sign = if s.bits() >> 63 == 0 { 1.0 } else { -1.0 };
                sign * huge(&mut s, 127)
            }),
            Pattern::SequenceV => row.fill(counted(sequence)),
            Pattern::PositionV => row.fill(counted(position)),
        }
        within(self.kv_dtype, row);
    }
}

/// 1, 2, …, 7 and again from 1: what the narrowest type still holds.
fn counted(index: usize) -> f32 {
    (index % 7 + 1) as f32
}

#[inline]
fn each(row: &mut [f32], mut value: impl FnMut() -> f32) {
    row.iter_mut().for_each(|x| *x = value());
}

/// Normal numbers of one deviation at even lanes, of another at odd ones.
fn alternate(row: &mut [f32], s: &mut Stream, even: f32, odd: f32) {
    for (lane, x) in row.iter_mut().enumerate() {
        *x = s.normal() * if lane % 2 == 0 { even } else { odd };
    }
}

/// Pairs of lanes: a large number and `sign` times the same, each with a little noise.
fn pairs(row: &mut [f32], s: &mut Stream, large: f32, noise: f32, sign: f32) {
    for pair in row.chunks_mut(2) {
        let value = large * s.normal();
        for (x, sign) in pair.iter_mut().zip([1.0, sign]) {
            *x = sign * value + noise * s.normal();
        }
    }
}

/// Half of the lanes are one-hot in the position, a quarter in how often that wraps, a quarter in the owner.
fn one_hot(row: &mut [f32], position: usize, owner: usize, hot: f32) {
    row.fill(0.0);
    let half = (row.len() / 2).max(1);
    let quarter = (row.len() / 4).max(1);
    let lanes = [position % half, half + position / half % quarter, half + quarter + owner % quarter];
    for lane in lanes {
        if let Some(x) = row.get_mut(lane) {
            *x = hot;
        }
    }
}

/// A zero of either sign three times in four, else a normal number.
#[inline]
fn zero_or(s: &mut Stream, deviation: f32) -> f32 {
    let bits = s.bits();
    let value = deviation * normal(bits);
    if nibble(bits) < 12 { 0f32.copysign(value) } else { value }
}

/// A normal number times a power of two between 2^-10 and 2^5.
#[inline]
fn uneven(s: &mut Stream, deviation: f32) -> f32 {
    let bits = s.bits();
    deviation * normal(bits) * power(nibble(bits) as i32 - 10)
}

/// 2^exponent times a factor between 1 and 1.5.
fn huge(s: &mut Stream, exponent: i32) -> f32 {
    power(exponent) * (1.0 + s.below(1 << 20) as f32 / (1 << 21) as f32)
}

/// 2^exponent, for exponents of normal f32 numbers.
#[inline]
fn power(exponent: i32) -> f32 {
    f32::from_bits(((exponent + 127) as u32) << 23)
}

/// A small magnitude that the type still holds; 1 for integers.
fn small(dtype: DType) -> f32 {
    match dtype {
        DType::F32 | DType::Bf16 => power(-20),
        DType::F16 => power(-10),
        DType::F8E5M2 => power(-8),
        DType::F8E4M3FN => power(-4),
        DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => 1.0,
    }
}

/// The smallest normal number; 1 for integers.
fn smallest_normal(dtype: DType) -> f32 {
    match dtype {
        DType::F32 | DType::Bf16 => f32::MIN_POSITIVE,
        DType::F16 | DType::F8E5M2 => power(-14),
        DType::F8E4M3FN => power(-6),
        DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => 1.0,
    }
}

/// Clamps to the finite numbers of a narrow float, whose conversion would overflow.
fn within(dtype: DType, row: &mut [f32]) {
    let largest = match dtype {
        DType::F16 => 65504.0,
        DType::F8E4M3FN => 448.0,
        DType::F8E5M2 => 57344.0,
        DType::F32 | DType::Bf16 | DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => return,
    };
    row.iter_mut().for_each(|x| *x = x.clamp(-largest, largest));
}
