//! How far a right kernel's output may lie from the exact one, element by element.
//!
//! # What is bounded
//!
//! Blocked online softmax in f32, as ragged paged attention does it. For one row and head, over kv blocks b = 1..N, with
//! scores s_j, running maximum m, running sum l and normalised output o:
//!
//! ```text
//! m_b = max s_j          w_j = exp(s_j - m_b)      l_b = sum w_j       x_b = sum w_j v_j          (j in block b)
//! m'  = max(m, m_b)      alpha = exp(m - m')       beta = exp(m_b - m')
//! l'  = alpha l + beta l_b                         o' = ((alpha l) o + beta x_b) / l'
//! ```
//!
//! The exact output is o_d = sum_j p_j v_jd over the n keys that take part, p the softmax weights. Keys that are masked
//! have weight exactly 0, and adding or multiplying exact zeros rounds nothing, so n counts unmasked keys only. A leading
//! block whose keys are all masked leaves finite garbage (every weight is exp(0) = 1), which alpha = exp(mask - m') = 0
//! then erases exactly; it costs nothing but is still counted in N.
//!
//! Notation: u = 2^-24; gamma_n = n u / (1 - n u) bounds any order of n roundings; e_exp, e_tanh, e_div are a profile's
//! relative errors (ulp times 2^-23); tau is what an underflowing operation loses, 2^-149, or 2^-126 where denormals flush.
//! That exp(0) is exactly 1 is nowhere assumed: accuracy tables of devices don't promise it.
//!
//! # Scores: eta_j
//!
//! Computed w_j carries a factor e^delta_j of its own, |delta_j| <= eta_j, the sum of:
//!
//! - the dot product and its factor: (2 u_in + gamma_{D+4}) |scale| sum_k |q_k k_jk| =: E_j. D roundings in the dot, one for
//!   the scale; three are spare for terms of second order. u_in = 2^-8 for each operand that is rounded to bf16, else 0.
//!   Products with u_in need no room of their own: a rounding to nearest errs by at most u_in / (1 + u_in), so one operand
//!   leaves u_in^2 = 256 u unused, and two have (1 + u_in / (1 + u_in))^2 - 1 < 2 u_in - u_in^2 / 2;
//! - with a soft cap c tanh(s/c): that term times the largest slope 1 - tanh^2(s/c) within its own interval (and never more
//!   than 2|c|), plus (e_tanh + e_div + 2u) |s_j|: division errs by e_div relative to s/c, and x sech^2 x <= tanh x;
//! - the subtractions: 2u |s_j - max s| + u (E_j + max E). One rounding each in s_j - m_b, m_b - m' and the alphas' m - m';
//!   the distances are nested and add up to s_j - max s, as computed: that is within E_j + max E of the exact one. The
//!   second u is for terms of second order;
//! - e_exp / (1 - e_exp), for w_j itself: its factor is between 1 - e_exp and 1 + e_exp;
//! - underflow in the dot: |scale| 2 D tau + 2 tau (with a cap, (2|c| + 2) tau more), and where operands lose denormals on
//!   their way in, |scale| (|q|_1 + |k_j|_1) times that loss. Where a denormal K is flushed before it meets its own scale,
//!   the loss is that scale's multiple, if it is above 1. All nothing unless |scale| or |c| is astronomical.
//!
//! # Weights: A_d
//!
//! Weights p_j e^delta_j give the mean sum p_j e^delta_j v_jd / sum p_j e^delta_j. Since sum p_j (v_jd - o_d) = 0, it differs
//! from o_d by at most
//!
//! ```text
//! A_d = sum_j p_j expm1(eta_j) |v_jd - o_d|  /  sum_j p_j exp(-eta_j)
//! ```
//!
//! and, being a mean of the v_jd, by at most X_d = max_j |v_jd - o_d|. (The denominator is 1 - sum p_j (1 - exp(-eta_j)).)
//!
//! # Sums: B_d
//!
//! What is left are relative errors of terms w_j v_jd: with the *perturbed* weights, at most
//! P_d = sum_j p_j e^eta_j |v_jd| / sum_j p_j e^-eta_j each (no more than max_j |v_jd|). With unperturbed weights here, the bound fails
//! where eta is large: two keys whose order is uncertain, 0 and a large v, give X_d plus the rounding of that v.
//!
//! - x_b and l_b: gamma_n each;
//! - u_in for v where the matmul rounds it, u_p for the weights that enter it (not those in l_b);
//! - per block: numerator beta x_b, (alpha l) o, their sum: 2 roundings for any one term; denominator: 2; the division:
//!   e_div. alpha l is rounded once, and is the same in both, so it only shifts weight between blocks, as does the error of
//!   alpha or beta. A key of block b has the factors beta_b alpha_{b+1} .. alpha_N, so two keys of blocks a < b differ by
//!   beta_a alpha_{a+1} .. alpha_b against beta_b: at most N + 1 errors of exp and N roundings (N errors, if exp(0) = 1 were
//!   exact, since one of alpha and beta is exp(0)). A factor common to all cancels; weights that err by +-h move the mean by
//!   at most h sum p |v - o| <= 2h P, with 2h the difference. In all e_exp + e_div + 5u a block, and e_exp once; 7u leaves
//!   two for second order and for a division that is a product with the reciprocal.
//!
//! With c = 2 gamma_n + u_in + u_p + e_exp + N (e_exp + e_div + 7u), products of such errors stay below c + c^2 (c <= 1).
//!
//! # Underflow and output
//!
//! Sums are kept relative to the running maximum, so l is never much below 1 (its largest weight is exp(0) times a factor
//! exp(0) a block: c bounds what that may lack) and an absolute loss grows by 1 + c + c^2 at most. A weight that
//! underflows, in w_j or beta or alpha, loses tau |v_jd| (only one of them can: if beta underflows, w_j's loss is scaled
//! away); products w_j v_jd lose tau/2 each, n in all; per block (alpha l) o, beta x_b and the division lose tau/2 each. Where denormals
//! flush, a loss is a whole tau and sums lose too: 2n and 4N. Hence tau (sum_j |v_jd| + n + 2N), over unmasked keys. What V
//! loses on its way in, p averages (V's own scale counting as K's does). Losses in l are relative to 1, far below its
//! roundings. A scale or cap that is itself denormal, where denormals flush, leaves nothing to bound: the bound is infinite.
//!
//! Rounding the output to its type costs u_out (|o_d| + error so far) (f32: nothing, it is f32 already; bf16: 2^-8) and half
//! of the smallest denormal, or what flushing loses.
//!
//! ```text
//! |err_d| <= (min(A_d, X_d) + (c + c^2) P_d + (1 + c + c^2) underflow) (1 + u_out) + u_out |o_d| + output underflow
//! ```
//!
//! Not covered, because the arithmetic itself leaves f32: see [`crate::Magnitudes`]. The reference's own f64 error (2^-53
//! relative to the same sums) is far below the spare roundings.
//!
//! Invariant: every tolerance of the project that concerns a value comes from here.

