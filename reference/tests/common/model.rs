//! A model in f32 of blocked online softmax as ragged paged attention computes it, written from its formulae alone.
//!
//! It can compute as badly as a profile allows (errors of exp, tanh and division at their limits, with signs that add up),
//! and it can be wrong on purpose, to show that the bound notices.

use countersign_dtype::{DType, round_to};
use countersign_reference::{
    Batch, Blocking, Matmul, Options, Profile, Reference, RowStatus, mask::visible_keys,
};

/// What is wrong with the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    None,
    /// Softmax weights are rounded to bf16 before the second product.
    Bf16Weights,
    /// The scale is applied twice.
    ScaleSquared,
    /// Keys after the query's position aren't masked.
    CausalMaskDropped,
    /// The last lane of a kv block is left out of sum w.
    LastLaneLost,
    /// The rescaling of the running sums is skipped.
    AlphaDropped,
    /// The soft cap is ignored.
    CapIgnored,
    /// The window is one key wider.
    WindowOff,
}

/// The order in which sums run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    FusedAscending,
    Ascending,
    Descending,
    EightLanes,
}

/// The sign of the errors of exp, tanh and division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Skew {
    /// The libm crate's own results.
    Library,
    Up,
    Down,
    /// Alternates from call to call.
    Alternating,
    /// Up for the first half of the blocks.
    Halves,
}

#[derive(Clone, Copy, Debug)]
pub struct Model {
    pub profile: Profile,
    pub order: Order,
    pub skew: Skew,
    pub fault: Fault,
}

struct Machine {
    model: Model,
    calls: u32,
    late: bool,
}

impl Machine {
    fn flush(&self, value: f32) -> f32 {
        if self.model.profile.flush_denormals && value.is_subnormal() { 0.0 * value } else { value }
    }

    /// `exact` rounded to f32 after an error of `ulp`, half an ulp of which is left to the rounding itself.
    fn skewed(&mut self, exact: f64, ulp: f64, library: impl Fn() -> f32) -> f32 {
        self.calls += 1;
        let sign = match self.model.skew {
            Skew::Library => return self.flush(library()),
            Skew::Up => 1.0,
            Skew::Down => -1.0,
            Skew::Alternating => 1.0 - 2.0 * f64::from(self.calls % 2),
            Skew::Halves => 1.0 - 2.0 * f64::from(u8::from(self.late)),
        };
        let error = (ulp - 0.5).max(0.0) * 2.0f64.powi(-23);
        self.flush((exact * (1.0 + sign * error)) as f32)
    }

    fn exp(&mut self, x: f32) -> f32 {
        self.skewed(f64::from(x).exp(), self.model.profile.exp_ulp, || libm::expf(x))
    }

    fn tanh(&mut self, x: f32) -> f32 {
        self.skewed(f64::from(x).tanh(), self.model.profile.tanh_ulp, || libm::tanhf(x))
    }

    fn div(&mut self, x: f32, y: f32) -> f32 {
        self.skewed(f64::from(x) / f64::from(y), self.model.profile.div_ulp, || x / y)
    }

    fn mul(&self, x: f32, y: f32) -> f32 {
        self.flush(x * y)
    }

    fn add(&self, x: f32, y: f32) -> f32 {
        self.flush(x + y)
    }

    fn operand(&self, value: f32) -> f32 {
        match self.model.profile.matmul {
            Matmul::Exact => self.flush(value),
            Matmul::Bf16x1 => self.flush(round_to(DType::Bf16, value)),
        }
    }

    fn sum(&self, terms: &mut dyn Iterator<Item = (f32, f32)>) -> f32 {
        match self.model.order {
            Order::FusedAscending => terms.fold(0.0, |sum, (x, y)| self.flush(x.mul_add(y, sum))),
            Order::Ascending => terms.fold(0.0, |sum, (x, y)| self.add(sum, self.mul(x, y))),
            Order::Descending => {
                let terms: Vec<_> = terms.collect();
                terms.into_iter().rev().fold(0.0, |sum, (x, y)| self.add(sum, self.mul(x, y)))
            }
            Order::EightLanes => {
                let mut lanes = [0.0; 8];
                for (index, (x, y)) in terms.enumerate() {
                    lanes[index % 8] = self.add(lanes[index % 8], self.mul(x, y));
                }
                lanes.into_iter().fold(0.0, |sum, lane| self.add(sum, lane))
            }
        }
    }

