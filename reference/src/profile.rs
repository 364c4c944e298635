//! What arithmetic the bound allows for: a device's profile, and how a kernel blocks its work.
//!
//! Invariant: data only; the formulae that use it are in `bound`.

use countersign_dtype::DType;

/// How a matmul takes f32 operands. It always accumulates in f32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Matmul {
    /// As they are.
    Exact,
    /// Rounded to bf16: one pass, what a TPU does by default.
    Bf16x1,
}

/// The accuracy of a device. An ulp is 2^-23 relative, so that a correctly rounded operation errs by 0.5.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    /// How operands enter a matmul.
    pub matmul: Matmul,
    /// Largest relative error of exp in ulp, for results that are normal numbers.
    pub exp_ulp: f64,
    /// Largest relative error of tanh in ulp.
    pub tanh_ulp: f64,
    /// Largest relative error of a division in ulp (of the reciprocal, where one is multiplied by it).
    pub div_ulp: f64,
    /// Whether denormal operands and results become 0.
    pub flush_denormals: bool,
}

impl Profile {
    /// The VM's own arithmetic: IEEE f32, with exp and tanh of the libm crate. Their largest errors over millions of arguments
    /// are 0.60 and 1.35 ulp (a test measures them); the profile rounds up.
    pub const EXACT: Profile =
        Profile { matmul: Matmul::Exact, exp_ulp: 1.0, tanh_ulp: 2.0, div_ulp: 0.5, flush_denormals: false };
}

/// How a kernel blocks attention, as far as it bears on rounding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Blocking {
    /// Keys per kv block: the running sums are rescaled and divided once per block.
    pub kv_per_block: usize,
    /// Type in which softmax weights enter the second matmul (ragged paged attention: f32).
    pub weights: DType,
}

impl Blocking {
    /// The number of kv blocks of a sequence of `kv_len` keys.
    pub fn blocks(&self, kv_len: usize) -> usize {
        kv_len.div_ceil(self.kv_per_block.max(1))
    }
}