use countersign_dtype::DType;

use crate::{Blocking, Matmul, Options, Profile};

const UNIT: f64 = 1.0 / (1u32 << 24) as f64;
const ULP: f64 = 2.0 * UNIT;
const BF16_UNIT: f64 = 1.0 / 256.0;
const F32_TINY: f64 = f32::from_bits(1) as f64;
const F32_SMALLEST_NORMAL: f64 = f32::MIN_POSITIVE as f64;
const BF16_TINY: f64 = 65536.0 * F32_TINY;

/// Below this, A_d can't exceed X_d: expm1(eta) <= exp(-eta).
pub(crate) const LARGE_ETA: f64 = 0.4;

/// gamma_n: the relative error of n roundings in any order.
fn gamma(n: usize) -> f64 {
    let errors = n as f64 * UNIT;
    if errors < 1.0 { errors / (1.0 - errors) } else { f64::INFINITY }
}

/// Unit roundoff: half the distance of 1 from the next larger number. Integers hold what they hold exactly.
fn unit_roundoff(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => UNIT,
        DType::Bf16 => BF16_UNIT,
        DType::F16 => 1.0 / 2048.0,
        DType::F8E4M3FN => 1.0 / 16.0,
        DType::F8E5M2 => 1.0 / 8.0,
        DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => 0.0,
    }
}