    /// One row and head. `keys` and `values` hold `kv_len` vectors.
    fn row(
        &mut self,
        query: &[f32],
        keys: &[Vec<f32>],
        values: &[Vec<f32>],
        position: usize,
        options: &Options,
        blocking: &Blocking,
    ) -> Vec<f32> {
        let fault = self.model.fault;
        let head_dim = query.len();
        let window = options.sliding_window.map(|window| window + i32::from(fault == Fault::WindowOff));
        let visible = visible_keys(position, window);
        let lanes = blocking.kv_per_block;
        let blocks = blocking.blocks(keys.len());
        let (mut max_so_far, mut sum_so_far) = (f32::NEG_INFINITY, 0.0f32);
        let mut output = vec![0.0f32; head_dim];
        for block in 0..blocks {
            self.late = block >= blocks / 2;
            let lane = |lane: usize| block * lanes + lane;
            let scores: Vec<f32> = (0..lanes)
                .map(|index| {
                    let key = lane(index);
                    let dot = keys.get(key).map_or(0.0, |key| {
                        self.sum(
                            &mut query.iter().zip(key).map(|(&q, &k)| (self.operand(q), self.operand(k))),
                        )
                    });
                    let mut score = self.mul(dot, options.sm_scale);
                    if fault == Fault::ScaleSquared {
                        score = self.mul(score, options.sm_scale);
                    }
                    if let (Some(cap), false) = (options.soft_cap, fault == Fault::CapIgnored) {
                        let ratio = self.div(score, cap);
                        let tanh = self.tanh(ratio);
                        score = self.mul(cap, tanh);
                    }
                    let masked = match fault {
                        Fault::CausalMaskDropped => key >= keys.len() || key < visible.start,
                        _ => !visible.contains(&key),
                    };
                    score + if masked { options.mask_value } else { 0.0 }
                })
                .collect();
            let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let weights: Vec<f32> = scores.iter().map(|score| self.exp(score - max)).collect();
            let summed = if fault == Fault::LastLaneLost { lanes - 1 } else { lanes };
            let sum = self.sum(&mut weights[..summed].iter().map(|&weight| (weight, 1.0)));
            let product: Vec<f32> = (0..head_dim)
                .map(|d| {
                    self.sum(&mut weights.iter().enumerate().map(|(index, &weight)| {
                        let weight =
                            if fault == Fault::Bf16Weights { round_to(DType::Bf16, weight) } else { weight };
                        let value = values.get(lane(index)).map_or(0.0, |value| value[d]);
                        (self.operand(weight), self.operand(value))
                    }))
                })
                .collect();
            let next_max = max_so_far.max(max);
            let alpha =
                if fault == Fault::AlphaDropped && block > 0 { 1.0 } else { self.exp(max_so_far - next_max) };
            let beta = self.exp(max - next_max);
            let kept = self.mul(alpha, sum_so_far);
            let next_sum = self.add(kept, self.mul(beta, sum));
            let divisor = if next_sum == 0.0 { 1.0 } else { next_sum };
            for d in 0..head_dim {
                let numerator = self.add(self.mul(kept, output[d]), self.mul(beta, product[d]));
                output[d] = self.div(numerator, divisor);
            }
            (max_so_far, sum_so_far) = (next_max, divisor);
        }
        output
    }
}

impl Model {
    /// Outputs of the rows that have a value; 0 elsewhere. `[tokens, q_heads, head_dim]`.
    pub fn run(
        &self,
        batch: &Batch,
        reference: &Reference,
        options: &Options,
        blocking: &Blocking,
    ) -> Vec<f32> {
        let shape = batch.shape().unwrap();
        let metadata = &batch.metadata;
        let (q, kv) = (batch.q.to_f32_vec(), batch.kv_pages.to_f32_vec());
        let head_dim = shape.head_dim;
        let mut outputs = vec![0.0; q.len()];
        let mut machine = Machine { model: *self, calls: 0, late: false };
        for kv_head in 0..shape.kv_heads {
            for sequence in 0..metadata.num_seqs as usize {
                let kv_len = metadata.kv_lens[sequence] as usize;
                let vector = |key: usize, v: usize, scale: Option<f32>| -> Vec<f32> {
                    let page =
                        metadata.page_indices[sequence * metadata.pages_per_seq + key / shape.page_size];
                    let slot = page as usize * shape.page_size + key % shape.page_size;
                    let first = ((slot * shape.kv_heads + kv_head) * 2 + v) * head_dim;
                    let stored = kv[first..first + head_dim].iter();
                    let scaled = |&value: &f32| {
                        scale.map_or(value, |scale| {
                            round_to(batch.q.dtype, machine.flush(machine.flush(value) * scale))
                        })
                    };
                    stored.map(scaled).collect()
                };
                let keys: Vec<_> = (0..kv_len).map(|key| vector(key, 0, options.k_scale)).collect();
                let values: Vec<_> = (0..kv_len).map(|key| vector(key, 1, options.v_scale)).collect();
                let group = shape.q_heads / shape.kv_heads;
                for (row, status) in reference.rows.iter().enumerate() {
                    if *status != (RowStatus::Value { sequence }) {
                        continue;
                    }
                    let end = metadata.cu_q_lens[sequence + 1] as usize;
                    let position = kv_len + row - end;
                    for head in kv_head * group..(kv_head + 1) * group {
                        let first = (row * shape.q_heads + head) * head_dim;
                        let query = &q[first..first + head_dim];
                        let output = machine.row(query, &keys, &values, position, options, blocking);
                        for (d, value) in output.into_iter().enumerate() {
                            outputs[first + d] = machine.flush(round_to(batch.q.dtype, value));
                        }
                    }
                }
            }
        }
        outputs
    }
}

/// The largest |error| / bound over rows with a value; a NaN counts as infinite.
pub fn largest_ratio(outputs: &[f32], reference: &Reference) -> f64 {
    let row_len = outputs.len() / reference.rows.len();
    let mut largest: f64 = 0.0;
    for (index, &output) in outputs.iter().enumerate() {
        if matches!(reference.rows[index / row_len], RowStatus::Value { .. }) {
            let ratio = (f64::from(output) - reference.values[index]).abs() / reference.bounds[index];
            largest = largest.max(if ratio.is_nan() { f64::INFINITY } else { ratio });
        }
    }
    largest
}