/// The smallest denormal of a float type.
fn smallest_denormal(dtype: DType) -> f64 {
    match dtype {
        DType::F32 => F32_TINY,
        DType::Bf16 => BF16_TINY,
        DType::F16 => f64::from(countersign_dtype::f16_bits_to_f32(1)),
        DType::F8E4M3FN => f64::from(countersign_dtype::f8e4m3fn_bits_to_f32(1)),
        DType::F8E5M2 => f64::from(countersign_dtype::f8e5m2_bits_to_f32(1)),
        DType::I32 | DType::I16 | DType::I8 | DType::I4 | DType::I1 => 1.0,
    }
}

/// Roundoff of a matmul operand on its way in: types that bf16 holds exactly pass.
fn operand_roundoff(matmul: Matmul, dtype: DType) -> f64 {
    match (matmul, dtype) {
        (Matmul::Exact, _) => 0.0,
        (Matmul::Bf16x1, DType::F32 | DType::F16 | DType::I32 | DType::I16) => BF16_UNIT,
        (
            Matmul::Bf16x1,
            DType::Bf16 | DType::F8E4M3FN | DType::F8E5M2 | DType::I8 | DType::I4 | DType::I1,
        ) => 0.0,
    }
}

/// The types of the operands: keys and values as they enter the matmuls, after their scales.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Types {
    pub(crate) query: DType,
    pub(crate) key: DType,
    pub(crate) value: DType,
}

/// The coefficients of the bound that a whole batch shares.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    /// Of sum |q_k k_jk|.
    dot: f64,
    /// Of |q|_1 + |k_j|_1.
    key_loss: f64,
    score_loss: f64,
    cap: Option<f64>,
    cap_error: f64,
    /// e_exp, and the same as a part of eta.
    exp: f64,
    exp_in_eta: f64,
    per_block: f64,
    second_operands: f64,
    tau: f64,
    weight_loss: f64,
    value_loss: f64,
    key_losses: f64,
    block_losses: f64,
    output: f64,
    output_loss: f64,
}

/// One element's sums over the keys that take part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    /// The exact output.
    pub(crate) output: f64,
    /// min(A_d, X_d).
    pub(crate) weights: f64,
    /// P_d.
    pub(crate) mass: f64,
    /// sum_j |v_jd|.
    pub(crate) total: f64,
}

impl Bound {
    pub(crate) fn new(
        head_dim: usize,
        types: Types,
        options: &Options,
        blocking: &Blocking,
        profile: &Profile,
    ) -> Bound {
        let flush = profile.flush_denormals;
        let scale = f64::from(options.sm_scale).abs();
        let cap = options.soft_cap.map(|cap| f64::from(cap).abs());
        let (exp, div, tanh) = (profile.exp_ulp * ULP, profile.div_ulp * ULP, profile.tanh_ulp * ULP);
        let tau = if flush { F32_SMALLEST_NORMAL } else { F32_TINY };
        let operand_loss = match profile.matmul {
            _ if flush => F32_SMALLEST_NORMAL,
            Matmul::Exact => 0.0,
            Matmul::Bf16x1 => BF16_TINY,
        };
        // A scale above 1 multiplies what its operand lost before.
        let scaled_loss =
            |own: Option<f32>| operand_loss * own.map_or(1.0, |own| f64::from(own).abs().max(1.0));
        let constants = [Some(options.sm_scale), options.soft_cap, options.k_scale, options.v_scale];
        let lost = flush && constants.into_iter().flatten().any(f32::is_subnormal);
        let into_matmul = |dtype| operand_roundoff(profile.matmul, dtype);
        let weights_roundoff = match blocking.weights {
            DType::F32 => into_matmul(DType::F32),
            narrow => unit_roundoff(narrow),
        };
        let weight_loss = match blocking.weights {
            DType::F32 => operand_loss,
            narrow => smallest_denormal(narrow).max(operand_loss),
        };
        let (output, output_loss) = match types.query {
            DType::F32 => (0.0, F32_TINY / 2.0),
            narrow => (unit_roundoff(narrow), smallest_denormal(narrow) / 2.0),
        };
        let cap_error = tanh + div + 2.0 * UNIT;
        Bound {
            dot: (into_matmul(types.query) + into_matmul(types.key) + gamma(head_dim + 4)) * scale,
            key_loss: scaled_loss(options.k_scale) * scale,
            score_loss: tau * (2.0 * head_dim as f64 * scale + 2.0),
            cap,
            cap_error: cap_error * (1.0 + cap_error),
            exp,
            exp_in_eta: exp / (1.0 - exp),
            per_block: exp + div + 7.0 * UNIT,
            second_operands: into_matmul(types.value) + weights_roundoff,
            tau,
            weight_loss,
            value_loss: if lost { f64::INFINITY } else { scaled_loss(options.v_scale) },
            key_losses: if flush { 2.0 } else { 1.0 },
            block_losses: if flush { 4.0 } else { 2.0 },
            output,
            output_loss: if flush { output_loss.max(F32_SMALLEST_NORMAL) } else { output_loss },
        }
    }

    /// Whether [`Bound::score_error`] needs the operands' absolute sums.
    pub(crate) fn needs_operand_sums(&self) -> bool {
        self.key_loss > 0.0
    }

    /// The error of a score as it enters the softmax. `scaled` is scale q·k, `score` the same after a cap, `dot` is
    /// sum |q_k k_jk|, `operands` is |q|_1 + |k_j|_1.
    pub(crate) fn score_error(&self, scaled: f64, score: f64, dot: f64, operands: f64) -> f64 {
        let error = self.dot * dot + self.key_loss * operands + self.score_loss;
        let Some(cap) = self.cap else { return error };
        let nearest = (scaled.abs() - error).max(0.0) / cap;
        let decay = libm::exp(-2.0 * nearest);
        let slope = 4.0 * decay / ((1.0 + decay) * (1.0 + decay)); // sech^2, without cancellation
        let through_cap = (slope * error).min(2.0 * cap);
        through_cap * (1.0 + self.cap_error) + self.cap_error * score.abs() + self.tau * (2.0 * cap + 2.0)
    }

    /// eta_j of a key whose score errs by `score_error` and lies `gap` below the largest; no score of the row errs by more
    /// than `largest_error`.
    pub(crate) fn eta(&self, score_error: f64, gap: f64, largest_error: f64) -> f64 {
        score_error + UNIT * (2.0 * gap + score_error + largest_error) + self.exp_in_eta
    }

    /// The factor on P_d for a row with `keys` unmasked keys in a sequence of `blocks` kv blocks.
    pub(crate) fn sums(&self, keys: usize, blocks: usize) -> f64 {
        let first_order =
            2.0 * gamma(keys) + self.second_operands + self.exp + blocks as f64 * self.per_block;
        first_order + first_order * first_order
    }

    /// The bound itself. `sums` is [`Bound::sums`] of the same keys and blocks.
    #[inline]
    pub(crate) fn element(&self, element: &Element, sums: f64, keys: usize, blocks: usize) -> f64 {
        let losses = self.key_losses * keys as f64 + self.block_losses * blocks as f64;
        let underflow =
            self.tau * (element.total + losses) + self.weight_loss * element.total + self.value_loss;
        let computed = element.weights + sums * element.mass + (1.0 + sums) * underflow;
        computed * (1.0 + self.output) + self.output * element.output.abs() + self.output_loss
    }
}
